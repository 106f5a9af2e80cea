#!/usr/bin/env python3
"""dwatch: who changed what, in functions, threads, children and attached processes; nothing of it stays behind."""
import os
import pathlib
import re
import signal
import subprocess
import sys

import machine

TOLLGATE = os.environ["TG_TOLLGATE"]

PROGRAM = r"""#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
enum colour { RED, GREEN };
long counter;
static struct { enum colour colour; unsigned low : 3, high : 5; double real; } mixed;
static struct { char pad; long value; } __attribute__((packed)) odd;
static int *chosen, cells[20];
static jmp_buf out;
static void bump(long by)
{
    counter = counter; /* changes nothing */
    counter += by; /* BUMP */
}
static int sum(int n)
{
    volatile int total = 0;
    for (int i = 1; i <= n; i++)
        total += i;
    return total;
}
static void leave(volatile int *place) { *place = 2; longjmp(out, 1); }
static void hold(void)
{
    volatile int mine = 1;
    leave(&mine); /* LEAVE */
}
static void *work(void *by)
{
    bump((long)by);
    return NULL;
}
static void push(void) { __asm__ volatile("push %%rax\n\tpop %%rax" ::: "memory", "cc"); }
int main(int argc, char **argv)
{
    pthread_t thread;
    long read_value = 99;
    int ends[2], status;
    (void)argv;
    if (argc > 1) {
        puts("ready");
        fflush(stdout);
        alarm(60);
        for (;;) {
            counter++;
            usleep(1000);
        }
    }
    bump(1); /* FIRST */
    mixed.low = 1;
    mixed.high = 9;
    mixed.colour = GREEN;
    mixed.real = 2.5;
    odd.value = 3;
    chosen = &cells[3];
    *chosen = 4; /* CHOSEN */
    sum(3);
    if (setjmp(out) == 0)
        hold();
    pthread_create(&thread, NULL, work, (void *)10L);
    pthread_join(thread, NULL);
    push();
    if (pipe(ends) != 0 || write(ends[1], &read_value, sizeof read_value) < 0 || read(ends[0], &counter, sizeof counter) < 0)
        return 1;
    bump(1);
    pid_t child = fork();
    if (child == 0) {
        counter = 7; /* CHILD */
        _exit(0);
    }
    waitpid(child, &status, 0);
    memset(cells, 1, sizeof cells);
    printf("end %ld %d %d\n", counter, status, cells[3]);
    return 0;
}
"""

# two threads that each write as often as they say, mostly at the same time
WRITERS = r"""#include <pthread.h>
static long counter;
static pthread_barrier_t both;
static void *work(void *by)
{
    for (int i = 0; i < 8; i++) {
        pthread_barrier_wait(&both);
        __atomic_fetch_add(&counter, (long)by, __ATOMIC_RELAXED);
        pthread_barrier_wait(&both);
    }
    return NULL;
}
int main(void)
{
    pthread_t threads[2];
    pthread_barrier_init(&both, NULL, 2);
    for (long i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, work, (void *)(1 + 9 * i));
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return counter != 88;
}
"""

SCRIPT = r"""
proc refused {what pattern} {
    if {![catch {uplevel 1 $what} message]} {error "$what: no error"}
    if {![regexp -- $pattern $message]} {error "$what: '$message' has not '$pattern'"}
}
proc want {text pattern} {
    if {![regexp -- $pattern $text]} {error "'$text' has not '$pattern'"}
}
dwatch counter -pending
want [ac 1] {\[counter, 8 bytes\]\nEnabled \(watchpoint\)\nShare in group: true}
dbreak watching.c#FIRST
dcont
refused {dwatch cells} {80 bytes.*at most 32.*-length}
refused {dwatch nosuch} {no variable or function 'nosuch'}
refused {dwatch counter+1} {not in memory}
refused {dwatch -address 0x1000} {-length N}
refused {dwatch -address 0x10 -length 8} {cannot be read}
dwatch cells -length 16
ddelete 3
dactions -save points
puts "saved: [exec cat points]"
refused {dactions -save points} {points exists: choose another name, or add --force}
refused {dactions -save /dev/null --force} {a device, which is not replaced}
refused {dactions --force} {usage: dactions}
dactions -save points --force
# a write that changes nothing is no hit; two threads, a step over the line
dcont
dstatus -group_by thread_state
want [dptsets watchpoint(a)] {1\.1|p1}
dfocus t1.1 dstepi 2
ddisable 1
dwatch mixed.high
dwatch mixed.colour
dcont
dcont
ddelete 4 5
dwatch mixed.real -if {mixed.real > 2} -e {puts "script: [dprint mixed.real]"}
refused {dwatch odd.value} {need 4 of the processor's 4 debug registers, of which 3 are free .*ddelete}
dcont
ddelete 6
dwatch odd.value -t
dcont
ddelete 7
dbreak watching.c#CHOSEN
dcont
dwatch {*chosen}
dcont
ddelete 9
dbreak sum
dcont
dwatch total -if {total > 4}
dcont
want [ac 11] {until this function returns: sum}
refused {dactions -load points; dwatch cells -length 32} {debug registers}
dcont
refused {ac 11} {no action point 11}
ddelete 12 13
"""

MORE = r"""
dbreak watching.c#LEAVE
dcont
denable 1
dwatch mine -t
dcont
dcont
dcont
dcont
dcont
dfocus a dcont -any
ddelete 1
dfocus a dcont
"""


def run(script, *arguments, program=("./watching",)):
    pathlib.Path("script.tcl").write_text(script, encoding="utf-8")
    done = subprocess.run([TOLLGATE, "live", "-q", "-o", "trace.tgt", "--force", *arguments, "-x", "script.tcl", "--", *program],
                          capture_output=True, text=True, timeout=100, check=False)
    if done.returncode != 0:
        sys.exit(f"status {done.returncode}:\n{done.stdout}\n{done.stderr}")
    return done.stdout


# Where the machine reports no writes.
NOTHING_IS_WATCHED = r"""
dbreak watching.c#FIRST
dcont
refused {dwatch cells} {80 bytes.*at most 32.*-length}
refused {dwatch nosuch} {no variable or function 'nosuch'}
refused {dwatch counter+1} {not in memory}
refused {dwatch -address 0x1000} {-length N}
refused {dwatch counter} {this machine}
refused {dwatch cells -length 16} {this machine}
refused {ac 2} {no action point 2}
dfocus a dcont
"""


def refused_alone():
    """Watchpoints that would never be hit are refused, and leave the program as it is."""
    print("this machine reports no writes to what is watched: only that watchpoints are refused is tested")
    first = SCRIPT.index("dwatch counter -pending")
    script = SCRIPT[:first] + NOTHING_IS_WATCHED
    expect(run(script.replace("FIRST", str(line_of("FIRST")))), r"^end 100 0 16843009$")


def expect(text, *patterns):
    at = 0
    for pattern in patterns:
        match = re.compile(pattern, re.M).search(text, at)
        if match is None:
            sys.exit(f"no {pattern} behind:\n{text[:at]}\n---\n{text[at:]}")
        at = match.end()


def line_of(mark):
    return 1 + PROGRAM[: PROGRAM.index(f"/* {mark} */")].count("\n")


def launched():
    script = SCRIPT
    for mark in ("FIRST", "CHOSEN", "LEAVE"):
        script = script.replace(mark, str(line_of(mark)))
    more = MORE.replace("LEAVE", str(line_of("LEAVE")))
    output = run(script + more)
    bump = line_of("BUMP")
    expect(output, r"^saved: # tollgate action points", r"^dwatch \{?counter\}? -p -pending$",
           rf"^watchpoint 1: counter was 0, is 1 after a write by thread 1\.1 in bump \(watching\.c#{bump}\)$",
           r"^thread 1\.1 stopped at watchpoint 1: bump",
           r"^watchpoint 4: mixed\.high was 0, is 9 after a write by thread 1\.1 in main",
           r"^watchpoint 5: mixed\.colour was RED, is GREEN after",
           r"^watchpoint 6: mixed\.real was 0, is 2\.5 after",
           r"^watchpoint 7: odd\.value was 0, is 3 after",
           r"^watchpoint 9: \*chosen was 0, is 4 after",
           r"^watchpoint 11 is in process 1 alone, until sum returns$",
           r"^watchpoint 11: total was 3, is 6 after a write by thread 1\.1 in sum",
           r"^watchpoint 11: total; deleted: sum has returned$",
           r"^thread 1\.1 stopped at the end of a watchpoint: main",
           r"until hold returns$", r": mine was 1, is 2 after a write by thread 1\.1 in leave",
           rf"^watchpoint 1: counter was 1, is 11 after a write by thread 1\.2 in bump \(watching\.c#{bump}\)$",
           # read() is not seen; what is said after the next write is true of it
           rf"^watchpoint 1: counter was 11, is 99 after a write by thread 1\.1 in bump \(watching\.c#{bump - 1}\)$",
           r"^watchpoint 1: counter was 99, is 100 after a write by thread 1\.1 in bump",
           r"^watchpoint 1: counter was 100, is 7 after a write by thread 2\.1 in main", r"^end 100 0 16843009$")
    expect(output, r"^script: mixed\.real = 2\.5$")
    if "mixed.low" in output or len(re.findall(r"^watchpoint 4:", output, re.M)) != 1:
        sys.exit(f"a neighbour of a bit-field was told:\n{output}")
    dump = subprocess.run([TOLLGATE, "dump", "trace.tgt"], capture_output=True, text=True, check=True).stdout
    expect(dump, r"watch_set +watch=1 text=counter address=0x\w+ size_bytes=8",
           r"watch_hit +watch=1 address=0x\w+ before=0 after=1", r"watch_removed")


def writers():
    """Each write is told, with its thread, also where both come before the value can be read."""
    pathlib.Path("writers.c").write_text(WRITERS, encoding="utf-8")
    subprocess.run(["gcc", "-g", "-O0", "-pthread", "writers.c", "-o", "writers"], check=True)
    output = run("""dwatch counter -pending -e {puts "script: $oldval $newval"}
for {set n 0} {$n < 40} {incr n} {if {[catch {dfocus a dcont -any}]} break}""", program=("./writers",))
    told = re.findall(r"^watchpoint 1: counter was (\d+), is (\d+) after a write by thread (1\.\d) in work \(writers\.c#8\)"
                      r"(; 1 other thread wrote at the same time)?$", output, re.M)
    for thread in ("1.2", "1.3"):
        if [one[2] for one in told].count(thread) != 8:
            sys.exit(f"not 8 writes by {thread}:\n{output}")
    if any(int(after) - int(before) != 11 for before, after, _, other in told if other):
        sys.exit(f"two writes are not their sum:\n{output}")
    scripts = re.findall(r"^script: (\d+) (\d+)$", output, re.M)
    if sorted(scripts) != sorted((before, after) for before, after, _, _ in told):
        sys.exit(f"values of scripts:\n{output}")


def attached(how):
    """The program runs on where the console lets it go or is killed."""
    worker = subprocess.Popen(["./watching", "on"], stdout=subprocess.PIPE, text=True)
    worker.stdout.readline()
    script = "dwatch counter; dcont; puts armed; flush stdout; " + ("ddetach" if how == "detach" else "exec sleep 50")
    live = subprocess.Popen([TOLLGATE, "live", "-q", "-o", "attached.tgt", "--force", "-p", str(worker.pid), "-e", script],
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    seen = []
    for line in live.stdout:
        seen.append(line)
        if line == "armed\n":
            break
    else:
        sys.exit(f"{how}: {''.join(seen)}")
    expect("".join(seen), r"^watchpoint 1: counter was \d+, is \d+ after a write by thread 1\.1 in main")
    if how == "engine":
        with open(f"/proc/{live.pid}/task/{live.pid}/children", encoding="ascii") as file:
            os.kill(int(file.read().split()[0]), signal.SIGKILL)
    elif how == "console":
        live.kill()
    live.communicate(timeout=60)
    # counting needs the next writes
    subprocess.run([TOLLGATE, "live", "-q", "-o", "second.tgt", "--force", "-p", str(worker.pid), "-e",
                    "dwatch counter; dcont; ddelete 1; quit -detach"], check=True, timeout=60, stdout=subprocess.DEVNULL)
    if worker.poll() is not None:
        sys.exit(f"{how}: the program ended with {worker.returncode}")
    worker.kill()
    worker.communicate()


def main():
    pathlib.Path("watching.c").write_text(PROGRAM, encoding="utf-8")
    subprocess.run(["gcc", "-g", "-O0", "-pthread", "watching.c", "-o", "watching"], check=True)
    if not machine.reports_watchpoints():
        refused_alone()
        return
    launched()
    writers()
    for how in ("detach", "console", "engine"):
        attached(how)


main()
