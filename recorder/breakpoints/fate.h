/* The fate of one breakpoint specification in a recording: planted, or why it never was. */
#ifndef TG_RECORDER_BREAKPOINTS_FATE_H
#define TG_RECORDER_BREAKPOINTS_FATE_H

#include "recorder/breakpoints/object.h"

/* Why an object was never looked into. */
enum tg_break_miss {
    TG_BREAK_MISS_CLOSED, /* unloaded while it waited */
    TG_BREAK_MISS_ENDED,  /* the program ended, or was replaced, while it waited */
};

enum { TG_BREAK_FATE_MAX_MISSED = 4096 };

struct tg_break_missed; /* an object that was never looked into */

/* Zero-initialised: nothing has happened. */
struct tg_break_fate {
    uint64_t planted;               /* places */
    uint64_t searched;              /* objects that were looked into */
    char *failure;                  /* the first place that could not be planted, NULL none */
    struct tg_break_missed *missed; /* by path, at most TG_BREAK_FATE_MAX_MISSED */
    bool has_dropped;               /* there were more of them, or memory was short */
};

void tg_break_fate_deinit(struct tg_break_fate *fate);

/* A place could not be planted, as ERROR says. */
void tg_break_fate_fail(struct tg_break_fate *fate, const char *error);

/* OBJECT, which the specification admits, was never looked into. */
void tg_break_fate_miss(struct tg_break_fate *fate, const struct tg_break_object *object,
                        enum tg_break_miss why);

/* Why SPEC was never planted, in one line for people: looks into the files of missed objects. RARELY: libraries
 * that come and go between two stops are not seen. Owned by the caller; NULL: it was planted, or no memory. */
char *tg_break_fate_describe(const struct tg_break_fate *fate, const struct tg_break_spec *spec, bool rarely);

#endif
