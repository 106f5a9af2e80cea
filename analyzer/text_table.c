#include "analyzer/text_table.h"

#include <libsmartcols.h>
#include <stdlib.h>
#include <string.h>

struct tg_text_table {
    struct libscols_table *table;
    size_t n_columns;
};

struct tg_error *tg_text_table_create(const char *const *headings, bool colour, struct tg_text_table **table)
{
    struct tg_text_table *created = calloc(1, sizeof *created);
    if (created == NULL)
        return tg_error_no_memory();
    created->table = scols_new_table();
    bool ok = created->table != NULL;
    if (ok) {
        /* Cells are printable already, and a report must not depend on where it is looked at. */
        scols_table_enable_noencoding(created->table, 1);
        scols_table_enable_colors(created->table, colour);
        scols_table_set_termforce(created->table, SCOLS_TERMFORCE_NEVER);
        scols_table_set_column_separator(created->table, "  ");
    }
    for (; ok && headings[created->n_columns] != NULL; created->n_columns++) {
        const char *heading = headings[created->n_columns];
        bool right = *heading == '>';
        struct libscols_column *column =
            scols_table_new_column(created->table, heading + right, 0, right ? SCOLS_FL_RIGHT : 0);
        ok = column != NULL;
        if (ok && colour)
            scols_cell_set_color(scols_column_get_header(column), "bold");
    }
    if (!ok) {
        tg_text_table_destroy(created);
        return tg_error_no_memory();
    }
    *table = created;
    return NULL;
}

void tg_text_table_destroy(struct tg_text_table *table)
{
    if (table == NULL)
        return;
    scols_unref_table(table->table);
    free(table);
}

struct tg_error *tg_text_table_add(struct tg_text_table *table, const char *const *cells)
{
    struct libscols_line *line = scols_table_new_line(table->table, NULL);
    if (line == NULL)
        return tg_error_no_memory();
    for (size_t i = 0; i < table->n_columns; i++)
        if (scols_line_set_data(line, i, cells[i]) != 0)
            return tg_error_no_memory();
    return NULL;
}

struct tg_error *tg_text_table_print(struct tg_text_table *table, FILE *stream)
{
    char *text = NULL;
    if (scols_print_table_to_string(table->table, &text) != 0)
        return tg_error_no_memory();
    for (char *line = text; line != NULL && *line != '\0';) {
        char *end = strchrnul(line, '\n');
        char *next = *end == '\n' ? end + 1 : NULL;
        while (end > line && end[-1] == ' ')
            end--;
        fwrite(line, 1, (size_t)(end - line), stream);
        fputc('\n', stream);
        line = next;
    }
    free(text);
    return NULL;
}
