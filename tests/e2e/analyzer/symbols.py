#!/usr/bin/env python3
"""Names of code addresses in `tollgate dump`, compared with binutils' for every call of a program.

usage: symbols.py CASE [COMPILER OPTION...]
    lines       COMPILER builds a program: all its return addresses have the lines that addr2line says
    stripped    its functions, no lines; then with a separate debug file: the lines again
    other       another program at the same path: nothing is named
    off         --symbols=off, and what is wrong with the option
    recorded    a recorded OpenMP program: regions and barriers are at their pragmas; stripped, nothing is said
    exec        addresses are those of the program, and of the libraries, that ran at the time
"""

import collections
import functools
import json
import os
import re
import shutil
import subprocess
import sys

TOLLGATE = os.environ["TG_TOLLGATE"]
SOURCE = os.environ["TG_SOURCE"]
BASE = 0x555555554000


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


def run(*command, **options):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, **options).stdout


def build(compiler, *options, output="program", sources=("worker.c",)):
    if shutil.which(compiler) is None:
        skip(f"there is no {compiler}")
    run(compiler, *options, "-D_GNU_SOURCE", "-pthread", "-o", output,
        *(f"{SOURCE}/tests/programs/{source}" for source in sources))
    return os.path.abspath(output)


def build_id(program):
    found = re.search(r"Build ID: (\w+)", run("readelf", "-n", program))
    return found[1] if found else ""


def load_bias(program):
    return BASE if "DYN" in run("readelf", "-h", program) else 0


def return_addresses(program, at_least=20):
    """Of every call: addresses in the file."""
    behind_call, found = False, []
    for line in run("objdump", "-d", "--no-show-raw-insn", program).splitlines():
        instruction = re.match(r"\s+([0-9a-f]+):\s+(\S+)", line)
        if instruction is None:
            continue
        if behind_call:
            found.append(int(instruction[1], 16))
        behind_call = instruction[2].startswith("call")
    assert len(found) > at_least, found
    return found


def start(program, pid=5, time=1):
    return [
        dict(t_ns=time, pid=pid, tid=pid, kind="process_start", origin="launched", parent_pid=1),
        dict(t_ns=time + 1, pid=pid, tid=pid, kind="program", path=program, build_id=build_id(program),
             interpreter="", base=hex(load_bias(program)), entry="0x0", bits=64, linkage="dynamic", secure=False),
    ]


def call(address, time, pid=5):
    return dict(t_ns=time, pid=pid, tid=pid, kind="library_call", call="dlopen", path="x", flags=1,
                namespace_id=0, handle="0x0", caller=hex(address))


def dump(events, *options):
    with open("trace.jsonl", "w") as file:
        file.writelines(json.dumps(event) + "\n" for event in events)
    run(os.environ["TG_TRACE_FROM_JSON"], "trace.jsonl", "trace.tgt")
    return run(TOLLGATE, "dump", *options, "trace.tgt")


def dump_calls(program, addresses, *options):
    events = start(program) + [call(load_bias(program) + address, 10 + i) for i, address in enumerate(addresses)]
    calls = [json.loads(line) for line in dump(events, "--json", *options).splitlines()][2:]
    assert len(calls) == len(addresses)
    return calls


def oracle(program, addresses):
    """(function, "file:line") of the call before each address; line None where it is not known, "file:?" where the
    compiler says that the code is of no line: then the line before is a good answer."""
    told = run("addr2line", "-f", "-e", program, *(hex(address - 1) for address in addresses)).splitlines()
    for function, line in zip(told[::2], told[1::2]):
        line = line.split(" (")[0]
        yield function, None if line.startswith("??") or "/" not in line else os.path.normpath(line)


def compare(program, addresses, debug=None):
    n_lines = 0
    for address, got, (function, line) in zip(addresses, dump_calls(program, addresses),
                                              oracle(debug or program, addresses)):
        where = f"{address:#x}: {got}, {function} {line}"
        has = f"{got['caller_file']}:{got['caller_line']}" if "caller_file" in got else None
        if line is not None and has is not None and not has.startswith("/"):
            line = line[-len(has):]  # before DWARF 5 the directory of the compilation is not in the table
        if line is not None and has is not None and line.endswith(":?"):
            line, has = line[:-2], has.rpartition(":")[0]
        assert has == line, where
        if "caller_function" in got and function != "??":
            # of an inlined copy addr2line says the inlined function's name
            assert got["caller_offset"] > 0 and got["caller_object"] == program, where
        n_lines += line is not None
    return n_lines


@functools.lru_cache
def functions(program):
    """(address, name) by nm alone."""
    found = re.findall(r"^([0-9a-f]+) [tTwW] (\S+)$", run("nm", program), re.MULTILINE)
    return [(int(value, 16), name) for value, name in found]


def function_of(program, address):
    """(start, name) of the function with the call before ADDRESS."""
    return max(function for function in functions(program) if function[0] < address)


def calls_in_main(program, addresses):
    """Start of main, and those of ADDRESSES that are in it."""
    start = next(value for value, name in functions(program) if name == "main")
    inside = [address for address in addresses if function_of(program, address)[0] == start]
    assert inside
    return start, inside


def case_lines(compiler, *options):
    program = build(compiler, *options)
    addresses = return_addresses(program)
    assert compare(program, addresses) > 20
    # functions, against the symbol table; a call in an inlined copy is in the function that it is a copy of
    main, inside = calls_in_main(program, addresses)
    own = []
    for address, got, (function, _) in zip(inside, dump_calls(program, inside), oracle(program, inside)):
        assert got["caller_function"] == function, (hex(address), got, function)
        if function == "main":
            assert got["caller_offset"] == address - main, (hex(address), got)
            own.append(address)
    assert own
    # the text form says the same
    text = dump(start(program) + [call(load_bias(program) + own[0], 10)]).splitlines()[-1]
    got = dump_calls(program, own[:1])[0]
    shown = f"<main+{own[0] - main:#x}, {os.path.basename(got['caller_file'])}:{got['caller_line']}>"
    assert text.endswith(shown), (text, shown)
    print(len(addresses), "calls agree")


def case_stripped(compiler):
    whole = build(compiler, "-g", "-O2", "-rdynamic", output="whole")
    run("strip", "-o", "program", whole)
    program = os.path.abspath("program")
    addresses = return_addresses(whole)
    for got in dump_calls(program, addresses):
        assert "caller_file" not in got, got
    main, inside = calls_in_main(whole, addresses)
    got = dump_calls(program, inside[:1])[0]  # exported, so that .dynsym has it
    assert (got["caller_function"], got["caller_offset"]) == ("main", inside[0] - main), got
    run("objcopy", "--only-keep-debug", whole, "program.debug")
    run("objcopy", "--add-gnu-debuglink=program.debug", program)
    assert compare(program, addresses, debug=whole) > 20


def case_other(compiler):
    program = build(compiler, "-g", "-O2")
    addresses = return_addresses(program)
    events = start(program)
    events[1]["build_id"] = "0" * 40
    events += [call(BASE + address, 10 + i) for i, address in enumerate(addresses)]
    assert "caller_" not in dump(events, "--json")
    assert "<" not in dump(events)
    events[1]["path"] = "/nonexistent\x1b[2J"
    assert "caller_" not in dump(events, "--json")
    # a directory, a device, a text, an address outside of the program
    for path in ["/", "/dev/zero", os.path.abspath("trace.jsonl")]:
        events[1] = dict(events[1], path=path, build_id="")
        assert "caller_" not in dump(events, "--json"), path
    outside = start(program) + [call(address, 10) for address in (1, BASE, BASE - 1, 2**64 - 1)]
    assert "caller_" not in dump(outside, "--json")


def case_off(compiler):
    program = build(compiler, "-g", "-O2")
    addresses = calls_in_main(program, return_addresses(program))[1][:3]
    assert all("caller_file" in got for got in dump_calls(program, addresses, "--symbols=auto"))
    assert not any("caller_object" in got for got in dump_calls(program, addresses, "--symbols=off"))
    assert "<" not in dump(start(program) + [call(BASE + addresses[0], 10)], "--symbols=off")
    # a window does not lose what was loaded before it
    late = [json.loads(line) for line in run(TOLLGATE, "dump", "--json", "--from", "9ns", "trace.tgt").splitlines()]
    assert [event["kind"] for event in late] == ["library_call"] and "caller_file" in late[0], late
    wrong = subprocess.run([TOLLGATE, "dump", "--symbols=some", "trace.tgt"], capture_output=True, text=True)
    assert wrong.returncode == 2 and "--symbols takes auto or off" in wrong.stderr, wrong


def case_exec(compiler):
    first = build(compiler, "-g", "-O2", output="first")
    second = build(compiler, "-g", "-O1", "-no-pie", output="second", sources=("die.c",))
    library = build(compiler, "-g", "-fPIC", "-shared", output="library.so", sources=("break_plugin.c",))
    address = {path: return_addresses(path, at_least=1)[0] for path in (first, second)}
    symbol = re.search(r"^([0-9a-f]+) T (\w+)$", run("nm", library), re.MULTILINE)
    at_library, in_library = 0x7f0000000000, int(symbol[1], 16) + 1
    loaded = dict(path=library, build_id=build_id(library), base=hex(at_library), size_bytes=1 << 20,
                  link_map="0x1", dependency=False)
    load = dict(pid=5, tid=5, found="loader", namespace=0, state=0, libraries=[loaded])
    events = start(first) + [
        call(BASE + address[first], 10),
        call(at_library + in_library, 11),
        dict(load, t_ns=12, kind="library_load", read_ns=0, handle_ns=0),
        call(at_library + in_library, 13),
        dict(t_ns=14, pid=6, tid=6, kind="process_start", origin="fork", parent_pid=5),
        dict(load, t_ns=15, kind="library_unload"),
        call(at_library + in_library, 16),
        call(at_library + in_library, 17, pid=6),
        call(BASE + address[first], 18, pid=6),
        dict(t_ns=19, pid=5, tid=5, kind="exec", path=second, former_tid=5),
        dict(start(second)[1], t_ns=20),
        call(BASE + address[first], 21),
        call(address[second], 22),
    ]
    objects = [json.loads(line).get("caller_object") for line in dump(events, "--json", "--kind=library_call").splitlines()]
    assert objects == [first, None, library, None, library, first, None, second], objects


def case_recorded(compiler, *options):
    folder = f"{SOURCE}/tests/programs/openmp/gomp"
    if shutil.which(compiler) is None:
        skip(f"there is no {compiler}")
    command = [compiler, "-fopenmp", "-w", *options, "-o", "program", f"{folder}/regions.c", f"{folder}/log.c"]
    made = subprocess.run(command, capture_output=True, text=True)
    if made.returncode != 0:
        skip(f"{compiler} has no OpenMP: {made.stderr}")
    with open(f"{folder}/regions.c") as file:
        source = file.read().splitlines()

    def record():
        if os.path.exists("trace.tgt"):
            os.unlink("trace.tgt")
        run(TOLLGATE, "record", "-o", "trace.tgt", "--", "./program")
        told = run(TOLLGATE, "dump", "--json", "--kind", "omp_parallel_begin,omp_sync_begin,omp_implicit_begin",
                   "trace.tgt")
        return [json.loads(line) for line in told.splitlines()]

    pragmas = {"omp_parallel_begin": "parallel", "omp_implicit_begin": "parallel", "omp_sync_begin": "barrier"}
    checked = collections.Counter()
    for event in record():
        if event.get("sync") not in (None, "barrier"):
            continue
        assert event["code_file"] == f"{folder}/regions.c", event
        assert f"#pragma omp {pragmas[event['kind']]}" in source[event["code_line"] - 1], event
        if event["kind"] == "omp_parallel_begin" and compiler == "gcc":
            assert "_omp_fn." in event["body_function"] and event["body_offset"] == 0, event
            assert event["body_file"] == event["code_file"] and event["body_line"] >= event["code_line"], event
        checked[event["kind"]] += 1
    assert len(checked) == 3 and min(checked.values()) > 3, checked
    if compiler == "gcc":  # a body that begins with an inlined function
        with open("begins.c", "w") as file:
            file.write("volatile long x;\nstatic inline void work(void) { x = 1; }\n"
                       "int main(void)\n{\n#pragma omp parallel\n    work();\n    return 0;\n}\n")
        run(compiler, "-fopenmp", "-g", "-O2", "-o", "begins", "begins.c")
        os.rename("program", "whole")
        os.rename("begins", "program")
        bodies = {event["body_function"] for event in record() if event["kind"] == "omp_parallel_begin"}
        assert bodies == {"main._omp_fn.0"}, bodies
        os.rename("whole", "program")
    run("strip", "program")
    events = record()
    assert len(events) > 10 and not any("code_file" in event or "code_function" in event for event in events)


CASES = {name[5:]: value for name, value in globals().items() if name.startswith("case_")}

if __name__ == "__main__":
    CASES[sys.argv[1]](*sys.argv[2:])
