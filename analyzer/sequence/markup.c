#include "analyzer/sequence/markup.h"

enum { MAX_SELF_ARROWS = 8 };

void tg_sequence_markup_indent(const struct tg_sequence_markup *markup)
{
    fprintf(markup->stream, "%*s", (int)(2 * (markup->depth + markup->dialect->indent)), "");
}

/* Where LANES are; they wait for TO unless that is NO_LANE. */
static void write_lost(const struct tg_sequence_markup *markup, const uint32_t *lanes, size_t count,
                       uint32_t to, const char *label)
{
    const struct tg_sequence_dialect *dialect = markup->dialect;
    for (size_t i = 0; i < count; i++)
        dialect->write_message(markup, lanes[i], dialect->lost,
                               to != TG_SEQUENCE_NO_LANE ? to : dialect->nowhere(markup->rows, lanes[i]),
                               label);
}

static void write_bars(const struct tg_sequence_markup *markup, const struct tg_sequence_row *row)
{
    const struct tg_sequence_dialect *dialect = markup->dialect;
    char label[48];
    if (row->n_lanes > MAX_SELF_ARROWS) {
        snprintf(label, sizeof label, "%zu of them", row->n_lifelines);
        dialect->write_note(markup, row->lanes[0], row->lanes[row->n_lanes - 1], label);
        return;
    }
    for (size_t i = 0; i < row->n_lanes; i++)
        dialect->write_message(markup, row->lanes[i], dialect->call, row->lanes[i], "");
}

static const char *keyword_of(const struct tg_sequence_row *row)
{
    if (row->is_repeated)
        return "loop";
    if (row->node->kind == TG_SEQUENCE_MUTEX)
        return "critical";
    return row->node->kind == TG_SEQUENCE_REGION ? "par" : "opt";
}

static void write_row(struct tg_sequence_markup *markup, const struct tg_sequence_row *row)
{
    const struct tg_sequence_dialect *dialect = markup->dialect;
    switch (row->kind) {
    case TG_ROW_OPEN:
        tg_sequence_markup_indent(markup);
        fprintf(markup->stream, "%s ", keyword_of(row));
        dialect->write_text(markup->stream, row->label);
        putc('\n', markup->stream);
        markup->depth++;
        break;
    case TG_ROW_CLOSE:
        markup->depth--;
        tg_sequence_markup_indent(markup);
        fputs("end\n", markup->stream);
        break;
    case TG_ROW_BARS:
        write_bars(markup, row);
        break;
    case TG_ROW_SELF:
        dialect->write_message(markup, row->to, row->style == TG_STYLE_PLAIN ? dialect->call : dialect->back,
                               row->to, row->label);
        break;
    case TG_ROW_ARROW:
        dialect->write_message(markup, row->from,
                               row->style == TG_STYLE_MESSAGE ? dialect->message : dialect->arrow, row->to,
                               row->label);
        break;
    case TG_ROW_LOST:
        dialect->write_message(
            markup, row->from, dialect->lost,
            row->to == TG_SEQUENCE_NO_LANE ? dialect->nowhere(markup->rows, row->from) : row->to, row->label);
        break;
    case TG_ROW_HERE:
        write_lost(markup, row->lanes, row->n_lanes, row->to, row->label);
        break;
    case TG_ROW_BARRIER:
        write_lost(markup, row->waiting, row->n_waiting, TG_SEQUENCE_NO_LANE, "waits");
        dialect->write_barrier(markup, row);
        break;
    case TG_ROW_ELIDED:
        dialect->write_elided(markup, row);
        break;
    }
}

void tg_sequence_markup_write(const struct tg_sequence_dialect *dialect, const struct tg_sequence_rows *rows,
                              FILE *stream)
{
    struct tg_sequence_markup markup = {.dialect = dialect, .stream = stream, .rows = rows};
    for (size_t i = 0; i < rows->count; i++)
        write_row(&markup, &rows->items[i]);
}
