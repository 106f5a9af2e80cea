#include "live/commands/control/point_location.h"

#include "format/base/printable.h"
#include "format/settings/break_spec.h"

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
                           "'%s' is not a location: give LINE, FILE#LINE, FUNCTION or *ADDRESS",
                           tg_printable(text, shown, sizeof shown));
}

/* Of ##IMAGE#FILE#FUNCTION#LINE; missing ones are "". */
struct parts {
    const char *image, *file, *function, *line;
};

enum { MAX_PIECES = 6 };

/* WORDS is cut into pieces. */
static bool split(char *words, struct parts *parts)
{
    char *piece[MAX_PIECES] = {words}, **first = piece;
    size_t n = 1;
    *parts = (struct parts){"", "", "", ""};
    for (char *at = strchr(words, '#'); at != NULL; at = strchr(at + 1, '#')) {
        *at = '\0';
        if (n == MAX_PIECES)
            return false;
        piece[n++] = at + 1;
    }
    if (n >= 5) { /* ##IMAGE# */
        if (*piece[0] != '\0' || *piece[1] != '\0' || *piece[2] == '\0')
            return false;
        parts->image = piece[2];
        first += 3;
    } else if (n == 4 || (n == 3 && *piece[0] == '\0')) {
        if (*piece[0] != '\0')
            return false;
        first++;
    }
    n -= (size_t)(first - piece);
    parts->file = first[0];
    if (n == 3)
        parts->function = first[1];
    if (n == 3 || is_number(first[n - 1]))
        parts->line = first[n - 1];
    else
        parts->function = first[n - 1];
    return *parts->line == '\0' ? n < 3 : is_number(parts->line);
}

/* PLACE in IMAGE, with line LINE of it; "" none of these. For the caller to free; NULL: no memory. */
static char *make_spec(const char *image, const char *place, const char *line)
{
    char *made = NULL;
    int length = asprintf(&made, "%s%s%s%s%s", image, *image != '\0' ? "`" : "", place,
                          *line != '\0' ? ":" : "", line);
    return length < 0 ? NULL : made;
}

static char *file_of(const struct tg_location_code *code, const char *image, const char *place,
                     const char *line)
{
    char *spec = make_spec(image, place, line);
    char *file = spec == NULL ? NULL : code->file_of(code->context, spec);
    free(spec);
    return file;
}

/* The file of PARTS' line, for the caller to free. What is written as FILE#LINE may be FUNCTION#LINE. */
static struct tg_error *find_file(const char *default_file, const struct tg_location_code *code,
                                  struct parts *parts, char **file)
{
    bool is_function = *parts->file == '\0' && *parts->function != '\0';
    char shown[200];
    *file = NULL;
    if (is_function) {
        *file = file_of(code, parts->image, parts->function, "");
        if (*file == NULL)
            return tg_error_create(TG_ERROR_NOT_FOUND,
                                   "no process has line information for function '%s': write "
                                   "FILE#FUNCTION#LINE",
                                   tg_printable(parts->function, shown, sizeof shown));
        return NULL;
    }
    if (*parts->file == '\0' && default_file == NULL)
        return tg_error_create(TG_ERROR_USAGE, "line %s needs a file: write FILE#%s", parts->line,
                               parts->line);
    if (*parts->file != '\0' && *parts->function == '\0' && strpbrk(parts->file, "./") == NULL) {
        char *there = file_of(code, parts->image, parts->file, parts->line);
        if (there == NULL)
            *file = file_of(code, parts->image, parts->file, "");
        free(there);
        if (*file != NULL) {
            parts->function = parts->file;
            return NULL;
        }
    }
    *file = strdup(*parts->file != '\0' ? parts->file : default_file);
    return *file == NULL ? tg_error_no_memory() : NULL;
}

static struct tg_error *take_parts(const char *default_file, const struct tg_location_code *code,
                                   struct parts *parts, char **spec, char **function)
{
    char *file;
    if (*parts->line == '\0') {
        *spec = make_spec(parts->image, parts->function, "");
        return *spec == NULL ? tg_error_no_memory() : NULL;
    }
    struct tg_error *error = find_file(default_file, code, parts, &file);
    if (error != NULL)
        return error;
    *spec = make_spec(parts->image, file, parts->line);
    free(file);
    if (*spec != NULL && *parts->function != '\0')
        *function = strdup(parts->function);
    if (*spec != NULL && (*parts->function == '\0' || *function != NULL))
        return NULL;
    free(*spec);
    *spec = NULL;
    return tg_error_no_memory();
}

struct tg_error *tg_location_parse(const char *text, const char *default_file,
                                   const struct tg_location_code *code, char **spec, char **function)
{
    struct parts parts = {"", "", "", text};
    *spec = *function = NULL;
    char *words = strdup(text);
    if (words == NULL)
        return tg_error_no_memory();
    struct tg_error *error = NULL;
    if (*text == '*' || strchr(text, '`') != NULL || (strchr(text, '#') == NULL && !is_number(text))) {
        *spec = words;
        return NULL;
    }
    if (!is_number(text) && (!split(words, &parts) || (*parts.line == '\0' && *parts.function == '\0')))
        error = refuse(text);
    else
        error = take_parts(default_file, code, &parts, spec, function);
    free(words);
    return error;
}
