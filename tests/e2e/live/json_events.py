#!/usr/bin/env python3
"""A program drives a hybrid MPI + OpenMP job that runs, by lines of JSON: what happens comes as events, answers as data."""
import os
import shutil
import subprocess

from json_driver import SOURCE, Console, check
from recording import skip

PROGRAM = os.path.join(SOURCE, "tests/programs/hybrid_zones.c")
TEXT = open(PROGRAM, encoding="utf-8").read().splitlines()
LINE = next(i for i, text in enumerate(TEXT, 1) if "MPI_Sendrecv" in text)
RANKS = 2


def build():
    if shutil.which("mpicc.openmpi") is None or shutil.which("mpirun.openmpi") is None:
        skip("Open MPI is not installed")
    subprocess.run(["mpicc.openmpi", "-g", "-O0", "-fopenmp", "-o", "hybrid", PROGRAM], check=True)


def wait_event(console, found, since=0, **members):
    """The first event that has MEMBERS, of those behind the first SINCE; waits until it comes."""
    looked_at = since
    while True:
        for event in console.events[looked_at:]:
            if event["event"] == found and all(event.get(name) == value for name, value in members.items()):
                return event
        looked_at = len(console.events)
        console.read("event")


def check_ranks(console):
    """Ranks are stopped at their first instruction, and are reported with their rank."""
    wait_event(console, "started", dpid=1)
    wait_event(console, "executed", dpid=1)
    first = wait_event(console, "stopped", dpid=1, dtid=1)
    console.ask("dgo")
    wait_event(console, "running", dpid=1, dtid=1, tid=first["tid"])
    console.ask(f"dwait -ranks {RANKS}")
    for rank in range(RANKS):
        dpid = wait_event(console, "rank", rank=rank)["dpid"]
        started = wait_event(console, "started", dpid=dpid)
        check(started["parent"] < dpid and "dtid" not in started, started)
        check(wait_event(console, "executed", dpid=dpid, program=os.path.realpath("hybrid")), "the program")
        check(kinds_of(console, dpid)[:2] == ["started", "executed"], kinds_of(console, dpid))
    for rank in range(RANKS):
        wait_event(console, "stopped", rank=rank, state="stopped")
    threads = console.ask("dfocus gSr0 dstatus")["data"]
    check(sorted(thread["rank"] for thread in threads) == list(range(RANKS)), threads)
    check(all(thread["state"] == "stopped" and thread["pc"] for thread in threads), threads)


def check_zones(console):
    """Along the zones: each process is stopped where its first worker is about to enter one."""
    came = console.ask("dfocus gSr0 {opm start}")
    check(came["data"]["dtid"] == 1 and came["text"] == f"thread {came['data']['dpid']}.1 reaches a parallel region", came)
    for zone in "loop", "critical", "barrier":
        console.ask("dfocus gSr0")
        came = console.ask(f"opm next {zone}")
        check(came["at"]["focus"].endswith(f"{came['data']['dpid']}.{came['data']['dtid']}"), f"not in focus: {came}")
        # in front of it may be that somebody is at a barrier already
        last = came["text"].splitlines()[-1]
        check(last.startswith(f"thread {came['data']['dpid']}.{came['data']['dtid']} reaches a {zone} "), came)
        console.ask("dfocus gSr0 dwait")  # a thread that was made meanwhile is to stop, too
        threads = console.ask("dfocus gSr0 dstatus")["data"]
        check(all(thread["state"] == "stopped" for thread in threads), threads)
        # the runtime's function; before the agent's, which is left out, the program's that enters the zone
        places = {thread.get("function", "") for thread in threads if thread["dpid"] == came["data"]["dpid"]}
        check(any(place.startswith(("GOMP_", "main")) for place in places), places)
    check("which zone" in console.fails("opm next", "USAGE")["message"], "no zone")
    check("nested" in console.fails("[" * 100000, "TCL")["message"], "brackets")
    with open("deep", "w", encoding="utf-8") as file:
        file.write("dbreak " + "[" * 100000)
    check("nested" in console.fails("dactions -load deep", "INPUT")["message"], "brackets in a file")


def kinds_of(console, dpid):
    """What was told of a process itself, in its order."""
    return [event["event"] for event in console.events if event.get("dpid") == dpid and "dtid" not in event]


def check_barrier(console):
    barrier = console.ask(f"dfocus gSr0 dbarrier hybrid_zones.c#{LINE} -stop_when_hit none")["data"]
    check(isinstance(barrier, int), barrier)
    console.ask("dfocus gSr0 dcont")
    check(wait_event(console, "barrier", point=barrier, what="satisfied")["members"] == RANKS, "members")
    event = wait_event(console, "stopped", state="breakpoint", point=barrier)
    check("hybrid_zones.c" in event["place"], event)
    for rank in range(RANKS):
        wait_event(console, "barrier", point=barrier, what="arrived", rank=rank)
    wait_event(console, "point", point=barrier, what="made")
    point, = console.ask(f"dactions {barrier}")["data"]
    check(point["id"] == barrier and point["kind"] == "barrier" and point["enabled"], point)
    check(point["place"].endswith(f"hybrid_zones.c#{LINE}") and point["hits"] >= RANKS, point)
    check(console.ask("dactions -disabled")["data"] == [], "none is disabled")


def check_places(console):
    """Where a rank is stopped: its source line, its instruction, its memory."""
    listed = console.ask("dfocus r1 {dlist -n 5}")
    lines = listed["data"]["lines"]
    check(listed["data"]["current"] == LINE and os.path.samefile(listed["data"]["file"], PROGRAM), listed)
    check([line["number"] for line in lines] == list(range(LINE - 2, LINE + 3)), lines)
    check(all(line["text"] == TEXT[line["number"] - 1] for line in lines), lines)
    check([line.get("mark") for line in lines] == [None, None, "B", None, None], lines)
    shown = [text for text in listed["text"].splitlines() if text.startswith(">B ")]
    check(len(shown) == 1 and TEXT[LINE - 1].strip() in shown[0], listed["text"])
    going_on = console.ask("dfocus r1 {l -n 2}")["data"]["lines"]
    check([line["number"] for line in going_on] == [LINE + 3, LINE + 4], going_on)
    check(console.ask("dfocus r1 {l - -n 3}")["data"]["lines"][-1]["number"] == LINE + 2, "back")
    check(console.ask("dfocus r1 {l 1,2}")["data"]["lines"][1]["text"] == TEXT[1], "lines 1 and 2")
    main = console.ask("dfocus r1 {dlist main -n 1}")["data"]["lines"][0]
    check("main" in TEXT[main["number"] - 1] or TEXT[main["number"] - 1] == "{", main)
    there = console.ask(f"dfocus r1 {{dlist hybrid_zones.c#{LINE} -n 1}}")["data"]["lines"][0]
    check(there["mark"] == "B", there)

    code = console.ask("dfocus r1 {dexamine -format instruction}")["data"]
    at, = [i for i, instruction in enumerate(code) if instruction.get("current")]
    check(at == 5 and code[at]["function"] == "main" and code[at]["line"] == LINE, code[at])
    check(all(int(a["address"], 16) + len(a["bytes"]) // 2 == int(b["address"], 16) for a, b in zip(code, code[1:])), code)
    # bytes are the program's, not the breakpoint's int3
    check(not code[at]["bytes"].startswith("cc"), code[at])
    first = console.ask("dfocus r1 {x /1xb pc}")["data"]["values"][0]
    check(int(first, 16) == int(code[at]["bytes"][:2], 16), first)
    calls = [call for call in console.ask("dfocus r1 {x /40i main}")["data"] if call["text"].startswith("call")]
    check(calls and all(int(call["target"], 16) for call in calls), calls)
    address = console.ask("dfocus r1 {x /2xg rsp}")["data"]["address"]
    check(console.ask(f"dfocus r1 {{x /2xg {address}}}")["data"]["values"] ==
          console.ask("dfocus r1 {x /2xg rsp}")["data"]["values"], "registers and numbers")
    intel = console.ask("dset ASSEMBLER_SYNTAX intel; dfocus r1 {x /40i main}")["text"]
    check("%" not in intel.replace("0x%", ""), intel)
    for command, code_name in (("dfocus r1 {x 0}", "NOT_FOUND"), ("dfocus r1 {x nobody}", "NOT_FOUND"),
                               ("dfocus r1 {l nobody}", "NOT_FOUND"), ("dfocus r1 {x /3q}", "USAGE"),
                               ("dfocus r1 {l 4,2}", "USAGE"), ("dfocus r7 dlist", "NOT_FOUND")):
        console.fails(command, code_name)


def check_steps(console):
    """A step is told where it ends, an action point when its library comes, and the library."""
    n_before = len(console.events)  # also going to a zone steps
    console.ask("dfocus r1 dstepi")
    event = wait_event(console, "stopped", since=n_before, step=True, rank=1)
    check(event["state"] == "stopped" and "hybrid_zones.c" in event["place"], event)
    console.ask("ddisable -a")
    wait_event(console, "point", what="disabled")
    console.ask("denable -a")
    wait_event(console, "point", what="enabled")
    console.ask("dset MAX_LIST 7; dset MAX_LIST 7; dset ASSEMBLER_SYNTAX intel")
    check(wait_event(console, "setting", name="ASSEMBLER_SYNTAX")["value"] == "intel", "setting")
    check(sum(event.get("name") == "MAX_LIST" for event in console.events) == 1, "a setting that is as before is none")
    loaded = wait_event(console, "libraries", unloaded=0)
    check(loaded["loaded"] > 0 and loaded["library"].startswith("/"), loaded)


def check_pending():
    """An action point that no library has yet is planted when it comes."""
    with open("late.c", "w", encoding="utf-8") as source:
        source.write("int late(void) { return 1; }\n")
    with open("loads.c", "w", encoding="utf-8") as source:
        source.write('#include <dlfcn.h>\nint main(void) {\n  void *l = dlopen("./liblate.so", RTLD_NOW);\n'
                     '  int (*late)(void) = dlsym(l, "late");\n  return late() - 1 + dlclose(l);\n}\n')
    subprocess.run(["gcc", "-g", "-shared", "-fPIC", "-o", "liblate.so", "late.c"], check=True)
    subprocess.run(["gcc", "-g", "-o", "loads", "loads.c"], check=True)
    console = Console("live", "-q", "-o", "late.tgt", "--", "./loads")
    point = console.ask("dbreak late -pending")["data"]
    console.ask("dcont")
    check("late" in wait_event(console, "planted", point=point, dpid=1)["place"], "where it is planted")
    wait_event(console, "stopped", point=point, state="breakpoint")
    wait_event(console, "libraries", library="./liblate.so", loaded=1)
    console.ask("ddelete -a")
    wait_event(console, "point", point=point, what="deleted")
    console.ask("ddetach")
    wait_event(console, "detached", dpid=1)
    console.end()


def check_nobody_listens():
    """A command that waits ends, and the job with it, when nobody is there any more to read what it answers."""
    console = Console("live", "-q", "-o", "gone.tgt", "--", "sleep", "1000")
    pid = wait_event(console, "started", dpid=1)["pid"]
    console.ask("dgo")
    console.send("dwait")
    console.process.stdin.close()
    console.process.stdout.close()
    console.process.wait()
    check(not os.path.exists(f"/proc/{pid}"), "the job is there still")


def check_examples(console):
    """What `help` gives as examples for ranks can be pasted."""
    for name in "focus", "dfocus", "dgroups":
        text = console.ask(f"help {name}")["text"]
        console.ask(text.split("\nExample: ")[1].split("\n")[0])
    console.ask("dfocus d1.<")


def check_settings(console):
    names = {setting["name"] for setting in console.ask("dset")["data"]}
    check({"BARRIER_STOP_ALL", "BARRIER_STOP_WHEN_DONE", "SEARCH_PATH", "TV::dlopen_always_recalculate"} <= names, names)
    check(console.ask("alias")["data"]["l"] == "dlist", "aliases")


def main():
    build()
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMP_NUM_THREADS="2")
    console = Console("live", "-q", "-o", "run.tgt", "--", "mpirun.openmpi", "--oversubscribe", "-n", str(RANKS), "./hybrid",
                      "2", "1", env=environment)
    check(console.hello["mode"] == "live", console.hello)
    check_ranks(console)
    check_zones(console)
    check_barrier(console)
    check_places(console)
    check_steps(console)
    check_examples(console)
    check_settings(console)
    console.ask("ddelete -a")
    console.ask("dfocus a dcont")
    wait_event(console, "note", text="the job has ended")
    for rank in range(RANKS):
        exited = wait_event(console, "exited", rank=rank, how="status", status=0)
        check(kinds_of(console, exited["dpid"])[-1] in ("exited", "libraries"), kinds_of(console, exited["dpid"]))
        started = [event["dtid"] for event in console.events if event["event"] == "started" and "dtid" in event and
                   event["dpid"] == exited["dpid"]]
        ended = {event["dtid"] for event in console.events if event["event"] == "exited" and "dtid" in event and
                 event["dpid"] == exited["dpid"]}
        check(len(started) == len(set(started)) > 0 and set(started) <= ended, f"threads: {started}, {ended}")
    check(console.fails("dfocus a dlist", "TARGET")["message"] == "the job has ended", "nobody is left")
    output = console.end(1).decode()
    check(output.count("entries") == RANKS, f"the job's output is not the protocol's: {output}")
    check_pending()
    check_nobody_listens()


main()
