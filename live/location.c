#include "live/location.h"

#include "format/break_spec.h"
#include "format/printable.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_number(const char *text)
{
    return *text != '\0' && text[strspn(text, "0123456789")] == '\0';
}

static struct tg_error *refuse(const char *text)
{
    char shown[200];
    return tg_error_create(TG_ERROR_USAGE,
                           "'%s' is no location: give a LINE, FILE#LINE, FUNCTION or *ADDRESS",
                           tg_printable(text, shown, sizeof shown));
}

/* FILE, FUNCTION and LINE of FILE#FUNCTION#LINE; missing ones are "". WORDS is cut into pieces. */
struct parts {
    const char *file, *function, *line;
};

static bool split(char *words, struct parts *parts)
{
    char *piece[4] = {words};
    size_t n = 1;
    for (char *at = strchr(words, '#'); at != NULL; at = strchr(at + 1, '#')) {
        *at = '\0';
        if (n == 4)
            return false;
        piece[n++] = at + 1;
    }
    if (n == 4 && *piece[0] != '\0')
        return false;
    char **first = n == 4 || (n == 3 && *piece[0] == '\0') ? piece + 1 : piece;
    n -= (size_t)(first - piece);
    *parts = (struct parts){first[0], "", ""};
    if (n == 3) {
        parts->function = first[1];
        parts->line = first[2];
    } else if (is_number(first[n - 1])) {
        parts->line = first[n - 1];
    } else {
        parts->function = first[n - 1];
    }
    return *parts->line == '\0' || is_number(parts->line);
}

struct tg_error *tg_location_parse(const char *text, const char *default_file, char **spec)
{
    struct parts parts = {"", "", ""};
    char *words = strdup(text), *made = NULL;
    int length = 0;
    if (words == NULL)
        return tg_error_no_memory();
    bool has_parts =
        *text != '*' && strchr(text, '`') == NULL && (strchr(text, '#') != NULL || is_number(text));
    if (has_parts && is_number(text)) {
        parts.line = text;
    } else if (has_parts && !split(words, &parts)) {
        free(words);
        return refuse(text);
    }
    const char *file = *parts.file != '\0' ? parts.file : default_file;
    struct tg_error *error = NULL;
    if (!has_parts)
        length = asprintf(&made, "%s", text);
    else if (*parts.line == '\0' && *parts.function == '\0')
        error = refuse(text);
    else if (*parts.line == '\0')
        length = asprintf(&made, "%s", parts.function);
    else if (file == NULL)
        error =
            tg_error_create(TG_ERROR_USAGE, "line %s of which file? write FILE#%s", parts.line, parts.line);
    else
        length = asprintf(&made, "%s:%s", file, parts.line);
    free(words);
    if (error == NULL && length < 0)
        error = tg_error_no_memory();
    if (error == NULL)
        *spec = made;
    return error;
}
