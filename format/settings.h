/* Settings files: the `dset` lines of .tollgaterc and of existing .tvdrc files. */
#ifndef TG_FORMAT_SETTINGS_H
#define TG_FORMAT_SETTINGS_H

#include "format/error.h"

#include <stdbool.h>
#include <stddef.h>

/* What a settings file said; initialise to zero, free with deinit. */
struct tg_settings {
    bool has_always_recalculate;
    bool always_recalculate; /* TV::dlopen_always_recalculate */
    char *match;             /* TV::dlopen_recalculate_on_match, NULL where not set */
    /* One text per line that was skipped: "FILE:LINE: skipped: REASON (TEXT)"; untrusted, print through
     * tg_printable. */
    char **notes;
    size_t n_notes;
};

void tg_settings_deinit(struct tg_settings *settings);

/*
 * Reads `dset NAME VALUE` lines (Tcl words: bare, "quoted", {braced}, backslash escapes and line
 * continuation, comments,
 * `;`); `dset -set_as_default NAME VALUE` too. Known names are applied, a bad value of a known name is an
 * INPUT error with file and line; all else (other variables, commands, substitutions) is skipped with a note.
 * Limits: 1 MiB of text, 1000 notes.
 */
struct tg_error *tg_settings_parse(const char *file_name, const char *text, size_t size,
                                   struct tg_settings *settings);

/* The same from a file. NOT_FOUND where there is none. */
struct tg_error *tg_settings_read(const char *path, struct tg_settings *settings);

/* One pair of lines to paste: "dset TV::... \n dset TV::... {...}\n"; Tcl-quoted so that parse gives MATCH
 * back. Owned by the caller. */
char *tg_settings_format(bool always_recalculate, const char *match);

#endif
