/* Names of the wrappers by which libraries are opened that bind deeply (recorder/agent/deep), in the loader's list: the program
 * has opened none of them. No libc, async-signal-safe. */
#ifndef TG_RECORDER_AGENT_WRAPPER_NAME_H
#define TG_RECORDER_AGENT_WRAPPER_NAME_H

#include <stdbool.h>
#include <stddef.h>

/* The beginning of the last component. */
#define TG_WRAPPER_NAME "tollgate-deepbind-"

/* A wrapper without a name of its own is opened by its descriptor, before which there are more slashes than anybody else writes:
 * /proc/PID/fd, then so many of "/" or "/.", then /DESCRIPTOR. */
enum { TG_WRAPPER_NAME_BITS = 20 };

/* What follows BEGINNING in TEXT; NULL where TEXT is NULL or does not begin so. */
static inline const char *tg_wrapper_name_skip(const char *text, const char *beginning)
{
    while (text != NULL && *beginning != '\0')
        text = *text == *beginning++ ? text + 1 : NULL;
    return text;
}

static inline bool tg_wrapper_name_is(const char *path)
{
    const char *last = path;
    for (const char *at = path; *at != '\0'; at++)
        last = *at == '/' ? at + 1 : last;
    if (tg_wrapper_name_skip(last, TG_WRAPPER_NAME) != NULL)
        return true;
    const char *at = tg_wrapper_name_skip(path, "/proc/");
    while (at != NULL && *at >= '0' && *at <= '9')
        at++;
    int n_slashes = 0;
    for (at = tg_wrapper_name_skip(at, "/fd"); at != NULL && *at == '/'; n_slashes++)
        at += at[1] == '.' ? 2 : 1;
    return n_slashes == TG_WRAPPER_NAME_BITS + 1 && at == last;
}

#endif
