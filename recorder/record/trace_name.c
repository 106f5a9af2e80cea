#include "recorder/record/trace_name.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_PROGRAM_NAME = 64, MAX_DEFAULT_TRACES = 1000 };

/* The last component of PATH, with what is unwieldy in a file name replaced. */
static void file_name_of(const char *path, char name[MAX_PROGRAM_NAME])
{
    const char *slash = strrchr(path, '/');
    const char *last = slash != NULL && slash[1] != '\0' ? slash + 1 : path;
    size_t length = strnlen(last, MAX_PROGRAM_NAME - 1);
    memcpy(name, last, length);
    name[length] = '\0';
    for (char *c = name; *c != '\0'; c++) {
        bool plain = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') ||
                     strchr("._+-", *c) != NULL;
        if (!plain)
            *c = '_';
    }
}

static bool is_taken(const char *trace)
{
    char incomplete[PATH_MAX];
    snprintf(incomplete, sizeof incomplete, "%s.incomplete", trace);
    return access(trace, F_OK) == 0 || access(incomplete, F_OK) == 0;
}

/* A second attach to a process makes a second trace. */
static struct tg_error *choose_free(const char *program, pid_t pid, bool force, char **trace)
{
    char again[16] = "", *name = NULL;
    for (int n = 2; n <= MAX_DEFAULT_TRACES + 1; n++) {
        free(name);
        if (asprintf(&name, "tollgate-%s-%d%s.tgt", program, (int)pid, again) < 0)
            return tg_error_no_memory();
        if (force || !is_taken(name))
            break;
        snprintf(again, sizeof again, "-%d", n);
    }
    *trace = name;
    return NULL;
}

struct tg_error *tg_trace_name_choose(const char *command, pid_t attached, bool force, char **trace)
{
    char name[MAX_PROGRAM_NAME];
    char path[PATH_MAX] = "process";
    if (command == NULL) {
        char link[32];
        snprintf(link, sizeof link, "/proc/%d/exe", (int)attached);
        ssize_t length = readlink(link, path, sizeof path - 1);
        if (length > 0)
            path[length] = '\0';
    }
    file_name_of(command != NULL ? command : path, name);
    return choose_free(name, command != NULL ? getpid() : attached, force, trace);
}
