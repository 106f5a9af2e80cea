#include "analyzer/dump/labels.h"

#include "analyzer/output/code_names.h"

#include <assert.h>
#include <stdlib.h>

void tg_dump_labels_init(struct tg_dump_labels *labels, const struct tg_dump_wording *wording)
{
    *labels = (struct tg_dump_labels){.wording = wording};
}

static void destroy(struct tg_dump_kind_labels *kind)
{
    for (size_t i = 0; kind != NULL && i < kind->n_fields; i++)
        free(kind->fields[i].names);
    free(kind);
}

void tg_dump_labels_deinit(struct tg_dump_labels *labels)
{
    for (size_t i = 0; i < sizeof labels->kinds / sizeof *labels->kinds; i++)
        destroy(labels->kinds[i]);
}

enum tg_dump_form tg_dump_form_of(const struct tg_field *field)
{
    switch (field->type) {
    case TG_FIELD_UNSIGNED:
        return TG_DUMP_UNSIGNED;
    case TG_FIELD_SIGNED:
        return TG_DUMP_SIGNED;
    case TG_FIELD_ADDRESS:
        return TG_DUMP_ADDRESS;
    case TG_FIELD_STRING:
        return TG_DUMP_STRING;
    case TG_FIELD_ENUM:
        return TG_DUMP_ENUM;
    case TG_FIELD_BOOL:
        return TG_DUMP_BOOL;
    case TG_FIELD_LIST:
        break;
    }
    return TG_DUMP_OTHER;
}

static void set_size(struct tg_dump_piece *piece, int size)
{
    assert(size >= 0 && (size_t)size < sizeof piece->text); /* names of a schema are short */
    piece->size = (uint8_t)size;
}

static struct tg_error *make_label(const struct tg_dump_wording *wording, const struct tg_field *field,
                                   struct tg_dump_label *label)
{
    label->field = field;
    label->offset = field->offset;
    label->form = wording->form != NULL ? wording->form(field) : tg_dump_form_of(field);
    label->is_code = tg_code_names_concern(field);
    set_size(&label->before, wording->before(label->before.text, sizeof label->before.text, field));
    if (field->n_names == 0)
        return NULL;
    label->names = calloc(field->n_names, sizeof *label->names);
    if (label->names == NULL)
        return tg_error_no_memory();
    label->n_names = field->n_names;
    for (size_t i = 0; i < field->n_names; i++)
        set_size(&label->names[i],
                 wording->value(label->names[i].text, sizeof label->names[i].text, field->names[i]));
    return NULL;
}

struct tg_error *tg_dump_labels_make(struct tg_dump_labels *labels, unsigned kind)
{
    const struct tg_record_schema *schema = tg_event_schema(kind);
    struct tg_dump_kind_labels *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    made->n_fields = schema->n_fields;
    set_size(&made->name, labels->wording->kind(made->name.text, sizeof made->name.text, schema->name));
    struct tg_error *error = NULL;
    for (size_t i = 0; error == NULL && i < schema->n_fields; i++)
        error = make_label(labels->wording, &schema->fields[i], &made->fields[i]);
    if (error != NULL)
        destroy(made);
    else
        labels->kinds[tg_event_kind_place(kind)] = made;
    return error;
}
