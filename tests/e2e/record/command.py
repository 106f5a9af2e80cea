#!/usr/bin/env python3
"""`tollgate record` as a command: options, exit status, signals, files.

usage: command.py CASE
"""
import json
import os
import random
import re
import resource
import shlex
import signal
import subprocess
import sys
import time

from recording import LOADS, TOLLGATE, build_library, check, events, meta, record, run, skip


def exit_status():
    """That of the program, or its signal; 3 where it could not be run."""
    check(record("a", ["sh", "-c", "exit 42"]).status == 42)
    for number in (signal.SIGTERM, signal.SIGSEGV, signal.SIGKILL, signal.SIGABRT):
        died = record(f"b{int(number)}", ["sh", "-c", f"kill -{int(number)} $$"])
        check(died.status == -number, number, died)
    missing = record("c", ["/no/such/program"])
    check(missing.status == 3 and "/no/such/program" in missing.errors, missing)
    check("status 127" not in missing.errors, "it names another exit status than its own", missing)
    unnamed = record("c", [""])
    check(unnamed.status == 3 and "''" in unnamed.errors, unnamed)
    check(not os.path.exists("c") and not os.path.exists("c.incomplete"), "a trace of nothing is left")
    check(not [name for name in os.listdir() if name.startswith("core")], os.listdir())
    for program, argument, status, ending in ("ends", "exit", 3, "with_process"), ("threads", "storm", 5, "alone"):
        ended = record("d", [f"{os.environ['TG_PROGRAMS']}/{program}", argument], "--force")
        check(ended.status == status, ended)
        endings = {event["ending"] for event in events("d", "thread_exit") if event["tid"] != event["pid"]}
        check(endings == {ending}, program, endings)


def usage():
    """One clear message, exit 2, nothing run."""
    for arguments, text in (
            (["--mode", "quick", "true"], "quick"),
            (["--mode", "fast", "--match", "x", "true"], "match"),
            (["--mode", "fast", "-dlopen_always_recalculate", "true"], "-dlopen_"),
            (["--dlopen=always", "true"], "always"),
            (["-p", "x"], "'x'"),
            (["-p", "0"], "'0'"),
            (["-p", str(os.getpid()), "true"], "both"),
            ([], "command"),
            (["--settings", "missing.rc", "true"], "missing.rc"),
            (["--break", "", "true"], ""),
            (["--no-such-option"], "no-such-option")):
        refused = run([TOLLGATE, "record", *arguments])
        check(refused.status == 2 and text in refused.errors and refused.errors.count("\n") <= 3, arguments, refused)
    unknown = run([TOLLGATE, "recrod\x1b[2J"])
    check(unknown.status == 2 and "recrod\\x1b[2J" in unknown.errors, unknown)
    check(os.listdir() == [], os.listdir())
    with open("bad.rc", "w") as file:
        file.write("dset TV::dlopen_always_recalculate perhaps\n")
    refused = run([TOLLGATE, "record", "--settings", "bad.rc", "true"])
    check(refused.status == 2 and "bad.rc:1" in refused.errors, refused)
    # facts under the ids of another pid namespace would be those of other processes
    for words in ("record", "-o", "other", "true"), ("where", "-p", "1"):
        elsewhere = run(["unshare", "--pid", "--fork", TOLLGATE, *words]) if os.geteuid() == 0 else None
        if elsewhere is not None and "Operation not permitted" not in elsewhere.errors:
            check(elsewhere.status == 2 and "another pid namespace" in elsewhere.errors, elsewhere)
            check(not os.path.exists("other"), "a trace of nobody knows whom")


def names():
    """The default name, --force, and what is printed at the end."""
    first = run([TOLLGATE, "record", "--", "sh", "-c", "exit 0"])
    made = os.listdir()
    check(len(made) == 1 and re.fullmatch(r"tollgate-sh-\d+\.tgt", made[0]), made)
    name = re.escape(made[0])
    check(re.fullmatch(rf"tollgate: {name}: \d+ events from 1 process, .*\ntollgate: next: tollgate report {name}\n", first.errors),
          first)
    odd = run([TOLLGATE, "record", "-o", "a b's", "true"])
    next_command = odd.errors.splitlines()[-1].removeprefix("tollgate: next: ")
    check(shlex.split(next_command) == ["tollgate", "report", "a b's"], odd)
    check(run([TOLLGATE, *shlex.split(next_command)[1:]]).status == 0, next_command)
    for file in made + ["a b's"]:
        os.unlink(file)
    quiet = run([TOLLGATE, "record", "--quiet", "-o", "quiet", "true"])
    check(quiet.errors == "" and quiet.output == "", quiet)
    again = run([TOLLGATE, "record", "-o", "quiet", "true"])
    check(again.status == 2 and "quiet" in again.errors and "--force" in again.errors, again)
    check(run([TOLLGATE, "record", "--force", "-o", "quiet", "true"]).status == 0)
    check((os.stat("quiet").st_mode & 0o077) == 0, "a trace is readable by others")
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as target:
        for suffix in ("", "-2", "-3"):
            check(run([TOLLGATE, "live", "-q", "-p", str(target.pid), "-e", "quit"]).status == 0)
            check(os.path.exists(f"tollgate-cat-{target.pid}{suffix}.tgt"), os.listdir())
        target.stdin.close()


def start(trace, command, *options, **how):
    return subprocess.Popen([TOLLGATE, "record", "-o", trace, *options, "--", *command], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, **how)


def await_ready(process):
    line = process.stdout.readline()
    check(line == b"ready\n", line)


def signals_to_recorder():
    """Sent to the recorder alone, a signal is passed on; from the terminal the program has it already."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        process = start(f"trace{int(number)}", [LOADS, "await"])
        await_ready(process)
        process.send_signal(number)
        check(process.wait(100) == -number, number, process.returncode)
        ends = events(f"trace{int(number)}", "process_exit")
        check(len(ends) == 1 and ends[0]["how"] == "signaled" and ends[0]["status"] == number, ends)


COUNTS = """
import os, signal, sys, time
numbers, got = {2, 15, 1, 3, 10, 30}, []
if sys.argv[1] == "wait":
    signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
else:
    for number in numbers:
        signal.signal(number, lambda number, _: got.append(number))
print("ready", flush=True)
while 30 not in got:
    if sys.argv[1] == "wait":
        got.append(signal.sigwait(numbers))
    else:
        time.sleep(0.01)
if sys.argv[1] == "wait":
    while (more := signal.sigtimedwait(numbers, 0)) is not None:
        got.append(more.si_signo)
print(*sorted(got), flush=True)
"""


def signals_after_the_command():
    """What it left behind is waited for; who asks the recorder to end then ends it alone."""
    command = ["sh", "-c", "sleep 1000 >/dev/null 2>&1 & echo $$ $!; exit 4"]
    process = start("untraced", command, "--no-ptrace")
    shell, sleeper = (int(word) for word in process.stdout.readline().split())
    while os.path.exists(f"/proc/{shell}"):
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    check(process.wait(20) == 4, process.returncode)
    os.kill(sleeper, signal.SIGKILL)
    process = start("trace", command)
    shell, sleeper = (int(word) for word in process.stdout.readline().split())
    try:
        while os.path.exists(f"/proc/{shell}"):
            time.sleep(0.01)
        check(process.poll() is None, process.returncode)
        process.send_signal(signal.SIGTERM)
        check(process.wait(20) == 4, process.returncode)
        check(status_field(sleeper, "TracerPid") == "0", "it continues")
        (detach,) = events("trace", "detach")
        check(detach["reason"] == "the recorder was asked to stop", detach)
    finally:
        os.kill(sleeper, signal.SIGKILL)


def signals_to_the_group():
    """However it is sent, a signal comes to the program once: to the recorder alone (passed on, and the trace names who
    sent it), to the whole process group (the kernel has given it to the program), to both. Also one that would end
    the recorder, and to programs that wait for signals, of which a tracer sees nothing."""
    for options in ([], ["--no-ptrace"]):
        for way in ("handler", "wait"):
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1):
                recorders = {how: start(f"{how}-{way}-{number:d}{len(options)}", [sys.executable, "-c", COUNTS, way], *options)
                             for how in ("alone", "group", "both")}
                for how, process in recorders.items():
                    await_ready(process)
                    begun = time.monotonic()
                    if how != "group":
                        process.send_signal(number)
                    if how != "alone":
                        os.killpg(process.pid, number)
                    took_s = time.monotonic() - begun
                    twice = how == "both" and took_s > 0.002  # somebody else ran in between: these are two signals
                    process.send_signal(signal.SIGPWR)  # the highest number: passed on behind what came before
                for how, process in recorders.items():
                    output, errors = process.communicate(timeout=100)
                    once = [b"%d" % number, b"30"]
                    is_twice = twice and how == "both" and output.split() == once[:1] + once
                    check(output.split() == once or is_twice, how, way, number, options, output, errors)
    own = open("/proc/self/comm").read().strip()
    for how in ("alone", "group"):
        told = [event for event in events(f"{how}-handler-{signal.SIGTERM:d}0", "signal") if event["signal"] in ("SIGTERM", 15)]
        check(len(told) == 1 and told[0]["sender_pid"] == os.getpid() and told[0]["sender"] == own, how, told)


def signals_to_a_late_recorder():
    """A recorder that takes note of the group's signal long after the program does not pass it on; a second signal, to
    the recorder alone, is one of its own."""
    processes = [start(f"late{len(options)}", [sys.executable, "-c", COUNTS, "handler"], *options)
                 for options in ([], ["--no-ptrace"])]
    for process in processes:
        await_ready(process)
        process.send_signal(signal.SIGSTOP)
        os.killpg(process.pid, signal.SIGTERM)
    time.sleep(0.5)
    for process in processes:
        process.send_signal(signal.SIGCONT)
    time.sleep(0.5)
    for process in processes:
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGPWR)
    for process in processes:
        output, errors = process.communicate(timeout=100)
        check(output.split() == [b"15", b"15", b"30"], output, errors)


def signals_of_the_terminal():
    """Ctrl-C on a terminal: the program gets it once and decides; the recorder waits for it."""
    import pty
    import select
    caught = ("import os,signal,sys\n"
              "r, w = os.pipe()\nos.set_blocking(w, False)\nsignal.set_wakeup_fd(w)\n"
              "signal.signal(signal.SIGINT, lambda *_: None)\nprint('ready', flush=True)\n"
              "got = os.read(r, 1)\nos.set_blocking(r, False)\n"
              "try: got += os.read(r, 99)\nexcept BlockingIOError: pass\n"
              "print('caught', len(got), flush=True)\nsys.exit(7)")
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(TOLLGATE, [TOLLGATE, "record", "-o", "trace", "--", sys.executable, "-c", caught])
    seen = b""
    sent = False
    while True:
        ready, _, _ = select.select([terminal], [], [], 60)
        check(ready, "nothing more comes from the terminal", seen)
        try:
            more = os.read(terminal, 4096)
        except OSError:
            break
        if not more:
            break
        seen += more
        if b"ready" in seen and not sent:
            sent = True
            os.write(terminal, b"\x03")
    _, status = os.waitpid(pid, 0)
    check(os.WIFEXITED(status) and os.WEXITSTATUS(status) == 7 and b"caught 1" in seen, status, seen)
    check(events("trace", "process_exit")[-1]["status"] == 7)


def nothing_leaks():
    """Signal mask, ignored signals, open files, limits and process group are what they are without a recorder."""
    script = ("import os,resource,signal,sys\n"
              "print(sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])))\n"
              "print([s for s in range(1, 65) if s not in (9, 19, 32, 33) and signal.getsignal(s) == signal.SIG_IGN])\n"
              "print(sorted(os.readlink('/proc/self/fd/' + f).split(':')[0] for f in os.listdir('/proc/self/fd')"
              " if f in ('0', '1', '2') or os.path.exists('/proc/self/fd/' + f)))\n"
              "print([resource.getrlimit(r) for r in range(16)], os.getsid(0) == os.getpgid(0))\n"
              "print(open('/proc/self/status').read().split('SigIgn:')[1].split()[0])\n"
              "print(sorted(os.environ.items()))\n")
    plain = run(["sh", "-c", '"$@"; exit $?', "sh", sys.executable, "-c", script])
    traced = record("trace", [sys.executable, "-c", script])
    check(plain.status == 0 and traced.status == 0, plain, traced)
    check(plain.output == traced.output, plain.output, traced.output)
    ignoring = ["sh", "-c", 'trap "" HUP; "$@"; exit $?', "sh"]
    plain = run([*ignoring, sys.executable, "-c", script])
    traced = run([*ignoring, TOLLGATE, "record", "-o", "trace2", "--", sys.executable, "-c", script])
    check(plain.output == traced.output, plain.output, traced.output)


def status_field(pid, name):
    with open(f"/proc/{pid}/status") as status:
        return next(line.split()[1] for line in status if line.startswith(name + ":"))


def await_read(target):
    """Until TARGET waits in read; returns how often it has waited so far."""
    while True:
        with open(f"/proc/{target.pid}/syscall") as call:
            if call.read().split()[0] == "0":
                return int(status_field(target.pid, "voluntary_ctxt_switches"))


def await_attached(recorder, target, waits):
    """Until RECORDER has looked at TARGET: being traced is not enough, the stop ended when TARGET waits once more."""
    while (status_field(target.pid, "TracerPid") == "0" or
           int(status_field(target.pid, "voluntary_ctxt_switches")) < waits + 2):
        check(recorder.poll() is None, "the recorder ended", recorder.returncode)


def attach():
    """-p: present libraries are told, nothing is planted, Ctrl-C detaches and the program lives on."""
    library, later = build_library("before"), build_library("later")
    target = subprocess.Popen([LOADS, "open", library, "await", "open", later, "raise", "await", "call", "1",
                               "later_value"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    while target.stdout.readline() != b"ready\n":
        pass
    waits = await_read(target)
    recorder = subprocess.Popen([TOLLGATE, "record", "-o", "trace", "-p", str(target.pid)], stderr=subprocess.PIPE)
    await_attached(recorder, target, waits)
    target.stdin.write(b"\n")
    target.stdin.flush()
    while target.stdout.readline() != b"ready\n":
        pass
    recorder.send_signal(signal.SIGINT)
    _, errors = recorder.communicate(timeout=100)
    check(recorder.returncode == 0, recorder.returncode, errors)
    target.stdin.write(b"\n")
    target.stdin.close()
    check(target.stdout.read() == b"later_value = 5\n")
    check(target.wait(100) == 0, target.returncode)
    trace = events("trace")
    found = {os.path.basename(entry["path"]): event["found"] for event in trace if event["kind"] == "library_load"
             for entry in event["libraries"]}
    check(found["libbefore.so"] == "attach" and found["libc.so.6"] == "attach", found)
    check(found["liblater.so"] == "catch_up", found)
    check([event for event in trace if event["kind"] == "detach"], trace)
    check(not [event for event in trace if event["kind"] == "library_null"], "a loader stop in an attached process")


def attach_with_stops():
    """-p --dlopen=stops: the loader's stops are taken from there on."""
    library = build_library("later")
    target = subprocess.Popen([LOADS, "await", "open", library, "close", "0", "await"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE)
    while target.stdout.readline() != b"ready\n":
        pass
    waits = await_read(target)
    recorder = subprocess.Popen([TOLLGATE, "record", "--dlopen=stops", "-o", "trace", "-p", str(target.pid)],
                                stderr=subprocess.PIPE)
    await_attached(recorder, target, waits)
    target.stdin.write(b"\n\n")
    target.stdin.close()
    check(target.wait(100) == 0, target.returncode)
    recorder.communicate(timeout=100)
    check(recorder.returncode == 0, recorder.returncode)
    loads = [(event["found"], os.path.basename(event["libraries"][0]["path"])) for event in events("trace", "library_load")]
    check(("loader", "liblater.so") in loads, loads)


def disk_full():
    """No room for the trace: said once, at once; the program runs on, and its status is what it is."""
    libraries = [build_library(f"full{i}") for i in range(8)]
    limit = 40000

    def small():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    storm = f"{LOADS} await storm 1000 {' '.join(libraries)}; exit 9"
    process = subprocess.Popen([TOLLGATE, "record", "-o", "trace", "--", "sh", "-c", storm], preexec_fn=small,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    await_ready(process)
    while len(kept := run([TOLLGATE, "dump", "--json", "trace.incomplete"]).output.splitlines()) < 8:
        check(process.poll() is None, "the recorder ended", process.returncode)  # a second at most
    output, errors = process.communicate(b"\n", timeout=100)
    check(process.returncode == 9 and output == b"storm over\n", process.returncode, output, errors)
    check(errors.count(b"cut off") == 1 and b"File too large" in errors and b"trace.incomplete: " in errors, errors)
    check(b"events LOST" in errors, errors)
    check(errors.endswith(b"\ntollgate: next: tollgate recover trace.incomplete\n"), errors)
    check(not os.path.exists("trace") and os.path.getsize("trace.incomplete") <= limit, os.listdir())
    dump = run([TOLLGATE, "dump", "--json", "trace.incomplete"])
    check(dump.output.splitlines()[:len(kept)] == kept, dump)
    os.unlink("trace.incomplete")
    live = subprocess.run([TOLLGATE, "live", "-o", "trace", "-e", "dgo", "-e", "dwait", "-e", "puts alive", "--", "sh", "-c",
                           storm.replace("await", "")], preexec_fn=small, stdin=subprocess.DEVNULL, capture_output=True, timeout=200)
    check(live.returncode == 9 and b"alive" in live.stdout, live)
    check(live.stderr.count(b"cut off") == 1 and b"events LOST" in live.stderr, live)
    check(live.stderr.endswith(b"\ntollgate: next: tollgate recover trace.incomplete\n"), live)


def kill_job():
    """SIGKILL to the program: the trace says so."""
    process = start("trace", [LOADS, "await"])
    await_ready(process)
    pid = int(open(f"/proc/{process.pid}/task/{process.pid}/children").read().split()[0])
    os.kill(pid, signal.SIGKILL)
    check(process.wait(100) == -signal.SIGKILL, process.returncode)
    ends = events("trace", "process_exit")
    check(len(ends) == 1 and ends[0]["how"] == "signaled" and ends[0]["status"] == 9, ends)


def living(session):
    """Processes of SESSION that are not dead yet."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat") as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session and fields[0] not in "ZX":
            found.append(int(name))
    return found


def kill_recorder():
    """SIGKILL to the recorder in a loading storm: the job ends with it, completely; the trace can be read."""
    import random
    import time
    seed = int(os.environ.get("TG_SEED", "1"))
    random.seed(seed)
    libraries = [build_library(f"storm{i}") for i in range(4)]
    for i in range(6):
        how = "agent" if i >= 4 else "stops"  # the agent tells so much that reading it takes most of this test
        process = start(f"trace{i}", ["sh", "-c", f"{LOADS} storm 100000 {' '.join(libraries)} & "
                                      f"{LOADS} await storm 100000 {' '.join(libraries)}"], f"--dlopen={how}")
        process.stdin.write(b"\n")
        process.stdin.flush()
        await_ready(process)
        while i % 2 and not has_events(f"trace{i}.incomplete"):  # what was flushed stays, whenever the end comes
            check(process.poll() is None, "the recorder ended", process.returncode)
        deadline = time.monotonic() + (0.2 if how == "agent" else 1.5) * random.random()
        while time.monotonic() < deadline:  # not a wait for something: the moment itself is what is random
            time.sleep(0.001)
        group = process.pid
        process.kill()
        process.communicate(timeout=100)  # to the end of the pipe: no process is left that holds it
        deadline = time.monotonic() + 100
        while living(group):
            check(time.monotonic() < deadline, "seed", seed, "round", i, "left over:", living(group))
        check(not os.path.exists(f"trace{i}"), "an interrupted trace was closed")
        whole = events(f"trace{i}.incomplete")  # as far as it goes: a second, or a chunk, is at risk
        check(whole or i % 2 == 0, "seed", seed, "round", i, "what was flushed is gone")
        if "recover" not in run([TOLLGATE, "--help"]).output:
            continue
        recovered = run([TOLLGATE, "recover", "-o", f"recovered{i}", f"trace{i}.incomplete"])
        check(recovered.status in (0, 1), recovered)
        again = events(f"recovered{i}")
        check(again[:len(whole)] == whole, "seed", seed, "round", i, whole[-3:], again[-3:])
        check(all("library" in event["kind"] or event["kind"] in ("agent", "program", "identity", "note", "loss")
                  for event in again[len(whole):]),
              again[len(whole):][:3])
        check_order(again[len(whole):])


def has_events(trace):
    """Without reading them: what the agent tells in a storm is too much for that."""
    return os.path.exists(trace) and os.path.getsize(trace) > 8192


def check_order(later):
    times = [event["t_ns"] for event in later if event["kind"] != "loss"]
    check(times == sorted(times), "out of order")


def salvage():
    """SIGKILL to the recorder: what the agent saw until then is there after `recover`, and its memory is not."""
    library = build_library("salvaged")
    with open("job.c", "w") as source:
        source.write("""#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    char line[64];
    setvbuf(stdout, NULL, _IONBF, 0);
    while (argc > 1 && fgets(line, sizeof line, stdin) != NULL) {
        for (int i = atoi(line); i > 0; i--)
            dlclose(dlopen(argv[1], RTLD_NOW));
        puts("done");
    }
    return 0;
}
""")
    made = run(["cc", "-O1", "job.c", "-o", "job", "-ldl"])
    check(made.status == 0, made)
    for i, (first, pause, last) in enumerate(((1, False, 1), (300, True, 200), (20, False, 4), (400, True, 0), (0, False, 9))):
        trace = f"salvage{i}"
        process = start(trace, [os.path.abspath("job"), library], "--dlopen=agent")
        for count in (first, last):
            process.stdin.write(b"%d\n" % count)
            process.stdin.flush()
            check(process.stdout.readline() == b"done\n")
            while pause and count == first and not events(f"{trace}.incomplete", "library_call"):
                check(process.poll() is None)  # something of it was taken, and written
        process.kill()
        process.communicate(timeout=100)
        interrupted = f"{trace}.incomplete"
        looked = run([TOLLGATE, "recover", "--dry-run", "--json", interrupted])
        check(looked.status == 0, looked)
        said = json.loads(looked.output)
        directory = said["ring_directory"]
        check(os.path.isdir(directory), directory, "did not outlive the recorder")
        check((said["ring_events"] > 0 or last == 0) and said["ring_problem"] is None, said)
        recovered = run([TOLLGATE, "recover", interrupted])
        check(recovered.status == 0 and ", now removed" in recovered.output, recovered)
        check(not os.path.exists(directory), directory, "is left behind")
        happened = events(trace)
        calls = [event for event in happened if event["kind"] == "library_call"]
        check(len(calls) == 2 * (first + last), i, len(calls), 2 * (first + last))
        check(not [event for event in happened if event["kind"] == "loss" and event["source"] == "ring"], happened[-3:])
        check(len([event for event in happened if event["kind"] == "library_load" and event["found"] == "agent"]) == first + last)
        check_order([event for event in happened if event["kind"] in ("library_call", "library_load")])
        again = run([TOLLGATE, "recover", "--force", interrupted])
        check(again.status == 0 and "does not exist" in again.output, again)


def salvage_early():
    """SIGKILL to the recorder in the program's first second: what is salvaged is that of a program, and a rank. At once,
    where the recorder knows it before the program runs; otherwise soon."""
    library = build_library("early")
    for options, pauses_s in (((), (0,)), (("--redact",), (0,)), (("--no-ptrace",), (0.2, 0.4, 0.6, 0.8))):
        found = []
        # redacted notes are of the rank alone; the program before it may have been written by then, and on a busy machine
        # this one, whose name is replaced
        program = r"|env|name\d+" if options == ("--redact",) else re.escape(os.path.basename(LOADS))
        for attempt, pause_s in enumerate(pauses_s):  # the file is written each second, if nothing asks for more
            trace = f"early{''.join(options)}{attempt}"
            process = start(trace, ["env", "PMIX_RANK=3", "PMIX_NAMESPACE=job.7", LOADS, "await", library], *options, "--dlopen=agent")
            await_ready(process)
            time.sleep(pause_s)
            process.kill()
            process.communicate(timeout=100)
            check(run([TOLLGATE, "recover", f"{trace}.incomplete"]).status == 0)
            report = json.loads(run([TOLLGATE, "report", "--json", trace]).output)
            found.append({(os.path.basename(entry["program"]), entry["rank"]) for entry in report["processes"]})
            is_found = any(rank == 3 and re.fullmatch(program, name) for name, rank in found[-1])
            if is_found:
                break
        check(is_found, options, found)


def ahead_of_others(policy):
    """What is started now runs before other programs, as far as that is allowed; OTHER ends it."""
    try:
        os.sched_setscheduler(0, policy, os.sched_param(0 if policy == os.SCHED_OTHER else 5))
    except PermissionError:
        pass


def price_of_stops():
    """Measured at a recording's start only where the loader stops the job; else by `filter`, on the machine of the trace."""
    check(record("stops", ["true"], "--mode=slow").status == 0)
    check(int(meta("stops")["cost.stop_ns"]) > 0, meta("stops"))
    check(record("none", ["true"]).status == 0)
    check(int(meta("none").get("cost.stop_ns", 0)) == 0, meta("none"))
    floors = {trace: json.loads(run([TOLLGATE, "filter", "--json", trace]).output)["cost"]["floor"] for trace in ("stops", "none")}
    check(floors == {"stops": "recorded", "none": "calibrated"}, floors)
    check(not [event for event in events("none") if event["kind"] == "stop_price"], "a job without libraries waits for a price")
    libraries = [build_library(f"many{i}") for i in range(4)]
    end = time.monotonic() + 60
    prices = []
    ahead_of_others(os.SCHED_RR)
    while not prices and time.monotonic() < end:  # a machine may be too busy for it in 5 ms
        check(record("many", [LOADS, "storm", "10", *libraries], "--force").status == 0)
        prices = [event for event in events("many") if event["kind"] == "stop_price"]
    ahead_of_others(os.SCHED_OTHER)
    check(len(prices) == 1, prices)
    price = prices[0]
    check(0 < price["stop_low_ns"] <= price["stop_median_ns"] <= price["stop_high_ns"], price)
    check(0 < price["read_high_ns"] and price["samples"] >= 12, price)
    found = json.loads(run([TOLLGATE, "filter", "--json", "--mode=slow", "--mode=fast", "many"]).output)
    check(found["cost"]["floor"] == "recorded", found["cost"])
    slow, fast = found["modes"]
    check(None not in (slow["cost_low_ms"], fast["cost_low_ms"]) and slow["cost_ms"] is None, found)


def salvage_running():
    """While the recorder lives, its rings are left alone."""
    process = start("running", [LOADS, "await"], "--dlopen=agent")
    await_ready(process)
    while not events("running.incomplete"):  # it is there since the program is
        check(process.poll() is None)
    refused = run([TOLLGATE, "recover", "-o", "out", "running.incomplete"])
    check(refused.status == 2 and "still being recorded" in refused.errors and not os.path.exists("out"), refused)
    process.stdin.write(b"\n")
    process.communicate(timeout=100)
    check(process.returncode == 0, process.returncode)


def salvage_overflow():
    """More than the rings hold was taken and not written when the recorder was killed: that is said."""
    library = build_library("much")
    process = start("much", [LOADS, "storm", "1000000", library], "--dlopen=agent", "--ring-size=64K")
    while not has_events("much.incomplete"):
        check(process.poll() is None)
    process.kill()
    process.communicate(timeout=100)
    written = events("much.incomplete", "library_call")
    recovered = run([TOLLGATE, "recover", "--json", "much.incomplete"])
    check(recovered.status == 0 and json.loads(recovered.output)["rings"] >= 2, recovered)
    calls = events("much", "library_call")
    check(calls[:len(written)] == written, "what was written has changed")
    check_order(calls[len(written):])
    check(len({(event["t_ns"], event["tid"], event["call"]) for event in calls}) > 0.99 * len(calls), "told twice")


def count_events(trace):
    """Of OpenMP, without the losses; how many are counted as lost; and when the last of all was."""
    dump = subprocess.run([TOLLGATE, "dump", "--json", trace], capture_output=True)  # bytes: hundreds of thousands of lines
    check(dump.returncode == 0, dump.stderr)
    losses = sum(event["count"] for event in events(trace, "loss") if event["source"] == "ring")
    return dump.stdout.count(b'"omp_'), losses, max(map(int, re.findall(rb'"t_ns": (\d+)', dump.stdout)))


def size_of(path):
    """0 where it is not there, or not any more."""
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return 0


def salvage_exact():
    """SIGKILL to the recorder at any moment: what the program made is in the trace, or counted as lost. To the last."""
    with open("many.c", "w") as source:
        source.write("""#include <stdio.h>
#include <stdlib.h>
static volatile long sum;
int main(int argc, char **argv)
{
    long n = argc > 1 ? atol(argv[1]) : 0;
    puts("ready");
    fflush(stdout);
#pragma omp parallel num_threads(2)
    for (long i = 0; i < n; i++) {
#pragma omp critical
        sum++;
    }
    puts("done");
    return 0;
}
""")
    built = run(["cc", "-O1", "-fopenmp", "many.c", "-o", "many"])
    if built.status != 0:
        skip("cannot build with OpenMP: " + built.errors)
    n_criticals = 60000
    few, many = ([os.path.abspath("many"), str(n)] for n in (100, n_criticals))
    check(record("few", few, "--no-ptrace").status == 0)
    made = count_events("few")[0] + 2 * 3 * (n_criticals - 100)
    chance = random.Random(4)
    for i, ring_size in enumerate(("64K", "16M", None, "64K", None, "16M", "64K", None, None)):  # None: rings grow
        trace = f"exact{i}"
        options = [] if ring_size is None else [f"--ring-size={ring_size}"]
        process = start(trace, many, "--no-ptrace", "--dlopen=none", *options)
        await_ready(process)  # the agent is there, and goes on where the recorder does not
        enough = chance.randrange(1, 16000) if i > 1 else 1
        while process.poll() is None and size_of(f"{trace}.incomplete") < enough:
            os.sched_yield()
        process.kill()
        process.communicate(timeout=100)  # also the program's: it goes on without a recorder
        ended_ns = time.monotonic_ns()
        time.sleep(0.1)
        if os.path.exists(trace):  # it was faster
            check(count_events(trace)[:2] == (made, 0), i, count_events(trace), made)
            continue
        recovered = run([TOLLGATE, "recover", "--json", f"{trace}.incomplete"])
        check(recovered.status == 0, recovered)
        said = json.loads(recovered.output)
        check(said["ring_problem"] is None, said)
        kept, lost, last_ns = count_events(trace)
        check(kept + lost == made, i, ring_size, f"{kept} kept, {lost} lost, {made} made", said)
        check(lost == 0 or ring_size != "16M", i, f"{lost} lost of rings that are large enough")
        check(said["ring_exact"], "file and rings have all", said)
        end = [event for event in events(trace, "loss") if event["source"] == "writer_file"]
        check(len(end) == 1 and end[0]["count"] == 0 and "what the agents in the programs recorded is here" in end[0]["reason"],
              "what is known is said", end)
        check(0 < last_ns <= ended_ns, "nothing happened after the end, and no wait is longer:", last_ns, ended_ns)


if __name__ == "__main__":
    globals()[sys.argv[1]]()
