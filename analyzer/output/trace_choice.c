#include "analyzer/output/trace_choice.h"

#include "format/base/printable.h"
#include "format/trace/file.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool ends_with(const char *text, const char *suffix)
{
    size_t length = strlen(text), end = strlen(suffix);
    return length > end && strcmp(text + length - end, suffix) == 0;
}

/* Of traces of one moment the first by name, a complete one before its ".incomplete". */
static bool is_newer(const struct timespec *time, const char *name, const struct timespec *best_time,
                     const char *best)
{
    if (best == NULL || time->tv_sec != best_time->tv_sec)
        return best == NULL || time->tv_sec > best_time->tv_sec;
    if (time->tv_nsec != best_time->tv_nsec)
        return time->tv_nsec > best_time->tv_nsec;
    return strcmp(name, best) < 0;
}

static struct tg_error *find_newest(DIR *directory, char **path)
{
    struct timespec best_time = {0};
    char *best = NULL;
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(directory);
        struct stat status;
        if (entry == NULL)
            break;
        if ((!ends_with(entry->d_name, ".tgt") &&
             !ends_with(entry->d_name, ".tgt" TG_TRACE_INCOMPLETE_SUFFIX)) ||
            stat(entry->d_name, &status) != 0 || !S_ISREG(status.st_mode) ||
            !is_newer(&status.st_mtim, entry->d_name, &best_time, best))
            continue;
        free(best);
        best = strdup(entry->d_name);
        best_time = status.st_mtim;
        if (best == NULL)
            return tg_error_no_memory();
    }
    if (errno != 0) {
        struct tg_error *error = tg_error_create_errno(errno, "cannot read the current directory");
        free(best);
        return error;
    }
    if (best == NULL)
        return tg_error_create(TG_ERROR_USAGE,
                               "no TRACE given, and no trace (*.tgt) in the current directory; "
                               "`tollgate record PROGRAM` makes one");
    *path = best;
    return NULL;
}

struct tg_error *tg_trace_choice_newest(char **path)
{
    DIR *directory = opendir(".");
    if (directory == NULL)
        return tg_error_create_errno(errno, "cannot read the current directory");
    struct tg_error *error = find_newest(directory, path);
    closedir(directory);
    return error;
}

struct tg_error *tg_trace_choice_check(const char *path)
{
    char *incomplete;
    if (strcmp(path, "-") == 0 || access(path, F_OK) == 0 || errno != ENOENT)
        return NULL;
    if (asprintf(&incomplete, "%s%s", path, TG_TRACE_INCOMPLETE_SUFFIX) < 0)
        return tg_error_no_memory();
    struct tg_error *error = NULL;
    if (access(incomplete, F_OK) == 0)
        error = tg_error_create(
            TG_ERROR_NOT_FOUND,
            "%s: no such file, but %s exists: it is still being recorded, or its recorder was "
            "killed. Name it to see what it has so far; `tollgate recover %s` repairs it",
            path, incomplete, incomplete);
    free(incomplete);
    return error;
}

struct tg_error *tg_trace_choice_make(const char *command, const char *given, char **path)
{
    struct tg_error *error = NULL;
    if (given != NULL) {
        error = tg_trace_choice_check(given);
        if (error != NULL)
            return error;
        *path = strdup(given);
        return *path != NULL ? NULL : tg_error_no_memory();
    }
    error = tg_trace_choice_newest(path);
    if (error != NULL)
        return error;
    fprintf(stderr, "tollgate %s: using ", command);
    tg_printable_write(stderr, *path);
    fputs(", the newest trace here\n", stderr);
    return NULL;
}
