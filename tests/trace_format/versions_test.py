"""Traces of every version stay readable, and what newer versions may add is passed over.

usage: versions_test.py TOLLGATE V1.jsonl
"""
import json
import os
import subprocess
import sys
import tempfile

try:
    import write_v1
except ImportError as error:
    print(f"skipped: {error} (python3-zstandard and python3-xxhash)")
    sys.exit(77)

tollgate = sys.argv[1]
with open(sys.argv[2], encoding="utf-8") as source:
    lines = [json.loads(line) for line in source]


def run(*arguments, status=0, stdin=None):
    done = subprocess.run([tollgate, *arguments], capture_output=True, stdin=stdin)
    assert done.returncode == status, f"{arguments}: {done.returncode}: {done.stderr}"
    return done


def dump(path):
    return [json.loads(line) for line in run("dump", "--json", "--meta", path).stdout.decode().splitlines()]


def write(variant=None, by_thread=False):
    path = os.path.join(directory, f"{variant}-{by_thread}.tgt")
    with open(path, "wb") as target:
        target.write(write_v1.write(lines, variant, by_thread=by_thread))
    return path


# Fields that were appended to a kind since: absent in these traces, and read as nothing.
SINCE = {
    "thread_exit": {"ending": "unknown"},
    "library_load": {"agent_ns": 0},
    "signal": {"sender": "", "overflowed": 0},
    "mpi_enter": {"request": "0x0", "receives": False, "from": 0, "from_tag": 0},
    "mpi_leave": {"poll": "none"},
}


def as_read(event):
    return {**event, **SINCE.get(event.get("kind"), {})}


def zero(kind, names):
    return {"S": "", "a": "0x0", "b": False, "L": []}.get(kind, names.split(",")[0] if kind == "e" else 0)


def without_last(record, fields):
    name, kind, names = fields[-1]
    return {key: zero(kind, names) if key == name else value for key, value in record.items()}


def as_older(event):
    if "meta" in event:
        return event
    fields = write_v1.KIND_FIELDS[event["kind"]][1]
    event = without_last(event, fields)
    for name, kind, item in fields:
        if kind == "L" and item != "string":
            event[name] = [without_last(member, write_v1.ITEM_FIELDS[item]) for member in event[name]]
    return event


def first_difference(found, expected):
    for i, (ours, theirs) in enumerate(zip(found, expected)):
        if ours != theirs:
            return f"line {i}:\nread:     {ours}\nexpected: {theirs}"
    return f"{len(found)} lines instead of {len(expected)}"


def expect(found, expected, what):
    expected = [as_read(event) for event in expected]
    assert found == expected, f"{what}: {first_difference(found, expected)}"


def check(version, by_thread):
    expect(dump(write(None, by_thread)), lines, version)
    expect(dump(write("older", by_thread)), [as_older(line) for line in lines], f"{version}, fields missing")
    newer = write("newer", by_thread)
    expect(dump(newer), lines, f"a newer minor version than {version}")
    with open(newer, "rb") as stream:
        piped = run("dump", "--json", "--meta", "-", stdin=stream).stdout.decode().splitlines()
    expect([json.loads(line) for line in piped], lines, f"a newer minor version than {version} from a pipe")
    # recover keeps what it does not understand
    recovered = os.path.join(directory, f"recovered-{by_thread}.tgt")
    told = json.loads(run("recover", "--json", "-o", recovered, newer).stdout)
    assert told["whole"] and told["events"] == 2 * (len(lines) - 1), told
    expect(dump(recovered), lines, f"a newer minor version than {version}, recovered")
    with open(newer, "rb") as before, open(recovered, "rb") as after:
        payload = write_v1.section(77, b"anything", 1)[72:]
        assert payload in before.read() and payload in after.read(), "the unknown section is gone"
    refused = (("unknown-section", b"kind 77"), ("unknown-flag", b"flags 0x41" if by_thread else b"flags 0x40"),
               ("newer-major", b"version 2.0"))
    for variant, words in refused:
        for command in ("dump", "recover"):
            error = run(command, write(variant, by_thread), status=2).stderr
            assert words in error and b"newer" in error or b"must not skip" in error, (variant, command, error)
            assert error.count(b"\n") == 1, error


with tempfile.TemporaryDirectory() as directory:
    assert {line["kind"] for line in lines[1:]} == set(write_v1.KIND_FIELDS), "the fixture lacks a kind"
    check("version 1.0", False)
    check("version 1.1", True)
