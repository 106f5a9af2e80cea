"""Seeds for trace_reader_fuzz.c from readable text.

usage: make_trace_seeds.py IN.jsonl FOLDER      (python3-zstandard, python3-xxhash)
"""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "trace_format"))
import write_v1  # noqa: E402

with open(sys.argv[1], encoding="utf-8") as source:
    lines = [json.loads(line) for line in source]
meta, events = lines[0]["meta"], lines[1:]


def seed(name, content):
    with open(os.path.join(sys.argv[2], name), "wb") as target:
        target.write(content)


def seed_events(name, part, variant=None):
    seed(name, b"\1" + len(part).to_bytes(2, "little") + write_v1.Chunk(variant).payload(part))
    seed(f"{name}-by-thread", b"\4" + len(part).to_bytes(2, "little") + write_v1.ChunkByThread(variant).payload(part))


os.makedirs(sys.argv[2], exist_ok=True)
for kind in write_v1.KIND_FIELDS:
    part = [event for event in events if event["kind"] == kind][:6]
    seed_events(f"events-{kind}", part)
seed_events("events-all", [next(e for e in events if e["kind"] == kind) for kind in write_v1.KIND_FIELDS])
seed_events("events-newer", events[:8], "newer")
seed_events("events-older", events[:8], "older")
seed("meta", b"\2" + write_v1.varint(len(meta)) +
     b"".join(write_v1.raw(key) + b"\0" + write_v1.raw(value) + b"\0" for key, value in meta.items()))
seed("index", b"\3" + write_v1.index([(80 * i, events[i:i + 5]) for i in range(4)], 5))
seed("file", b"\0" + write_v1.write([lines[0]] + events[:12], None, 4))
seed("file-by-thread", b"\0" + write_v1.write([lines[0]] + events[:12], None, 4, True))
seed("file-newer", b"\0" + write_v1.write([lines[0]] + events[:4], "newer", 4))
