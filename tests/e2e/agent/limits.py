#!/usr/bin/env python3
"""Where something is missing that the agent needs, programs run as without it, and the trace says what it has not.

usage: limits.py CASE
"""
import os
import shutil
import subprocess
import sys

import machine
from recording import TOLLGATE, check, events, run, skip

# Tells what it finds by its exit status too, for it may have nowhere to write to.
PROGRAM = r"""
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    long sum = 0;
    int fds = 0, lowest = dup(open("/", O_RDONLY));
#pragma omp parallel num_threads(2) reduction(+ : sum)
    for (int i = 0; i < 1000; i++) {
#pragma omp critical
        sum += i;
    }
    for (int fd = 0; fd < 64; fd++)
        if (fcntl(fd, F_GETFD) >= 0)
            fds |= 1 << fd;
    printf("sum %ld, files %x, next %d, %s\n", sum, fds, lowest, argc > 1 ? argv[1] : "");
    return sum == 999000 ? 40 + lowest % 20 : 1;
}
"""


def build():
    with open("program.c", "w") as file:
        file.write(PROGRAM)
    made = run(["cc", "-O1", "-fopenmp", "program.c", "-o", "program"])
    if made.status != 0:
        skip("cannot build a program with OpenMP here: " + made.errors)
    return os.path.abspath("program")


def same(command, options=(), before=()):
    """COMMAND says the same natively and recorded. BEFORE: how the recorder itself is started. The trace's events."""
    native = run([*before, *command])
    got = run([*before, TOLLGATE, "record", "--quiet", "--force", "-o", "trace", *options, "--", *command])
    check((got.output, got.status) == (native.output, native.status), command, options, "natively", native, "recorded", got)
    return events("trace")


# Forbids itself all system calls but read, write, exit and sigreturn, and then uses locks.
SEALED = r"""
#define _GNU_SOURCE
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static volatile long sum;

static void add(long n)
{
    for (long i = 0; i < n; i++) {
#pragma omp critical
        sum++;
    }
}

static void on_signal(int signal)
{
    (void)signal;
    add(1);
}

#define ALLOW(number) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static int seal(const char *how)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(SYS_read), ALLOW(SYS_write), ALLOW(SYS_exit), ALLOW(SYS_rt_sigreturn),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    const struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    if (strcmp(how, "no clock") == 0)
        return prctl(PR_SET_TSC, PR_TSC_SIGSEGV);
    if (strcmp(how, "strict") == 0)
        return prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return -1;
    if (strcmp(how, "filter") == 0)
        return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}

int main(int argc, char **argv)
{
    signal(SIGSEGV, on_signal);
    if (argc != 3)
        return 2;
    add(atol(argv[2]));
    if (seal(argv[1]) != 0)
        return 3;
    add(20000);
    if (write(1, "done\n", 5) != 5 || sum != 20000 + atol(argv[2]))
        syscall(SYS_exit, 4);
    syscall(SYS_exit, 42);
}
"""


# Forbids itself all system calls but those that loading a library takes, loads one some times, and leaves as programs do: the
# loader calls its auditors then, too.
SEALED_LOADS = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    static const int allowed[] = {SYS_openat, SYS_read, SYS_pread64, SYS_newfstatat, SYS_fstat, SYS_mmap, SYS_munmap, SYS_mprotect,
                                  SYS_close, SYS_brk, SYS_getrandom, SYS_write, SYS_exit_group,
                                  SYS_clone, SYS_set_robust_list, SYS_wait4}; /* fork */
    enum { COUNT = sizeof allowed / sizeof *allowed };
    struct sock_filter filter[2 * COUNT + 2] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
    const struct sock_fprog program = {2 * COUNT + 2, filter};
    int times = argc > 2 ? atoi(argv[2]) : 0, good = 0, status = 0;
    for (size_t i = 0; i < COUNT; i++) {
        filter[1 + 2 * i] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, allowed[i], 0, 1);
        filter[2 + 2 * i] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    }
    filter[2 * COUNT + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0)
        return 3;
    pid_t child = argc > 3 ? fork() : 0;
    for (int i = 0; i < times && child == 0; i++) {
        void *library = dlopen(argv[1], RTLD_NOW);
        good += library != NULL && dlclose(library) == 0;
    }
    if (child != 0 && (wait(&status) != child || status != 42 << 8))
        return 4;
    printf("%d\n", good);
    return 42;
}
"""


# Forbids itself the time stamp counter in one of several ways, and then does what the agent records.
NO_CLOCK = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void *work(void *unused)
{
    void *library = dlopen("libm.so.6", RTLD_NOW);
    if (library != NULL)
        dlclose(library);
#pragma omp critical
    (void)unused;
    return NULL;
}

static void forbid(const char *how)
{
    long result;
    if (strcmp(how, "prctl") == 0)
        prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
    else if (strcmp(how, "syscall") == 0)
        syscall(SYS_prctl, PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
    else
        __asm__ volatile("syscall" : "=a"(result) : "a"((long)SYS_prctl), "D"((long)PR_SET_TSC), "S"((long)PR_TSC_SIGSEGV),
                         "d"(0L) : "rcx", "r11", "memory");
}

int main(int argc, char **argv)
{
    pthread_t thread;
    int status = 0;
    if (argc != 3)
        return 2;
    if (strcmp(argv[2], "before") == 0)
        work(NULL);
    forbid(argv[1]);
    if (strcmp(argv[2], "thread") == 0 && pthread_create(&thread, NULL, work, NULL) == 0)
        pthread_join(thread, NULL);
    else if (strcmp(argv[2], "child") == 0) {
        if (fork() == 0)
            return work(NULL) != NULL;
        wait(&status);
    } else
        work(NULL);
    return status == 0 ? 42 : 3;
}
"""


def no_clock():
    """A program that forbids itself the time stamp counter (PR_SET_TSC) is not ended by the agent's reading it."""
    with open("clock.c", "w") as file:
        file.write(NO_CLOCK)
    made = run(["cc", "-O1", "-fopenmp", "clock.c", "-o", "clock", "-ldl", "-pthread"])
    if made.status != 0:
        skip("cannot build a program with OpenMP here: " + made.errors)
    if not machine.can_forbid_clock():
        print("the clock can be read here though it is forbidden: so can the agent where it does not see that it is")
    for options in ((), ("--no-ptrace",)):
        for how in ("prctl", "syscall", "instruction"):
            for what in ("before", "alone", "thread", "child"):
                if (how, what) == ("instruction", "before"):
                    continue  # in the manual page: nobody sees it
                trace = same([os.path.abspath("clock"), how, what], options)
                loads = sum(event["kind"] == "omp_mutex_enter" for event in trace)
                is_seen = how != "instruction" or machine.can_forbid_clock()
                check(loads == (what == "before" or not is_seen), options, how, what, loads, "criticals")


def seccomp():
    """A program that forbids itself system calls lives on, and is recorded to its end."""
    with open("sealed.c", "w") as file:
        file.write(SEALED)
    made = run(["cc", "-O1", "-fopenmp", "sealed.c", "-o", "sealed"])
    if made.status != 0:
        skip("cannot build a program with OpenMP and seccomp here: " + made.errors)
    for options, how, before in (((), "strict", 0), (("--no-ptrace",), "strict", 5000), ((), "filter", 5000),
                                 (("--no-ptrace",), "system call", 0), ((), "no clock", 10)):
        trace = same([os.path.abspath("sealed"), how, str(before)], (*options, "--ring-size=64K"))
        events_of = sum(event["kind"].startswith("omp_mutex") for event in trace)
        lost = sum(event["count"] for event in trace if event["kind"] == "loss")
        # in strict mode the kernel forbids to read the clock as well
        check((events_of, lost) == ((3 * before, 3 * 20000) if how in ("strict", "no clock") else (3 * (20000 + before), 0)),
              options, how, f"{events_of} events of criticals, {lost} lost")
        said = [event["text"] if event["kind"] == "note" else event["reason"] for event in trace
                if event["kind"] in ("note", "agent")]
        check([text for text in said if "restricts its system calls" in text or "disables the time stamp counter" in text], how, said)


def seccomp_loads():
    """Nor does the auditor make system calls there, of which one would be the program's end: at loads, or when it ends."""
    for name, text, options in (("sealed_loads.c", SEALED_LOADS, ["-o", "sealed_loads", "-ldl"]),
                                ("loaded.c", "int loaded;\n", ["-shared", "-fPIC", "-o", "loaded.so"])):
        with open(name, "w") as file:
            file.write(text)
        made = run(["cc", "-O1", name, *options])
        if made.status != 0:
            skip("cannot build a program with seccomp here: " + made.errors)
    command = [os.path.abspath("sealed_loads"), os.path.abspath("loaded.so")]
    for options in ((), ("--dlopen=agent",), ("--dlopen=stops",), ("--no-ptrace",), ("--no-ptrace", "--ring-size=64K"), ("--heap",),
                    ("--heap=check",)):
        for times in (0, 300):
            trace = same([*command, str(times)], options)
            loads = sum(event["kind"] == "library_load" and event["found"] != "startup" for event in trace)
            check(loads == times and not any(event["kind"] == "loss" for event in trace), options, times, loads)
    # a child of it has no ring: its loads are told by stops, or counted
    for options, found in ((("--match=*/libnone*",), 9), (("--mode=slow",), 9), ((), 0)):
        trace = same([*command, "9", "fork"], options)
        loads = sum(event["kind"] == "library_load" and event["found"] != "startup" for event in trace)
        lost = sum(event["count"] for event in trace if event["kind"] == "loss")
        check(loads == found and (found > 0 or lost >= 9), options, loads, lost)


def limits():
    """Few files, no locked memory, no long files, little memory; standard files that are closed."""
    program = build()
    for options, given in (((), ("-n 7", "-l 0", "-f 0", "-v 300000", "-s 128")), (("--no-ptrace",), ("-n 7", "-v 300000"))):
        for limit in given:
            same(["sh", "-c", f"ulimit {limit}; exec {program}"], options)
        for closed in ("<&-", "<&- >&- 2>&-"):
            trace = same(["sh", "-c", f"exec {program} {closed}"], options)
            check(any(event["kind"] == "omp_mutex_enter" for event in trace), closed, options, "nothing was recorded")


def shared_memory():
    """No room for rings: less is recorded, or nothing, and said."""
    program = build()
    mounted = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs -o size="$0" tmpfs /dev/shm && exec "$@"']
    if run([*mounted, "192k", "true"]).status != 0:
        skip("no file systems can be mounted here")
    for options in ((), ("--no-ptrace",)):
        trace = same([program], options, [*mounted, "192k"])
        losses = [event for event in trace if event["kind"] == "loss"]
        check(len(losses) == 1 and losses[0]["count"] > 1000 and "no ring could be created" in losses[0]["reason"], losses)
    # rings become memory as they are used: of 1 MiB, there is room for several
    trace = same([program], ("--ring-size=1M",), [*mounted, "1m"])
    check(not any(event["kind"] == "loss" for event in trace) and any(event["kind"] == "omp_mutex_enter" for event in trace), "too much memory")
    # one that does not even take the directory: the next place does
    trace = same([program], (), [*mounted, "4k"])
    check(not any(event["kind"] == "loss" for event in trace) and any(event["kind"] == "omp_mutex_enter" for event in trace), "nothing was recorded")
    # nowhere (what is written here is reached by the current directory, which is of before)
    for name in ("XDG_RUNTIME_DIR", "TMPDIR"):
        os.environ.pop(name, None)
    nowhere = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs -o size=4k tmpfs /dev/shm && mount --bind /tmp /tmp && mount -o remount,bind,ro /tmp && exec "$@"', "sh"]
    trace = same([program], (), nowhere)
    notes = [event["text"] for event in trace if event["kind"] == "note"]
    check(any("without the agent" in text and "/tmp" in text and "Read-only" in text for text in notes), notes)
    refused = run([*nowhere, TOLLGATE, "record", "--no-ptrace", "-o", "none", "--", program])
    check(refused.status == 2 and "/tmp" in refused.errors and "Read-only" in refused.errors, refused)
    check(not os.path.exists("none") and not os.path.exists("none.incomplete"), os.listdir())


# Locks so much that rings grow, and fills the rest of the file system that they are in meanwhile; prints how often. With a library
# loads and unloads that after it.
MUCH = r"""
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static long sum;
static void lock(int times)
{
#pragma omp parallel for num_threads(4)
    for (int i = 0; i < times; i++) {
#pragma omp critical
        sum++;
    }
}
int main(int argc, char **argv)
{
    static char data[4096];
    int fd = open("/dev/shm", O_TMPFILE | O_WRONLY, 0600), before = atoi(argv[1]);
    lock(before);
    while (write(fd, data, sizeof data) > 0)
        continue;
    for (int i = 0; i < 1500 && argc > 2; i++)
        dlclose(dlopen(argv[2], RTLD_NOW));
    lock(150000 - before);
    printf("%ld\n", sum);
    return 0;
}
"""


def full_memory():
    """Rings grow until the file system is full: threads wait then, as with rings that do not grow, and nothing is lost."""
    with open("much.c", "w") as file:
        file.write(MUCH)
    made = run(["cc", "-O1", "-fopenmp", "-D_GNU_SOURCE", "much.c", "-o", "much"])
    if made.status != 0:
        skip("cannot build a program with OpenMP here: " + made.errors)
    mounted = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs -o size="$0" tmpfs /dev/shm && exec "$@"']
    if run([*mounted, "3m", "true"]).status != 0:
        skip("no file systems can be mounted here")
    with open("loaded.c", "w") as file:
        file.write("int loaded;\n")
    made = run(["cc", "-shared", "-fPIC", "loaded.c", "-o", "loaded.so"])
    check(made.status == 0, made)
    library = os.path.abspath("loaded.so")
    for size, before, options in (("2m", "20000", []), ("30m", "20000", []), ("30m", "1000", [library])):
        got = run([*mounted, size, TOLLGATE, "record", "--quiet", "--force", "--dlopen=agent", "-o", "trace", "--",
                   os.path.abspath("much"), before, *options])
        check((got.status, got.output) == (0, "150000\n"), size, got)
        for kind, count in (("omp_mutex_enter", 150000), ("omp_mutex_leave", 150000), ("library_load", 1501 if options else 1), ("loss", 0)):
            told = run([TOLLGATE, "dump", "--kind", kind, "trace"])
            found = sum(f" {kind} " in line for line in told.output.splitlines())
            check(told.status == 0 and found == count, size, kind, found, told.output[:500])


def other_libc():
    """A program with a dynamic loader that is not the agent's."""
    loader = shutil.copy(os.path.realpath("/lib64/ld-linux-x86-64.so.2"), "loader")
    with open(loader, "r+b") as file:
        content = file.read()
        notes = subprocess.run(["readelf", "-nW", loader], capture_output=True, text=True).stdout
        build_id = next((line.split()[-1] for line in notes.splitlines() if "Build ID" in line), None)
        if build_id is None:
            skip("the dynamic loader has no build-id here")
        file.seek(content.index(bytes.fromhex(build_id)))
        file.write(b"another")
    with open("program.c", "w") as file:
        file.write("#include <stdio.h>\nint main(void)\n{ puts(\"another libc\"); return 9; }\n")
    made = run(["cc", "program.c", "-o", "program", "-Wl,--dynamic-linker=" + os.path.abspath(loader)])
    check(made.status == 0, made)
    trace = same([os.path.abspath("program")])
    asides = [event["reason"] for event in trace if event["kind"] == "agent"]
    check(len(asides) == 1 and "not the one the agent was built for" in asides[0], asides)


def full_disk():
    """The trace's disk is full: the job runs on, what is lost is counted, one line says so."""
    program = build()
    mounted = ["unshare", "-m", "sh", "-c", 'mkdir -p disk && mount -t tmpfs -o size="$0" tmpfs disk && exec "$@"']
    if run([*mounted, "64k", "true"]).status != 0:
        skip("no file systems can be mounted here")
    for options in ((), ("--no-ptrace",)):
        native = run([program])
        got = run([*mounted, "4k", TOLLGATE, "record", "-o", "disk/trace", *options, "--", "sh", "-c",
                   " && ".join(8 * [f"! {program}"])])
        check(got.status == 0 and got.output == 8 * native.output, got)
        check(got.errors.count("No space left") == 1 and "events LOST" in got.errors, got)
        check(len(got.errors.splitlines()) == 3, got)


if __name__ == "__main__":
    os.environ["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0:verify_asan_link_order=0"
    globals()[sys.argv[1]]()
