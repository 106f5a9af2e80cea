"""Writes traces as versions 1.0 and 1.1 of the format had them when they were new: what every later reader must still
understand. The tables are frozen here; they do not follow the code.

usage: write_v1.py IN.jsonl OUT [older|newer|unknown-section|unknown-flag|newer-major] [by-thread]

IN is in the shape of `tollgate dump --json --meta`. The variants are what other versions may write:
  older            the last field of every kind, and the last member of every item, are not there
  newer            fields, members and kinds are there that version 1.0 does not have; a section that may be skipped;
                   a minor version and ignorable flags that it does not know
  by-thread        with any of these: EVENTS sections by thread, as 1.1 has them; otherwise as 1.0
  unknown-section  a section that may not be skipped; unknown-flag: a flag that must be known; newer-major: version 2
"""
import json
import struct
import sys

import xxhash
import zstandard

# number name field:type ...; u unsigned, s signed, a address, S string, b bool, e enumeration, L list of
KINDS = """\
0x0101 process_start origin:elaunched,attached,fork,vfork,clone parent_pid:s
0x0102 program path:S build_id:S interpreter:S base:a entry:a bits:u linkage:eunknown,dynamic,static secure:b
0x0103 exec path:S former_tid:s
0x0104 command_line arguments:Lstring
0x0105 environment variables:Lstring
0x0106 identity host:S job:S source:S rank:s size:s
0x0107 thread_start parent_tid:s
0x0108 thread_exit status:s
0x0109 process_exit how:eexited,signaled,lost status:s core_dumped:b
0x010a detach reason:S
0x010b entry address:a
0x0201 signal signal:s code:s sender_pid:s address:a pc:a
0x0202 group_stop signal:s
0x0203 breakpoint_hit breakpoint:u address:a
0x0301 library_load found:estartup,loader,catch_up,attach,agent namespace:u state:u read_ns:u handle_ns:u libraries:Llibrary
0x0302 library_unload found:estartup,loader,catch_up,attach,agent namespace:u state:u libraries:Llibrary
0x0303 library_null state:u
0x0304 breakpoint_spec breakpoint:u text:S
0x0305 breakpoint_planted breakpoint:u address:a library:S late:b window_ns:u
0x0306 breakpoint_removed breakpoint:u address:a library:S
0x0401 filter_settings mode:eslow,medium,fast match:S
0x0402 filter_decision decision:ereported,deferred,not_stopped rule:ealways_recalculate,pattern,default_last_positive,default_last_negated,default_all_empty,no_stop pattern:S library:S
0x0403 deferred_handled trigger:ereported_event,entry,signal,fork,thread,breakpoint,exit,detach,group_stop events:u libraries:u handle_ns:u
0x0f01 loss source:ewriter_queue,writer_file,target,limit count:u reason:S
0x0f02 note text:S
"""
ITEMS = """\
string text:S
library path:S build_id:S base:a size_bytes:u link_map:a dependency:b
"""
TYPES = {"u": 0, "e": 0, "b": 0, "s": 1, "a": 2, "S": 3, "L": 4}


def parse_fields(words):
    fields = []
    for word in words:
        name, _, kind = word.partition(":")
        fields.append((name, kind[0], kind[1:]))
    return fields


# Kinds that have more fields today: what was made up for them would have to have the types of these.
EXTENDED = ("thread_exit", "signal", "mpi_enter", "mpi_leave", "library_load")
ITEM_FIELDS = {line.split()[0]: parse_fields(line.split()[1:]) for line in ITEMS.splitlines()}
KIND_FIELDS = {line.split()[1]: (int(line.split()[0], 16), parse_fields(line.split()[2:]))
               for line in KINDS.splitlines()}
MASK = (1 << 64) - 1


def varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7f | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def zigzag(value):
    value &= MASK
    return ((value << 1) & MASK) ^ (MASK if value >> 63 else 0)


def differences(values, start=0):
    for value in values:
        yield zigzag(value - start)
        start = value


def column(values, form=0):
    """Planes as wide as most values need; the greatest ones become exceptions, to have some."""
    if form:
        values = list(differences(values)) if form == 2 else [zigzag(value) for value in values]
    if not any(values):
        return varint(0)
    widths = [(value.bit_length() + 7) // 8 for value in values]
    width = sorted(widths)[len(widths) * 3 // 4]
    exceptions, after = b"", 0
    for i, value in enumerate(values):
        if widths[i] > width:
            exceptions += varint(i - after) + varint(value)
            after = i + 1
    planes = b"".join(bytes((value >> (8 * p)) & 0xff if widths[i] <= width else 0x55 for i, value in enumerate(values))
                      for p in range(width))
    body = bytes([width | form << 4]) + exceptions + planes
    return varint(len(body)) + body


def section(kind, payload, number, flags=0, events=(), version=(1, 0)):
    stored = zstandard.ZstdCompressor(level=3).compress(payload)
    times = [event.get("t_ns", 0) for event in events] or [0]
    header = struct.pack("<II8sHHHHIIIIQQQ", 0x184d2a54, 64, b"tollgate", *version, kind, flags, len(stored),
                         len(payload), len(events), number, min(times), max(times), xxhash.xxh3_64_intdigest(stored))
    return header + struct.pack("<Q", xxhash.xxh3_64_intdigest(header)) + stored


def raw(text):
    return text.encode("utf-8", "surrogateescape")


class Chunk:
    def __init__(self, variant):
        self.variant, self.strings = variant, {"": 0}

    def string(self, text):
        return self.strings.setdefault(text, len(self.strings))

    def coded(self, kind, names, values):
        if kind == "S":
            return [self.string(value) for value in values]
        if kind == "s":
            return [zigzag(value) for value in values]
        if kind == "a":
            return list(differences([int(value, 16) for value in values]))
        if kind == "e":
            names = names.split(",")
            return [names.index(value) if isinstance(value, str) else value for value in values]
        return [int(value) for value in values]

    def fields(self, fields):
        return fields[:-1] if self.variant == "older" else fields

    def list_columns(self, item, lists):
        """Shape and columns of a list field."""
        flat = [entry if isinstance(entry, dict) else {"text": entry} for entries in lists for entry in entries]
        members = ITEM_FIELDS[item] if item == "string" else self.fields(ITEM_FIELDS[item])
        types = [TYPES[kind] for _, kind, _ in members]
        columns = column([len(entries) for entries in lists])
        for name, kind, names in members:
            columns += column(self.coded(kind, names, [entry[name] for entry in flat]))
        if self.variant == "newer":
            types.append(3)
            columns += column([self.string("from the future")] * len(flat))
        shape = varint(4) + varint(len(flat)) + varint(len(types)) + b"".join(varint(t) for t in types)
        return shape, columns

    def kind(self, name, events):
        number, fields = KIND_FIELDS[name]
        fields = self.fields(fields)
        rows, index = events, b""
        if not any(kind == "L" for _, kind, _ in fields) and len(events) > 2:
            keys = [json.dumps([event[field] for field, _, _ in fields]) for event in events]
            distinct = list(dict.fromkeys(keys))
            if len(distinct) < len(keys):
                rows = [events[keys.index(key)] for key in distinct]
                index = column([distinct.index(key) for key in keys])
        shapes, columns = b"", b""
        for field, kind, names in fields:
            values = [row[field] for row in rows]
            if kind == "L":
                shape, added = self.list_columns(names, values)
            else:
                shape, added = varint(TYPES[kind]), column(self.coded(kind, names, values))
            shapes, columns = shapes + shape, columns + added
        n_fields = len(fields)
        if self.variant == "newer" and name not in EXTENDED:
            shapes += varint(2)
            columns += column([5] * len(rows))
            n_fields += 1
            if not index:
                shapes += varint(4) + varint(len(rows)) + varint(1) + varint(0)
                columns += column([1] * len(rows)) + column([7] * len(rows))
                n_fields += 1
        return varint(number) + varint(len(events)) + varint(len(rows)) + varint(n_fields) + shapes + index + columns

    def payload(self, events):
        order = list(dict.fromkeys(event["kind"] for event in events))
        kinds = [self.kind(name, [event for event in events if event["kind"] == name]) if name in KIND_FIELDS else
                 varint(0x7777) + varint(sum(event["kind"] == name for event in events)) * 2 + varint(1) + varint(0) +
                 column([9] * sum(event["kind"] == name for event in events)) for name in order]
        threads, backs = [], []
        for event in events:
            thread = (event["pid"], event["tid"])
            if thread in threads:
                backs.append(len(threads) - threads.index(thread))
            else:
                backs.append(0)
                threads.append(thread)
        text = b"".join(raw(string) + b"\0" for string in list(self.strings)[1:])
        times = [event["t_ns"] for event in events]
        return (varint(len(self.strings) - 1) + varint(len(text)) + text + varint(len(threads)) +
                column(list(differences([pid for pid, _ in threads]))) +
                column(list(differences([tid for _, tid in threads]))) + varint(len(order)) + b"".join(kinds) +
                column([order.index(event["kind"]) for event in events]) + column(backs) +
                column(list(differences(times, min(times)))) + column([event.get("stop_ns", 0) for event in events]))


class ChunkByThread(Chunk):
    """As 1.1 has it; forms of columns are chosen to have them all."""

    UNIT, STOP_UNIT = 1, 2

    def coded(self, kind, names, values):
        return [int(value, 16) for value in values] if kind == "a" else super().coded(kind, names, values)

    def ordered_column(self, kind, values):
        return column(values, {"a": 2, "u": 1}.get(kind, 0))

    def kind(self, name, events):
        """EVENTS are as recorded."""
        in_order = sorted(events, key=self.place)
        if name not in KIND_FIELDS:
            n = len(events)
            return (varint(0x7777) + varint(n) * 2 + varint(1) + varint(0) + column(self.stops(in_order)) +
                    column([9] * n, 1))
        number, fields = KIND_FIELDS[name]
        fields = self.fields(fields)
        lists = [field for field, kind, _ in fields if kind == "L"]
        rows, index, distinct = in_order, b"", None
        if not lists:
            keys = [json.dumps([event[field] for field, _, _ in fields]) for event in in_order]
            distinct = list(dict.fromkeys(keys))
        if distinct is not None and len(distinct) < len(keys):
            rows = [in_order[keys.index(key)] for key in distinct]
            index = column([distinct.index(key) for key in keys], 2)
        newer_list = self.variant == "newer" and name not in EXTENDED and not index
        if newer_list or any(event[field] for event in events for field in lists):
            rows = events
        shapes, columns = b"", b""
        for field, kind, names in fields:
            values = [row[field] for row in rows]
            if kind == "L":
                shape, added = self.list_columns(names, values)
            else:
                shape, added = varint(TYPES[kind]), self.ordered_column(kind, self.coded(kind, names, values))
            shapes, columns = shapes + shape, columns + added
        n_fields = len(fields)
        if self.variant == "newer" and name not in EXTENDED:
            shapes += varint(2)
            columns += column([5] * len(rows), 2)
            n_fields += 1
        if newer_list:
            shapes += varint(4) + varint(len(rows)) + varint(1) + varint(0)
            columns += column([1] * len(rows)) + column([7] * len(rows))
            n_fields += 1
        return (varint(number) + varint(len(events)) + varint(len(rows)) + varint(n_fields) + shapes +
                column(self.stops(in_order)) + index + columns)

    def stops(self, events):
        return [event.get("stop_ns", 0) >> self.stop_unit for event in events]

    def place(self, event):
        return self.processes.index(event["pid"]), self.threads.index((event["pid"], event["tid"]))

    def payload(self, events):
        order = list(dict.fromkeys(event["kind"] for event in events))
        self.threads = list(dict.fromkeys((event["pid"], event["tid"]) for event in events))
        self.processes = list(dict.fromkeys(pid for pid, _ in self.threads))
        self.unit, self.stop_unit = self.UNIT, self.STOP_UNIT
        if any(event["t_ns"] % (1 << self.unit) or event.get("stop_ns", 0) % (1 << self.stop_unit) for event in events):
            self.unit = self.stop_unit = 0
        kinds = [self.kind(name, [event for event in events if event["kind"] == name]) for name in order]
        backs, times, seen, end = [], [], 0, min((event["t_ns"] for event in events), default=0)
        for event in events:
            thread = self.threads.index((event["pid"], event["tid"]))
            backs.append(seen - thread)
            seen += thread == seen
            times.append(((event["t_ns"] - end) >> self.unit) & MASK)
            end = event["t_ns"] + event.get("stop_ns", 0)
        text = b"".join(raw(string) + b"\0" for string in list(self.strings)[1:])
        return (varint(len(self.strings) - 1) + varint(len(text)) + text + varint(len(self.threads)) +
                varint(len(self.processes)) + column([zigzag(pid) for pid in self.processes], 1) +
                column([self.processes.index(pid) for pid, _ in self.threads]) +
                column([zigzag(tid) for _, tid in self.threads], 2) + varint(self.unit) + varint(self.stop_unit) + varint(len(order)) +
                b"".join(kinds) + column([order.index(event["kind"]) for event in sorted(events, key=self.place)]) +
                column(backs) + column(times, 1))


def index(chunks, n_sections):
    body, offset, first = varint(n_sections) + varint(0) + varint(len(chunks)), 0, 0
    for at, events in chunks:
        times = [event["t_ns"] for event in events]
        body += varint(at - offset) + varint(1) + varint(len(events)) + varint(zigzag(min(times) - first))
        body += varint(max(times) - min(times))
        offset, first = at, min(times)
    return body


def write(lines, variant=None, events_per_chunk=40, by_thread=False):
    meta = lines[0]["meta"] if "meta" in lines[0] else {}
    events = [line for line in lines if "meta" not in line]
    if variant == "newer":
        events = [e for event in events for e in (event, dict(event, kind="from the future"))]
    payload = varint(len(meta)) + b"".join(raw(key) + b"\0" + raw(value) + b"\0" for key, value in meta.items())
    version = {"newer": (1, 9), "newer-major": (2, 0)}.get(variant, (1, 1 if by_thread else 0))
    flags = 0xfe00 if variant == "newer" else 0
    out, number, chunks = section(1, payload, 0, flags, version=version), 1, []
    if variant in ("newer", "unknown-section"):
        out += section(77, b"anything", number, 0x100 if variant == "newer" else 0)
        number += 1
    for start in range(0, len(events), events_per_chunk):
        part = events[start:start + events_per_chunk]
        chunks.append((len(out), part))
        chunk, chunk_flags = (ChunkByThread, flags | 1) if by_thread else (Chunk, flags)
        chunk_flags |= 0x40 if variant == "unknown-flag" else 0
        out += section(2, chunk(variant).payload(part), number, chunk_flags, part, version)
        number += 1
    at = len(out)
    out += section(3, index(chunks, number), number, flags | 0x100, version=version)
    trailer = struct.pack("<II8sQ", 0x184d2a55, 24, b"tg-index", at)
    return out + trailer + struct.pack("<Q", xxhash.xxh3_64_intdigest(trailer))


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as source:
        options = sys.argv[3:]
        trace = write([json.loads(line) for line in source if line.strip()],
                      next((option for option in options if option != "by-thread"), None),
                      by_thread="by-thread" in options)
    with open(sys.argv[2], "wb") as target:
        target.write(trace)
