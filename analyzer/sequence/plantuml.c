/* Sequence diagrams for PlantUML. */
#include "analyzer/sequence/format.h"
#include "analyzer/sequence/markup.h"

#include "format/base/utf8.h"

#include <ctype.h>
#include <string.h>

/* Whatever could be markup or a directive is written by its number: <U+0025> */
static void write_text(FILE *stream, const char *text)
{
    while (*text != '\0') {
        uint32_t code_point;
        size_t length = tg_utf8_decode(text, &code_point);
        if (length == 0 || code_point == '\n')
            putc(length == 0 ? '?' : ' ', stream);
        else if (code_point < 0x80 && !isalnum(*text) && strchr(" .,()+", *text) == NULL)
            fprintf(stream, "<U+%04X>", (unsigned)code_point);
        else
            fwrite(text, 1, length, stream);
        text += length == 0 ? 1 : length;
    }
}

static void write_message(const struct tg_sequence_markup *markup, uint32_t from, const char *arrow,
                          uint32_t to, const char *label)
{
    tg_sequence_markup_indent(markup);
    fprintf(markup->stream, "w%u %s w%u", from, arrow, to);
    if (*label != '\0') {
        fputs(" : ", markup->stream);
        write_text(markup->stream, label);
    }
    putc('\n', markup->stream);
}

/* A lane beside LANE, for an arrow that gets nowhere. */
static uint32_t beside(const struct tg_sequence_rows *rows, uint32_t lane)
{
    for (size_t i = 0; i < rows->n_columns; i++)
        if (rows->columns[i] == lane)
            return i + 1 < rows->n_columns ? rows->columns[i + 1] : i > 0 ? rows->columns[i - 1] : lane;
    return lane;
}

static void write_note(const struct tg_sequence_markup *markup, uint32_t from, uint32_t to, const char *label)
{
    tg_sequence_markup_indent(markup);
    fprintf(markup->stream, "note over w%u, w%u : ", from, to);
    write_text(markup->stream, label);
    putc('\n', markup->stream);
}

static void write_divider(const struct tg_sequence_markup *markup, const char *sign, const char *label)
{
    tg_sequence_markup_indent(markup);
    fprintf(markup->stream, "%s ", sign);
    write_text(markup->stream, label);
    fprintf(markup->stream, " %s\n", sign);
}

static void write_barrier(const struct tg_sequence_markup *markup, const struct tg_sequence_row *row)
{
    write_divider(markup, "==", row->label);
}

static void write_elided(const struct tg_sequence_markup *markup, const struct tg_sequence_row *row)
{
    write_divider(markup, "...", row->label);
}

static const struct tg_sequence_dialect dialect = {
    .call = "->",
    .back = "-->",
    .arrow = "->",
    .message = "->>",
    .lost = "->x",
    .write_text = write_text,
    .write_message = write_message,
    .write_note = write_note,
    .write_barrier = write_barrier,
    .write_elided = write_elided,
    .nowhere = beside,
};

static struct tg_error *write(const struct tg_sequence_drawing *drawing, FILE *stream)
{
    char title[TG_SEQUENCE_HEAD_SIZE];
    fputs("@startuml\ntitle ", stream);
    write_text(stream, drawing->title);
    putc('\n', stream);
    for (size_t i = 0; i < drawing->rows->n_columns; i++) {
        uint32_t lane = drawing->rows->columns[i];
        tg_sequence_column_members(drawing->sequence, drawing->rows, lane, title, sizeof title);
        fputs("participant \"", stream);
        write_text(stream, title);
        fprintf(stream, "\" as w%u\n", lane);
    }
    tg_sequence_markup_write(&dialect, drawing->rows, stream);
    fputs("@enduml\n", stream);
    return NULL;
}

const struct tg_sequence_format tg_sequence_plantuml = {
    .name = "plantuml", .suffix = ".puml", .summary = "text for PlantUML", .write = write};
