#!/usr/bin/env python3
"""What `help COMMAND` gives as an example can be pasted: every one is run, those of a live job on a job with two processes of
three threads each, which are stopped in a source file where the examples expect it; those of a trace on a trace."""
import os
import re
import signal
import subprocess

import machine
from json_driver import SOURCE, Console, check

CODE = {
    1: "#include <pthread.h>\n#include <unistd.h>",
    10: "struct item { int count; struct item *next; };\nstruct item second = {7, 0}, first = {1, &second};",
    12: "int a[8] = {1, 2, 3, 4, 5, 6, 7, 8};\nvolatile int turn;",
    20: "void never(void) { turn = 0; }",
    116: "void solve(struct item *p)\n{",
    118: "    int before = turn;\n    turn = before + 1;\n    a[0] += p->count;\n    usleep(1000);\n}",
    640: "void finish(void)\n{\n    turn++;\n}",
    650: "void *work(void *unused)\n{\n    for (;;) {\n        solve(&first);\n        finish();\n    }\n    return unused;\n}",
    670: "int main(void)\n{\n    pthread_t threads[2];\n    fork();\n    for (int i = 0; i < 2; i++)\n"
         "        pthread_create(&threads[i], NULL, work, NULL);\n    work(NULL);\n}",
}
# They end what the others need, and come last, in this order.
LAST = ["ddetach", "dkill", "drun"]
ENDINGS = ["quit", "exit"]
# json_events.py, ranks.py, opm.py and sequence.py have ranks, OpenMP, and processes that were left out.
OF_RANKS = {"focus", "dfocus", "dgroups", "dattach", "opm start", "opm next", "opm step", "opm all_out", "opm barrier",
            "opm critical", "opm sections", "opm sequence"}
# What there has to be beside threads that are stopped at line 120.
BEFORE = {"dcont": "dbreak solver.c#642"}


def build():
    lines = []
    for number, text in sorted(CODE.items()):
        check(number > len(lines), f"line {number} is taken")
        lines += [""] * (number - 1 - len(lines)) + text.split("\n")
    with open("solver.c", "w", encoding="utf-8") as source:
        source.write("\n".join(lines) + "\n")
    subprocess.run(["gcc", "-g", "-O0", "-o", "solver", "solver.c", "-lpthread"], check=True)


def examples(console):
    """Command to example, of all that `help` lists."""
    texts = [console.ask("help")["text"]]
    listed = re.findall(r"^((?:\w+ )?\w+)  +\S", texts[0].split("\n\n")[0], re.M)
    found = {}
    for name in listed:
        texts.append(console.ask(f"help {name}")["text"])
        example = re.search(r"^Example: (.*)$", texts[-1], re.M)
        check(example, f"help {name} has no example")
        found[name] = example.group(1)
    for line in "\n".join(texts).split("\n"):
        check(len(line) <= 80, f"wider than 80 columns: {line}")
    check(console.ask("help opm barrier pass")["text"] == console.ask("help opm barrier")["text"], "help with a command's own word")
    return found


def stand(console):
    """All threads are stopped at line 120, nobody is held, and there are no action points but the first ones."""
    for point in console.ask("dactions")["data"]:
        if point["id"] > 3:
            console.ask(f"ddelete {point['id']}")
    console.ask("dfocus g {dunhold -process}; dfocus g {dunhold -thread}; dfocus g dhalt; dfocus g dwait")
    console.ask("set point [dbreak solver.c#120 -t]; dfocus g dgo; dfocus g dwait; ddelete $point")


def await_threads(console):
    console.ask("dgo")
    wanted = {(dpid, dtid) for dpid in (1, 2) for dtid in (2, 3)}
    while not wanted <= {(event.get("dpid"), event.get("dtid")) for event in console.events if event["event"] == "started"}:
        console.read("event")
    console.ask("dfocus g dhalt; dfocus g dwait")
    for _ in range(3):
        console.ask("dbreak never -t")


def check_live():
    console = Console("live", "-q", "-o", "run.tgt", "--", "./solver")
    all_of_them = examples(console)
    check(len(all_of_them) > 40, f"`help` was not understood: {all_of_them}")
    check(console.ask("dactions")["text"] == "no breakpoints, watchpoints or barriers", "none, and no word about it")
    await_threads(console)
    for name, example in all_of_them.items():
        if name in OF_RANKS or name in LAST + ENDINGS:
            continue
        stand(console)
        if name in BEFORE:
            console.ask(BEFORE[name])
        if name == "dwatch" and not machine.reports_watchpoints():
            console.send(example)
            result = console.read("result")
            check(result["error"]["code"] == "UNSUPPORTED", f"dwatch, where no write is reported: {result}")
            continue
        console.ask(example)
    let_go = next(event["pid"] for event in console.events if event["event"] == "started" and event.get("dpid") == 2)
    for name in LAST:
        stand(console) if name != "drun" else None
        console.ask(all_of_them[name])
    os.kill(let_go, signal.SIGKILL)
    check_ended(console, all_of_them)
    for name in ENDINGS:
        check_ending(name, all_of_them[name])
    console.send("quit -kill 0")
    console.read("result")
    console.end(0)


def check_ended(console, all_of_them):
    """Whatever is typed when the job has ended has an answer, and the console goes on."""
    console.ask("dfocus t1.1")
    console.ask("dfocus a {dkill; dwait}")
    console.send("dwhere")
    check("`dfocus all` leaves it" in (result := console.read("result"))["error"]["message"], f"a focus of who has ended: {result}")
    console.ask("dfocus all")
    for line in "dwhere", "dprint 1", "dstep", "opm next barrier":
        console.send(line)
        check((result := console.read("result"))["error"]["message"] == "the job has ended", f"{line}: {result}")
    for name, example in all_of_them.items():
        if name not in LAST + ENDINGS:
            for line in (example, "dfocus p1 {" + example + "}", "dfocus t1.1 {" + example + "}"):
                console.send(line)
                console.read("result")
    check(console.ask("expr 6*7")["text"] == "42", "the console does not go on")


def check_ending(name, example):
    with Console("live", "-q", "--force", "-o", f"{name}.tgt", "--", "./solver").process as process:
        process.stdin.write(example.encode() + b"\n")
        process.stdin.flush()
        check(process.wait() == int((example + " 0").split()[1]), f"{name}: {process.returncode}")


def check_trace():
    """Those of a trace: what there is to be found may not be in this one."""
    subprocess.run([os.environ["TG_TRACE_FROM_JSON"], os.path.join(SOURCE, "tests/golden/fixtures/hung.jsonl"), "hung.tgt"],
                   check=True)
    console, n_failed = Console("replay", "--symbols=off", "hung.tgt"), 0
    for name, example in examples(console).items():
        if name in ENDINGS:
            continue
        console.ask("goto 1")
        console.send(example)
        result = console.read("result")
        check(result["ok"] or result["error"]["code"] == "NOT_FOUND", f"{name}: {example}: {result}")
        n_failed += not result["ok"]
    console.end(1 if n_failed > 0 else 0)


build()
check_live()
check_trace()
