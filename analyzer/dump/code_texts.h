/* What a format says of code addresses, kept as text: a program has few, and a trace has each of them many times. */
#ifndef TG_ANALYZER_DUMP_CODE_TEXTS_H
#define TG_ANALYZER_DUMP_CODE_TEXTS_H

#include "analyzer/dump/labels.h"
#include "analyzer/dump/line.h"
#include "analyzer/output/code_names.h"
#include "format/base/error.h"
#include "format/event/event.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* What is said of ADDRESS in FIELD of an event of process PID; FIELD NULL: of none yet. */
struct tg_code_text {
    uint64_t address;
    const struct tg_field *field;
    uint64_t feeds; /* events that the names had taken by then */
    int32_t pid;
    size_t size;
    char *text; /* NULL: nothing */
};

enum { TG_CODE_TEXTS = 1 << 12 };

/* Each address has one place, which it may share. Zeroed at the beginning. */
struct tg_code_texts {
    struct tg_code_text texts[TG_CODE_TEXTS];
};

void tg_code_texts_deinit(struct tg_code_texts *texts);

/* Writes to STREAM what the format says of code called NAME, whose address is in FIELD. */
typedef void tg_code_text_write(FILE *stream, const struct tg_field *field, const struct tg_code_name *name);

/* Has WRITE say it, and keeps it in TEXT. The only error: NO_MEMORY. */
struct tg_error *tg_code_text_make(struct tg_code_text *text, tg_code_text_write *write,
                                   const struct tg_event *event, const struct tg_field *field,
                                   struct tg_code_names *names);

/* What is said of the code at ADDRESS, which FIELD of EVENT has; valid until the next call. */
static inline struct tg_error *tg_code_texts_find(struct tg_code_texts *texts, tg_code_text_write *write,
                                                  const struct tg_event *event, const struct tg_field *field,
                                                  uint64_t address, struct tg_code_names *names,
                                                  const struct tg_code_text **found)
{
    uint64_t mixed = (address ^ (uint64_t)(uint32_t)event->pid << 32) * UINT64_C(0x9e3779b97f4a7c15);
    struct tg_code_text *text = &texts->texts[mixed >> 52];
    *found = text;
    if (text->field == field && text->address == address && text->pid == event->pid &&
        text->feeds == tg_code_names_feeds(names))
        return NULL;
    return tg_code_text_make(text, write, event, field, names);
}

/* Puts into LINE what is said of the code address that EVENT has in the field of LABEL. */
struct tg_error *tg_code_texts_put(struct tg_code_texts *texts, tg_code_text_write *write,
                                   const struct tg_event *event, const struct tg_dump_label *label,
                                   struct tg_code_names *names, struct tg_dump_line *line);

#endif
