#include "analyzer/output/progress.h"

#include "format/base/cleanup.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const uint64_t first_after_ns = 500000000, between_ns = 200000000, second_ns = 1000000000;

static bool is_pipe(int fd)
{
    struct stat status;
    return fstat(fd, &status) == 0 && (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode));
}

/* Whether a line can be rewritten there, and is ours to write: a job in the background has no terminal. */
static bool is_good_terminal(int fd)
{
    const char *name = getenv("TERM");
    return isatty(fd) && name != NULL && strcmp(name, "dumb") != 0 && tcgetpgrp(fd) == getpgrp();
}

void tg_progress_init(struct tg_progress *progress, const struct tg_output *output, bool is_streamed,
                      unsigned passes)
{
    *progress = (struct tg_progress){
        .is_wanted = is_good_terminal(STDERR_FILENO) &&
                     (output == NULL || tg_output_is_file(output) || !is_pipe(STDOUT_FILENO)) &&
                     !(is_streamed && tg_output_is_terminal(output)),
        .passes = passes,
        .pass = UINT_MAX,
    };
}

void tg_progress_init_console(struct tg_progress *progress)
{
    *progress = (struct tg_progress){.is_wanted = true, .is_unsure = true, .passes = 1, .pass = UINT_MAX};
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (uint64_t)now.tv_sec * second_ns + (uint64_t)now.tv_nsec;
}

/* Part of a whole in percent, and, where it can be said, the seconds that are left. */
static void show(struct tg_progress *progress, uint64_t now)
{
    char line[80];
    double part = (double)progress->done / (double)progress->whole,
           gained = (double)(progress->done - progress->begin_done) / (double)progress->whole,
           left_s = gained > 0 ? (double)(now - progress->begin_ns) / 1e9 * (1 - part) / gained : 0;
    int size = snprintf(line, sizeof line, "\r\033[Ktollgate: reading the trace: %d %%", (int)(part * 100));
    if (left_s >= 2 && left_s < 1e6)
        size += snprintf(line + size, sizeof line - (size_t)size, ", %d s left", (int)left_s);
    tg_cleanup_line(true);
    progress->is_shown = true;
    if (write(STDERR_FILENO, line, (size_t)size) < 0)
        progress->is_wanted = false;
}

static void look(void *context, uint64_t position, uint64_t size)
{
    struct tg_progress *progress = context;
    uint64_t now = now_ns();
    progress->whole = size * progress->passes;
    progress->done = size * progress->pass + (position < size ? position : size);
    if (progress->begin_ns == 0) {
        progress->begin_ns = now;
        progress->begin_done = progress->done;
        progress->next_ns = now + first_after_ns;
    }
    if (now < progress->next_ns || progress->done >= progress->whole)
        return;
    progress->next_ns = now + between_ns;
    if (progress->is_unsure)
        progress->is_wanted = is_good_terminal(STDERR_FILENO) && !is_pipe(STDOUT_FILENO);
    progress->is_unsure = false;
    if (progress->is_wanted)
        show(progress, now);
}

void tg_progress_watch(struct tg_progress *progress, struct tg_trace_reader *reader)
{
    if (progress == NULL || !progress->is_wanted)
        return;
    progress->pass++;
    if (progress->pass >= progress->passes)
        progress->passes = progress->pass + 1;
    tg_trace_reader_watch(reader, look, progress);
}

void tg_progress_tell(struct tg_progress *progress, uint64_t done, uint64_t whole)
{
    if (!progress->is_wanted || whole == 0)
        return;
    progress->pass = 0;
    look(progress, done, whole);
}

void tg_progress_end(struct tg_progress *progress)
{
    static const char wipe[] = "\r\033[K";
    if (progress == NULL || !progress->is_shown)
        return;
    progress->is_shown = false;
    if (write(STDERR_FILENO, wipe, sizeof wipe - 1) < 0)
        progress->is_wanted = false;
    tg_cleanup_line(false);
}
