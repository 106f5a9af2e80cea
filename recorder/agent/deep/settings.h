/* TVHEAP_DEEPBIND: how libraries that are opened with RTLD_DEEPBIND are handled. */
#ifndef TG_RECORDER_AGENT_DEEP_SETTINGS_H
#define TG_RECORDER_AGENT_DEEP_SETTINGS_H

#include <limits.h>
#include <stdbool.h>

struct tg_deep_settings {
    bool passes_through; /* nothing is done */
    bool keeps_wrapper;
    bool prefers_wrapper;     /* method=wrapper */
    char directory[PATH_MAX]; /* for the wrapper */
    char warning[256];        /* what of TEXT is not understood, "" nothing */
};

/* Reads TEXT, items KEY=VALUE between commas; NULL: not set. The keys are pass_through, keep_wrapper (true or false,
 * yes or no, on or off, 1 or 0, in any case), tmpdir and method (audit or wrapper); the last one of a key counts. A
 * comma is part of tmpdir's value unless a word of letters and _ and a '=' follow. TMPDIR is the value of that
 * variable, NULL not set. What is not understood is left out. */
void tg_deep_settings_read(const char *text, const char *tmpdir, struct tg_deep_settings *settings);

#endif
