#!/usr/bin/env python3
"""Stacks with arguments and variables of several threads, merged and as data; thread-local storage of a program, of its library
and of a plug-in. usage: stacks.py"""
import os
import re
import shutil
import subprocess

from json_driver import Console, check

LIBRARY = "__thread int in_library = 100; int add(int x) { in_library += x; return in_library; }"
PLUGIN = "__thread int in_plugin = 1000; int add_there(int x) { return in_plugin += x; }"
SOURCE = r"""
#include <dlfcn.h>
#include <pthread.h>
__thread int in_program = 1;
extern int add(int);
static int (*add_there)(int);
static pthread_barrier_t gate;
static void together(int who, double half)
{
    (void)who, (void)half;
    pthread_barrier_wait(&gate);
}
static void *run(void *argument)
{
    int me = (int)(long)argument, same = 7;
    in_program = me;
    add(me);
    if (me != 3)
        add_there(10 * me);
    together(me, same / 2.0);
    return 0;
}
int main(void)
{
    void *plugin = dlopen("./plugin.so", RTLD_NOW);
    add_there = (int (*)(int))dlsym(plugin, "add_there");
    pthread_t threads[2];
    pthread_barrier_init(&gate, 0, 3);
    for (long i = 1; i <= 2; i++)
        pthread_create(&threads[i - 1], 0, run, (void *)i);
    run((void *)3);
    return 0;
}
"""

TREE = r"""1:3\[p1\.1-3\]
(?s:.*)
 +run\(argument\) stacks\.c#20
 +\| argument = \(void \*\) 0x1: 1:1\[p1\.2\]
 +\| argument = \(void \*\) 0x2: 1:1\[p1\.3\]
 +\| me = 1: 1:1\[p1\.2\]
 +\| me = 2: 1:1\[p1\.3\]
 +\| same = 7
 +together\(who, half=3\.5\) stacks\.c#9
 +\| who = 1: 1:1\[p1\.2\]
 +\| who = 2: 1:1\[p1\.3\]
"""


# a library without debugging information has its functions' names from its symbol table alone
PLAIN = "namespace mesh { void give_up(int); __attribute__((noinline)) void solve(int x) { give_up(x); asm volatile(\"\"); } }\n" \
        "__attribute__((noinline)) void mesh::give_up(int) { __builtin_trap(); } int main() { mesh::solve(1); }"


def check_plain():
    subprocess.run(["g++", "-O0", "-x", "c++", "-", "-o", "plain"], input=PLAIN, text=True, check=True)
    done = subprocess.run([os.environ["TG_TOLLGATE"], "live", "-o", "plain.tgt", "-e", "dcont", "-e", "puts [dwhere]", "-e", "ddetach",
                           "-e", "catch {dwait}", "-e", "quit 0", "--", "./plain"], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=60, check=False)
    check(re.search(r"^ +0 +0x\w+ +mesh::give_up +plain\n +1 +0x\w+ +mesh::solve +plain$", done.stdout, re.MULTILINE), done.stdout + done.stderr)
    check("detached; the job continues" in done.stdout and "the job has ended" not in done.stdout, done.stdout + done.stderr)


def build():
    for name, text in (("library.c", LIBRARY), ("plugin.c", PLUGIN), ("stacks.c", SOURCE)):
        with open(name, "w", encoding="utf-8") as file:
            file.write(text)
    for options in (["-shared", "-fPIC", "library.c", "-o", "library.so"], ["-shared", "-fPIC", "plugin.c", "-o", "plugin.so"],
                    ["stacks.c", "-o", "stacks", "-pthread", "./library.so"]):
        subprocess.run(["gcc", "-g", "-O0", *options], check=True)


def by_thread(console, expression):
    """What each thread answers."""
    answers = console.ask(f"dfocus p1 dprint -frame 1 {expression}")["data"]
    return {answer["threads"]: answer.get("text", answer.get("error")) for answer in answers}


def check_everybody():
    """dptsets tells of all threads, also where the focus is on workers, which are not all."""
    done = subprocess.run([os.environ["TG_TOLLGATE"], "live", "-o", "all.tgt", "-e", "dset manager_libraries stacks", "-e",
                           "dbreak stacks.c#20 -if {$me == 3}", "-e", "dcont", "-e", "puts [dfocus gW {dptsets gW}]", "-e", "dfocus gW dptsets",
                           "-e", "quit -kill 0", "--", "./stacks"], stdin=subprocess.DEVNULL, env=dict(os.environ, LD_LIBRARY_PATH="."),
                          capture_output=True, text=True, timeout=60, check=False)
    check(re.search(r"^gW: 1:1\[p1\.1\]$", done.stdout, re.MULTILINE), done.stdout + done.stderr)
    check(re.search(r"^existent\(aC\) +1:3\[p1\.1-3\]$", done.stdout, re.MULTILINE), done.stdout + done.stderr)


OPENMP = """static int total;
static void work(int me, int twice) { __atomic_fetch_add(&total, me + twice, __ATOMIC_RELAXED); }
int main(void)
{
    int start = 5;
#pragma omp parallel num_threads(1)
    {
        int here = start + 1;
        work(here, 2 * here);
    }
    return 0;
}
"""


def check_agent():
    """Calls of the agent, which is between a program and its runtime, are left out; levels are those that are shown."""
    with open("team.c", "w", encoding="utf-8") as file:
        file.write(OPENMP)
    subprocess.run(["gcc", "-g", "-O0", "-fopenmp", "team.c", "-o", "team"], check=True)
    script = ["dbreak team.c#6", "dcont", "dbreak tollgate-agent.so`GOMP_parallel", "dcont", "puts [dwhere]", "puts [dfocus g dstatus]",
              "puts [dfocus g {dstatus -group_by line}]", "puts level-0:[dprint start]", "ddelete -a", "dbreak work", "dcont",
              "puts [dfocus t1.1 dwhere]", "puts level-1:[dfocus t1.1 {dprint -frame 1 here}]",
              "puts level-3:[dfocus t1.1 {dprint -frame 3 start}]", "puts [dfocus g dwhere]", "quit -kill 0"]
    done = subprocess.run([os.environ["TG_TOLLGATE"], "live", "-o", "agent.tgt", *(word for line in script for word in ("-e", line)),
                           "--", "./team"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)
    shown = done.stdout + done.stderr
    # at the agent's GOMP_parallel: that is where main calls it
    for wanted in (r"^thread 1\.1 stopped at action point 2: main \(team\.c#6\)$", r"^ +0  0x\w+  main +team\.c#6$", r"^ +main: 1:1\[p1\.1\]$",
                   r"^team\.c#6: 1:1\[p1\.1\]$", r"^level-0:start = 5$", r"^level-1:here = 6$", r"^level-3:start = 5$",
                   r"^ +0  0x\w+  work +team\.c#2\n +1  0x\w+  main\._omp_fn\.0 +team\.c#9\n +2  0x\w+  GOMP_parallel +libgomp.*\n"
                   r" +3  0x\w+  main +team\.c#6$"):
        check(re.search(wanted, shown, re.MULTILINE), f"{wanted}: {shown}")
    check("run_body" not in shown and "tg_openmp" not in shown and "tollgate-agent" not in shown, shown)


LOST = r"""__asm__(".text\n.globl lost\n.type lost,@function\nlost: push %rbx\n lea -128(%rsp), %rsp\n xor %ebp, %ebp\n nop\n nop\n"
        "1: nop\n jmp 1b\n.size lost,.-lost");
void lost(void);
int main(void) { lost(); }
"""


def check_lost():
    """Where no frame can be told a line cannot be stepped over: what can be done instead is said."""
    with open("lost.c", "w", encoding="utf-8") as file:
        file.write(LOST)
    subprocess.run(["gcc", "-g", "-O0", "lost.c", "-o", "lost"], check=True)
    done = subprocess.run([os.environ["TG_TOLLGATE"], "live", "-q", "-o", "lost.tgt", "-e", "dbreak lost", "-e", "dcont", "-e", "dstepi 6", "-e",
                           "catch dnext text; puts $text", "-e", "quit -kill 0", "--", "./lost"], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=60, check=False)
    check(re.search(r"^thread 1\.1: cannot find the frame here: .*\(dgo, dhalt\).* breakpoint, or use dstepi$", done.stdout, re.MULTILINE),
          done.stdout + done.stderr)


def main():
    check_agent()
    check_lost()
    if shutil.which("g++") is not None:
        check_plain()
    build()
    check_everybody()
    console = Console("live", "-o", "trace", "--", "./stacks", env=dict(os.environ, LD_LIBRARY_PATH="."))
    # at a function's first instruction: arguments are not stored yet
    console.ask("dbreak *together -stop_when_hit none")
    console.ask("dgo")
    while sum(event["threads"] for event in console.events if event.get("state") == "breakpoint") < 3:
        console.read("event")
    stack = console.ask("dfocus t1.1 {dwhere -args -locals 2}")
    check(re.search(r"together\(who=3, half=3\.5\) +stacks\.c#9\n.*run\(argument=\(void \*\) 0x3\) +stacks\.c#20", stack["text"]),
          stack["text"])
    check(re.search(r"^ +me = 3\n +same = 7$", stack["text"], re.MULTILINE), stack["text"])
    together, run = stack["data"]
    check([argument["name"] for argument in together["arguments"]] == ["who", "half"], together)
    check(together["arguments"][0]["value"] == {"type": "int", "value": 3, "text": "3"}, together)
    check(together["arguments"][1]["value"]["text"] == "3.5" and together["locals"] == [], together)
    check([variable["name"] for variable in run["locals"]] == ["me", "same"], run)
    # merged: values that differ are below the call that they are of
    tree = console.ask("dfocus p1 {dwhere -args -locals}")
    check(re.search(TREE, tree["text"] + "\n"), tree["text"])
    check(sorted(thread["threads"] for thread in tree["data"]) == [f"1:1[p1.{i}]" for i in (1, 2, 3)], tree["data"])
    check(all(thread["frames"][0]["function"] == "together" for thread in tree["data"]), tree["data"])
    plain = console.ask("dfocus p1 dwhere")
    check("together stacks.c#9" in plain["text"] and "arguments" not in plain["data"][0]["frames"][0], plain)
    # what each thread has of its own
    check(by_thread(console, "in_program") == {"1:1[p1.1]": "3", "1:1[p1.2]": "1", "1:1[p1.3]": "2"}, "the program's")
    check(by_thread(console, "in_library") == {"1:1[p1.1]": "103", "1:1[p1.2]": "101", "1:1[p1.3]": "102"}, "a library's")
    plugin = by_thread(console, "in_plugin")
    check(plugin == {"1:1[p1.1]": "this thread has not used it yet", "1:1[p1.2]": "1010", "1:1[p1.3]": "1020"}, plugin)
    console.ask("dkill")
    console.process.stdin.close()
    console.process.wait()


if __name__ == "__main__":
    main()
