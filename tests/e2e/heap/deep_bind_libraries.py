"""Libraries to open with RTLD_DEEPBIND, and a program that opens them (tests/programs/deep_bind.c), made in the current
directory; what is asked of it, with the answers it gets natively."""
import os
import subprocess

from recording import run, skip

SOURCE = os.path.join(os.environ["TG_SOURCE"], "tests/programs/deep_bind.c")
SIZE = 12345  # of the blocks that count
BLOCKS = 100

# NAME is who it is. Constructors, destructors, and calls: of a function that program, target and dependency may have, of one
# that overrides libc's, of one that is bound at its first call, of the heap.
COMMON = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
extern const char *shared(void) __attribute__((weak));
extern const char *late(void) __attribute__((weak));
extern const char *lately(void);
static void say(const char *what) { printf("%s of %s\\n", what, NAME); }
__attribute__((constructor)) static void begin(void) { say("constructor"); }
__attribute__((destructor)) static void end(void) { say("destructor"); }
const char *name(void) { return NAME; }
"""

TARGET = COMMON + """
const char *who(void) { return shared ? shared() : "nobody"; }
const char *who_late(void) { return late ? late() : "nobody"; }
const char *who_lazily(void) { return lately(); } /* whose address nobody takes: bound when it is called */
const char *libc(void) { static char text[32]; snprintf(text, sizeof text, "%ld", random()); return text; }
static void *blocks[100];
const char *blocks_of(void)
{
    for (int i = 0; i < 100; i++)
        blocks[i] = malloc(12345);
    for (int i = 0; i < 100; i++)
        memset(blocks[i], i, 12345);
    for (int i = 0; i < 100; i++)
        free(blocks[i]);
    return "100 blocks";
}
"""

ALLOCATOR = """
#include <stddef.h>
static char arena[1 << 22] __attribute__((aligned(16)));
static size_t used;
static int calls;
void *malloc(size_t size)
{
    size_t at = __atomic_fetch_add(&used, (size + 31) & ~(size_t)15, __ATOMIC_RELAXED);
    calls += size == 12345;
    *(size_t *)(void *)(arena + at) = size;
    return arena + at + 16;
}
void free(void *block) { (void)block; }
void *calloc(size_t count, size_t size) { return malloc(count * size); }
void *realloc(void *block, size_t size)
{
    void *moved = malloc(size);
    if (block) for (size_t i = 0; i < size && i < ((size_t *)block)[-2]; i++) ((char *)moved)[i] = ((char *)block)[i];
    return moved;
}
#include <stdio.h>
const char *own_mallocs(void) { static char text[32]; snprintf(text, sizeof text, "%d own", calls); return text; }
"""

SHARED = 'const char *shared(void) { return NAME; }\nconst char *late(void) { return NAME; }\nconst char *lately(void) { return NAME; }\n'
OVERRIDES = "long random(void) { return 4711; }\n"
OPENS = '__attribute__((constructor)) static void open_inner(void) {\n' \
        '    void *inner = dlopen("./libplain.so", RTLD_NOW | RTLD_DEEPBIND);\n' \
        '    const char *(*blocks)(void) = inner ? (const char *(*)(void))dlsym(inner, "blocks_of") : 0;\n' \
        '    printf("inside: %s\\n", blocks ? blocks() : "nothing"); }\n'

OPENS_ITSELF = '__attribute__((constructor)) static void open_self(void) { dlopen("./libself.so", RTLD_LAZY); }\n'

CXX = """
#include <cstdio>
#include <string>
#include <vector>
struct big { char bytes[12345]; };
extern "C" const char *name() { return "cxx"; }
extern "C" const char *news()
{
    std::vector<big *> blocks;
    for (int i = 0; i < 100; i++) blocks.push_back(new big);
    for (big *block : blocks) delete block;
    static std::string text = "100 of new";
    return text.c_str();
}
"""

# A variable of which the process has one, whoever defines it: who does is not unloaded any more.
UNIQUE = """
extern "C" const char *lately();
template<class T> struct counter { static int count; };
template<class T> int counter<T>::count = 1;
extern "C" const char *name() { return counter<int>::count++ ? "unique" : ""; }
extern "C" const char *who_lazily() { return lately(); }
"""


def compile_all(jobs):
    """Runs the compilers at once, as far as none needs what another makes."""
    running = []
    for command, text in jobs:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        process.stdin.write(text)
        process.stdin.close()
        running.append(process)
    for process in running:
        errors = process.stderr.read()
        if process.wait() != 0:
            skip("cannot build libraries here: " + errors)


def library(name, text, *more, compiler="cc", folder="."):
    """The job that makes libNAME.so of TEXT."""
    language = "c++" if compiler == "c++" else "c"
    os.makedirs(folder, exist_ok=True)
    return ([compiler, f'-DNAME="{name}"', "-shared", "-fPIC", "-O1", "-g", "-fno-builtin", "-Wl,-z,lazy", "-x", language, "-",
             "-x", "none", "-o", f"{folder}/lib{name}.so", f"-Wl,-soname,lib{name}.so", "-Wl,--no-as-needed", *more], text)


def build():
    rpath = "-Wl,-rpath,$ORIGIN"
    program = ["cc", "-D_GNU_SOURCE", "-O1", "-g", "-rdynamic", "-Wl,-rpath,$ORIGIN/away", "-Wl,--enable-new-dtags",
               "-fno-builtin", SOURCE, "-ldl", "-pthread"]
    compile_all([
        library("dependency", COMMON + SHARED + OVERRIDES),
        library("allocator", COMMON + SHARED + ALLOCATOR),
        library("plain", TARGET),
        library("own", TARGET + SHARED + ALLOCATOR),
        library("killing", TARGET + "__attribute__((constructor)) static void die(void) { raise(SIGKILL); }", "-include",
                "signal.h"),
        library("nested", TARGET + OPENS),
        library("away", TARGET, folder="away"),
        library("cxx", CXX, compiler="c++"),
        (["cc", "-D_GNU_SOURCE", "-O1", "-rdynamic", "-fno-builtin", SOURCE, "-pthread", "-o", "opener_bare"], ""),
        ([*program, "-o", "opener"], ""), ([*program, "-Wl,--no-eh-frame-hdr", "-o", "opener_blind"], ""), ([*program, "-DOWN_MALLOC", "-o", "opener_own"], ""),
    ])
    compile_all([
        ([*program, "./liballocator.so", "-o", "opener_linked", "-Wl,-rpath,$ORIGIN"], ""),
        library("target", TARGET, "./libdependency.so", rpath),
        library("above", TARGET, "./liballocator.so", rpath),
        library("runpath", TARGET, "./libdependency.so", rpath, "-Wl,--enable-new-dtags"),
        library("broken", TARGET, "./libdependency.so"),
        library("self", TARGET + OPENS_ITSELF, "./libdependency.so", rpath),
        library("pinned", TARGET, "./libdependency.so", rpath, "-Wl,-z,nodelete"),
        library("unique", UNIQUE, "./libdependency.so", rpath, compiler="c++"),
    ])
    compile_all([
        library("upper", COMMON + 'const char *of_target(void) { extern const char *who(void); return who(); }\n',
                "./libtarget.so", rpath),
        # says nothing of libc: it comes by way of its dependency
        library("silent", 'extern const char *name(void); const char *mine(void) { return name(); }', "-nodefaultlibs",
                "./libtarget.so", rpath),
    ])


# NAME: (program, its commands, blocks that the agent sees)
T, P, L = "./libtarget.so", "./libplain.so", BLOCKS
CASES = {
    "plain_dlopen": ("opener", f"open {T} n call 0 who call 0 libc call 0 blocks_of info 0 objects close 0", L),
    "who": ("opener", f"open {T} nd call 0 who call 0 libc call 0 who_late call 0 blocks_of info 0 objects close 0 objects", L),
    "lazy": ("opener", f"open {T} ld call 0 name call 0 who_late call 0 who_lazily call 0 who call 0 blocks_of close 0", L),
    "handles": ("opener", f"open {T} nd open {T} nd open {T} no open {T} n open {P} no close 3 close 2 close 1 call 0 who_late"
                " call 0 who close 0 objects", 0),
    "reopened": ("opener", f"open {T} ld close 0 objects open {T} ld call 1 blocks_of call 1 who close 1 objects", L),
    "global": ("opener", f"open {T} ndg open {P} n call 1 who call 1 blocks_of close 1 close 0 objects", L),
    "kept": ("opener", f"open {T} ldk close 0 objects open {T} no call 1 who_late call 1 blocks_of", L),
    "by_others": ("opener", f"open {T} ld open ./libupper.so n close 0 call 1 of_target objects close 1 objects", 0),
    "own_malloc": ("opener", "open ./libown.so nd call 0 blocks_of call 0 own_mallocs call 0 who close 0", 0),
    "dependency_malloc": ("opener", "open ./libabove.so nd call 0 blocks_of call 0 own_mallocs call 0 who close 0 objects", 0),
    "nested": ("opener", f"open ./libnested.so nd call 0 blocks_of open {P} n call 1 blocks_of close 0 close 1 objects", 3 * L),
    "threads": ("opener", f"threads {P} ./libcxx.so call 0 blocks_of call 1 news", 2 * L),
    "fork": ("opener", f"open {T} ld fork call 0 who_late call 0 blocks_of open {P} nd call 1 blocks_of close 1 close 0 objects", 2 * L),
    "runpath": ("opener", "open libaway.so nd call 0 blocks_of info 0 open $ORIGIN/away/libaway.so nd open ./libaway.so nd", L),
    "search": ("opener", "open ./librunpath.so nd call 0 who info 0 open ./librunpath.so nd", 0),
    "bare": ("opener_bare", f"open {T} nd call 0 who call 0 blocks_of close 0 open libnothing.so nd objects", L),
    "missing": ("opener", f"open ./libnothing.so nd open libnothing.so nd open ./libbroken.so nd objects open {T} nd call 3 who", 0),
    "silent": ("opener", "open ./libsilent.so nd call 0 mine call 0 who call 0 blocks_of objects close 0 objects", L),
    "loaded_before": ("opener", f"open {T} n open {T} nd call 1 who call 1 blocks_of close 0 call 1 who close 1 objects", L),
    "program_malloc": ("opener_own", f"open {T} nd call 0 blocks_of call 0 who close 0 objects", L),
    "linked_malloc": ("opener_linked", f"open {T} nd call 0 blocks_of call 0 who close 0 objects", 0),
    "kept_later": ("opener", f"open {T} ld open {T} lk close 1 close 0 objects open {T} no call 2 who_lazily", 0),
    "kept_later_by_origin": ("opener", f"open {T} ld open $ORIGIN/libtarget.so lk close 1 close 0 objects open {T} no call 2 who_lazily", 0),
    "kept_by_nesting": ("opener", f"open {T} ld open ./libself.so nk close 1 open {T} ldk close 0 objects open {T} no", 0),
    "kept_refused": ("opener", f"open {T} ld open {T} k open {T} kd close 0 objects open {T} no", 0),
    "blind_kept_refused": ("opener_blind", f"open {T} ld open {T} k open {T} kd close 0 objects open {T} no", 0),
    "blind_kept_by_origin": ("opener_blind", f"open {T} ld open $ORIGIN/libtarget.so lk close 0 objects open {T} no call 2 who_lazily", 0),
    "blind_kept_by_name": ("opener_blind", "open ./away/libaway.so ld open libaway.so lk close 0 objects open ./away/libaway.so no", 0),
    "self_kept": ("opener", "open ./libself.so ldk close 0 objects open ./libself.so no call 1 who_lazily", 0),
    "self": ("opener", "open ./libself.so ld close 0 objects open ./libself.so no call 1 who_lazily close 1 objects", 0),
    "pinned": ("opener", "open ./libpinned.so ld close 0 objects open ./libpinned.so no call 1 who_lazily", 0),
    "unique": ("opener", "open ./libunique.so ld call 0 name close 0 objects open ./libunique.so no call 1 who_lazily", 0),
    # nothing tells the agent what its dlopen returned
    "blind_handles": ("opener_blind", f"open {T} nd open {T} nd open {T} no open {T} n open {P} no close 3 close 2 close 1"
                      " call 0 who_late call 0 who close 0 objects", 0),
    "blind_reopened": ("opener_blind", f"open {T} ld close 0 objects open {T} ld call 1 blocks_of call 1 who close 1 objects", L),
    "blind_by_others": ("opener_blind", f"open {T} ld open ./libupper.so n close 0 call 1 of_target objects close 1 objects", 0),
    "blind_encode": ("opener_blind", f"open {P} n open {P} nd open ./libnothing.so nd encode close 1 close 0 objects", 0),
    "blind_coroutines": ("opener_blind", "coroutines objects", 0),
    "cxx": ("opener", "open ./libcxx.so nd call 0 news info 0 close 0 objects", L),
}
