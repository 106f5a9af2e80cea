#!/usr/bin/env python3
"""Leaks that are told: none of programs that have none, exactly those of programs that count theirs, each in the process that
made it.

usage: leak_answers.py CASE
"""
import concurrent.futures
import json
import os
import re
import shutil
import subprocess

import sys

from mpi_job import FLAVOURS
from recording import TOLLGATE, check, run, skip

PROGRAMS = os.path.join(os.environ["TG_SOURCE"], "tests/programs")

# Stacks that the thread library knows nothing of beside data, blocks that only other threads, atexit or keys refer to.
C = r"""
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
struct node { struct node *next; char *name; };
static struct node *volatile head;
static pthread_key_t key;
static pthread_barrier_t both;
static ucontext_t back, one, two, last;
static char room[65536];
static void clean(void) { while (head) { struct node *n = head->next; free(head->name); free(head); head = n; } }
static void *end(void *x) { void *p = malloc(100); pthread_setspecific(key, p); free(malloc(50)); (void)x; pthread_exit(NULL); }
static void *stay(void *x) { *(void **)x = malloc(333); pthread_barrier_wait(&both); for (;;) sched_yield(); }
static void suspend(int which) { char *volatile mine = malloc(444); swapcontext(which ? &two : &one, &back); free(mine); }
static void leave(void) { char *volatile mine = malloc(666); memset(mine, 1, 666); exit(0); }
static char *pages(void) { return mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); }
static void begin(ucontext_t *c, char *stack, size_t size, void (*f)(), int which)
{ getcontext(c); c->uc_stack.ss_sp = stack; c->uc_stack.ss_size = size; makecontext(c, f, 1, which); swapcontext(&back, c); }
int main(void)
{
    pthread_t threads[4]; pthread_attr_t attributes; char *data = pages();
    atexit(clean);
    for (int i = 0; i < 100; i++) { struct node *n = malloc(sizeof *n); n->next = head; n->name = strdup("a name"); head = n; }
    pthread_key_create(&key, free);
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, end, NULL);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < 50; i++) ((void **)data)[i] = malloc(777);
    pthread_attr_init(&attributes); pthread_attr_setstack(&attributes, data + (1 << 19), 1 << 19);
    pthread_barrier_init(&both, NULL, 2);
    pthread_create(&threads[0], &attributes, stay, data + 1024); pthread_barrier_wait(&both);
    begin(&one, room, sizeof room, (void (*)())suspend, 0);
    begin(&two, malloc(65536), 65536, (void (*)())suspend, 1);
    data = pages();
    for (int i = 0; i < 50; i++) ((void **)data)[i] = malloc(888);
    begin(&last, data + (1 << 19), 1 << 19, (void (*)())leave, 0);
}
"""

CXX = r"""
#include <deque>
#include <functional>
#include <future>
#include <iostream>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <unordered_map>
#include <vector>
struct base { virtual ~base() {} int x; };
struct other { virtual ~other() {} int y; };
struct both : base, other { std::string s = "a string that does not fit into itself"; };
static std::map<std::string, std::vector<int>> all;
static other *volatile second;
static std::vector<std::unique_ptr<other>> others;
static std::string *volatile strings;
int main()
{
    for (int i = 0; i < 1000; i++) all[std::to_string(i) + " is a key that is long enough"].assign(10, i);
    std::unordered_map<int, std::shared_ptr<both>> shared;
    for (int i = 0; i < 100; i++) shared[i] = std::make_shared<both>();
    second = new both; others.emplace_back(new both); strings = new std::string[50];
    std::list<std::string> list(100, std::string(50, 'x')); std::deque<int> deque(10000); std::set<int> set{3, 1, 2};
    std::function<size_t()> size = [v = std::vector<int>(100)] { return v.size(); };
    try { throw std::runtime_error("an exception whose text is long enough"); } catch (std::exception &e) { std::cout << e.what(); }
    auto later = std::async(std::launch::async, [] { return std::string(100, 'x'); });
    std::ostringstream text; text << later.get() << size(); std::cout << text.str() << std::endl;
    exit(0);
}
"""

FORTRAN = """
module lists
  type node
    type(node), pointer :: next => null()
    real, allocatable :: x(:)
  end type
contains
  subroutine make(a, n)
    real, allocatable, intent(out) :: a(:,:)
    integer, intent(in) :: n
    allocate(a(n, n))
    a = 1
  end subroutine
end module
program p
  use lists
  type(node), pointer, save :: head => null()
  type(node), pointer :: n
  real, allocatable :: a(:,:), b(:)
  integer i
  do i = 1, 100
    allocate(n); allocate(n%x(i)); n%next => head; head => n
  end do
  call make(a, 300); allocate(b(50)); b = 1; b = matmul(a(1:50, 1:50), b)
  write(*,*) sum(a), b(1)
end program
"""

OPENMP = r"""
#include <stdio.h>
#include <stdlib.h>
static double *volatile a;
int main(void)
{
    double s = 0;
    a = malloc(1000 * sizeof *a);
    #pragma omp parallel for reduction(+:s) num_threads(3)
    for (int i = 0; i < 1000; i++) { double *volatile t = malloc(8); *t = i; a[i] = *t; s += a[i]; free(t); }
    #pragma omp parallel num_threads(3)
    #pragma omp single
    for (int i = 0; i < 50; i++) {
        #pragma omp task
        { void *volatile p = malloc(100); free(p); }
    }
    printf("%g\n", s);
    return 0;
}
"""

PLUGIN = """
#include <stdlib.h>
static void *volatile kept, *volatile made;
__attribute__((constructor)) static void begin(void) { kept = malloc(500); }
__attribute__((destructor)) static void end(void) { free(kept); free(made); }
void *make(void) { free(made); return made = malloc(200); }
"""
OPENS = r"""
#include <dlfcn.h>
#include <stdlib.h>
static void *volatile last;
int main(void)
{
    for (int i = 0; i < 20; i++) {
        void *h = dlopen("./plugin.so", i % 2 ? RTLD_NOW : RTLD_LAZY | RTLD_DEEPBIND), *(*make)(void) = dlsym(h, "make");
        make(); last = make();
        if (i < 19) dlclose(h);
    }
    if (dlopen("./nothing.so", RTLD_NOW) == NULL) dlerror();
    last = malloc(99);
    return 0;
}
"""
PYTHON = """
import collections, decimal, json, re, subprocess, threading
d = json.loads(json.dumps({str(i): [i] * 10 for i in range(1000)})); c = collections.Counter(re.findall("o", "hello" * 100))
t = [threading.Thread(target=lambda: [str(i) for i in range(1000)]) for _ in range(4)]
[x.start() for x in t]; [x.join() for x in t]
print(len(d), c["o"], decimal.Decimal(1) / 7, subprocess.run(["true"]).returncode)
"""
MPI = r"""
#include <mpi.h>
#include <stdlib.h>
int main(int c, char **v)
{
    int r, n, *b = malloc(100000), *g; MPI_Comm d; MPI_Datatype t; MPI_Request q[2];
    MPI_Init(&c, &v); MPI_Comm_rank(MPI_COMM_WORLD, &r); MPI_Comm_size(MPI_COMM_WORLD, &n);
    g = malloc(100000 * n); MPI_Allgather(b, 1000, MPI_INT, g, 1000, MPI_INT, MPI_COMM_WORLD);
    MPI_Comm_dup(MPI_COMM_WORLD, &d); MPI_Type_vector(10, 1, 2, MPI_INT, &t); MPI_Type_commit(&t);
    MPI_Isend(b, 1, t, (r + 1) % n, 0, d, &q[0]); MPI_Irecv(g, 1, t, (r + n - 1) % n, 0, d, &q[1]);
    MPI_Waitall(2, q, MPI_STATUSES_IGNORE); MPI_Type_free(&t); MPI_Comm_free(&d); free(b); free(g);
    return MPI_Finalize();
}
"""


def compiled(name, source, compiler, *flags, suffix="c"):
    """The path of the program, None where there is no such compiler."""
    if shutil.which(compiler) is None:
        return None
    with open(f"{name}.{suffix}", "w") as file:
        file.write(source)
    made = run([compiler, "-g", "-O1", "-w", f"{name}.{suffix}", "-o", name, *flags])
    if made.status != 0:
        print(f"cannot build {name}: {made.errors}", file=sys.stderr)
        return None
    return os.path.abspath(name)


def recorded(command, *options):
    """What `heap --json` says of COMMAND, and the verdict."""
    native = run(command)
    got = run([TOLLGATE, "record", "--quiet", "--force", "-o", "trace", "--heap", *options, "--", *command])
    check((got.status, got.output) == (native.status, native.output), command, native, got)
    heap = json.loads(run([TOLLGATE, "heap", "--json", "trace"]).output)
    report = run([TOLLGATE, "report", "--no-pager", "trace"]).output
    return heap, report[:report.index("\nJob\n")]


def lost(heap):
    return [leak for leak in heap["leaks"] if leak["leak"] != "interior"]


def test_none():
    """No leak is made up: in C with stacks of coroutines and threads beside data, C++, OpenMP, Python, plugins; in Fortran, none
    is told as the program's."""
    with concurrent.futures.ThreadPoolExecutor() as pool:
        made = {"cxx": pool.submit(compiled, "cxx", CXX, "c++", "-pthread", suffix="cc"),
                "fortran": pool.submit(compiled, "fortran", FORTRAN, "gfortran", suffix="f90"),
                "plugin": pool.submit(compiled, "plugin.so", PLUGIN, "cc", "-shared", "-fPIC"),
                "c": pool.submit(compiled, "c", C, "cc", "-pthread"), "opens": pool.submit(compiled, "opens", OPENS, "cc", "-ldl"),
                "gomp": pool.submit(compiled, "gomp", OPENMP, "gcc", "-fopenmp"),
                "libomp": pool.submit(compiled, "libomp", OPENMP, "clang", "-fopenmp")}
        programs = {name: future.result() for name, future in made.items()}
    if programs["c"] is None or programs.pop("plugin") is None:
        skip("no compiler")
    fortran = programs.pop("fortran")
    commands = {name: [path] for name, path in programs.items() if path is not None}
    commands["python"] = ["/usr/bin/python3", "-c", PYTHON]
    for name, command in commands.items():
        heap, verdict = recorded(command)
        check(heap["allocated"]["blocks"] > 10 and not lost(heap) and "leaked" not in verdict, name, lost(heap), verdict)
    if fortran is not None:
        heap, verdict = recorded([fortran])
        check("leaked" not in verdict, verdict, lost(heap))
        check(heap["live"]["blocks"] > 200 and "may have had them to its end" in run([TOLLGATE, "heap", "trace"]).output, heap)


def test_none_mpi():
    """MPI's own leaks are not the program's."""
    for flavour in FLAVOURS.values():
        path = compiled("mpi_" + re.sub(r"\W", "", flavour.name), MPI, flavour.c) if shutil.which(flavour.launcher[0]) else None
        if path is not None:
            heap, verdict = recorded([*flavour.launcher, "-n", "2", path])
            check("leaked" not in verdict, verdict)
            own = [leak for leak in lost(heap) if re.match(r"main \(", leak["allocated"]) and leak["bytes"] > 50000]
            check(not own, own)


def test_known():
    """Three programs in C++ that count what they lose: blocks, bytes and places."""
    made = run(["c++", "-g", "-O1", "-std=c++17", "-o", "classes", os.path.join(PROGRAMS, "heap_classes.cc")])
    if made.status != 0:
        skip("cannot build: " + made.errors)
    for program in ("shapes", "owners", "containers"):
        command = [os.path.abspath("classes"), program]
        heap, verdict = recorded(command)
        told = [line.split() for line in run(command).output.splitlines()]
        expected = (sum(int(blocks) for _, blocks, _ in told), sum(int(size) for _, _, size in told))
        got = (sum(leak["blocks"] for leak in lost(heap)), sum(leak["bytes"] for leak in lost(heap)))
        check(got == expected, program, "expected", expected, "got", got, heap["leaks"])
        called = {call["function"].partition("(")[0].rpartition("::")[2] for row in heap["rows"] if row["live"]["blocks"] for call in row["calls"]}
        check({where for where, _, _ in told} <= called, program, told, called)
        if shutil.which("valgrind"):
            errors = run(["valgrind", "--leak-check=full", "--errors-for-leak-kinds=none", *command]).errors
            sums = {kind: [int(n.replace(",", "")) for n in numbers] for kind, *numbers in
                    re.findall(r"(definitely|indirectly|possibly) lost: ([\d,]+) bytes in ([\d,]+) blocks", errors)}
            both = [a + b for a, b in zip(sums["definitely"], sums["indirectly"])]
            check(both == [expected[1], expected[0]], program, "valgrind has", sums, expected)


FORK = r"""
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static void *volatile kept[4], *volatile lost;
__attribute__((noinline)) static void of_parent(void) { for (int i = 0; i < 3; i++) lost = malloc(1000); lost = NULL; }
__attribute__((noinline)) static void of_child(void) { for (int i = 0; i < 2; i++) lost = malloc(500); lost = NULL; }
__attribute__((noinline)) static void forget(void) { volatile char room[16384]; for (int i = 0; i < 16384; i++) room[i] = 0; }
int main(void)
{
    for (int i = 0; i < 4; i++) kept[i] = malloc(2000 + i);
    of_parent(); forget();
    pid_t child = fork();
    if (child == 0) {
        free(kept[0]); kept[0] = NULL; kept[1] = realloc(kept[1], 2500);
        of_child(); forget();
        if (fork() == 0) { free(kept[1]); free(kept[2]); kept[1] = kept[2] = NULL; exit(0); }
        wait(NULL);
        exit(0);
    }
    waitpid(child, NULL, 0); free(kept[3]); kept[3] = NULL;
    return 0;
}
"""


def test_fork():
    """A child has its parent's blocks: its frees of them are known, its parent's leaks are told once, and its own too."""
    program = compiled("forks", FORK, "cc")
    if program is None:
        skip("no compiler")
    for mode in ("--heap", "--heap=check"):
        heap, _ = recorded([program], mode)
        by_process = {}
        for leak in lost(heap):
            sums = by_process.setdefault(leak["process"], [0, 0, set()])
            sums[0] += leak["blocks"]
            sums[1] += leak["bytes"]
            sums[2].add(leak["allocated"].split()[0])
        check(by_process == {0: [3, 3000, {"of_parent"}], 1: [2, 1000, {"of_child"}]}, mode, by_process, heap["leaks"])
        check(heap["frees_of_earlier_blocks"] == 0 and heap["frees_not_seen"] == 0 and heap["errors"] == [], mode, heap)
        # the child begins with 7 blocks of the parent; the grandchild with 6 (one was freed, one is resized) and 2 lost ones
        check(heap["inherited"]["blocks"] == 7 + 8, mode, heap["inherited"])
        check(heap["inherited"]["blocks"] - heap["inherited_live"]["blocks"] == 2 + 2, mode, heap["inherited_live"])
        # 2,001 and 2,002 in the parent and the lost ones; 2,500 and the lost ones in the child
        check(heap["live"]["bytes"] == 2000 + 2001 + 2002 + 3000 + 2500 + 1000, mode, heap["live"])
    text = run([TOLLGATE, "heap", "trace"]).output
    check("by 2 forked processes; counted where they were allocated" in text, text)
    address = next(event["address"] for event in (json.loads(line) for line in run([TOLLGATE, "dump", "--json", "trace"]).output.splitlines())
                   if event.get("kind") == "heap_alloc" and event["size_bytes"] == 2000)
    got = run([TOLLGATE, "replay", "-e", "goto end", "-e", f"dheap -info {address}", "-e", "dheap -status", "trace"]).output
    check(len(re.findall(r"is the start of the block \w+ of 2000 bytes", got)) == 1 and len(re.findall("is dangling", got)) == 2, got)
    check(len(re.findall(r"inherited from its parent .* in [78] blocks, of that live", got)) == 2, got)


if __name__ == "__main__":
    globals()["test_" + sys.argv[1]]()
