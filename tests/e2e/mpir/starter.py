#!/usr/bin/env python3
"""MPIR with starters that do what real ones do not.

usage: starter.py SCENARIO
"""
import os
import select
import signal
import socket
import subprocess
import sys
import time

import machine
from recording import TIME_LIMIT_S, TOLLGATE, check, events, record, run, skip

PROGRAMS = os.path.join(os.environ["TG_SOURCE"], "tests/programs")
HOST = socket.gethostname()


def build(output, *sources, flags=()):
    command = ["cc", "-O0", "-g", "-D_GNU_SOURCE", *flags, *[source if "/" in source else os.path.join(PROGRAMS, source)
               for source in sources], "-o", output, "-pthread"]
    made = subprocess.run(command, capture_output=True, text=True)
    if made.returncode != 0:
        skip(f"cannot build with {' '.join(flags)} here: {made.stderr}")
    return os.path.abspath(output)


def build_starter(*flags, name="starter"):
    return build(name, "mpir_starter.c", "mpir_variables.c", flags=flags)


def build_rank(*flags, name="rank"):
    return build(name, "mpir_gate.c", flags=flags)


def ranks_of(trace):
    """The last word about each rank."""
    return {event["rank"]: event for event in events(trace, "mpir_rank")}


def entries_of(trace, snapshot=1):
    return [entry for event in events(trace, "mpir_table") if event["snapshot"] == snapshot for entry in event["entries"]]


def check_job(starter, count, ranks, gate, expected="", trace="trace", options=()):
    """COUNT ranks by fork, all acquired, and said what they say without tollgate where nothing waits for it."""
    made = record(trace, [starter, "say", "start", str(count), ranks, "spawned", "call", "wait", "say", "exit", "7"], *options)
    check(made.status == 7, made)
    lines = sorted(made.output.splitlines())
    check(lines == sorted([f"rank {i}" for i in range(count)] + (expected or ["being debugged: 1"]) * 2), made)
    told = ranks_of(trace)
    check(set(told) == set(range(count)), told)
    by_pid = {event["pid"] for event in events(trace, "process_start")}
    for rank in told.values():
        check(rank["state"] == "acquired" and rank["way"] == "fork" and rank["gate"] == gate, rank)
        check(rank["host"] == HOST and rank["executable"] == ranks and rank["table_pid"] in by_pid, rank)
        # who waits at no gate may have ended by then: of that it is the starter that tells
        check(rank["pid"] == rank["table_pid"] or (gate == "absent" and "had ended before" in rank["reason"]), rank)
    return events(trace)


def of_kind(trace_events, kind):
    return [event for event in trace_events if event["kind"] == kind]


def scenario_gates():
    """With a gate, without one, and with one that nobody waits at; ranks wait until they are let go."""
    starter = build_starter()
    seen = check_job(starter, 3, build_rank("-DGATE"), "set")
    gates = [event for event in of_kind(seen, "mpir_write") if event["symbol"] == "MPIR_debug_gate"]
    check(len(gates) == 3 and all(event["value"] == 1 and not event["error"] for event in gates), gates)
    check_job(starter, 2, build_rank(name="open"), "absent", trace="second")
    partial = build_starter("-DPARTIAL", name="partial")
    check_job(partial, 2, build_rank(name="open"), "absent", trace="third")
    job = of_kind(events("third"), "mpir_job")[0]
    check(job["acquisition"] == "mpir_launch" and job["partial_attach_ok"] and job["i_am_starter"], job)
    check(not job["acquired_pre_main"], job)
    told = [(event["pid"], event["rank"], event["size"]) for event in events("trace", "identity")
            if event["source"] == "MPIR_proctable"]
    check(sorted(told) == sorted((rank["pid"], rank["rank"], 3) for rank in ranks_of("trace").values()), told)
    # the console's ranks are those of the table, too: they stop as they are acquired, and are its focus
    session = run([TOLLGATE, "live", "-q", "-o", "live", "-e", "dcont", "-e", "puts [dptsets stopped(r0-2)]",
                   "-e", "dcont", "-e", "puts [dfocus]", "--", starter, "start", "3", build_rank("-DGATE"), "spawned", "call", "wait"])
    check("stopped(r0-2): 3:3[0-2.1]" in session.output and session.status == 0, session)


def scenario_layouts():
    """PIE or not, with DWARF and without, a descriptor that only DWARF tells of, variables in a library, not announced."""
    rank = build_rank("-DGATE")
    for number, (flags, layout, stride) in enumerate([
            (["-no-pie"], "dwarf", 24), (["-g0"], "elf_class", 24), (["-DPADDED"], "dwarf", 56), (["-static"], "dwarf", 24)]):
        trace = f"trace{number}"
        seen = check_job(build_starter(*flags, name=trace + ".starter"), 2, rank, "set", trace=trace)
        symbols = [event for event in of_kind(seen, "mpir_symbols") if event["stride_bytes"] > 0]
        check(symbols and symbols[0]["layout"] == layout and symbols[0]["stride_bytes"] == stride, symbols)
    silent = build_starter("-DSILENT", name="silent")
    check_job(silent, 2, rank, "set", expected=["being debugged: -1"], trace="silent.trace")
    library = build("libvariables.so", "mpir_variables.c", flags=["-shared", "-fPIC"])
    starter = build("with_library", "mpir_starter.c", library, flags=["-Wl,-rpath," + os.getcwd()])
    seen = check_job(starter, 2, rank, "set", trace="library.trace")
    objects = {os.path.basename(event["object"]) for event in of_kind(seen, "mpir_symbols")}
    check(objects >= {"libvariables.so"}, objects)
    # a library that comes later shows at the next thread; nobody asks for that of a rank where no launcher has a table
    with open("later.c", "w") as source:
        source.write("""#include <dlfcn.h>
#include <pthread.h>
static void *run(void *argument) { return argument; }
int main(int argc, char **argv)
{
    pthread_t thread;
    return argc != 2 || dlopen(argv[1], RTLD_NOW) == NULL || pthread_create(&thread, NULL, run, NULL) != 0 ||
           pthread_join(thread, NULL) != 0;
}
""")
    later = build("later", "./later.c")
    for variables, expected in (({}, ["libvariables.so"]), ({"PMI_RANK": "0", "PMI_SIZE": "1"}, [])):
        command = ["env", *[f"{name}={value}" for name, value in variables.items()], later, library]
        check(record("later.trace", command, "--force").status == 0, command)
        objects = [os.path.basename(event["object"]) for event in events("later.trace", "mpir_symbols")]
        check(objects == expected, variables, objects)


def scenario_narrow():
    """A starter of 32 bits with ranks of 64."""
    starter = build_starter("-m32")
    if not machine.executes_32_bits():
        skip("this machine executes no 32-bit programs")
    check(run([starter, "exit", "3"]).status == 3, "the starter does not run")
    seen = check_job(starter, 2, build_rank("-DGATE"), "set")
    symbols = of_kind(seen, "mpir_symbols")[0]
    check(symbols["stride_bytes"] == 12, symbols)
    stripped = build_starter("-m32", "-g0", name="stripped")
    symbols = of_kind(check_job(stripped, 1, build_rank("-DGATE"), "set", trace="second"), "mpir_symbols")[0]
    check(symbols["stride_bytes"] == 12 and symbols["layout"] == "elf_class", symbols)


def scenario_chains():
    """A script starts the starter; a starter executes another program that is one; a second thread calls; growth."""
    starter, rank = build_starter(), build_rank("-DGATE")
    with open("script", "w") as script:
        script.write(f'#!/bin/sh\n"{starter}" "$@"\n')
    os.chmod("script", 0o755)
    made = record("trace", ["./script", "say", "exec", starter, "start", "1", rank, "spawned", "call-in-thread",
                            "start", "2", rank, "call-in-thread", "wait", "say"])
    check(made.status == 0 and sorted(made.output.split("\n")) == sorted(
        ["", "rank 0", "rank 1", "rank 2", "being debugged: 1", "being debugged: 1"]), made)
    check(len(entries_of("trace", 1)) == 1 and len(entries_of("trace", 2)) == 3, events("trace", "mpir_table"))
    told = events("trace", "mpir_rank")
    check(sorted(event["rank"] for event in told) == [0, 1, 2], told)
    check(all(event["gate"] == "set" for event in told), told)
    states = events("trace", "mpir_state")
    check([state["seen"] for state in states] == ["breakpoint", "breakpoint", "exit"], states)
    check(states[0]["tid"] != states[0]["pid"], "the call was not in a thread", states)


def scenario_oddities():
    """What a table may hold, and what a starter may say and do."""
    starter, rank = build_starter(), build_rank()
    other = subprocess.Popen(["sleep", "100"])
    try:
        made = record("trace", [starter, "start", "1", rank, "entry", "-", rank, "77", "entry", HOST, "-", "0",
                                "entry", "?", rank, "5", "entry", "far.example.org", "/bin/far", "4711",
                                "entry", HOST, rank, str(other.pid), "entry", HOST, rank, "999999999",
                                "spawned", "call", "wait", "state", "17", "call", "null", "call", "abort", "it is lost",
                                "exit", "9"])
        check(made.status == 9 and made.output == "rank 0\n", made)
        check(other.poll() is None, "who is none of the job was touched")
    finally:
        other.kill()
        other.wait()
    told = ranks_of("trace")
    expected = {0: ("acquired", ""), 1: ("missed", "host_name is NULL"), 2: ("missed", "no process"),
                3: ("missed", "host_name cannot be read"), 4: ("remote", ""), 5: ("missed", "does not run the table's program"),
                6: ("missed", "no such process 999999999")}
    check(set(told) == set(expected), told)
    for number, (state, reason) in expected.items():
        check(told[number]["state"] == state and reason in told[number]["reason"], told[number])
    table = events("trace", "mpir_table")
    check(table[-1]["last"] and "names of" in table[-1]["reason"], table[-1])
    states = [(state["seen"], state["state"], state["abort_string"]) for state in events("trace", "mpir_state")]
    check(states == [("breakpoint", "spawned", ""), ("breakpoint", "other", ""), ("breakpoint", "null", ""),
                     ("breakpoint", "aborting", "it is lost"), ("exit", "aborting", "it is lost")], states)


def scenario_absurd():
    """Sizes and places that cannot be; a starter that ends at the breakpoint, or without it."""
    starter, rank = build_starter(), build_rank()
    for number, (words, reason) in enumerate([
            (["size", "2000000000"], "too large"), (["size", "-3"], "negative"),
            (["size", "5", "nowhere"], "only 0 of 5"), (["size", "4096", "nowhere"], "only 0 of 4096")]):
        trace = f"trace{number}"
        made = record(trace, [starter, "start", "1", rank, *words, "spawned", "call", "wait", "exit", "4"])
        check(made.status == 4 and made.output == "rank 0\n", made)
        tables = events(trace, "mpir_table")
        check(reason in tables[-1]["reason"] and tables[-1]["claimed_size"] == int(words[1]), tables)
    made = record("ends", [starter, "start", "1", rank, "wait", "exit", "5"])
    check(made.status == 5, made)
    job = events("ends", "mpir_job")[-1]
    check(job["acquisition"] == "none" and job["reason"], job)


def scenario_selected():
    """Only some ranks; with gates all of them are let through."""
    for number, (flags, gate) in enumerate([((), "set"), (("-DPARTIAL",), "not_needed")]):
        starter = build_starter(*flags, name=f"starter{number}")
        rank = build_rank("-DGATE") if gate == "set" else build_rank(name="open")
        made = record(f"trace{number}", [starter, "start", "4", rank, "spawned", "call", "wait"], "--ranks=1,3-9")
        check(made.status == 0 and len(made.output.splitlines()) == 4, made)
        told = ranks_of(f"trace{number}")
        states = [told[i]["state"] for i in range(4)]
        check(states == ["not_selected", "acquired", "not_selected", "acquired"], told)
        let_go = {event["pid"] for event in events(f"trace{number}", "detach")}
        others = {told[0]["pid"], told[2]["pid"]}
        check(let_go <= others, let_go, told)
        if gate == "not_needed":  # they wait for nobody, and may have ended before they could be let go
            let_go |= others & {event["pid"] for event in events(f"trace{number}", "process_exit")}
        check(let_go == others, let_go, told)


def start_strangers(count, rank):
    """Ranks that are no children of the starter's, as a batch system's are, left stopped."""
    processes = [subprocess.Popen([rank, str(number)], stdout=subprocess.PIPE, text=True) for number in range(count)]
    for process in processes:
        os.kill(process.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED)
    return processes


def state_of(pid):
    with open(f"/proc/{pid}/status") as status:
        return dict(line.rstrip("\n").split(":\t", 1) for line in status if ":\t" in line)


def scenario_strangers():
    """Ranks that somebody else started and left stopped: taken, let through the gate, woken; their processes are no
    children of the recorder's."""
    starter = build_starter("-DPRE_MAIN")
    rank = build_rank("-DGATE")
    made_ranks = start_strangers(2, rank)
    words = [word for process in made_ranks for word in ("entry", HOST, rank, str(process.pid))]
    made = record("trace", [starter, *words, "spawned", "call"])
    check(made.status == 0, made)
    said = sorted(process.communicate(timeout=TIME_LIMIT_S)[0] for process in made_ranks)
    check(said == ["rank 0\n", "rank 1\n"], said)
    told = ranks_of("trace")
    for number, process in enumerate(made_ranks):
        check(told[number]["state"] == "acquired" and told[number]["way"] == "attached" and told[number]["woken"]
              and told[number]["gate"] == "set" and told[number]["pid"] == process.pid, told)


NOBODY = 65534


def as_nobody(command):
    return ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *command]


def has_child(pid, name):
    """Whether a process called NAME, alive or not yet reaped, is a child of PID."""
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        children = file.read().split()
    for child in children:
        try:
            if state_of(child)["Name"] == name:
                return True
        except (FileNotFoundError, ProcessLookupError):
            pass
    return False


def check_users(recorder, starter, rank, owner, trusted):
    """A table names a process of another user, OWNER's: refused by name; told to take it all the same, the recorder meets what
    TRUSTED says, "" nothing."""
    for options, expected in (((), "not to the job launcher's (use --mpir-trust to acquire it)"), (("--mpir-trust",), trusted)):
        process = subprocess.Popen(owner([rank, "0"]), stdout=subprocess.PIPE, text=True)
        check(process.stdout.readline() == "rank 0\n", "the rank says nothing")
        with open("trace", "w"):
            os.chown("trace", NOBODY, NOBODY)
        recording = subprocess.Popen(recorder([TOLLGATE, "record", "-f", "-o", "trace", *options, "--", *starter, "entry", HOST,
                                               rank, str(process.pid), "spawned", "call"]), stderr=subprocess.PIPE, text=True)
        while not expected and state_of(process.pid)["TracerPid"] == "0":
            check(recording.poll() is None, "the recorder ended", recording.returncode)
            os.sched_yield()
        if not expected:
            while has_child(recording.pid, "starter"):  # it goes on, and ends, when its ranks have been stopped
                time.sleep(0.001)
            os.kill(process.pid, signal.SIGTERM)
        errors = recording.communicate(timeout=TIME_LIMIT_S)[1]
        check(recording.returncode == 0, errors)
        (told,) = events("trace", "mpir_rank")
        check(told["state"] == ("missed" if expected else "acquired") and expected in told["reason"], told)
        told = run([TOLLGATE, "report", "trace"])
        check(expected in told.output, told)
        if expected:
            state = state_of(process.pid)
            check(state["TracerPid"] == "0" and state["State"][0] == "S", state)
            os.kill(process.pid, signal.SIGTERM)
        process.communicate(timeout=TIME_LIMIT_S)
        check(process.returncode == 0, process.returncode)


def scenario_users():
    """Processes of other users in a table."""
    os.chmod(".", 0o777)
    if os.geteuid() != 0 or run(as_nobody([TOLLGATE, "--version"])).status != 0:
        skip("other users are for root to have, and they must get to the programs under test")
    def same(command):
        return command
    starter, rank = build_starter("-DPARTIAL"), build_rank("-DSTAYS")
    check_users(as_nobody, [starter], rank, same, "it belongs to user 0; run tollgate as that user or as root")
    check_users(same, as_nobody([starter]), rank, same, "")
    check_users(same, [starter], rank, as_nobody, "")


def scenario_killed():
    """The recorder of a launched starter is killed: ranks that somebody else started for the job end with it."""
    starter = build_starter("-DPRE_MAIN", "-DPARTIAL")
    strangers = start_strangers(2, build_rank("-DSTAYS"))
    words = [word for process in strangers for word in ("entry", HOST, os.path.abspath("rank"), str(process.pid))]
    recorder = subprocess.Popen([TOLLGATE, "record", "-o", "trace", "--", starter, *words, "spawned", "call", "pause"],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    check(recorder.stdout.readline() == "waiting\n", "the starter does not wait")
    said = [process.stdout.readline() for process in strangers]  # they were woken
    check(said == ["rank 0\n", "rank 1\n"], said)
    recorder.kill()
    ends = [process.wait(TIME_LIMIT_S) for process in strangers]
    check(ends == [-signal.SIGKILL] * 2, ends)
    recorder.communicate(timeout=TIME_LIMIT_S)


def scenario_stuck():
    """A launcher that takes no note of its ranks' ends is told of, and does not keep the recorder that was asked to end."""
    starter, rank = build_starter(), build_rank()
    recorder = subprocess.Popen([TOLLGATE, "record", "-o", "trace", "--", starter, "start", "2", rank, "spawned", "call", "stuck"],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    lines = iter(recorder.stdout.readline, "")
    check(any("waiting" in line for line in lines))
    check("has not noticed for 10 s that its ranks have ended" in recorder.stderr.readline(), "stuck")
    recorder.send_signal(signal.SIGTERM)
    errors = recorder.communicate(timeout=TIME_LIMIT_S)[1]
    check(recorder.returncode == -signal.SIGKILL and os.path.exists("trace"), recorder.returncode, errors)
    check("did not notice for 10 s that its ranks had ended: killed it" in errors, errors)
    report = run([TOLLGATE, "report", "trace"])
    check("did not end when it was asked to: it had not noticed that its ranks had ended, and tollgate killed it" in report.output, report)


def scenario_attached():
    """A starter that runs: its table is read, ranks are taken, and all of them live on afterwards."""
    starter, rank = build_starter("-DPARTIAL"), build_rank("-DSTAYS")
    for end, options in ((signal.SIGTERM, []), (signal.SIGTERM, ["--mpir"]), (signal.SIGKILL, [])):
        trace = f"trace{int(end)}" + "".join(options)
        job = subprocess.Popen([starter, "start", "3", rank, "pause", "say"], stdout=subprocess.PIPE, text=True)
        lines = [job.stdout.readline() for _ in range(4)]
        check("waiting\n" in lines, lines)
        recorder = subprocess.Popen([TOLLGATE, "record", "-o", trace, *options, "-p", str(job.pid)], stderr=subprocess.PIPE, text=True)
        children = open(f"/proc/{job.pid}/task/{job.pid}/children").read().split()
        while recorder.poll() is None and any(state_of(pid)["TracerPid"] == "0" for pid in [job.pid, *children]):
            pass
        tracer = os.pidfd_open(int(state_of(job.pid)["TracerPid"]))
        check(recorder.poll() is None, "the recorder ended by itself")
        recorder.send_signal(end)
        recorder.communicate(timeout=TIME_LIMIT_S)
        select.select([tracer], [], [], TIME_LIMIT_S)  # where the recorder was killed, it lets go all the same
        os.close(tracer)
        for pid in [job.pid, *children]:
            state = state_of(pid)
            check(state["TracerPid"] == "0" and state["State"][0] in "RS", state)
            os.kill(int(pid), signal.SIGTERM)
        rest, _ = job.communicate(timeout=TIME_LIMIT_S)
        check(job.returncode == 0 and "being debugged: 0" in rest, rest)
    written = [(event["symbol"], event["value"], event["error"]) for event in events(f"trace{int(signal.SIGTERM)}--mpir", "mpir_write")]
    check(written == [("MPIR_being_debugged", 1, ""), ("MPIR_being_debugged", 0, "")], written)
    told = ranks_of(f"trace{int(signal.SIGTERM)}")
    check(sorted(told) == [0, 1, 2] and all(rank["way"] == "attached" and rank["state"] == "acquired" for rank in told.values()), told)
    job = events(f"trace{int(signal.SIGTERM)}", "mpir_job")[-1]
    check(job["acquisition"] == "mpir_attach", job)


def scenario_refused():
    """--no-mpir leaves a starter alone; --mpir says where there is none; usage."""
    starter = build_starter()
    made = record("trace", [starter, "say", "spawned", "call"], "--no-mpir")
    check(made.status == 0 and made.output == "being debugged: 0\n", made)
    check(not [event for event in events("trace") if event["kind"].startswith("mpir_")], "events in spite of --no-mpir")
    made = record("plain", ["true"], "--mpir")
    check(made.status == 0 and "no MPI job launcher" in made.errors, made)
    for options, text in [(["--ranks=1,x"], "--ranks"), (["--mpir", "--no-ptrace"], "--no-ptrace"),
                          (["--no-mpir", "--ranks=1"], "--no-mpir"), (["--slurm-step=1.0"], "--slurm-step"),
                          (["--ranks=3-1"], "3-1")]:
        made = record("never", ["true"], *options)
        check(made.status == 2 and text in made.errors and len(made.errors.splitlines()) == 1, options, made)
        check(not os.path.exists("never"), "a trace in spite of bad usage")


if __name__ == "__main__":
    globals()["scenario_" + sys.argv[1]]()
