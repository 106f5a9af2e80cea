#!/usr/bin/env python3
"""`tollgate record --no-ptrace`, where ptrace is refused: the agent alone tells.

usage: untraced.py CASE
"""
import collections
import os
import shutil
import signal
import subprocess
import sys

from recording import LOADS, PROGRAMS, TOLLGATE, build_library, check, events, meta, run, skip

# A recorder that is built with sanitizers looks for leaks by ptrace, and wants to be first of what is preloaded.
os.environ["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0:verify_asan_link_order=0"
NO_PTRACE = os.path.join(PROGRAMS, "no_ptrace")


def untraced(trace, command, *options, environment=None):
    return run([NO_PTRACE, TOLLGATE, "record", "--no-ptrace", "-o", trace, *options, "--", *command], environment)


def check_lives(trace_events):
    """Every event is of a process that lives, every process has an end, and nothing is lost."""
    live = set()
    for event in trace_events:
        if event["kind"] == "process_start":
            check(event["pid"] not in live, event)
            live.add(event["pid"])
        check(event["pid"] == 0 or event["pid"] in live, "an event of a process that does not live", event)
        if event["kind"] in ("process_exit", "detach"):
            live.discard(event["pid"])
        check(event["kind"] != "loss", event)
    check(not live, "no end was told of", live)


def refused():
    """With ptrace it does not work there, and the error says what does."""
    traced = run([NO_PTRACE, TOLLGATE, "record", "-o", "trace", "true"])
    check(traced.status == 3 and "--no-ptrace" in traced.errors, traced)
    check(os.listdir() == [], os.listdir())


def exit_status():
    """That of the command, or its signal; 3 where it could not be run."""
    check(untraced("a", ["sh", "-c", "echo said; exit 42"])[::2] == ("said\n", 42))
    ends = events("a", "process_exit")
    check(len(ends) == 1 and (ends[0]["how"], ends[0]["status"]) == ("exited", 42), ends)
    for number in (signal.SIGTERM, signal.SIGSEGV, signal.SIGKILL):
        died = untraced(f"b{int(number)}", ["sh", "-c", f"kill -{int(number)} $$"])
        check(died.status == -number, number, died)
        ends = events(f"b{int(number)}", "process_exit")
        check(len(ends) == 1 and (ends[0]["how"], ends[0]["status"]) == ("signaled", number), ends)
    missing = untraced("c", ["/no/such/program"])
    check(missing.status == 3 and "/no/such/program" in missing.errors, missing)
    check(untraced("short", ["true"]).status == 0)  # its path is told also where it is gone before it is looked at
    check([os.path.basename(event["path"]) for event in events("short", "program")] ==
          [os.path.basename(os.path.realpath(shutil.which("true")))], events("short", "program"))
    check(not os.path.exists("c") and not os.path.exists("c.incomplete"), "a trace of nothing is left")
    check(not [name for name in os.listdir() if name.startswith("core")], os.listdir())


def libraries():
    """What the program loads, with the calls; its command line and environment."""
    inner = build_library("inner")
    outer = build_library("outer", [inner])
    process = subprocess.Popen([NO_PTRACE, TOLLGATE, "record", "--no-ptrace", "-o", "trace", LOADS, "open", outer, "thread",
                                outer, "close", "0", "raise", "await"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               start_new_session=True)
    # the name may be there before the lock that says that it is being recorded
    while (not os.path.exists("trace.incomplete") or os.path.getsize("trace.incomplete") == 0
           or not events("trace.incomplete", "program")):  # it has been looked at
        check(process.poll() is None, process.returncode)
    process.communicate(b"\n", timeout=100)
    check(process.returncode == 0, process.returncode)
    trace = events("trace")
    check_lives(trace)
    loads = [[os.path.basename(library["path"]) for library in event["libraries"]] for event in trace
             if event["kind"] == "library_load" and event["found"] == "agent"]
    check(["libouter.so", "libinner.so"] in loads, loads)
    calls = [event for event in trace if event["kind"] == "library_call" and event["path"] == outer]
    check(len(calls) == 2 and calls[0]["tid"] == calls[0]["pid"] != calls[1]["tid"], calls)
    threads = [event for event in trace if event["kind"] == "thread_start"]
    check([event["tid"] for event in threads] == [calls[1]["tid"]], threads)
    programs = [event for event in trace if event["kind"] == "program"]
    check([event["path"] for event in programs] == [LOADS], programs)
    check(programs[0]["bits"] == 64 and programs[0]["linkage"] == "dynamic" and int(programs[0]["base"], 16) > 0, programs)
    check([event["arguments"][:2] for event in trace if event["kind"] == "command_line"] == [[LOADS, "open"]])
    check(run([TOLLGATE, "report", "trace"]).status == 0)


def families():
    """Children, and what they become: each is known as soon as its agent says something."""
    library = build_library("some")
    script = f"{LOADS} open {library} await & wait; {LOADS} fork {library}; exec {LOADS} open {library}"
    done = untraced("trace", ["sh", "-c", script])
    check(done.status == 0, done)
    trace = events("trace")
    check_lives(trace)
    command = trace[1]["pid"]
    starts = [event for event in trace if event["kind"] == "process_start"]
    check(len(starts) == 4 and starts[0]["origin"] == "launched" and starts[0]["pid"] == command, starts)
    execs = [(event["pid"], os.path.basename(event["path"])) for event in trace if event["kind"] == "exec"]
    check([pid for pid, _ in execs] == [command, command] and execs[1][1] in ("loads", ""), execs)
    by_process = collections.Counter(event["pid"] for event in trace if event["kind"] == "library_load"
                                     and event["libraries"][0]["path"] == library)
    check(len(by_process) == 3 and by_process[command] == 1, by_process)
    lost = [event for event in trace if event["kind"] == "process_exit" and event["how"] == "lost"]
    check(len(lost) == 3, lost)


def own_variables():
    """The job's own preloaded libraries, auditors and tunables stay in force."""
    text = '#include <stdio.h>\n__attribute__((constructor)) static void hello(void)\n{ puts("hello"); }\n'
    auditor = '#include <stdio.h>\nunsigned la_version(unsigned v)\n{ dprintf(1, "audits\\n"); return v; }\n'
    one, two = build_library("one", source=text), build_library("two", source=auditor)
    for variables, words in (({"LD_PRELOAD": one}, ["hello"]), ({"LD_AUDIT": two}, ["audits"]),
                             ({"GLIBC_TUNABLES": "glibc.malloc.check=0"}, [])):
        command = [NO_PTRACE, "env", *(f"{name}={value}" for name, value in variables.items()), TOLLGATE, "record",
                   "--no-ptrace", "--force", "-o", "trace", LOADS]
        done = run(command)
        check(done.status == 0 and all(word in done.output for word in words), variables, done)
        check([event["state"] for event in events("trace", "agent")] == ["watching"], variables)


def thread_storage():
    """There is room for libraries with thread-local storage, and small threads can be made."""
    source = ('static __thread char storage[20000] __attribute__((tls_model("initial-exec")));\n'
              'char *big_value(void) { return storage; }\n')
    library = build_library("big", source=source)
    with open("program.c", "w") as file:
        file.write("#include <pthread.h>\nchar *big_value(void);\nstatic void *run(void *x)\n{ return big_value() ? x : 0; }\n"
                   "int main(void)\n{ pthread_t t; void *r; big_value();\n"
                   "  return pthread_create(&t, 0, run, &t) || pthread_join(t, &r) || r != &t; }\n")
    made = run(["cc", "program.c", "-o", "program", library, "-Wl,-rpath," + os.getcwd()])
    check(made.status == 0, made)
    done = untraced("storage", ["./program"])
    check(done.status == 0, done)
    with open("small.c", "w") as file:
        file.write("#include <pthread.h>\nstatic void *run(void *x)\n{ return x; }\n"
                   "int main(void)\n{ pthread_t t; pthread_attr_t a; pthread_attr_init(&a);\n"
                   "  return pthread_attr_setstacksize(&a, 16384) || pthread_create(&t, &a, run, 0) || pthread_join(t, 0); }\n")
    made = run(["cc", "small.c", "-o", "small"])
    check(made.status == 0 and run(["./small"]).status == 0, made)
    done = untraced("threads", ["sh", "-c", "./small && ./small"])
    check(done.status == 0, done)


def left_behind():
    """A daemon is not waited for: the trace says so, and it goes on undisturbed."""
    library = build_library("late")
    os.mkfifo("go")
    os.mkfifo("said")
    script = (f"exec 3<>go 4<>said; {LOADS} open {library} await open {library} <&3 >&4 2>&4 & "
              "read first <&4; read second <&4; echo $first $second")
    said = os.open("said", os.O_RDWR)
    done = untraced("trace", ["sh", "-c", script])
    check(done.status == 0, done)
    trace = events("trace")
    check_lives(trace)
    left = [event for event in trace if event["kind"] == "detach"]
    check(len(left) == 1 and "not waited for" in left[0]["reason"], left)
    with open("go", "r+b", buffering=0) as file:
        file.write(b"\n")
        check(os.read(said, 100) == b"loaded\n", "what was left behind did not go on")
    check(not os.path.exists(meta("trace")["agent.directory"]), "the directory of the rings is left")


def signals():
    """Sent to the recorder, a signal is passed on."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        process = subprocess.Popen([NO_PTRACE, TOLLGATE, "record", "--no-ptrace", "-o", f"t{int(number)}", LOADS, "await"],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
        check(process.stdout.readline() == b"ready\n")
        process.send_signal(number)
        check(process.wait(100) == -number, number, process.returncode)


def killed():
    """SIGKILL to the recorder: the job goes on, and `recover` has what it did until then."""
    library = build_library("more")
    process = subprocess.Popen([NO_PTRACE, TOLLGATE, "record", "--no-ptrace", "-o", "trace", LOADS, "open", library, "await",
                                "open", library], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
    check([process.stdout.readline() for _ in range(2)] == [b"loaded\n", b"ready\n"])
    process.kill()
    process.wait(100)
    process.stdin.write(b"\n")
    process.stdin.flush()
    check(process.stdout.read() == b"loaded\n", "the job did not go on")
    recovered = run([TOLLGATE, "recover", "trace.incomplete"])
    check(recovered.status == 0 and "now removed" in recovered.output, recovered)
    calls = [event for event in events("trace") if event["kind"] == "library_call"]
    check(len(calls) >= 1 and calls[0]["path"] == library, calls)


def mpi(flavour):
    """Ranks under a real launcher know their identity, and tell of their libraries and calls."""
    compilers = {"openmpi": ("mpicc.openmpi", ["mpirun.openmpi", "--oversubscribe"]),
                 "mpich": ("mpicc.mpich", ["mpiexec.mpich"])}
    compiler, launcher = compilers[flavour]
    if shutil.which(compiler) is None or shutil.which(launcher[0]) is None:
        skip(f"{compiler} or {launcher[0]} is not installed")
    with open("ring.c", "w") as file:
        file.write("#include <mpi.h>\nint main(int argc, char **argv)\n{ MPI_Init(&argc, &argv);\n"
                   "  MPI_Barrier(MPI_COMM_WORLD); MPI_Finalize(); return 0; }\n")
    made = run([compiler, "ring.c", "-o", "ring"])
    check(made.status == 0, made)
    quiet = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "UCX_LOG_LEVEL": "fatal"}
    job = [*launcher, "-n", "3", "./ring"]
    if run([NO_PTRACE, *job], quiet).status != 0:
        skip(f"{launcher[0]} does not work here")
    done = untraced("trace", job, environment=quiet)
    check(done.status == 0, done)
    trace = events("trace")
    ranks = {event["rank"]: event["pid"] for event in trace if event["kind"] == "identity" and event["rank"] >= 0}
    check(sorted(ranks) == [0, 1, 2], ranks)
    calls = collections.defaultdict(list)
    for event in trace:
        if event["kind"] == "mpi_enter":
            calls[event["pid"]].append(event["call"])
    for rank, pid in ranks.items():
        check([call for call in calls[pid] if call != "MPI_Comm_rank"][:3] == ["MPI_Init", "MPI_Barrier", "MPI_Finalize"],
              rank, calls[pid])


def openmpi():
    mpi("openmpi")


def mpich():
    mpi("mpich")


if __name__ == "__main__":
    probe = subprocess.run([NO_PTRACE, "true"], capture_output=True)
    if probe.returncode == 77:
        skip("no seccomp filters here")
    globals()[sys.argv[1]]()
