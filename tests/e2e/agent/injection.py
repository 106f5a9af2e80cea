#!/usr/bin/env python3
"""The agent gets into programs, and they see nothing of it: what `initial` says is the same natively and with it.

usage: injection.py CASE
"""
import os
import re
import shutil
import subprocess
import sys

import machine

DRIVER = os.environ["TG_ENGINE_DRIVER"]
PROGRAMS = os.environ["TG_PROGRAMS"]
LIBRARIES = os.environ["TG_AGENT_LIBRARIES"]
SOURCE = os.environ["TG_SOURCE"]
INITIAL = os.path.join(PROGRAMS, "initial")


def check(condition, *what):
    if not condition:
        sys.exit("FAILED: " + " ".join(str(part) for part in what))


def skip(reason):
    print("skipped: " + reason)
    sys.exit(77)


def build(name, source, *flags, compiler="cc"):
    """A program or library made here from text or a file; its absolute path."""
    arguments = ["-x", "c", "-", "-x", "none"] if "\n" in source else [source]
    made = subprocess.run([compiler, "-D_GNU_SOURCE", "-g", "-O1", *arguments, "-o", name, *flags],
                          input=source if "\n" in source else None, capture_output=True, text=True)
    if made.returncode != 0:
        skip(f"cannot build a program with {' '.join(flags)} here: {made.stderr}")
    return os.path.abspath(name)


def go(command, environment):
    """Output with errors, and exit status."""
    done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=100)
    return done.stdout.decode(errors="replace"), done.returncode


def injected(command, environment=None, libraries=None, program=None):
    """Runs COMMAND with the agent: output, status, why it stepped aside at each exec where it did, and how many
    programs ran."""
    shutil.rmtree("rings", ignore_errors=True)
    os.mkdir("rings", 0o700)
    output, status = go([DRIVER, "-o", "events", "-k", "-a", libraries or LIBRARIES, "-d",
                         os.path.abspath("rings"), "--", *command], environment)
    with open("events", errors="replace") as file:
        log = file.read()
    asides = re.findall(r"^\S+ agent state=aside reason=(.*)$", log, re.M)
    return output, status, asides, len(re.findall(r"^\S+ exec ", log, re.M))


def same(command, environment=None, asides=(), programs=None, status=None):
    """COMMAND says the same natively and with the agent in all its programs, but for those ASIDES; it ends with STATUS."""
    wanted, native = status, go(command, environment)
    output, status, said, count = injected(command, environment)
    check((output, status) == native, command, "natively:\n" + native[0][-4000:], native[1], "with the agent:\n" +
          output[-4000:], status)
    check(wanted in (None, status), command, "ended with", status, "instead of", wanted)
    check(len(said) == len(asides) and all(want in got for want, got in zip(asides, said)), command,
          "stepped aside", said, "instead of", asides)
    check(programs is None or count == programs, command, count, "programs instead of", programs)
    return output


def base(**more):
    return dict({"PATH": os.environ["PATH"], "HOME": "/nowhere", "LAST": "one=two"}, **more)


def is_there():
    """It really is loaded, and found by its name in the list of libraries, and nothing of it is in the
    environment of what the program starts."""
    look = ["sh", "-c", "grep -c tollgate-agent /proc/$$/maps; env"]
    check(go(look, base())[0].startswith("0\n"))
    output, status, asides, programs = injected(look, base())
    check(status == 0 and int(output.split("\n")[0]) > 0, output)
    check("tollgate" not in output and "TOLLGATE" not in output and "LD_" not in output, output)
    check(asides == [] and programs == 3, asides, programs)


def plain():
    same([INITIAL], base())
    same([INITIAL, "tell", "", "two words", "x" * 5000], base())
    same([INITIAL, "tell"], base(EMPTY="", ODD="\xff\n", LONG="y" * 100000))


def environments():
    """Odd and even numbers of variables, none, and a megabyte of them."""
    for count in range(5):
        same([INITIAL, "tell", *["a"] * (count % 2)], {f"V{i}": str(i) for i in range(count)})
    same([INITIAL], {})
    check("argc 1, 0 variables, early 0" in same([INITIAL, "empty"], base(), programs=3), "argc 0 and no environment")
    many = {f"V{i}": "x" for i in range(60000)}
    same([INITIAL, "sum"], many)
    same([INITIAL, "sum"], {f"V{i}": "x" * 100000 for i in range(10)})
    same([INITIAL, "sum", *["argument"] * 20000], many)


def own_preload():
    """The program's own libraries are loaded as before, and behind the agent."""
    text = ('#include <stdio.h>\n__attribute__((constructor)) static void hello(void)\n'
            '{ fprintf(stderr, "NAME is loaded\\n"); }\n')
    one, two = (build(f"lib{name}.so", text.replace("NAME", name), "-shared", "-fPIC") for name in ("one", "two"))
    for value in (one, f"{one}:{two}", f"{one} {two}", f"{two}::{one}:", ""):
        output = same(["env", "LD_PRELOAD=" + value, INITIAL], base())
        check(output.count(" is loaded") == 2 * len(value.replace(":", " ").split()), output)  # the shell too
    output = same(["env", "LD_PRELOAD=/no/such/library.so", INITIAL], base())
    check("cannot be preloaded" in output, output)


def constructors():
    """Those of libraries too, which run before the program's, see the environment as it would have been."""
    text = ('#include <stdio.h>\n#include <stdlib.h>\nextern char **environ;\nint value;\n'
            '__attribute__((constructor)) static void look(int argc, char **argv, char **environment)\n'
            '{ int n = 0; while (environment[n] != NULL) n++;\n'
            '  printf("%d arguments, %d variables, %s, LD_PRELOAD=%s, %s\\n", argc, n, argv[argc] ? "odd" : "fine",\n'
            '         getenv("LD_PRELOAD"), environ == environment ? "same" : "another"); SET }\n')
    one = build("libone.so", text.replace("SET", 'setenv("NEW", "1", 1);'), "-shared", "-fPIC")
    two = build("libtwo.so", text.replace("SET", ""), "-shared", "-fPIC", one)
    program = build("constructed", '#include <stdio.h>\nextern char **environ; extern int value;\nint main(void)\n'
                    '{ for (char **e = environ; *e; e++) puts(*e); return value; }\n', two, one,
                    "-Wl,-rpath," + os.getcwd())
    check("3 variables" in same([program], base()))
    check("4 variables" in same(["env", "LD_PRELOAD=" + two, INITIAL, "sum"], base()))


def own_audit():
    """The program's own auditors are loaded as before, once."""
    text = ('#include <stdio.h>\nunsigned la_version(unsigned version)\n'
            '{ fprintf(stderr, "NAME audits\\n"); return version; }\n')
    one, two = (build(f"lib{name}.so", text.replace("NAME", name), "-shared", "-fPIC") for name in ("one", "two"))
    for value in (one, f"{one}:{two}"):
        output = same(["env", "LD_AUDIT=" + value, INITIAL, "sum"], base())
        check(output.count(" audits") == len(value.split(":")), output)
    ours = os.path.join(LIBRARIES, "tollgate-audit.so")
    same(["env", "LD_AUDIT=" + ours, INITIAL], base())


def chains():
    same([INITIAL, "chain", "5"], base(), programs=7)
    same([INITIAL, "vfork"], base())
    same([INITIAL, "spawn"], base())
    same([INITIAL, "thread"], base())
    same([INITIAL, "vfork", "chain", "2", "thread", "spawn", "sum"], base())
    same(["env", "-i", INITIAL], base())
    same(["sh", "-c", f"exec env A=1 {INITIAL} sum"], base())


def thread_storage():
    """Libraries with much thread-local storage, wherever the loader finds them."""
    text = ('static __thread char NAME_storage[SIZE] __attribute__((tls_model("initial-exec"), aligned(ALIGN)));\n'
            'char *NAME(void)\n{ return NAME_storage; }\n')

    def library(name, size, *flags, directory=".", align=8):
        os.makedirs(directory, exist_ok=True)
        source = text.replace("NAME", name).replace("SIZE", str(size)).replace("ALIGN", str(align))
        return build(f"{directory}/lib{name}.so", source, "-shared", "-fPIC", f"-Wl,-soname,lib{name}.so",
                     "-Wl,--no-as-needed", *flags)

    def program(name, *flags):
        return build(name, "#include <pthread.h>\n#include <stdio.h>\nextern char *one(void);\n"
                     "static void *run(void *x)\n{ return one() != NULL ? x : NULL; }\nint main(void)\n"
                     "{ pthread_t t; pthread_attr_t a; void *r; pthread_attr_init(&a);\n"
                     "  printf(\"%d\\n\", pthread_attr_setstacksize(&a, 16384));\n"
                     "  printf(\"%d\\n\", pthread_create(&t, &a, run, &a)); if (one() == NULL) return 1;\n"
                     "  return pthread_create(&t, NULL, run, &a) || pthread_join(t, &r) || r != &a; }\n", *flags)

    here = os.getcwd()
    for size in (10, 900, 1700, 3000, 5000, 100000):
        one = library("one", size)
        same([program("found", one, "-Wl,-rpath," + here)], base())
    two = library("two", 7000, directory="deep/er")
    one = library("one", 5000, two, "-Wl,--enable-new-dtags,-rpath,$ORIGIN/er", directory="deep")
    same([program("by-origin", one, "-Wl,--allow-shlib-undefined,--enable-new-dtags,-rpath,$ORIGIN/deep")], base())
    one = library("one", 5000, two, directory="deep")
    same([program("inherited", one, "-Wl,--allow-shlib-undefined,--disable-new-dtags,-rpath,$ORIGIN/deep:${ORIGIN}/deep/er")],
         base())
    plain_program = program("by-variable", one, "-Wl,--allow-shlib-undefined")
    same(["env", f"LD_LIBRARY_PATH=/nowhere:{here}/deep:{here}/deep/er", plain_program], base())
    same(["sh", "-c", f"cd deep/er; LD_LIBRARY_PATH=../../deep: exec {plain_program}"], base())
    same(["env", f"LD_PRELOAD={one} {two}", plain_program], base())
    same([plain_program], base(), ["libone.so not found"])
    same(["env", "GLIBC_TUNABLES=glibc.rtld.optional_static_tls=8192:glibc.malloc.check=0", INITIAL], base())
    big = library("one", 5000, align=4096)
    same([program("aligned", big, "-Wl,-rpath," + here)], base(), ["aligned to 4096"])


def weak_references():
    """A runtime that is not there is not there: neither for weak references, nor for dlsym; what is there is whole."""
    names = ("MPI_Init", "PMPI_Init", "MPI_Send", "mpi_init_", "GOMP_parallel", "GOMP_barrier", "omp_set_lock",
             "omp_get_num_threads")
    declared = "".join(f"extern void {name}(void) __attribute__((weak));\n" for name in names)
    listed = "".join(f'X({name}) ' for name in names)
    tell = (f"#include <dlfcn.h>\n#include <stdio.h>\n{declared}void NAME(void)\n{{\n"
            '#define X(name) printf("%s%c%c ", #name, name != NULL ? \'+\' : \'-\', '
            "dlsym(RTLD_DEFAULT, #name) != NULL ? '+' : '-');\n"
            f"{listed}\nputs(\"in NAME\"); }}\n")
    main = tell.replace("NAME", "tell") + "#ifdef LINKED\nextern void from_library(void);\n#endif\n" + """
int main(int argc, char **argv)
{
    tell();
#ifdef LINKED
    from_library();
#endif
    for (int i = 1; i < argc; i++) {
        void *library = dlopen(argv[i], RTLD_NOW | RTLD_GLOBAL);
        void (*from_plugin)(void) = library != NULL ? (void (*)(void))dlsym(library, "from_library") : NULL;
        printf("%s\\n", library != NULL ? "opened" : dlerror());
        if (from_plugin != NULL)
            from_plugin();
    }
    if (MPI_Init != NULL)
        MPI_Init();
    return 0;
}
"""
    here = "-Wl,-rpath," + os.getcwd()
    library = build("libfrom.so", tell.replace("NAME", "from_library"), "-shared", "-fPIC")
    fake = build("libfake.so", "#include <stdio.h>\nint MPI_Init(void)\n{ return puts(\"initialised\"); }\n"
                 "int PMPI_Init(void)\n{ return puts(\"not this one\"); }\n", "-shared", "-fPIC")
    stub = build("libstub.so", "#include <stdio.h>\nvoid omp_set_lock(void *x)\n{ puts(x ? \"lock\" : \"none\"); }\n", "-shared",
                 "-fPIC")
    alone = build("alone", main, library, "-DLINKED", here)
    with_fake = build("with_fake", main, library, "-DLINKED", "-Wl,--no-as-needed", fake, here)
    with_gomp = build("with_gomp", main, library, "-DLINKED", "-Wl,--no-as-needed", "-lgomp", here)
    defines = build("defines", main + "int used; void MPI_Init(void)\n{ puts(\"the program's own\"); }\n", "-rdynamic")
    output = same([alone], base())
    check("+" not in output, output)
    output = same([alone, fake, os.path.abspath("libfrom.so")], base())
    check("initialised" not in output, output)
    output = same([with_fake], base())
    check("MPI_Init++ PMPI_Init++ MPI_Send-- " in output and "initialised" in output, output)
    output = same([with_gomp], base())
    check("MPI_Init-- " in output and "GOMP_parallel++ GOMP_barrier++ omp_set_lock++" in output, output)
    output = same([defines, library], base())
    check("program's own" in output, output)
    late = build("late", main, "-Wl,-z,lazy")
    for libraries in ([library], [fake, library], ["libgomp.so.1", library], [stub, library]):
        same([late, *libraries], base())
    # a stub of a runtime without what the agent goes by is the program's alone
    caller = build("caller", "extern void omp_set_lock(void *);\nint main(void)\n{ omp_set_lock(0); return 0; }\n", stub, here)
    check("none" in same([caller], base()))


def scripts():
    """The kernel starts the interpreter with other arguments than were given."""
    with open("script", "w") as file:
        file.write(f"#!{INITIAL} sum\n")
    os.chmod("script", 0o755)
    same([os.path.abspath("script"), "one", "two"], base())


def other_programs():
    """What the agent cannot be in runs as if it were not there, and the trace says why."""
    source = os.path.join(SOURCE, "tests/programs/initial.c")
    same([build("static", source, "-static"), "sum"], base(), ["a static program"])
    same([build("static-pie", source, "-static-pie"), "sum"], base(), ["a static program"])
    same([build("no-pie", source, "-no-pie")], base())
    same([build("libraryless", "void _start(void)\n{ __asm__(\"mov $60, %eax; mov $5, %edi; syscall\"); }\n", "-nostdlib",
                "-static")], base(), ["a static program"])
    loader = "/lib64/ld-linux-x86-64.so.2"
    same([loader, INITIAL, "sum"], base(), ["started through the dynamic loader"])
    listed = injected([loader, "--list", "/bin/true"], base())
    check("libc.so" in listed[0] and "tollgate" not in listed[0] and "through the dynamic loader" in listed[2][0], listed)
    listed = injected(["env", "LD_TRACE_LOADED_OBJECTS=1", "/bin/true"], base())
    check("libc.so" in listed[0] and "tollgate" not in listed[0] and "only lists" in listed[2][0], listed)


def narrow():
    """32-bit programs."""
    program = build("narrow", "#include <stdio.h>\nint main(void)\n{ puts(\"narrow\"); return 4; }\n", "-m32")
    if not machine.executes_32_bits():
        skip("this machine executes no 32-bit programs")
    same([program], base(), ["a 32-bit program"])


def sanitized():
    """A library that insists on being the first one, and that looks for leaks by ptrace when the program ends."""
    source = ("#include <stdio.h>\n#include <stdlib.h>\nint main(int argc, char **argv)\n"
              "{ if (argc > 1) { char *volatile block = malloc(100); block = NULL; }"
              " puts(argv[0] ? \"sanitized\" : \"\"); return 4; }\n")
    leaks = build("leaks", source, "-fsanitize=leak")
    same([leaks, "leak"], base(LSAN_OPTIONS="exitcode=7:log_path=found"), ["LeakSanitizer"], status=7)
    for library, asides in ("libasan.so", []), ("liblsan.so", ["LeakSanitizer"]):
        path = subprocess.run(["cc", "-print-file-name=" + library], capture_output=True, text=True).stdout.strip()
        if os.path.isabs(path):
            same(["env", "LD_PRELOAD=" + path, "/bin/true"], base(), asides)
    for compiler in ("cc", "clang"):
        program = build("sanitized_" + compiler, source, "-fsanitize=address", compiler=compiler)
        same([program], base())
        for leak, status in ((), 4), (("leak",), 7):
            same([program, *leak], base(ASAN_OPTIONS="exitcode=7:log_path=found"), status=status)


def secure():
    """A program that changes its user is left alone."""
    if os.geteuid() != 0:
        skip("only root keeps a set-uid program's privilege while it traces it")
    program = shutil.copy(INITIAL, "set-uid")
    os.chown(program, 65534, 65534)
    os.chmod(program, 0o4755)
    if os.stat(program).st_mode & 0o4000 == 0 or os.statvfs(".").f_flag & os.ST_NOSUID:
        skip("no set-uid programs here")
    same([os.path.abspath(program), "sum"], base(), ["set-uid"])


def other_user():
    if os.geteuid() != 0:
        skip("only root can start programs as another user")
    drop = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "/bin/true"]
    if go(drop, base())[1] != 0:
        skip("setpriv does not work here")
    same(drop, base(), ["another user"])


def other_ids():
    """In a pid namespace of its own: what the agent says would be said of another process."""
    if os.geteuid() != 0:
        skip("only root can make a pid namespace")
    command = ["unshare", "--pid", "--fork", INITIAL, "sum"]
    if go(command, base())[1] == 1:
        skip("unshare does not work here")
    same(command, base(), ["in a pid namespace of its own"])


def other_root():
    """Where the agent is not to be found: another file system root."""
    if os.geteuid() != 0:
        skip("only root can chroot")
    for path in ("root/bin", "root/lib/x86_64-linux-gnu", "root/lib64", "root/proc"):
        os.makedirs(path)
    shutil.copy("/bin/true", "root/bin/true")
    for line in subprocess.run(["ldd", "/bin/true"], capture_output=True, text=True).stdout.splitlines():
        for path in re.findall(r"/\S+", line):
            os.makedirs(os.path.dirname("root" + path), exist_ok=True)
            shutil.copy(os.path.realpath(path), "root" + path)
    command = ["chroot", "root", "/bin/true"]
    if go(command, base())[1] != 0:
        skip("chroot does not work here")
    same(command, base(), ["container, chroot"])


def limited_stack():
    """With a small stack there may be no room; the program runs either way."""
    for size in (64, 128, 256):
        command = ["sh", "-c", f"ulimit -s {size}; exec {INITIAL} sum"]
        native = go(command, base())
        output, status, _, _ = injected(command, base())
        check((output, status) == native, size, native, output, status)


def bad_paths():
    """Libraries at a place that LD_PRELOAD cannot name are an error at once."""
    for name in ("with space", "with:colon", "$ORIGIN"):
        directory = os.path.abspath(name)
        shutil.copytree(LIBRARIES, directory)
        os.makedirs("rings", exist_ok=True)
        output, status = go([DRIVER, "-a", directory, "-d", os.path.abspath("rings"), "/bin/true"], base())
        check(status == 2 and "cannot preload" in output, output, status)
    output, status = go([DRIVER, "-a", "/nowhere", "-d", "/nowhere", "/bin/true"], base())
    check(status == 2 and "/nowhere/tollgate-agent.so" in output, output, status)


if __name__ == "__main__":
    globals()[sys.argv[1]]()
