/* Settings of dset: named values, each with a type, a default and somebody who wants to know.
 *
 * To add one: a line in the table of live/console/settings.c; code that acts on it asks for its value when it
 * matters, or watches it. */
#ifndef TG_LIVE_CONSOLE_SETTINGS_H
#define TG_LIVE_CONSOLE_SETTINGS_H

#include "format/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tg_setting_type {
    TG_SETTING_BOOL,   /* true or false; also 1, 0, yes, no, on, off */
    TG_SETTING_NUMBER, /* in [lowest, highest] */
    TG_SETTING_WORD,   /* one of WORDS */
    TG_SETTING_TEXT,
};

/* Description of a setting. */
struct tg_setting {
    const char *name;
    enum tg_setting_type type;
    const char *initial;      /* value at first, and after dunset */
    const char *meaning;      /* one line */
    const char *const *words; /* of WORD, NULL-terminated */
    int64_t lowest, highest;  /* of NUMBER */
    bool is_live;             /* says something to jobs that run only */
};

/* In the order of dset's list; ends with a NULL name. */
extern const struct tg_setting tg_setting_table[];

struct tg_console_settings;

struct tg_error *tg_console_settings_create(struct tg_console_settings **settings);
void tg_console_settings_destroy(struct tg_console_settings *settings); /* NULL is accepted */

/* The setting called NAME, with TV:: before it or without; NULL there is none. */
const struct tg_setting *tg_setting_find(const char *name);

/* The value of a setting of the table, printable or not; lives until it is set. */
const char *tg_console_settings_text(const struct tg_console_settings *settings, const char *name);
bool tg_console_settings_bool(const struct tg_console_settings *settings, const char *name);
int64_t tg_console_settings_number(const struct tg_console_settings *settings, const char *name);

/* NAME gets VALUE; NULL: what it was at first. Who watches it is told before, and may refuse: its error is
 * returned and nothing has changed. NOT_FOUND: there is no such setting; USAGE: VALUE is none for it, which
 * the message says with what would be. */
struct tg_error *tg_console_settings_set(struct tg_console_settings *settings, const char *name,
                                         const char *value);

/* Calls CHANGED before NAME, of the table, gets another value. One watches at a time: the last who asked. */
void tg_console_settings_watch(struct tg_console_settings *settings, const char *name,
                               struct tg_error *(*changed)(void *context, const char *value), void *context);

#endif
