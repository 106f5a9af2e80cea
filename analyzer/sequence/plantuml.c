/* Sequence diagrams for PlantUML. */
#include "analyzer/sequence/format.h"

#include "format/base/utf8.h"

#include <ctype.h>
#include <string.h>

enum { MAX_SELF_ARROWS = 8 };

struct plantuml {
    FILE *stream;
    const struct tg_sequence_rows *rows;
    unsigned depth;
};

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

static void indent(const struct plantuml *plantuml)
{
    fprintf(plantuml->stream, "%*s", (int)(2 * plantuml->depth), "");
}

static void write_message(const struct plantuml *plantuml, uint32_t from, const char *arrow, uint32_t to,
                          const char *label)
{
    indent(plantuml);
    fprintf(plantuml->stream, "w%u %s w%u", from, arrow, to);
    if (*label != '\0') {
        fputs(" : ", plantuml->stream);
        write_text(plantuml->stream, label);
    }
    putc('\n', plantuml->stream);
}

/* A lane beside LANE, for an arrow that gets nowhere. */
static uint32_t beside(const struct plantuml *plantuml, uint32_t lane)
{
    const struct tg_sequence_rows *rows = plantuml->rows;
    for (size_t i = 0; i < rows->n_columns; i++)
        if (rows->columns[i] == lane)
            return i + 1 < rows->n_columns ? rows->columns[i + 1] : i > 0 ? rows->columns[i - 1] : lane;
    return lane;
}

static void write_lost(const struct plantuml *plantuml, const uint32_t *lanes, size_t count,
                       const char *label)
{
    for (size_t i = 0; i < count; i++)
        write_message(plantuml, lanes[i], "->x", beside(plantuml, lanes[i]), label);
}

static void write_divider(const struct plantuml *plantuml, const char *sign, const char *label)
{
    indent(plantuml);
    fprintf(plantuml->stream, "%s ", sign);
    write_text(plantuml->stream, label);
    fprintf(plantuml->stream, " %s\n", sign);
}

static void write_bars(const struct plantuml *plantuml, const struct tg_sequence_row *row)
{
    if (row->n_lanes > MAX_SELF_ARROWS) {
        indent(plantuml);
        fprintf(plantuml->stream, "note over w%u, w%u : %zu of them\n", row->lanes[0],
                row->lanes[row->n_lanes - 1], row->n_lifelines);
        return;
    }
    for (size_t i = 0; i < row->n_lanes; i++)
        write_message(plantuml, row->lanes[i], "->", row->lanes[i], "");
}

static const char *keyword_of(const struct tg_sequence_row *row)
{
    if (row->is_repeated)
        return "loop";
    if (row->node->kind == TG_SEQUENCE_MUTEX)
        return "critical";
    return row->node->kind == TG_SEQUENCE_REGION ? "par" : "opt";
}

static void write_row(struct plantuml *plantuml, const struct tg_sequence_row *row)
{
    switch (row->kind) {
    case TG_ROW_OPEN:
        indent(plantuml);
        fprintf(plantuml->stream, "%s ", keyword_of(row));
        write_text(plantuml->stream, row->label);
        putc('\n', plantuml->stream);
        plantuml->depth++;
        break;
    case TG_ROW_CLOSE:
        plantuml->depth--;
        indent(plantuml);
        fputs("end\n", plantuml->stream);
        break;
    case TG_ROW_BARS:
        write_bars(plantuml, row);
        break;
    case TG_ROW_SELF:
        write_message(plantuml, row->to, row->style == TG_STYLE_PLAIN ? "->" : "-->", row->to, row->label);
        break;
    case TG_ROW_ARROW:
        write_message(plantuml, row->from, row->style == TG_STYLE_MESSAGE ? "->>" : "->", row->to,
                      row->label);
        break;
    case TG_ROW_LOST:
        write_message(plantuml, row->from, "->x",
                      row->to == TG_SEQUENCE_NO_LANE ? beside(plantuml, row->from) : row->to, row->label);
        break;
    case TG_ROW_HERE:
        write_lost(plantuml, row->lanes, row->n_lanes, row->label);
        break;
    case TG_ROW_BARRIER:
        write_lost(plantuml, row->waiting, row->n_waiting, "waits");
        write_divider(plantuml, "==", row->label);
        break;
    case TG_ROW_ELIDED:
        write_divider(plantuml, "...", row->label);
        break;
    }
}

static struct tg_error *write(const struct tg_sequence_drawing *drawing, FILE *stream)
{
    struct plantuml plantuml = {.stream = stream, .rows = drawing->rows};
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
    for (size_t i = 0; i < drawing->rows->count; i++)
        write_row(&plantuml, &drawing->rows->items[i]);
    fputs("@enduml\n", stream);
    return NULL;
}

const struct tg_sequence_format tg_sequence_plantuml = {
    .name = "plantuml", .suffix = ".puml", .summary = "text for PlantUML", .write = write};
