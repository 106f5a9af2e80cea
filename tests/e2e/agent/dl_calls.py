#!/usr/bin/env python3
"""Calls of dlopen under the agent: the program sees what it sees without, and the agent tells of every call.

usage: dl_calls.py BUILD|exceptions|no_recorder      BUILD: how the caller is compiled
"""
import os
import re
import subprocess
import sys

from agent_rings import Directory, DLOPEN, string
from recording import TIME_LIMIT_S, build_library, check, run, skip

LIBRARIES = os.environ["TG_AGENT_LIBRARIES"]
AGENT, AUDIT = os.path.join(LIBRARIES, "tollgate-agent.so"), os.path.join(LIBRARIES, "tollgate-audit.so")
SOURCE = os.path.join(os.environ["TG_SOURCE"], "tests/programs/dl_calls.c")
CALLS = ["dlopen", "dlmopen", "dlclose"]

# How a caller may be compiled: what there is to return by differs.
BUILDS = {
    "plain": ["-O0"],
    "optimised": ["-O2"],
    "fixed": ["-O2", "-no-pie"],
    "frames": ["-O1", "-fno-omit-frame-pointer"],
    "no_tables": ["-O2", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables"],
    "protected": ["-O2", "-fcf-protection", "-fstack-protector-all", "-D_FORTIFY_SOURCE=2"],
    "library": ["-O2", "-DAS_LIBRARY", "-shared", "-fPIC"],
}


def compile_to(path, *arguments, compiler="cc"):
    made = subprocess.run([compiler, "-D_GNU_SOURCE", "-g", *arguments, "-o", path], capture_output=True, text=True)
    if made.returncode != 0:
        skip("cannot build here: " + made.stderr)
    return os.path.abspath(path)


def build_caller(name):
    """The program of the build NAME; as a library, the program that calls it."""
    flags = [*BUILDS[name], "-Wl,-rpath,$ORIGIN/away", "-Wl,--enable-new-dtags", "-rdynamic", SOURCE, "-ldl", "-pthread"]
    if name != "library":
        return compile_to(f"dl_calls_{name}", *flags)
    os.makedirs("sub", exist_ok=True)
    library = compile_to("sub/libdl_calls.so", *flags)
    return compile_through(library)


def compile_through(library):
    with open("through.c", "w") as file:
        file.write("int begin(const char *);\nint main(int c, char **v) { return c == 2 ? begin(v[1]) : 2; }\n")
    return compile_to("through", "through.c", library, f"-Wl,-rpath,{os.path.dirname(library)}")


def build_libraries():
    """What the scenarios load. Beside the library that calls there is another libhidden.so than beside the program."""
    for name in ("plain", "deep", "kept", "inner"):
        build_library(name)
    for folder, value in (("away", "program"), ("sub/away", "library")):
        os.makedirs(folder, exist_ok=True)
        build_library("hidden", directory=folder, source=f'const char hidden_of[] = "{value}";\n')
    gone = build_library("gone")
    build_library("broken", [gone])
    os.unlink(gone)
    build_library("undefined", source="int nobody_has_this(void); int f(void) { return nobody_has_this(); }\n",
                  flags=["-Wl,-z,lazy"])
    build_library("opener", source='#include <dlfcn.h>\nint open_here(void) { return dlopen("./libinner.so", 2) != 0; }\n')
    inside = '#include <dlfcn.h>\n#include <stdio.h>\nstatic void *opened;\n' \
             'int what_was_opened(void) { return opened != 0; }\n' \
             '__attribute__((constructor)) static void begin(void) { opened = dlopen("%s", RTLD_NOW);' \
             ' const char *e = dlerror(); printf("inside: %%s\\n", %s); }\n'
    build_library("outer", source=inside % ("./libinner.so", 'e ? e : "none"'))
    build_library("failing_inside", source=inside % ("/no/such/inside.so", 'e ? e : "none"'))
    build_library("failing_again", source=inside % ("/no/such/inside.so", '"not asked"'))
    build_library("jumping", source="#include <setjmp.h>\nextern jmp_buf program_jump __attribute__((weak));\n"
                  "#define _GNU_SOURCE\n#include <dlfcn.h>\n"
                  "__attribute__((constructor)) static void begin(void)"
                  " { longjmp(*(jmp_buf *)dlsym(((void *)0), \"program_jump\"), 1); }\n")
    build_library("cancelling", source="#include <pthread.h>\n__attribute__((constructor)) static void begin(void)"
                  " { pthread_cancel(pthread_self()); pthread_testcancel(); }\n")
    build_library("tracing", source="""
        #include <execinfo.h>
        #include <stdio.h>
        #include <string.h>
        __attribute__((constructor)) static void begin(void)
        {
            void *frames[64];
            int count = backtrace(frames, 64);
            char **names = backtrace_symbols(frames, count);
            for (int i = 0; i < count; i++) {
                char *end = strpbrk(names[i], "(+[");
                if (end != NULL)
                    *end = 0;
                const char *file = strrchr(names[i], '/');
                printf("frame in %s\\n", file != NULL ? file + 1 : names[i]);
            }
        }
        """)


def traced(command, expected=0):
    """Runs COMMAND natively and with the agent and the auditor; (native, traced, the agent's calls and returns)."""
    native = run(command)
    directory = Directory(flags=DLOPEN)
    environment = dict(directory.environment(AUDIT), LD_PRELOAD=AGENT)
    seen = run(command, environment)
    records = directory.read()
    directory.remove()
    check(expected is None or native.status == expected, native)
    check(seen.status == native.status, "native", native, "traced", seen)
    return native, seen, records


def call_of(record):
    call, flags, namespace, handle, caller = record.arguments[:5]
    return CALLS[call], string(record.arguments[5:]), flags, handle


def calls_and_returns(records):
    """Pairs of a call and what became of it: (name, path, flags, handle, error); None: its return was not seen."""
    open_calls, pairs = [], []
    for record in records:
        if record.kind == "LIBRARY_CALL":
            pair = [call_of(record), None]
            open_calls.append(pair)
            pairs.append(pair)
        elif record.kind == "LIBRARY_RETURN":
            while open_calls:
                pair = open_calls.pop()
                if pair[0][0] == CALLS[record.arguments[0]]:
                    pair[1] = (record.arguments[1], string(record.arguments[2:]))
                    break
    return pairs


def compare(build):
    """All scenarios, called from code that is compiled in one way."""
    program = build_caller(build)
    build_libraries()
    for scenario, check_calls in SCENARIOS.items():
        native, seen, records = traced([program, scenario])
        if scenario == "trace":
            check_frames(native.output, seen.output)
        else:
            check(seen.output == native.output and seen.errors == native.errors, scenario, "native", native,
                  "traced", seen)
        returns_seen = build != "no_tables"
        notes = [string(record.arguments) for record in records if record.kind == "NOTE"]
        check((notes == []) == returns_seen, scenario, notes)
        check_calls(calls_and_returns(records), returns_seen)


def check_frames(native, seen):
    """The same objects from the constructor down to the program's end; the caller's may come once more."""
    def folded(text):
        files = re.findall(r"frame in (\S+)", text)
        return [name for name, before in zip(files, [None] + files) if name != before]
    native, seen = folded(native), [name for name in folded(seen) if "tollgate-agent" not in name]
    seen = [name for name, before in zip(seen, [None] + seen) if name != before]
    check(native == seen and len(native) >= 3, native, seen)


def paths(pairs):
    return [call[1] for call, _ in pairs]


def flags(pairs, returns_seen):
    check(paths(pairs) == ["./libplain.so"] * 4 + ["", "", "./libdeep.so", "./libkept.so", "./libplain.so",
                                                   "./libplain.so", "", ""], pairs)
    check(pairs[6][0][2] == os.RTLD_NOW | os.RTLD_DEEPBIND and pairs[0][0][2] == os.RTLD_NOW | os.RTLD_NOLOAD, pairs)
    check(pairs[-1][0][0] == "dlclose" and pairs[-1][0][3] != 0, pairs)
    if returns_seen:
        check(pairs[0][1] == (0, "") and pairs[1][1][0] != 0 and pairs[1][1][1] == "", pairs)
        check("invalid mode" in pairs[8][1][1] and "invalid mode" in pairs[9][1][1], pairs)
        check(pairs[1][1][0] == pairs[2][1][0] == pairs[-1][0][3], pairs)


def search(pairs, returns_seen):
    check(paths(pairs) == ["libhidden.so", "$ORIGIN/away/libhidden.so", "libnowhere.so"], pairs)
    if returns_seen:
        check(pairs[0][1][0] != 0 and pairs[0][1] == pairs[1][1], pairs)
        check(pairs[2][1] == (0, "libnowhere.so: cannot open shared object file: No such file or directory"), pairs)


def errors(pairs, returns_seen):
    if not returns_seen:
        return
    said = [returned[1] for _, returned in pairs if returned[1]]
    check(said[:4] == ["/no/such/library.so: cannot open shared object file: No such file or directory",
                       "./text.so: invalid ELF header",
                       "libgone.so: cannot open shared object file: No such file or directory",
                       "./libundefined.so: undefined symbol: nobody_has_this"], said)
    check(len(said) == 9, said)


def threads(pairs, returns_seen):
    check(sorted(paths(pairs)) == ["/no/such/main.so", "/no/such/thread.so"], pairs)


def spaces(pairs, returns_seen):
    check([call[0] for call, _ in pairs] == ["dlmopen"] * 6, "a call within a namespace is not seen", pairs)
    if returns_seen:
        check([bool(returned[0]) for _, returned in pairs] == [True, True, False, False, True, True], pairs)


def pointers(pairs, returns_seen):
    """From a library that comes behind the agent the next one is libc's own."""
    check(paths(pairs) in (["libhidden.so"] * 2, ["libhidden.so"]), pairs)


def recursion(pairs, returns_seen):
    check(paths(pairs)[:2] == ["./libouter.so", "./libinner.so"], pairs)
    if returns_seen:
        check(pairs[0][1][0] != 0 and pairs[1][1][0] not in (0, pairs[0][1][0]), pairs)


def jump(pairs, returns_seen):
    check(paths(pairs) == ["./libjumping.so"] and pairs[0][1] is None, pairs)


def trace(pairs, returns_seen):
    check(paths(pairs) == ["./libtracing.so"], pairs)


def cancel(pairs, returns_seen):
    check(paths(pairs) == ["./libcancelling.so"] and pairs[0][1] is None, pairs)


SCENARIOS = {function.__name__: function for function in (flags, search, errors, threads, spaces, pointers, recursion,
                                                          jump, trace, cancel)}


def exceptions():
    """An exception that a constructor throws ends as it does without: some loaders let it through, others do not."""
    for flags in (["-O0"], ["-O2"], ["-O2", "-fno-omit-frame-pointer"], ["-O1", "-no-pie"]):
        program = compile_throwing(flags)
        native, seen, records = traced([program], None)
        check((seen.output, seen.errors) == (native.output, native.errors), flags, native, seen)
        pairs = calls_and_returns(records)
        check(paths(pairs) == ["./libthrowing.so"] and pairs[0][1] is None, pairs)


def compile_throwing(flags):
    with open("libthrowing.cc", "w") as file:
        file.write("__attribute__((constructor)) static void begin() { throw 42; }\n")
    with open("throwing.cc", "w") as file:
        file.write("""
            #include <cstdio>
            #include <dlfcn.h>
            struct guard { ~guard() { std::puts("destroyed"); } };
            __attribute__((noinline)) static int opened(const char *path, int a, int b)
            {
                guard here;
                return dlopen(path, RTLD_NOW) != nullptr ? a : b;
            }
            int main(int count, char **)
            {
                int kept = 123456788 + count; /* in a register that the unwinder restores */
                try {
                    opened("./libthrowing.so", count, kept);
                } catch (int value) {
                    std::printf("caught %d, kept %d\\n", value, kept);
                }
            }
            """)
    compile_to("libthrowing.so", "-shared", "-fPIC", "libthrowing.cc", compiler="c++")
    return compile_to("throwing", *flags, "throwing.cc", "-ldl", compiler="c++")


def no_recorder():
    """Nobody listens: the wrappers are not even noticed."""
    program = build_caller("optimised")
    build_libraries()
    for scenario in ("flags", "search", "errors", "recursion", "jump", "trace", "cancel"):
        native = run([program, scenario])
        check(run([program, scenario], {"LD_PRELOAD": AGENT}) == native, scenario, native)


if __name__ == "__main__":
    if not os.path.isdir("/dev/shm"):
        skip("there is no /dev/shm here")
    if sys.argv[1] in BUILDS:
        compare(sys.argv[1])
    else:
        globals()[sys.argv[1]]()
