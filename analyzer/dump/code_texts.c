#include "analyzer/dump/code_texts.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(TG_CODE_TEXTS == 1 << (64 - 52), "places are the upper bits of a product");

void tg_code_texts_deinit(struct tg_code_texts *texts)
{
    for (size_t i = 0; i < TG_CODE_TEXTS; i++)
        free(texts->texts[i].text);
}

struct tg_error *tg_code_text_make(struct tg_code_text *text, tg_code_text_write *write,
                                   const struct tg_event *event, const struct tg_field *field,
                                   struct tg_code_names *names)
{
    free(text->text);
    *text = (struct tg_code_text){.field = field, .feeds = tg_code_names_feeds(names), .pid = event->pid};
    struct tg_code_name name;
    memcpy(&text->address, (const char *)TG_EVENT_PAYLOAD(event) + field->offset, sizeof text->address);
    if (!tg_code_names_find(names, event->pid, field, text->address, &name))
        return NULL;
    FILE *stream = open_memstream(&text->text, &text->size);
    if (stream == NULL) {
        *text = (struct tg_code_text){0};
        return tg_error_no_memory();
    }
    write(stream, field, &name);
    bool failed = ferror(stream) != 0;
    if (fclose(stream) == 0 && !failed)
        return NULL;
    free(text->text);
    *text = (struct tg_code_text){0};
    return tg_error_no_memory();
}

struct tg_error *tg_code_texts_put(struct tg_code_texts *texts, tg_code_text_write *write,
                                   const struct tg_event *event, const struct tg_dump_label *label,
                                   struct tg_code_names *names, struct tg_dump_line *line)
{
    const struct tg_code_text *text;
    uint64_t address;
    memcpy(&address, (const char *)TG_EVENT_PAYLOAD(event) + label->offset, sizeof address);
    struct tg_error *error = tg_code_texts_find(texts, write, event, label->field, address, names, &text);
    if (error == NULL && text->size > 0)
        tg_dump_line_put(line, text->text, text->size);
    return error;
}
