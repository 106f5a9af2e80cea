#include "analyzer/output/text_table.h"

#include "format/base/array.h"
#include "format/base/utf8.h"

#include <stdlib.h>
#include <string.h>
#include <wchar.h>

struct row {
    char *cells[TG_TEXT_TABLE_MAX_COLUMNS]; /* owned */
};

struct tg_text_table {
    struct row *rows; /* the first holds the headings */
    size_t n_rows, capacity;
    size_t n_columns;
    bool right[TG_TEXT_TABLE_MAX_COLUMNS];
    size_t widths[TG_TEXT_TABLE_MAX_COLUMNS];
    bool colour;
};

/* Places that TEXT takes on a terminal; a character of unknown width counts as one. */
static size_t text_width(const char *text)
{
    size_t width = 0;
    while (*text != '\0') {
        uint32_t code_point;
        size_t length = tg_utf8_decode(text, &code_point);
        int places = length > 0 ? wcwidth((wchar_t)code_point) : 1;
        width += places < 0 ? 1 : (size_t)places;
        text += length > 0 ? length : 1;
    }
    return width;
}

static struct tg_error *add_row(struct tg_text_table *table, const char *const *cells)
{
    struct tg_error *error = TG_ARRAY_RESERVE(table->rows, table->capacity, table->n_rows + 1);
    if (error != NULL)
        return error;
    struct row *row = &table->rows[table->n_rows++];
    *row = (struct row){0};
    for (size_t i = 0; i < table->n_columns; i++) {
        row->cells[i] = strdup(cells[i]);
        if (row->cells[i] == NULL)
            return tg_error_no_memory();
        size_t width = text_width(cells[i]);
        if (width > table->widths[i])
            table->widths[i] = width;
    }
    return NULL;
}

struct tg_error *tg_text_table_create(const char *const *headings, bool colour, struct tg_text_table **table)
{
    struct tg_text_table *created = calloc(1, sizeof *created);
    if (created == NULL)
        return tg_error_no_memory();
    created->colour = colour;
    const char *names[TG_TEXT_TABLE_MAX_COLUMNS];
    for (size_t i = 0; headings[i] != NULL && i < TG_TEXT_TABLE_MAX_COLUMNS; i++) {
        created->right[i] = *headings[i] == '>';
        names[i] = headings[i] + created->right[i];
        created->n_columns++;
    }
    struct tg_error *error = add_row(created, names);
    if (error != NULL) {
        tg_text_table_destroy(created);
        return error;
    }
    *table = created;
    return NULL;
}

void tg_text_table_destroy(struct tg_text_table *table)
{
    if (table == NULL)
        return;
    for (size_t i = 0; i < table->n_rows; i++)
        for (size_t j = 0; j < table->n_columns; j++)
            free(table->rows[i].cells[j]);
    free(table->rows);
    free(table);
}

struct tg_error *tg_text_table_add(struct tg_text_table *table, const char *const *cells)
{
    return add_row(table, cells);
}

/* CELL, which is longer than WIDTH, cut to it: of a path the end matters, of other text the beginning.
 * Bytes count as columns: what is cut of other characters is a little more than needed. */
static void cut(char *cell, size_t width)
{
    static const char dots[] = "...";
    size_t size = strlen(cell), keep = width - (sizeof dots - 1);
    if (cell[0] == '/') {
        char *tail = cell + size - keep;
        while ((*tail & 0xc0) == 0x80)
            tail++;
        memmove(cell + sizeof dots - 1, tail, strlen(tail) + 1);
        memcpy(cell, dots, sizeof dots - 1);
        return;
    }
    while (keep > 0 && (cell[keep] & 0xc0) == 0x80)
        keep--;
    memcpy(cell + keep, dots, sizeof dots);
}

static void narrow(struct tg_text_table *table, size_t column, size_t width)
{
    table->widths[column] = width;
    for (size_t i = 1; i < table->n_rows; i++)
        if (text_width(table->rows[i].cells[column]) > width)
            cut(table->rows[i].cells[column], width);
}

void tg_text_table_limit(struct tg_text_table *table, size_t width)
{
    enum { LEAST = 8 };
    for (;;) {
        size_t total = 2 * (table->n_columns - 1), widest = SIZE_MAX, second = LEAST;
        for (size_t i = 0; i < table->n_columns; i++) {
            total += table->widths[i];
            if (!table->right[i] && table->widths[i] > LEAST &&
                (widest == SIZE_MAX || table->widths[i] > table->widths[widest]))
                widest = i;
        }
        if (total <= width || widest == SIZE_MAX)
            return;
        for (size_t i = 0; i < table->n_columns; i++)
            if (i != widest && !table->right[i] && table->widths[i] > second)
                second = table->widths[i];
        size_t heading = text_width(table->rows[0].cells[widest]), excess = total - width;
        size_t room = table->widths[widest] > excess ? table->widths[widest] - excess : 0;
        size_t least = second < table->widths[widest] ? second : table->widths[widest] - 1;
        size_t to = room > least ? room : least;
        if (to < heading)
            to = heading;
        if (to >= table->widths[widest])
            return; /* headings are not cut */
        narrow(table, widest, to);
    }
}

static void write_row(const struct tg_text_table *table, const struct row *row, FILE *stream)
{
    size_t n_cells = table->n_columns;
    while (n_cells > 0 && *row->cells[n_cells - 1] == '\0')
        n_cells--;
    for (size_t i = 0; i < n_cells; i++) {
        int padding = (int)(table->widths[i] - text_width(row->cells[i]));
        if (i > 0)
            fputs("  ", stream);
        if (table->right[i])
            fprintf(stream, "%*s", padding, "");
        fputs(row->cells[i], stream);
        if (!table->right[i] && i + 1 < n_cells)
            fprintf(stream, "%*s", padding, "");
    }
}

struct tg_error *tg_text_table_print(struct tg_text_table *table, FILE *stream)
{
    for (size_t i = 0; i < table->n_rows && table->n_rows > 1; i++) {
        bool bold = i == 0 && table->colour;
        fputs(bold ? "\033[1m" : "", stream);
        write_row(table, &table->rows[i], stream);
        fputs(bold ? "\033[0m\n" : "\n", stream);
    }
    return NULL;
}
