#include "recorder/record/debugger_cost.h"

#include "format/base/array.h"
#include "recorder/engine/engine.h"
#include "recorder/inject/files.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    TIME_LIMIT_S = 120,
    LOOK_NS = 20 * 1000 * 1000,
    MAX_WORDS = 24,
    MAX_SAID = 200,
    FILE_BYTES = PATH_MAX + 64
};

static const char function[] = "tollgate_calibrates_with_no_such_function";

/* ---- the program that loads */

static void library_path(const char *directory, uint64_t number, char path[FILE_BYTES])
{
    snprintf(path, FILE_BYTES, "%s/lib%05" PRIu64 ".so", directory, number);
}

int tg_debugger_cost_load(const char *directory, uint64_t libraries)
{
    char path[FILE_BYTES];
    uint64_t *took_ns = calloc(libraries + 1, sizeof *took_ns);
    if (took_ns == NULL)
        return 2;
    for (uint64_t i = 0; i < libraries; i++) {
        library_path(directory, i, path);
        uint64_t start_ns = tg_engine_now_ns();
        void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        took_ns[i] = tg_engine_now_ns() - start_ns;
        if (handle == NULL)
            fprintf(stderr, "%s\n", dlerror());
    }
    snprintf(path, sizeof path, "%s/result", directory);
    FILE *out = fopen(path, "we");
    for (uint64_t i = 0; out != NULL && i < libraries; i++)
        fprintf(out, "%" PRIu64 "\n", took_ns[i]);
    free(took_ns);
    return out == NULL || fclose(out) != 0 ? 2 : 0;
}

/* ---- the libraries */

static struct tg_error *copy_file(const char *from, const char *to)
{
    char bytes[1 << 16];
    ssize_t count = 0;
    int in = open(from, O_RDONLY | O_CLOEXEC);
    int out = -1;
    if (in >= 0)
        out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
    while (out >= 0 && (count = read(in, bytes, sizeof bytes)) > 0)
        if (write(out, bytes, (size_t)count) != count)
            break;
    struct tg_error *error = in < 0 || out < 0 || count != 0
                                 ? tg_error_create_errno(errno, "cannot copy %s to %s", from, to)
                                 : NULL;
    if (in >= 0)
        close(in);
    if (out >= 0)
        close(out);
    return error;
}

static struct tg_error *make_libraries(const char *directory, uint64_t libraries)
{
    struct tg_agent_files files;
    char path[FILE_BYTES];
    struct tg_error *error = tg_agent_files_find(&files);
    if (error != NULL)
        return error;
    for (uint64_t i = 0; error == NULL && i < libraries; i++) {
        library_path(directory, i, path);
        error = copy_file(files.audit, path);
    }
    tg_agent_files_deinit(&files);
    return error;
}

static void remove_directory(const char *directory, uint64_t libraries)
{
    static const char *const others[] = {"result", "said"};
    char path[FILE_BYTES];
    for (uint64_t i = 0; i < libraries; i++) {
        library_path(directory, i, path);
        unlink(path);
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        snprintf(path, sizeof path, "%s/%s", directory, others[i]);
        unlink(path);
    }
    rmdir(directory);
}

/* ---- running it */

static bool is_called(const char *debugger, const char *name)
{
    const char *slash = strrchr(debugger, '/');
    return strncmp(slash != NULL ? slash + 1 : debugger, name, strlen(name)) == 0;
}

/* The words of the command; DEBUGGER NULL: without one. Texts live as long as the buffers. */
static struct tg_error *make_command(const char *debugger, const char *const *program, const char **words)
{
    static char gdb_break[80], lldb_break[80];
    snprintf(gdb_break, sizeof gdb_break, "break %s", function);
    snprintf(lldb_break, sizeof lldb_break, "breakpoint set --name %s", function);
    const char *const gdb[] = {"-q",     "-batch",
                               "-ex",    "set breakpoint pending on",
                               "-ex",    "set debuginfod enabled off",
                               "-ex",    gdb_break,
                               "-ex",    "run",
                               "--args", NULL};
    const char *const lldb[] = {"--batch", "-o", lldb_break, "-o", "run", "--", NULL};
    const char *const none[] = {NULL};
    const char *const *options = none;
    size_t n = 0;
    if (debugger != NULL && is_called(debugger, "gdb"))
        options = gdb;
    else if (debugger != NULL && is_called(debugger, "lldb"))
        options = lldb;
    else if (debugger != NULL)
        return tg_error_create(TG_ERROR_USAGE, "--debugger: '%s' is neither gdb nor lldb", debugger);
    if (debugger != NULL)
        words[n++] = debugger;
    for (; *options != NULL; options++)
        words[n++] = *options;
    for (; *program != NULL; program++)
        words[n++] = *program;
    words[n] = NULL;
    return NULL;
}

/* Runs WORDS with everything that they say in the file SAID; kills them at the time limit. */
static struct tg_error *run_command(const char *const *words, const char *said, int *status)
{
    pid_t pid = fork();
    if (pid < 0)
        return tg_error_create_errno(errno, "cannot fork");
    if (pid == 0) {
        int out = open(said, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        int in = open("/dev/null", O_RDONLY | O_CLOEXEC);
        setpgid(0, 0);
        if (out < 0 || in < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0)
            _exit(126);
        execvp(words[0], (char *const *)(uintptr_t)words);
        fprintf(stderr, "cannot run %s: %s\n", words[0], strerror(errno));
        fflush(stderr);
        _exit(127);
    }
    uint64_t start_ns = tg_engine_now_ns();
    const struct timespec pause = {.tv_nsec = LOOK_NS};
    while (waitpid(pid, status, WNOHANG) == 0) {
        if (tg_engine_now_ns() - start_ns > TIME_LIMIT_S * UINT64_C(1000000000)) {
            kill(-pid, SIGKILL);
            waitpid(pid, status, 0);
            return tg_error_create(TG_ERROR_TARGET, "%s took more than %d s", words[0], TIME_LIMIT_S);
        }
        nanosleep(&pause, NULL);
    }
    return NULL;
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* The last line that was said, for an error. */
static void last_line(const char *said, char line[MAX_SAID])
{
    char text[MAX_SAID];
    FILE *file = fopen(said, "re");
    line[0] = '\0';
    while (file != NULL && fgets(text, sizeof text, file) != NULL) {
        text[strcspn(text, "\n")] = '\0';
        if (text[0] != '\0')
            snprintf(line, MAX_SAID, "%s", text);
    }
    if (file != NULL)
        fclose(file);
}

/* How long the dlopens took, in order of length; TARGET where they were not as many as there should be. */
static struct tg_error *read_result(const char *directory, const char *who, uint64_t *took_ns, uint64_t count)
{
    char path[FILE_BYTES], line[MAX_SAID];
    uint64_t found = 0;
    snprintf(path, sizeof path, "%s/result", directory);
    FILE *file = fopen(path, "re");
    while (file != NULL && found < count && fscanf(file, "%" SCNu64, &took_ns[found]) == 1)
        found++;
    if (file != NULL)
        fclose(file);
    unlink(path);
    snprintf(path, sizeof path, "%s/said", directory);
    last_line(path, line);
    if (found < count)
        return tg_error_create(TG_ERROR_TARGET, "%s did not run the program to its end: %s", who, line);
    qsort(took_ns, count, sizeof *took_ns, by_value);
    return NULL;
}

static struct tg_error *run_loads(const char *debugger, const char *directory, uint64_t *took_ns,
                                  uint64_t libraries)
{
    char self[PATH_MAX], number[24], said[FILE_BYTES];
    const char *words[MAX_WORDS];
    int status = 0;
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length <= 0)
        return tg_error_create_errno(errno, "cannot read /proc/self/exe");
    self[length] = '\0';
    snprintf(number, sizeof number, "%" PRIu64, libraries);
    snprintf(said, sizeof said, "%s/said", directory);
    const char *const program[] = {self,   "calibrate", "--load-libraries", directory, "--libraries",
                                   number, NULL};
    struct tg_error *error = make_command(debugger, program, words);
    if (error == NULL)
        error = run_command(words, said, &status);
    return error != NULL ? error : read_result(directory, words[0], took_ns, libraries);
}

static uint64_t beyond(uint64_t ns, uint64_t native_ns)
{
    return ns > native_ns ? ns - native_ns : 0;
}

static struct tg_quartiles quartiles(const uint64_t *sorted, uint64_t count, uint64_t native_ns)
{
    return (struct tg_quartiles){beyond(sorted[count / 4], native_ns), beyond(sorted[count / 2], native_ns),
                                 beyond(sorted[count - 1 - count / 4], native_ns)};
}

struct tg_error *tg_debugger_cost_measure(const char *debugger, uint64_t libraries,
                                          struct tg_debugger_cost *cost)
{
    const char *where = getenv("TMPDIR");
    char directory[PATH_MAX];
    uint64_t *took_ns = calloc(libraries + 1, sizeof *took_ns);
    struct tg_debugger_cost made = {.libraries = libraries};
    if (took_ns == NULL)
        return tg_error_no_memory();
    snprintf(directory, sizeof directory, "%s/tollgate-calibrate-XXXXXX",
             where != NULL && where[0] == '/' ? where : "/tmp");
    struct tg_error *error =
        mkdtemp(directory) == NULL ? tg_error_create_errno(errno, "cannot make %s", directory) : NULL;
    if (error == NULL) {
        error = make_libraries(directory, libraries);
        if (error == NULL)
            error = run_loads(NULL, directory, took_ns, libraries);
        if (error == NULL) {
            made.native_ns = quartiles(took_ns, libraries, 0);
            error = run_loads(debugger, directory, took_ns, libraries);
        }
        made.event_ns = quartiles(took_ns, libraries, made.native_ns.median);
        remove_directory(directory, libraries);
    }
    free(took_ns);
    if (error == NULL)
        *cost = made;
    return error;
}
