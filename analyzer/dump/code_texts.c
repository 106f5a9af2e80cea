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
