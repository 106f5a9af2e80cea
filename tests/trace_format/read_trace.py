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

META, EVENTS, INDEX, KINDS = 1, 2, 3, 4
UNSIGNED, SIGNED, ADDRESS, STRING, LIST = range(5)
FORMS = PLAIN, ZIGZAGS, DIFFERENCES = range(3)
BY_THREAD = 1
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

    def column(self, n, forms=(PLAIN,)):
        body = Bytes(self.take(self.varint()))
        if not body.data:
            return [0] * n
        first = body.take(1)[0]
        width, form = first & 15, first >> 4
        expect(form in forms, "a form that may not be")
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
        if form == ZIGZAGS:
            return [unzigzag(value) & MASK for value in values]
        return list(running_sum(values)) if form == DIFFERENCES else values


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


class Column:
    """How the fields' columns of a section are stored."""

    def __init__(self, data, strings, by_thread):
        self.data, self.strings, self.by_thread = data, strings, by_thread

    def plain(self, n):
        return self.data.column(n, FORMS if self.by_thread else (PLAIN,))

    def take(self, kind, n):
        values = self.plain(n)
        if kind == SIGNED:
            return [unzigzag(value) for value in values]
        if kind == ADDRESS and not self.by_thread:
            return list(running_sum(values))
        if kind == STRING:
            return [self.strings[value] for value in values]
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


def read_lists(column, field, counts, n_items, shapes, items):
    columns = [column.take(shape, n_items) for shape in shapes]
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


class Kind:
    """One kind of a section: its name (None where it is not known), its stops and the fields of its events in turn."""

    def __init__(self, data, kinds, items, column):
        number, self.n_events, n_rows, n_fields = (data.varint() for _ in range(4))
        self.number = number
        expect(n_rows <= self.n_events, "more rows than events")
        self.name, known = kinds.get(number, (None, []))
        shapes = [read_shape(data) for _ in range(n_fields)]
        self.as_recorded = not column.by_thread or any(n_items > 0 for _, n_items, _ in shapes)
        self.stops = column.plain(self.n_events) if column.by_thread else None
        index = column.plain(self.n_events) if n_rows < self.n_events else range(self.n_events)
        columns = []
        for f, (shape, n_items, members) in enumerate(shapes):
            field = known[f] if f < len(known) else None
            expect(field is None or field.type == shape, "a field of another type")
            expect(shape != LIST or n_rows == self.n_events, "a list in a kind with fewer rows than events")
            values = column.take(shape, n_rows)
            if shape == LIST:
                values = read_lists(column, field, values, n_items, members, items)
            columns.append(values)
        rows = [{field.name: columns[f][r] if field.type == LIST and f < len(columns) else
                 show(field, columns[f][r] if f < len(columns) else zero(field)) for f, field in enumerate(known)}
                for r in range(n_rows)]
        self.fields = [rows[r] for r in index]


def read_threads(data, column):
    """(process, pid, tid) of every thread; processes are numbered in sections by thread only."""
    n_threads = data.varint()
    if column.by_thread:
        n_processes = data.varint()
        expect(n_processes <= n_threads, "more processes than threads")
        pids = [unzigzag(value) for value in column.plain(n_processes)]
        processes = column.plain(n_threads)
        return [(process, pids[process], unzigzag(tid)) for process, tid in zip(processes, column.plain(n_threads))]
    pids = list(running_sum(data.column(n_threads)))
    tids = list(running_sum(data.column(n_threads)))
    return [(None, *(i - (1 << 64) if i >> 63 else i for i in pair)) for pair in zip(pids, tids)]


def find_threads(backs):
    seen = 0
    for back in backs:
        expect(back <= seen, "a thread that is not there")
        yield seen - back
        seen += back == 0


def order_of_threads(threads, of_event):
    """The events, as indices, in the order of threads."""
    return sorted(range(len(of_event)), key=lambda i: (threads[of_event[i]][0], of_event[i]))  # sorted() is stable


def read_events(payload, header, kinds, items):
    data, by_thread = Bytes(payload), header["flags"] & BY_THREAD != 0
    n_strings = data.varint()
    text = Bytes(data.take(data.varint()))
    strings = [""] + [text.text() for _ in range(n_strings)]
    expect(text.done(), "text that is no string")
    column = Column(data, strings, by_thread)
    threads = read_threads(data, column)
    unit, stop_unit = (data.varint(), data.varint()) if by_thread else (0, 0)
    expect(unit <= stop_unit <= 20, "units that may not be")
    table = [Kind(data, kinds, items, column) for _ in range(data.varint())]
    n = header["events"]
    kind_column, thread_column, time_column = (column.plain(n) for _ in range(3))
    stops = [] if by_thread else data.column(n)
    expect(data.done(), "bytes behind the last column")
    of_event = list(find_threads(thread_column))
    header["kinds"] = {kind.number for kind in table}
    header["stops"] = any(any(kind.stops) for kind in table) if by_thread else any(stops)

    if by_thread:
        kind_of, stops = [None] * n, [None] * n
        stop_of_kind = [iter(kind.stops) for kind in table]
        order = order_of_threads(threads, of_event)
        for i, kind in zip(order, kind_column):
            kind_of[i], stops[i] = kind, next(stop_of_kind[kind])
    else:
        kind_of, order = kind_column, range(n)
    fields = [None] * n
    for k, kind in enumerate(table):
        events = [i for i in (range(n) if kind.as_recorded else order) if kind_of[i] == k]
        expect(len(events) == kind.n_events, "another number of events of a kind")
        for i, row in zip(events, kind.fields):
            fields[i] = row

    end = header["first"]
    for i in range(n):
        time = (end + (time_column[i] << unit if by_thread else unzigzag(time_column[i]))) & MASK
        stop = stops[i] << stop_unit
        end = (time + stop) & MASK if by_thread else time
        name = table[kind_of[i]].name
        if name is None:
            continue
        _, pid, tid = threads[of_event[i]]
        event = {"t_ns": time}
        if stop:
            event["stop_ns"] = stop
        event.update(pid=pid, tid=tid, kind=name, **fields[i])
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
        expect(major == 1 and flags & 0xff & ~(BY_THREAD if kind == EVENTS else 0) == 0, "a newer version")
        expect(kind <= KINDS or flags & 0x100, "a section that may not be skipped")
        expect(sequence == number, "sections are missing")
        payload = data[at + 72:at + 72 + stored]
        if len(payload) < stored:
            return
        expect(payload_hash == xxhash.xxh3_64_intdigest(payload), f"a damaged payload at {at}")
        header = {"kind": kind, "flags": flags, "events": events, "first": first, "last": last, "at": at}
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


def read_kinds(payload):
    data = Bytes(payload)
    kinds = {"hash": data.varint(), "entries": []}
    for _ in range(data.varint()):
        flags = data.varint()
        expect(flags in (0, 1, 3), "flags that may not be")
        number, numbers = 0, []
        for _ in range(data.varint() if flags else 0):
            number += data.varint()
            numbers.append(number)
        expect(len(set(numbers)) == len(numbers), "a kind twice")
        kinds["entries"].append((flags, set(numbers)))
    expect(data.done(), "bytes behind the index by kind")
    return kinds


def check_kinds(kinds, index, payload, chunks):
    """The index by kind has what the sections of each entry have, and nothing else, as tollgate writes it."""
    expect(kinds["hash"] == xxhash.xxh3_64_intdigest(payload), "an index by kind of another index")
    expect(len(kinds["entries"]) == len(index["entries"]), "an index by kind with other entries")
    at = 0
    for (flags, numbers), (_, n, *_) in zip(kinds["entries"], index["entries"]):
        part = chunks[at:at + n]
        at += n
        expect(numbers == set().union(*(chunk["kinds"] for chunk in part)), "an entry with other kinds")
        expect(flags == (3 if any(chunk["stops"] for chunk in part) else 1), "an entry with other flags")


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
    chunks, meta_seen, kinds_seen = [], False, None
    for header, payload in read_sections(open(path, "rb").read()):
        if header["kind"] == META:
            data = Bytes(payload)
            yield {"meta": {data.text(): data.text() for _ in range(data.varint())}}
            expect(data.done() and not meta_seen, "META is not as it must be")
            meta_seen = True
        elif header["kind"] == EVENTS:
            expect(meta_seen, "first section is not META")
            chunks.append(header)
            yield from read_events(payload, header, kinds, items)
        elif header["kind"] == INDEX:
            check_index(read_index(payload), chunks)
            if kinds_seen is not None:
                check_kinds(kinds_seen, read_index(payload), payload, chunks)
        elif header["kind"] == KINDS:
            kinds_seen = read_kinds(payload)


if __name__ == "__main__":
    for line in read_trace(sys.argv[1], sys.argv[2]):
        print(json.dumps(line))
