/* Data that a command answers, beside its text for people: one JSON value. */
#ifndef TG_LIVE_CONSOLE_DATA_H
#define TG_LIVE_CONSOLE_DATA_H

#include "format/base/json_writer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <tcl.h>

/* Zero: nobody wants data. */
struct tg_console_data {
    bool wanted;
    FILE *stream; /* NULL: there is no answer yet */
    char *text;
    size_t size;
    struct tg_json json;
};

/* Begins an answer, a former one is forgotten; what is written to the result must be one value. NULL: nobody
 * wants it, or memory is short. */
struct tg_json *tg_console_data_begin(struct tg_console_data *data);

/* An empty list that keeps its type where nothing is added to it: as data it is an array, which Tcl's own is
 * not. No reference of its own. */
Tcl_Obj *tg_console_data_list(void);

/* OBJECT, as a command has built it: dictionaries, lists and integers by the types that they were made with,
 * all else is text. */
void tg_console_data_put(struct tg_json *json, Tcl_Obj *object);

/* Forgets the answer. */
void tg_console_data_drop(struct tg_console_data *data);

/* The answer, which is the caller's to free; NULL there is none. */
char *tg_console_data_take(struct tg_console_data *data);

#endif
