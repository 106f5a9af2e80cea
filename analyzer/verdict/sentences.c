#include "analyzer/verdict/sentences.h"

#include <stdbool.h>
#include <string.h>

static void write_first(FILE *stream, const char *line, bool is_capital)
{
    bool is_word = line[0] != '\0' && line[1] >= 'a' && line[1] <= 'z';
    char first = line[0];
    if (is_word && is_capital && first >= 'a' && first <= 'z')
        first = (char)(first - 'a' + 'A');
    else if (is_word && !is_capital && first >= 'A' && first <= 'Z')
        first = (char)(first - 'A' + 'a');
    if (first != '\0')
        fprintf(stream, "%c%s", first, line + 1);
}

void tg_sentences_write(FILE *stream, char last, char *text)
{
    bool is_indented = false;
    char *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
        bool was_indented = is_indented;
        is_indented = strncmp(line, "  ", 2) == 0;
        line += strspn(line, " ");
        if (was_indented && is_indented)
            fputs("; ", stream);
        else if (last != '\0')
            fputs(was_indented && last != '.' ? ". " : " ", stream);
        write_first(stream, line, !(last == ':' || (was_indented && is_indented)));
        last = *line != '\0' ? line[strlen(line) - 1] : '.';
    }
    if (last != '.')
        fputc('.', stream);
}
