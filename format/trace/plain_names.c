#include "format/trace/plain_names.h"

#include <ctype.h>
#include <string.h>

static bool is_one_of(const char *const *words, const char *text, size_t size)
{
    for (; *words != NULL; words++)
        if (strlen(*words) == size && memcmp(*words, text, size) == 0)
            return true;
    return false;
}

static size_t digits_and_dots(const char *text, size_t size)
{
    size_t length = 0;
    while (length < size && (isdigit((unsigned char)text[length]) || text[length] == '.'))
        length++;
    return length;
}

bool tg_plain_number(const char *text, size_t size, size_t most)
{
    size_t dots = 0;
    for (size_t i = 0; i < size; i++)
        dots += text[i] == '.';
    return size > 0 && size <= most && digits_and_dots(text, size) == size && dots != 3;
}

/* ---- names with versions */

/* "", "3.11" behind the name of a program. */
static bool is_version(const char *tail, size_t size)
{
    return digits_and_dots(tail, size) == size;
}

/* ".so", ".so.1.2", "3.11.so.1.0" or "-2.31.so" behind the name of a library. */
static bool is_library_version(const char *tail, size_t size)
{
    for (size_t at = 0; at + 3 <= size; at++) {
        if (memcmp(tail + at, ".so", 3) != 0)
            continue;
        size_t dash = at > 0 && *tail == '-', after = at + 3;
        return is_version(tail + dash, at - dash) &&
               (after == size || (tail[after] == '.' && is_version(tail + after, size - after)));
    }
    return false;
}

static bool has_version(const char *const *stems, bool (*is_tail)(const char *tail, size_t size),
                        const char *name, size_t size)
{
    for (; *stems != NULL; stems++) {
        size_t stem = strlen(*stems);
        if (stem <= size && memcmp(*stems, name, stem) == 0 && is_tail(name + stem, size - stem))
            return true;
    }
    return false;
}

static bool is_program(const char *name, size_t size)
{
    static const char *const programs[] = {"sh",
                                           "bash",
                                           "dash",
                                           "env",
                                           "make",
                                           "ls",
                                           "sleep",
                                           "true",
                                           "cat",
                                           "mpirun",
                                           "mpirun.openmpi",
                                           "mpirun.mpich",
                                           "mpirun_rsh",
                                           "mpiexec",
                                           "mpiexec.openmpi",
                                           "mpiexec.mpich",
                                           "mpiexec.hydra",
                                           "mpiexec.slurm",
                                           "orterun",
                                           "orted",
                                           "prte",
                                           "prted",
                                           "prterun",
                                           "prun",
                                           "hydra_pmi_proxy",
                                           "hydra_bstrap_proxy",
                                           "hydra_nameserver",
                                           "hydra_persist",
                                           "pmi_proxy",
                                           "srun",
                                           "slurmd",
                                           "slurmstepd",
                                           "jsrun",
                                           "aprun",
                                           "tollgate",
                                           "tollgate-agent.so",
                                           "tollgate-audit.so",
                                           NULL};
    static const char *const with_versions[] = {"python", NULL};
    return is_one_of(programs, name, size) || has_version(with_versions, is_version, name, size);
}

static bool is_library(const char *name, size_t size)
{
    static const char *const libraries[] = {"libmpi",
                                            "libmpi_cxx",
                                            "libmpi_java",
                                            "libmpi_mpifh",
                                            "libmpi_usempi_ignore_tkr",
                                            "libmpi_usempif08",
                                            "libmpich",
                                            "libmpichcxx",
                                            "libmpichfort",
                                            "libmpichf90",
                                            "libmpicxx",
                                            "libmpifort",
                                            "libopen-pal",
                                            "libopen-rte",
                                            "liboshmem",
                                            "libpmi",
                                            "libpmi2",
                                            "libpmix",
                                            "libprrte",
                                            "libgomp",
                                            "libomp",
                                            "libiomp",
                                            "libc",
                                            "libm",
                                            "libdl",
                                            "librt",
                                            "libpthread",
                                            "libstdc++",
                                            "libgcc_s",
                                            "libgfortran",
                                            "libquadmath",
                                            "libpython",
                                            "ld",
                                            "ld-linux-x86-64",
                                            "ld-linux",
                                            "linux-vdso",
                                            NULL};
    static const char *const others[] = {"[vdso]", "<frozen runpy>", "<frozen importlib._bootstrap>",
                                         "<frozen importlib._bootstrap_external>", NULL};
    return has_version(libraries, is_library_version, name, size) || is_one_of(others, name, size);
}

static bool is_directory(const char *name, size_t size)
{
    static const char *const directories[] = {".",
                                              "..",
                                              "",
                                              "usr",
                                              "include",
                                              "c++",
                                              "site-packages",
                                              "dist-packages",
                                              "lib",
                                              "lib64",
                                              "lib32",
                                              "bin",
                                              "sbin",
                                              "share",
                                              "opt",
                                              "etc",
                                              "proc",
                                              "dev",
                                              "sys",
                                              "run",
                                              "tmp",
                                              "var",
                                              "home",
                                              "root",
                                              "self",
                                              "exe",
                                              "fd",
                                              "shm",
                                              "libexec",
                                              "local",
                                              "task",
                                              "Users",
                                              "x86_64-linux-gnu",
                                              "site-packages",
                                              "dist-packages",
                                              "memfd:",
                                              NULL};
    return is_one_of(directories, name, size);
}

bool tg_plain_name(const char *name, size_t size)
{
    return is_directory(name, size) || is_program(name, size) || is_library(name, size) ||
           tg_plain_number(name, size, 10);
}

/* ---- paths */

/* No separator of lists, no space, and no component that leads elsewhere or is hidden. */
static bool is_straight(const char *path, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (path[i] == '.' && (i == 0 || path[i - 1] == '/'))
            return false;
        if (!isalnum((unsigned char)path[i]) && strchr("/._+-", path[i]) == NULL)
            return false;
    }
    return true;
}

static const char *after(const char *beginning, const char *path, size_t size)
{
    size_t length = strlen(beginning);
    return length <= size && memcmp(beginning, path, length) == 0 ? path + length : NULL;
}

bool tg_plain_path(const char *path, size_t size)
{
    static const char *const beginnings[] = {
        "/usr/lib/", "/usr/lib32/", "/usr/lib64/", "/usr/libx32/",      "/usr/libexec/",
        "/usr/bin/", "/usr/sbin/",  "/lib/",       "/lib32/",           "/lib64/",
        "/libx32/",  "/bin/",       "/sbin/",      "/usr/include/c++/", NULL};
    const char *of_build = after("/usr/lib/debug/.build-id/", path, size);
    const char *of_debug = after("/usr/lib/debug/", path, size); /* then the path of what it is about */
    if (of_build != NULL)
        return is_straight(of_build, size - (size_t)(of_build - path));
    if (of_debug != NULL)
        return tg_plain_path(of_debug - 1, size - (size_t)(of_debug - path) + 1);
    for (size_t i = 0; beginnings[i] != NULL; i++)
        if (after(beginnings[i], path, size) != NULL)
            return is_straight(path, size);
    return false;
}
