"""A reader of traces made from docs/trace-format.md alone; kinds and fields come from the document's own tables.

usage: read_trace.py DOCUMENT TRACE

Prints what `tollgate dump --json --meta` prints, as JSON lines.
"""
import json
import re
import struct
import sys

import xxhash
import zstandard

META, EVENTS, INDEX = 1, 2, 3
UNSIGNED, SIGNED, ADDRESS, STRING, LIST = range(5)
MASK = (1 << 64) - 1


class Damaged(Exception):
    pass


def expect(condition, what):
    if not condition:
        raise Damaged(what)


class Field:
    def __init__(self, name, description):
        self.name = name
        self.names = None
        word, _, rest = description.partition(" ")
        if word == "enum":
            self.names = [item.split()[1] for item in rest.split(", ")]
            for i, item in enumerate(rest.split(", ")):
                assert int(item.split()[0]) == i
        self.is_bool = word == "bool"
        self.type = {"unsigned": UNSIGNED, "enum": UNSIGNED, "bool": UNSIGNED, "signed": SIGNED, "address": ADDRESS,
                     "string": STRING, "list": LIST}[word]
        self.item = rest.removeprefix("of ") if word == "list" else None


def read_document(path):
    """{number: (name, fields)} of the kinds and {name: fields} of the items."""
    kinds, items, fields = {}, {}, None
    for line in open(path, encoding="utf-8"):
        heading = re.match(r"### ([a-z_]+)(?: \(0x([0-9a-f]+)\))?$", line)
        if heading:
            fields = []
            if heading.group(2):
                kinds[int(heading.group(2), 16)] = (heading.group(1), fields)
            else:
                items[heading.group(1)] = fields
        row = re.match(r"\| ([a-z_]+) \| ([a-z][^|]*?) \|", line)
        if row and fields is not None and row.group(1) != "field" and row.group(1) != "member":
            fields.append(Field(row.group(1), row.group(2)))
    return kinds, items


class Bytes:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, n):
        expect(self.at + n <= len(self.data), "bytes are missing")
        self.at += n
        return self.data[self.at - n:self.at]

    def done(self):
        return self.at == len(self.data)

    def varint(self):
        value = 0
        for i in range(10):
            byte = self.take(1)[0]
            value |= (byte & 0x7f) << (7 * i)
            if byte < 0x80:
                expect(value <= MASK, "a varint beyond 64 bits")
                return value
        raise Damaged("a varint of more than ten bytes")

    def text(self):
        end = self.data.index(0, self.at)
        return self.take(end + 1 - self.at)[:-1].decode("utf-8", "surrogateescape")

    def column(self, n):
        body = Bytes(self.take(self.varint()))
        if not body.data:
            return [0] * n
        width = body.take(1)[0]
        expect(width <= 8 and 1 + width * n <= len(body.data), "a column that is too short")
        start = len(body.data) - width * n
        planes = [body.data[start + p * n:start + (p + 1) * n] for p in range(width)]
        values = [0] * n
        for p, plane in enumerate(planes):
            for i in range(n):
                values[i] |= plane[i] << (8 * p)
        exceptions, index = Bytes(body.data[1:start]), -1
        while not exceptions.done():
            index += 1 + exceptions.varint()
            expect(index < n, "an exception beyond its column")
            values[index] = exceptions.varint()
        return values


def unzigzag(value):
    return value >> 1 if value & 1 == 0 else -(value >> 1) - 1


def running_sum(values, start=0):
    for value in values:
        start = (start + unzigzag(value)) & MASK
        yield start


def read_shape(data):
    kind = data.varint()
    expect(kind <= LIST, "an unknown type")
    if kind != LIST:
        return kind, 0, []
    n_items = data.varint()
    return kind, n_items, [data.varint() for _ in range(data.varint())]


def decode(kind, values, strings):
    if kind == SIGNED:
        return [unzigzag(value) for value in values]
    if kind == ADDRESS:
        return list(running_sum(values))
    if kind == STRING:
        return [strings[value] for value in values]
    return values


def show(field, value):
    if field.type == ADDRESS:
        return hex(value)
    if field.is_bool:
        return value != 0
    if field.names is not None and value < len(field.names):
        return field.names[value]
    return value


def zero(field):
    return {STRING: "", LIST: []}.get(field.type, 0)


def read_lists(data, field, counts, n_items, shapes, strings, items):
    columns = [decode(shape, data.column(n_items), strings) for shape in shapes]
    expect(sum(counts) == n_items, "items that belong to no list")
    if field is None:
        return None
    known = items[field.item]
    lists, at = [], 0
    for count in counts:
        found = []
        for i in range(at, at + count):
            record = {member.name: show(member, columns[m][i] if m < len(columns) else zero(member))
                      for m, member in enumerate(known)}
            found.append(next(iter(record.values())) if field.item == "string" else record)
        lists.append(found)
        at += count
    return lists


def read_kind(data, kinds, items, strings):
    """The kind's name and the fields of its events in turn; None and their number where it is not known."""
    number, n_events, n_rows, n_fields = (data.varint() for _ in range(4))
    expect(n_rows <= n_events, "more rows than events")
    name, known = kinds.get(number, (None, []))
    shapes = [read_shape(data) for _ in range(n_fields)]
    index = data.column(n_events) if n_rows < n_events else range(n_events)
    columns = []
    for f, (shape, n_items, members) in enumerate(shapes):
        field = known[f] if f < len(known) else None
        expect(field is None or field.type == shape, "a field of another type")
        values = decode(shape, data.column(n_rows), strings)
        if shape == LIST:
            values = read_lists(data, field, values, n_items, members, strings, items)
        columns.append(values)
    rows = [{field.name: columns[f][r] if field.type == LIST and f < len(columns) else
             show(field, columns[f][r] if f < len(columns) else zero(field)) for f, field in enumerate(known)}
            for r in range(n_rows)]
    return name, iter([rows[r] for r in index]) if name is not None else None


def read_events(payload, header, kinds, items):
    data = Bytes(payload)
    n_strings = data.varint()
    text = Bytes(data.take(data.varint()))
    strings = [""] + [text.text() for _ in range(n_strings)]
    expect(text.done(), "text that is no string")
    n_threads = data.varint()
    pids = list(running_sum(data.column(n_threads)))
    tids = list(running_sum(data.column(n_threads)))
    threads = [tuple(i - (1 << 64) if i >> 63 else i for i in pair) for pair in zip(pids, tids)]
    table = [read_kind(data, kinds, items, strings) for _ in range(data.varint())]
    n = header["events"]
    kind_column, thread_column, time_column, stop_column = (data.column(n) for _ in range(4))
    expect(data.done(), "bytes behind the last column")
    times = running_sum(time_column, header["first"])
    seen = 0
    for kind, back, time, stop in zip(kind_column, thread_column, times, stop_column):
        expect(back <= seen, "a thread that is not there")
        pid, tid = threads[seen - back]
        seen += back == 0
        name, rows = table[kind]
        if name is None:
            continue
        event = {"t_ns": time}
        if stop:
            event["stop_ns"] = stop
        event.update(pid=pid, tid=tid, kind=name, **next(rows))
        yield event


def read_sections(data):
    """(header, payload) of every section; stops where the file ends, whole or not."""
    at, number = 0, 0
    while len(data) - at >= 72:
        if struct.unpack_from("<I", data, at)[0] == 0x184d2a55:
            break
        magic, size, name, major, _, kind, flags, stored, raw, events, sequence, first, last, payload_hash, own_hash = \
            struct.unpack_from("<II8sHHHHIIIIQQQQ", data, at)
        expect(magic == 0x184d2a54 and size == 64 and name == b"tollgate", f"no section at {at}")
        expect(own_hash == xxhash.xxh3_64_intdigest(data[at:at + 64]), f"a damaged header at {at}")
        expect(major == 1 and flags & 0xff == 0, "a newer version")
        expect(kind <= INDEX or flags & 0x100, "a section that may not be skipped")
        expect(sequence == number, "sections are missing")
        payload = data[at + 72:at + 72 + stored]
        if len(payload) < stored:
            return
        expect(payload_hash == xxhash.xxh3_64_intdigest(payload), f"a damaged payload at {at}")
        header = {"kind": kind, "events": events, "first": first, "last": last, "at": at}
        yield header, zstandard.ZstdDecompressor().decompress(payload, max_output_size=raw)
        at, number = at + 72 + stored, number + 1
    if len(data) - at == 32:
        check_trailer(data, at)


def check_trailer(data, at):
    magic, size, name, index, own_hash = struct.unpack_from("<II8sQQ", data, at)
    expect(magic == 0x184d2a55 and size == 24 and name == b"tg-index", "no trailer")
    expect(own_hash == xxhash.xxh3_64_intdigest(data[at:at + 24]), "a damaged trailer")
    expect(struct.unpack_from("<H", data, index + 20)[0] == INDEX, "the trailer points to no index")


def read_index(payload):
    data = Bytes(payload)
    index = {"sections": data.varint(), "lost": data.varint(), "entries": []}
    offset = first = 0
    for _ in range(data.varint()):
        offset += data.varint()
        chunks, events = data.varint(), data.varint()
        first += unzigzag(data.varint())
        index["entries"].append((offset, chunks, events, first, first + data.varint()))
    expect(data.done(), "bytes behind the index")
    return index


def check_index(index, chunks):
    """The index agrees with the EVENTS headers that were met."""
    at = 0
    for offset, n, events, first, last in index["entries"]:
        part = chunks[at:at + n]
        at += n
        expect(part and part[0]["at"] == offset, "an index entry that points elsewhere")
        expect(sum(chunk["events"] for chunk in part) == events, "an index entry with other events")
        expect(min(chunk["first"] for chunk in part) == first and max(chunk["last"] for chunk in part) == last,
               "an index entry with other times")
    expect(at == len(chunks), "chunks that the index does not have")


def read_trace(document, path):
    kinds, items = read_document(document)
    chunks, meta_seen = [], False
    for header, payload in read_sections(open(path, "rb").read()):
        if header["kind"] == META:
            data = Bytes(payload)
            yield {"meta": {data.text(): data.text() for _ in range(data.varint())}}
            expect(data.done() and not meta_seen, "META is not as it must be")
            meta_seen = True
        elif header["kind"] == EVENTS:
            expect(meta_seen, "the first section is not META")
            chunks.append(header)
            yield from read_events(payload, header, kinds, items)
        elif header["kind"] == INDEX:
            check_index(read_index(payload), chunks)


if __name__ == "__main__":
    for line in read_trace(sys.argv[1], sys.argv[2]):
        print(json.dumps(line))
