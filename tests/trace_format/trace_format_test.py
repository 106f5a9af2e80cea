"""docs/trace-format.md against the code: every kind and field of the code is in the document, and a reader made from
the document alone agrees with `tollgate dump --json` on traces with everything in them.

usage: trace_format_test.py TOLLGATE TRACE_FROM_JSON SOURCE_DIRECTORY FIXTURE...
"""
import glob
import json
import os
import random
import re
import subprocess
import sys
import tempfile

try:
    import read_trace
except ImportError as error:
    print(f"skipped: {error} (python3-zstandard and python3-xxhash)")
    sys.exit(77)

tollgate, trace_from_json, source = sys.argv[1:4]
document = f"{source}/docs/trace-format.md"
kinds, items = read_trace.read_document(document)


def compare(name, lines):
    path = os.path.join(directory, "trace.tgt")
    text = "".join(json.dumps(line) + "\n" for line in lines) if isinstance(lines, list) else open(lines).read()
    subprocess.run([trace_from_json, "-", path], input=text, text=True, check=True)
    dumped = subprocess.run([tollgate, "dump", "--json", "--symbols=off", "--meta", path], capture_output=True, check=True).stdout
    expected = [json.loads(line) for line in dumped.decode("utf-8").splitlines()]
    found = list(read_trace.read_trace(document, path))
    sections = [header["kind"] for header, _ in read_trace.read_sections(open(path, "rb").read())]
    assert sections[-2:] == [read_trace.KINDS, read_trace.INDEX], f"{name}: sections {sections}"
    assert len(found) == len(expected), f"{name}: {len(found)} lines, dump has {len(expected)}"
    for i, (ours, theirs) in enumerate(zip(found, expected)):
        assert ours == theirs, f"{name}, line {i}:\ndocument: {ours}\nprogram:  {theirs}"
        assert list(ours) == list(theirs), f"{name}, line {i}: order of {list(ours)} and {list(theirs)}"
    return found


def check_kinds():
    families = [open(path, encoding="utf-8").read() for path in glob.glob(f"{source}/format/event/*.def")]
    coded = {int(number, 16): name for number, name in
             re.findall(r"^TG_EVENT\([A-Z_]+, (0x[0-9a-f]+), ([a-z_]+),$", "".join(families), re.M)}
    assert len(coded) > 20
    assert coded == {number: name for number, (name, _) in kinds.items()}, "the kinds of code and document differ"
    # The program prints every field of every kind; the comparison sees a field, a name or a type that is not the same.
    compare("defaults", [{"kind": name} for name in coded.values()])


NUMBERS = [0, 1, 127, 128, 255, 256, 65535, 65536, (1 << 32) - 1, (1 << 56) - 1, 1 << 56, (1 << 63) - 1, 1 << 63,
           (1 << 64) - 1]


def draw(rng, field):
    if field.type == read_trace.LIST:
        if field.item == "string":
            return [draw_text(rng) for _ in range(rng.choice([0, 1, 3]))]
        return [{member.name: draw(rng, member) for member in items[field.item]} for _ in range(rng.choice([0, 1, 4]))]
    if field.type == read_trace.STRING:
        return draw_text(rng)
    if field.is_bool:
        return rng.choice([True, False])
    if field.names is not None:
        return rng.choice(field.names)
    value = rng.choice(NUMBERS) if rng.random() < 0.2 else rng.randrange(1 << rng.choice([1, 6, 12, 40]))
    if field.type == read_trace.SIGNED:
        value = value - (1 << 64) if value >= 1 << 63 else rng.choice([value, -value])
    return hex(value) if field.type == read_trace.ADDRESS else value


def draw_text(rng):
    return rng.choice(["", "a", "/usr/lib/libc.so.6", f"/opt/lib{rng.randrange(50)}.so", "\udcff\udc80", "\u65e5\u001b"])


def draw_events(rng, n):
    """A few kinds often, as in real traces (rows that repeat, and columns with exceptions), and all of them."""
    often, time, tid = rng.sample(sorted(kinds), 3), 10**12, 100
    repeated = {}
    for i in range(n):
        number = rng.choice(often) if rng.random() < 0.8 else rng.choice(sorted(kinds))
        name, fields = kinds[number]
        time += rng.choice([0, 17, 3000, 70000]) if rng.random() < 0.98 else -rng.randrange(10**6)
        if rng.random() < 0.1:
            tid += 1
        drawn = {field.name: draw(rng, field) for field in fields}
        if rng.random() < 0.7:
            drawn = repeated.setdefault((number, rng.randrange(3)), drawn)
        yield {"t_ns": time, "stop_ns": rng.choice([0, 900, 2100, 10**9]), "pid": rng.choice([100, 7, -1]),
               "tid": tid - rng.randrange(4), "kind": name, **drawn}


with tempfile.TemporaryDirectory() as directory:
    check_kinds()
    for fixture in sys.argv[4:]:
        compare(fixture, fixture)
    for seed in range(20):
        rng = random.Random(seed)
        events = list(draw_events(rng, rng.choice([1, 30, 500, 3000])))
        compare(f"made up, seed {seed}", [{"meta": {"tool.version": "x", "host.name": "\udcfe"}}] + events)
