#!/usr/bin/env python3
"""What tollgate-audit.so writes into its ring, read by a recorder in miniature, compared with what the loader says.

usage: audit.py CASE
"""
import collections
import os
import re
import resource
import signal
import struct
import subprocess
import sys
import threading

from agent_rings import LOADS as OBSERVE_LOADS, Directory, LOSSY, MPI, KIND_LOADER, string
from recording import (LOADS, TIME_LIMIT_S, build_library, check, run, skip,
                       witness_environment, witnessed)

AUDIT = os.path.join(os.environ["TG_AGENT_LIBRARIES"], "tollgate-audit.so")
RINGS_MADE, UNKEPT, ATTENTION = 32, 36, 40  # where in the control file


def is_loader(name):
    return name.startswith("ld-linux")


def audited(command, directory=None, environment=None, drain=False, before=None):
    """Runs COMMAND with the auditor; (its output and status, the records of all rings, the directory). DRAIN: rings are read
    meanwhile; "asked": whenever somebody asks for it, and not before."""
    directory = directory or Directory()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=before,
                               env=dict(os.environ, **{**directory.environment(AUDIT), **(environment or {})}))
    records, over = [], threading.Event()

    def read_on():
        seen = None
        while not over.is_set():
            asked = directory.control_field(ATTENTION)
            if drain != "asked" or asked != seen:
                records.extend(directory.read())
            seen = asked
            over.wait(0.001)

    reader = threading.Thread(target=read_on)
    if drain:
        reader.start()
    try:
        output, errors = process.communicate(timeout=TIME_LIMIT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        sys.exit(f"FAILED: {command}: still running")
    finally:
        over.set()
        if drain:
            reader.join()
    records += directory.read()
    return (output.decode(), process.returncode, errors.decode()), records, directory


def told(records, pid=None):
    """One word for each record of the loader: its kind, and of which object."""
    names, words = {}, []
    for record in records:
        if pid is not None and record.pid != pid:
            continue
        if record.kind == "LOADER_OPEN":
            names[record.arguments[3]] = os.path.basename(string(record.arguments[10:]))
            words.append(("=" if record.arguments[2] & 2 else "+") + names[record.arguments[3]])
        elif record.kind == "LOADER_CLOSE":
            words.append("-" + names.get(record.arguments[2], "?"))
        elif record.kind == "LOADER_ACTIVITY":
            words.append(("consistent", "add", "delete")[record.arguments[2]] +
                         (f"@{record.arguments[1]}" if record.arguments[1] else ""))
        elif record.kind == "LOADER_PREINIT":
            words.append("preinit")
    return words


def after_start(records):
    words = told(records)
    return words[words.index("preinit") + 1:]


def same_as_native(command, result):
    native = run(command)
    check(result[:2] == (native.output, native.status), "native", native, "audited", result)


def loads():
    """What is loaded and unloaded, by whom, where it is and what it is."""
    inner = build_library("inner")
    outer = build_library("outer", [inner])
    command = [LOADS, "open", outer, "open", outer, "close", "0", "close", "1", "thread", inner]
    directory = Directory()
    result, records, _ = audited(command, directory, witness_environment("witness"))
    same_as_native(command, result)
    check(after_start(records) ==
          ["add", "+libouter.so", "+libinner.so", "consistent", "delete", "-libouter.so", "-libinner.so", "consistent",
           "add", "+libinner.so", "consistent"], told(records))
    start = told(records)
    check(start[0] == "add" and start[start.index("preinit") - 1] == "consistent" and "+libc.so.6" in start, start)
    seen = collections.Counter()
    for record in records:
        if record.kind == "LOADER_OPEN":
            _, namespace, _, _, base, size, id_length, *_ = record.arguments
            name = os.path.basename(string(record.arguments[10:]))
            check(namespace == 0 and size > 0 and id_length == 20, record)
            if not is_loader(name):
                seen[name, base] += 1
    (said,) = witnessed("witness").values()
    for name, base in list(said):
        if "tollgate-audit" in name:
            del said[name, base]
    check(seen == said, "audited", seen, "witnessed", said)
    threads = [record.arguments[0] for record in records if record.kind == "LOADER_OPEN"]
    check(len(set(threads)) == 2 and threads[0] == records[0].pid, threads)
    check(all(a.ticks <= b.ticks for a, b in zip(records, records[1:])), "times go back")
    directory.remove()


def build_ids():
    """The build-id and the extent are those that readelf prints."""
    library = build_library("identified")
    notes = run(["readelf", "-n", library]).output
    segments = run(["readelf", "-Wl", library]).output
    ends = [int(match[1], 16) + int(match[2], 16)
            for match in re.finditer(r"LOAD\s+\S+\s+(\S+)\s+\S+\s+\S+\s+(\S+)", segments)]
    _, records, directory = audited([LOADS, "open", library])
    opened, = [record for record in records if record.kind == "LOADER_OPEN" and string(record.arguments[10:]) == library]
    build_id = struct.pack("<3Q", *opened.arguments[7:10])[:opened.arguments[6]].hex()
    check(re.search(r"Build ID: (\w+)", notes)[1] == build_id and opened.arguments[5] == max(ends), opened, notes)
    directory.remove()


def failures():
    """What is mapped, and goes again because something is missing; what is never mapped says nothing."""
    gone = build_library("gone")
    broken = build_library("broken", [gone])
    os.unlink(gone)
    with open("text.so", "w") as file:
        file.write("no library\n" * 1000)
    command = [LOADS, "open", "/no/such.so", "open", os.path.abspath("text.so"), "open", broken, "namespace", broken]
    result, records, directory = audited(command)
    same_as_native(command, result)
    words = after_start(records)
    steps = ["add", "+libbroken.so", "delete", "-libbroken.so", "consistent"]
    if words[2:3] == ["consistent"]:  # from glibc 2.41 on the lists are consistent in between
        steps.insert(2, "consistent")
    check(words[:len(steps)] == steps, words)
    namespace = words[len(steps):]
    check(namespace[0].startswith("add@") and "+libbroken.so" in namespace and "-libbroken.so" in namespace and
          namespace[-1].startswith("consistent@"), words)
    check(len(namespace) == len(steps), "a namespace that was emptied again", words)
    directory.remove()


def namespaces():
    """A namespace of its own has its own libc and an entry for the loader; one that was emptied is used again."""
    library, second = build_library("apart"), build_library("second")
    command = [LOADS, "namespace", library, "close", "0", "namespace", second, "open", library]
    result, records, directory = audited(command)
    same_as_native(command, result)
    words = after_start(records)
    opened = [word for word in words if word[0] == "+"]
    check(opened[0] == "+libapart.so" and "+libc.so.6" in opened, words)
    check("+libsecond.so" in opened and words.count("-libapart.so") == 1, words)
    first = [record.arguments[1] for record in records if record.kind == "LOADER_OPEN"]
    check(len(set(first)) == 2, "the namespace that was emptied is used again", first)
    check(len([word for word in opened if is_loader(word[1:])]) == 2, words)
    directory.remove()


def at_the_end():
    """At exit nothing goes that was there, whatever destructors close; what they open and close comes and goes."""
    extra, plain = build_library("extra"), build_library("plain")
    manager = build_library("manager", source=f"""
        #include <dlfcn.h>
        static void *kept;
        __attribute__((constructor)) static void begin(void) {{ kept = dlopen("{extra}", RTLD_NOW); }}
        __attribute__((destructor)) static void end(void)
        {{
            dlclose(kept);
            void *plain = dlopen("{plain}", RTLD_NOW);
            dlclose(plain);
        }}
        """)
    user = build_library("user", [manager])
    command = [LOADS, "open", user, "open", "libz.so.1"]
    result, records, directory = audited(command)
    same_as_native(command, result)
    words = after_start(records)
    check(words[-6:] == ["add", "+libplain.so", "consistent", "delete", "-libplain.so", "consistent"], words)
    check([word for word in words if word[0] == "-"] == ["-libplain.so"], words)
    directory.remove()


def many_at_once():
    """One dlclose that takes dozens of libraries away."""
    names = [build_library(f"leaf{i}") for i in range(40)]
    root = build_library("root", names)
    command = [LOADS, "open", root, "close", "0", "open", names[0]]
    result, records, directory = audited(command)
    same_as_native(command, result)
    words = after_start(records)
    check(sorted(word[1:] for word in words if word[0] == "-") ==
          sorted(["libroot.so"] + [os.path.basename(name) for name in names]), words)
    check(words[-3:] == ["add", "+libleaf0.so", "consistent"], words[-3:])
    directory.remove()


def processes():
    """A fork has a ring of its own from its first load on, an exec too; the parent's goes on."""
    first, second = build_library("first"), build_library("second")
    command = [LOADS, "open", first, "fork", second, "open", second, "exec", LOADS, "open", second]
    result, records, directory = audited(command)
    same_as_native(command, result)
    files = directory.ring_files()
    pids = [int(name.split(".")[1]) for name in files]
    check(len(files) == 3 and len(set(pids)) == 2, files)
    child = next(pid for pid in pids if pids.count(pid) == 1)
    of_child = told(records, child)
    check("=libfirst.so" in of_child and "=libc.so.6" in of_child, of_child)
    check(of_child[-3:] == ["add", "+libsecond.so", "consistent"], of_child)
    instances = {ring.instance for ring in directory.rings.values()}
    check(len(instances) == 3 and all(ring.kind == KIND_LOADER for ring in directory.rings.values()), instances)
    parent = told(records, next(pid for pid in pids if pid != child))
    check(parent.count("preinit") == 2, parent)
    directory.remove()
    command = [LOADS, "elsewhere", "fork", second]
    result, records, directory = audited(command)
    if "elsewhere" in result[0]:  # root may: there the child does not know its id
        check(len(directory.ring_files()) == 1 and directory.control_field(UNKEPT) > 0, directory.ring_files())
    directory.remove()


def storm():
    """More than a ring holds: the program waits for the recorder, and nothing is lost."""
    names = [build_library(f"storm{i}") for i in range(8)]
    directory = Directory(ring_bytes=1 << 16)
    command = [LOADS, "storm", "300", *names]
    result, records, _ = audited(command, directory, drain="asked")
    same_as_native(command, result)
    check(all(ring.lost == 0 for ring in directory.rings.values()), "lost")
    words = after_start(records)
    check(len(words) == 300 * 8 * 6 and words.count("+libstorm3.so") == 300, len(words))
    check(directory.control_field(ATTENTION) > directory.control_field(RINGS_MADE), "nobody asked for attention but for new rings")
    directory.remove()


def threads():
    """Loads by many threads at the same time."""
    for i in range(16):
        build_library(f"many{i}")
    command = [LOADS, *["threads", "16", os.path.abspath("libmany")] * 10]
    result, records, directory = audited(command)
    same_as_native(command, result)
    words = after_start(records)
    for i in range(16):
        check(words.count(f"+libmany{i}.so") == words.count(f"-libmany{i}.so") > 0, i, words)
    directory.remove()


def abandoned():
    """A recorder that died: whoever waits for room goes on, and the losses are counted."""
    names = [build_library(f"storm{i}") for i in range(8)]
    directory = Directory(ring_bytes=1 << 16)
    directory.leave()
    result, _, _ = audited([LOADS, "storm", "300", *names], directory)
    check(result[1] == 0, result)
    check([ring.lost > 0 for ring in directory.rings.values()] == [True], directory.ring_files())
    directory.remove()


def lossy():
    """Asked to lose rather than to wait; the loss is a record where it happened."""
    names = [build_library(f"storm{i}") for i in range(8)]
    directory = Directory(flags=OBSERVE_LOADS | LOSSY, ring_bytes=1 << 16)
    process = [LOADS, "storm", "300", *names]
    result, records, _ = audited(process, directory)
    check(result[1] == 0, result)
    ring, = directory.rings.values()
    check(ring.lost > 0 and len(records) + ring.lost >= 300 * 8 * 6, ring.lost)
    directory.remove()
    directory = Directory(flags=OBSERVE_LOADS | LOSSY, ring_bytes=1 << 16)
    result, records, _ = audited(process, directory, drain=True)
    ring, = directory.rings.values()
    counted = sum(record.arguments[0] for record in records if record.kind == "LOST")
    check(counted <= ring.lost, counted, ring.lost)
    kept = len([record for record in records if record.kind != "LOST"])
    expected = kept + ring.lost
    check(expected >= 300 * 8 * 6, expected)
    directory.remove()


def refused():
    """Whoever is not this user's recorder, or asks for something else, gets nothing; the program runs."""
    library = build_library("plain")

    def refuse(why, directory, **how):
        result, records, _ = audited([LOADS, "open", library], directory, **how)
        check(result[:2] == ("loaded\n", 0), why, result)
        check(records == [] and directory.ring_files() == [], why, directory.ring_files())
        directory.remove()

    refuse("different protocol", Directory(protocol=99))
    refuse("another file", Directory(magic=1))
    refuse("loads are not wanted", Directory(flags=MPI))
    refuse("impossible size", Directory(ring_bytes=100000))
    directory = Directory()
    os.chmod(directory.path, 0o755)
    refuse("a directory that others can look into", directory)
    directory = Directory()
    os.chmod(directory.control, 0o644)
    refuse("a file that others can read", directory)
    directory = Directory()
    os.rename(directory.control, directory.control + "2")
    os.symlink("control2", directory.control)
    refuse("a link", directory)
    directory = Directory()
    refuse("a relative path", directory,
           environment={"TOLLGATE_AGENT": os.path.relpath(directory.path)})
    refuse("a path that is too long", Directory(), environment={"TOLLGATE_AGENT": "/" + "x" * 5000})
    refuse("another variable", Directory(), environment={"TOLLGATE_AGENT": "", "XTOLLGATE_AGENT": directory.path})
    refuse("files may not be so long", Directory(),
           before=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100000, 100000)))
    result = run([LOADS, "open", library], {"LD_AUDIT": AUDIT})
    check((result.output, result.status, result.errors) == ("loaded\n", 0, ""), result)


def names_taken():
    """Rings of an earlier process of the same pid are left alone."""
    directory = Directory()
    script = f"for i in 0 1 2; do : > {directory.path}/ring.$$.$i; done; exec {LOADS} names"
    result, records, _ = run_shell(script, directory)
    check(result == 0, result)
    names = directory.ring_files()
    check(len(names) == 4 and names[3].endswith(".3"), names)
    directory.remove()


def run_shell(script, directory):
    """The auditor is for the program that the shell becomes, not for the shell."""
    variables = " ".join(f"{name}={value}" for name, value in directory.environment(AUDIT).items())
    result = run(["sh", "-c", script.replace("exec ", f"exec env {variables} ")])
    records = []
    for name in directory.ring_files():
        if os.path.getsize(os.path.join(directory.path, name)) > 0:
            from agent_rings import Ring
            records += Ring(os.path.join(directory.path, name)).read()
    return result.status, records, directory


def killed():
    """The last records of a program that was killed are there."""
    library = build_library("last")
    directory = Directory()
    process = subprocess.Popen([LOADS, "open", library, "await"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               env=dict(os.environ, **directory.environment(AUDIT)))
    check(process.stdout.readline() == b"loaded\n" and process.stdout.readline() == b"ready\n")
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdin.close()
    check(after_start(directory.read()) == ["add", "+liblast.so", "consistent"])
    directory.remove()


def links_nothing():
    """No library needed, nothing undefined, nothing thread-local, no hook that makes binding slower."""
    dynamic = run(["readelf", "-Wd", AUDIT]).output
    check("NEEDED" not in dynamic and "TEXTREL" not in dynamic, dynamic)
    symbols = [line.split() for line in run(["readelf", "-W", "--dyn-syms", AUDIT]).output.splitlines()]
    named = sorted((words[6], words[7]) for words in symbols if len(words) == 8 and words[0][0].isdigit())
    check(sorted(name for _, name in named) == ["la_activity", "la_objclose", "la_objopen", "la_preinit", "la_version",
                                                "tollgate_loads", "tollgate_report_load"] and
          all(where != "UND" for where, _ in named), named)
    check("TLS" not in run(["readelf", "-Wl", AUDIT]).output)
    agent = os.path.join(os.path.dirname(AUDIT), "tollgate-agent.so")  # which links libc alone, and takes little of threads
    needed = [line for line in run(["readelf", "-Wd", agent]).output.splitlines() if "NEEDED" in line]
    check(all("libc.so" in line or "ld-linux" in line for line in needed), needed)
    storage = [line.split() for line in run(["readelf", "-Wl", agent]).output.splitlines() if line.split()[:1] == ["TLS"]]
    check(len(storage) == 1 and int(storage[0][5], 16) < 1024, storage)


def binding():
    """Calls through the PLT go straight to where they go without the auditor, lazily bound or not: after the first call
    the function's own address is in the table, and not the loader's way of watching calls."""
    library = build_library("bound", source="""
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <unistd.h>
        static int count(void *wanted)
        {
            void *volatile *table;
            int found = 0;
            __asm__("lea _GLOBAL_OFFSET_TABLE_(%%rip), %0" : "=r"(table));
            for (int i = 3; i < 6; i++)
                found += table[i] == wanted;
            return found;
        }
        int bound_value(void)
        {
            void *wanted = dlsym(RTLD_DEFAULT, "getppid");
            int before = count(wanted);
            getppid();
            return 10 * before + count(wanted);
        }
        int again(void) { return usleep(0) + isatty(-1); }
        """, flags=["-Wl,-z,lazy"])
    for now, expected in (("", "bound_value = 1\n"), ("1", "bound_value = 11\n")):
        command = [LOADS, "open", library, "call", "0", "bound_value"]
        environment = {"LD_PRELOAD": library, "LD_BIND_NOW": now}
        native = run(command, environment)
        result, _, directory = audited(command, environment=environment)
        check(result[0] == native.output and result[0].endswith(expected), native, result)
        directory.remove()


if __name__ == "__main__":
    if not os.path.isdir("/dev/shm"):
        skip("there is no /dev/shm here")
    globals()[sys.argv[1]]()
