/* Says what a program can see of how it was started: arguments, environment and auxiliary vector as they lie
 * on its stack, and what libc and the kernel say of the same. The same words for the same start, wherever
 * things are in memory.
 *
 *   initial [tell]            the above
 *   initial sum               only sizes and a checksum of arguments and environment
 *   initial HOW [MODE...]     executes itself with MODE (default: tell), HOW being
 *       chain N               N times
 *       vfork, spawn          in a child
 *       thread                from a second thread
 *       empty                 with no arguments and no environment */
#include <elf.h>
#include <errno.h>
#include <pthread.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <unistd.h>

/* At the time of constructors, before main. */
static struct {
    char **environment;
    int n_variables;
    const char *preload;
} early;

static __attribute__((constructor)) void look_early(int argc, char **argv, char **environment)
{
    (void)argc;
    (void)argv;
    early.environment = environment;
    while (environment[early.n_variables] != NULL)
        early.n_variables++;
    early.preload = getenv("LD_PRELOAD");
}

static void fail(const char *what)
{
    perror(what);
    exit(99);
}

/* ---- telling */

static size_t slurp(const char *path, char **text)
{
    FILE *file = fopen(path, "r");
    size_t used = 0, size = 0;
    *text = NULL;
    if (file == NULL)
        fail(path);
    for (;;) {
        if (used == size) {
            size = size == 0 ? 65536 : 2 * size;
            *text = realloc(*text, size);
        }
        size_t n = fread(*text + used, 1, size - used, file);
        if (n == 0)
            break;
        used += n;
    }
    fclose(file);
    return used;
}

/* Whether the strings of LIST are, one after the other, what the kernel shows in PATH. */
static const char *as_kernel_says(char **list, const char *path)
{
    char *text;
    size_t size = slurp(path, &text), at = 0;
    const char *result = "yes";
    for (; *list != NULL; list++) {
        size_t bytes = strlen(*list) + 1;
        if (at + bytes > size || memcmp(text + at, *list, bytes) != 0) {
            result = "no";
            break;
        }
        at += bytes;
    }
    if (*list == NULL && at != size)
        result = "it has more";
    free(text);
    return result;
}

static int is_address(uint64_t type)
{
    return type == AT_SYSINFO_EHDR || type == AT_PHDR || type == AT_BASE || type == AT_ENTRY ||
           type == AT_RANDOM || type == AT_EXECFN || type == AT_PLATFORM || type == AT_BASE_PLATFORM;
}

/* The kernel's account of what it gave, without padding, against what lies behind the environment. */
static void tell_auxv(char **environment)
{
    char *text;
    size_t n_theirs = slurp("/proc/self/auxv", &text) / sizeof(Elf64_auxv_t), theirs = 0;
    const Elf64_auxv_t *kernel = (const Elf64_auxv_t *)text;
    while (*environment != NULL)
        environment++;
    for (const Elf64_auxv_t *entry = (const Elf64_auxv_t *)(environment + 1);; entry++) {
        if (entry->a_type == AT_IGNORE)
            continue;
        if (theirs == n_theirs || kernel[theirs].a_type != entry->a_type ||
            kernel[theirs].a_un.a_val != entry->a_un.a_val)
            printf("auxv: entry %zu differs\n", theirs);
        theirs++;
        if (entry->a_type == AT_NULL)
            break;
        uint64_t value = getauxval(entry->a_type);
        if (value != entry->a_un.a_val)
            printf("auxv: getauxval(%lu) differs\n", (unsigned long)entry->a_type);
        if (entry->a_type == AT_EXECFN || entry->a_type == AT_PLATFORM)
            printf("auxv: %lu \"%s\"\n", (unsigned long)entry->a_type, (const char *)value);
        else if (is_address(entry->a_type))
            printf("auxv: %lu\n", (unsigned long)entry->a_type);
        else
            printf("auxv: %lu %lx\n", (unsigned long)entry->a_type, (unsigned long)value);
    }
    free(text);
}

/* The address at which programs that write a title over their arguments would stop. */
static size_t contiguous(char **argv, char **environment)
{
    const char *end = argv[0] == NULL ? NULL : argv[0];
    size_t n = 0;
    for (char **list = argv; *list != NULL && end == *list; list++, n++)
        end += strlen(*list) + 1;
    for (char **list = environment; *list != NULL && end == *list; list++, n++)
        end += strlen(*list) + 1;
    return n;
}

/* Whether libc knows the stack that main runs on. */
static int knows_stack(void)
{
    pthread_attr_t attributes;
    void *start;
    size_t size;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0)
        return 0;
    pthread_attr_getstack(&attributes, &start, &size);
    pthread_attr_destroy(&attributes);
    return (char *)&size >= (char *)start && (char *)&size < (char *)start + size;
}

static void tell_common(int argc, char **argv, char **environment)
{
    int n_variables = 0;
    while (environment[n_variables] != NULL)
        n_variables++;
    printf("argc %d, %d variables, early %d%s%s\n", argc, n_variables, early.n_variables,
           early.environment == environment ? "" : " elsewhere",
           environ == environment ? "" : ", environ elsewhere");
    printf("environment behind arguments: %s, argc before: %s, aligned: %s\n",
           argv + argc + 1 == environment ? "yes" : "no",
           (uint64_t)argc == ((const uint64_t *)argv)[-1] ? "yes" : "no",
           ((uintptr_t)argv - 8) % 16 == 0 ? "yes" : "no");
    printf("contiguous strings: %zu, libc knows the stack: %d\n", contiguous(argv, environment),
           knows_stack());
    printf("cmdline: %s, environ: %s\n", as_kernel_says(argv, "/proc/self/cmdline"),
           as_kernel_says(environment, "/proc/self/environ"));
    printf("called %s; early LD_PRELOAD=%s\n", program_invocation_short_name,
           early.preload == NULL ? "(none)" : early.preload);
}

static int tell(int argc, char **argv, char **environment)
{
    tell_common(argc, argv, environment);
    for (int i = 0; i < argc; i++)
        printf("argument \"%s\"\n", argv[i]);
    for (char **entry = environment; *entry != NULL; entry++)
        printf("variable \"%s\"\n", *entry);
    tell_auxv(environment);
    fflush(stdout);
    return system("exit 3") == 3 << 8 ? 0 : 98; /* libc itself starts a program */
}

static int sum(int argc, char **argv, char **environment)
{
    uint64_t digest = 1469598103934665603u;
    tell_common(argc, argv, environment);
    for (char **entry = argv; entry < environment || *entry != NULL; entry++) {
        for (const char *c = *entry == NULL ? "" : *entry; *c != '\0'; c++)
            digest = (digest ^ (unsigned char)*c) * 1099511628211u;
    }
    printf("checksum %lx\n", (unsigned long)digest);
    return 0;
}

/* ---- starting */

static char **following; /* arguments of the next program */

static void *execute_in_thread(void *unused)
{
    execve("/proc/self/exe", following, environ);
    (void)unused;
    return NULL;
}

static int wait_for(pid_t child)
{
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child)
        fail("child");
    printf("child: %d\n", status);
    return 0;
}

int main(int argc, char **argv, char **environment)
{
    const char *how = argc > 1 ? argv[1] : "tell";
    if (strcmp(how, "tell") == 0)
        return tell(argc, argv, environment);
    if (strcmp(how, "sum") == 0)
        return sum(argc, argv, environment);
    if (strcmp(how, "empty") == 0) {
        char *none[] = {NULL};
        execve("/proc/self/exe", none, none);
        fail("execve");
    }
    int skip = 2;
    char count[16];
    static char *again[64];
    if (strcmp(how, "chain") == 0 && argc > 2) {
        int n = atoi(argv[2]);
        skip = 3;
        if (n > 1) {
            snprintf(count, sizeof count, "%d", n - 1);
            again[1] = argv[1];
            again[2] = count;
        }
    }
    again[0] = argv[0];
    int used = again[1] == NULL ? 1 : 3;
    for (int i = skip; i < argc && used < 63; i++)
        again[used++] = argv[i];
    following = again;
    if (strcmp(how, "vfork") == 0) {
        fflush(stdout);
        pid_t child = vfork();
        if (child == 0) {
            execve("/proc/self/exe", following, environ);
            _exit(97);
        }
        return wait_for(child);
    }
    if (strcmp(how, "spawn") == 0) {
        pid_t child;
        if (posix_spawn(&child, "/proc/self/exe", NULL, NULL, following, environ) != 0)
            fail("posix_spawn");
        return wait_for(child);
    }
    if (strcmp(how, "thread") == 0) {
        pthread_t thread;
        pthread_create(&thread, NULL, execute_in_thread, NULL);
        pthread_join(thread, NULL);
        fail("execve in a thread");
    }
    execve("/proc/self/exe", following, environ);
    fail("execve");
}
