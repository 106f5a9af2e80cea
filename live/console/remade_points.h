/* Action points of a run that is over, to be made again in the next one: each as soon as those are there whom
 * it is about. Ranks, for which most are made, come long after their starter. */
#ifndef TG_LIVE_CONSOLE_REMADE_POINTS_H
#define TG_LIVE_CONSOLE_REMADE_POINTS_H

#include "live/source/news.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct tg_console;

/* Zero: none. */
struct tg_remade_points {
    char **commands; /* that wait, in their order */
    size_t count;
    bool is_at_it; /* commands attend, too */
};

/* Waiting ones are given up. */
void tg_remade_points_deinit(struct tg_remade_points *points);

/* Makes those of SCRIPT, a command a line, that can be made; of the others OUT is told, whether they wait for
 * somebody or have failed. SCRIPT is destroyed. */
void tg_remade_points_begin(struct tg_console *console, char *script, FILE *out);

/* Makes waiting ones whose time has come, and tells SINK. To be called when something may have happened, and
 * not on the way of a command that has changed the focus. */
void tg_remade_points_attend(struct tg_console *console, const struct tg_news_sink *sink);

#endif
