#include "analyzer/sequence_format.h"

#include <string.h>

static const struct tg_sequence_format *const formats[] = {
    &tg_sequence_svg, &tg_sequence_html, &tg_sequence_seqdiag, &tg_sequence_mermaid, &tg_sequence_plantuml,
};

size_t tg_sequence_format_count(void)
{
    return sizeof formats / sizeof(struct tg_sequence_format *);
}

const struct tg_sequence_format *tg_sequence_format_at(size_t i)
{
    return formats[i];
}

const struct tg_sequence_format *tg_sequence_format_find(const char *name)
{
    for (size_t i = 0; i < tg_sequence_format_count(); i++)
        if (strcmp(formats[i]->name, name) == 0)
            return formats[i];
    return NULL;
}
