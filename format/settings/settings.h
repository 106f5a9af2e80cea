/* Settings files: the `dset` lines of .tollgaterc and of existing .tvdrc files. What they set: the dlopen
 * filter's two variables, and those of the live console. */
#ifndef TG_FORMAT_SETTINGS_SETTINGS_H
#define TG_FORMAT_SETTINGS_SETTINGS_H

#include "format/base/error.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    TG_SETTINGS_MAX_BYTES = 1 << 20,
    TG_SETTINGS_MAX_NOTES = 20000,
};

/* A variable of the live console as a file sets it. */
struct tg_console_value {
    const char *name; /* as in live/console/settings.c; static */
    char *value;      /* not checked, except for those of barriers */
    char *where;      /* "FILE:LINE" */
};

/* Contents of settings files; initialise to zero, free with deinit. */
struct tg_settings {
    bool has_always_recalculate;
    bool always_recalculate;          /* TV::dlopen_always_recalculate */
    char *match;                      /* TV::dlopen_recalculate_on_match, NULL where not set */
    char *filter_where;               /* "FILE:LINE" of the last of these two, NULL where neither is set */
    struct tg_console_value *console; /* each variable once */
    size_t n_console;
    /* One text per command that was skipped: "FILE:LINE: skipped: REASON (TEXT)"; untrusted, print through
     * tg_printable. The last one of TG_SETTINGS_MAX_NOTES says how many more there are. */
    char **notes;
    size_t n_notes;
};

void tg_settings_deinit(struct tg_settings *settings);

/* Reads TEXT, a Tcl script (bytes of any kind; lines end in LF, CR LF or CR; as in Tcl's `source` nothing
 * behind a Control-Z counts), without running it. `dset NAME VALUE` and `dset -set_as_default NAME VALUE` of
 * known names, with TV:: before them or without, are applied on top of what SETTINGS holds, the last one wins;
 * TV::barrier_stop_all and TV::barrier_stop_when_done are other names of BARRIER_... Values are Tcl words: bare,
 * "quoted" or {braced}. A bad value of a known name, and quotes, braces or brackets without an end, are INPUT
 * errors with file and line; all else (other variables and commands, values with $ or [...]) is skipped with
 * a note, one for a command however many lines it has. On error SETTINGS is as it was. LIMIT error beyond
 * TG_SETTINGS_MAX_BYTES. */
struct tg_error *tg_settings_parse(const char *file_name, const char *text, size_t size,
                                   struct tg_settings *settings);

/* The same from a file, which may be a pipe. NOT_FOUND where there is none. */
struct tg_error *tg_settings_read(const char *path, struct tg_settings *settings);

/* The lines to paste: "dset TV::dlopen_always_recalculate ...\ndset TV::dlopen_recalculate_on_match ...\n",
 * quoted for Tcl so that parse gives MATCH back. Owned by the caller; NULL where memory is short. */
char *tg_settings_format(bool always_recalculate, const char *match);

#endif
