#include "format/settings/break_spec.h"

#include "format/base/agent_file.h"
#include "format/base/tcl_match.h"

#include <stdlib.h>
#include <string.h>

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static int hex_value(char c)
{
    if (is_digit(c))
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The error at byte AT of the whole text. */
static struct tg_error *wrong(const struct tg_break_spec *spec, const char *at, const char *expected)
{
    return tg_error_create(TG_ERROR_INPUT, "breakpoint '%.200s': position %zu: %s", spec->text,
                           (size_t)(at - spec->text) + 1, expected);
}

/* Reads the digits at TEXT up to its end into NUMBER, at most MAXIMUM. Returns NULL, or where it went wrong:
 * at a byte that is no digit, or at the digit that is too much. */
static const char *read_number(const char *text, unsigned base, uint64_t maximum, uint64_t *number)
{
    uint64_t value = 0;
    const char *p = text;
    for (; *p != '\0'; p++) {
        int digit = hex_value(*p);
        if (digit < 0 || (unsigned)digit >= base || value > (maximum - (unsigned)digit) / base)
            return p;
        value = value * base + (unsigned)digit;
    }
    if (p == text)
        return p;
    *number = value;
    return NULL;
}

static struct tg_error *parse_address(struct tg_break_spec *spec, const char *text)
{
    spec->kind = TG_BREAK_ADDRESS;
    bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    if (!hex && text[0] == '0' && text[1] != '\0')
        return wrong(spec, text, "expected an address in hex (0x...) or decimal without a leading zero");
    const char *bad = read_number(hex ? text + 2 : text, hex ? 16 : 10, UINT64_MAX, &spec->address);
    if (bad != NULL)
        return wrong(
            spec, bad,
            "expected an address of at most 64 bits in hex (0x...) or decimal, and nothing after it");
    return NULL;
}

static struct tg_error *check_name(const struct tg_break_spec *spec, const char *start, const char *end,
                                   const char *what)
{
    if (start == end)
        return wrong(spec, start, what);
    if (is_blank(*start))
        return wrong(spec, start, "name begins with a blank");
    if (is_blank(end[-1]))
        return wrong(spec, end - 1, "name ends with a blank");
    return NULL;
}

/* The place after which a line number may follow: the last ':', or the last '#' where that one is in front
 * of a number; NULL nowhere. */
static const char *line_mark(const char *text)
{
    const char *colon = strrchr(text, ':');
    const char *hash = strrchr(text, '#');
    if (colon != NULL && (colon[1] == '\0' || is_digit(colon[1])))
        return colon;
    return hash != NULL && (hash[1] == '\0' || is_digit(hash[1])) ? hash : colon;
}

static struct tg_error *parse_place(struct tg_break_spec *spec, const char *text)
{
    const char *end = text + strlen(text);
    const char *colon = line_mark(text);
    if (colon != NULL && colon[1] == '\0')
        return wrong(spec, end,
                     *colon == ':' ? "expected a line number after ':'" : "expected a line number after '#'");
    if (colon != NULL && is_digit(colon[1])) {
        spec->kind = TG_BREAK_LINE;
        const char *bad = read_number(colon + 1, 10, UINT32_MAX, &spec->line);
        if (bad != NULL || spec->line == 0)
            return wrong(spec, bad != NULL ? bad : colon + 1,
                         "expected a line number from 1 to 4294967295 and nothing after it");
        end = colon;
        text += *colon == '#' && *text == '#' && text != colon; /* #FILE#LINE */
    }
    struct tg_error *error =
        check_name(spec, text, end,
                   spec->kind == TG_BREAK_LINE ? "expected a file name before the line number"
                                               : "expected FUNCTION, FILE:LINE or *ADDRESS");
    if (error != NULL)
        return error;
    spec->name = strndup(text, (size_t)(end - text));
    return spec->name == NULL ? tg_error_no_memory() : NULL;
}

/* Takes LIBRARY` off the front; REST is what follows. */
static struct tg_error *parse_library(struct tg_break_spec *spec, const char **rest)
{
    *rest = spec->text;
    const char *tick = strchr(spec->text, '`');
    if (tick == NULL)
        return NULL;
    if (tick == spec->text)
        return wrong(spec, tick, "expected a library before '`'");
    const char *second = strchr(tick + 1, '`');
    if (second != NULL)
        return wrong(spec, second, "second '`': only one library can be named");
    spec->library = strndup(spec->text, (size_t)(tick - spec->text));
    if (spec->library == NULL)
        return tg_error_no_memory();
    if (!tg_tcl_match_accepts(spec->library))
        return tg_error_create(
            TG_ERROR_LIMIT,
            "breakpoint '%.200s': the library pattern has %d or more `*` after a range that "
            "ends in `]` (\"-]\"); write it with fewer",
            spec->text, TG_TCL_MATCH_MAX_STARS);
    *rest = tick + 1;
    return NULL;
}

static struct tg_error *parse(struct tg_break_spec *spec)
{
    const char *rest;
    struct tg_error *error = parse_library(spec, &rest);
    if (error != NULL)
        return error;
    return rest[0] == '*' ? parse_address(spec, rest + 1) : parse_place(spec, rest);
}

struct tg_error *tg_break_spec_parse(const char *text, struct tg_break_spec **spec)
{
    if (strlen(text) > TG_BREAK_SPEC_MAX_BYTES)
        return tg_error_create(TG_ERROR_LIMIT, "breakpoint '%.200s...' is %zu bytes long, the limit is %d",
                               text, strlen(text), TG_BREAK_SPEC_MAX_BYTES);
    struct tg_break_spec *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    made->text = strdup(text);
    struct tg_error *error = made->text != NULL ? parse(made) : tg_error_no_memory();
    if (error != NULL) {
        tg_break_spec_destroy(made);
        return error;
    }
    *spec = made;
    return NULL;
}

void tg_break_spec_destroy(struct tg_break_spec *spec)
{
    if (spec == NULL)
        return;
    free(spec->name);
    free(spec->library);
    free(spec->text);
    free(spec);
}

bool tg_break_spec_admits(const struct tg_break_spec *spec, const char *path)
{
    if (spec->library == NULL)
        return spec->kind == TG_BREAK_ADDRESS || !tg_agent_file_is(path) ||
               (spec->kind == TG_BREAK_FUNCTION && strncmp(spec->name, "tollgate_", 9) == 0);
    if (tg_tcl_match(spec->library, path))
        return true;
    const char *slash = strrchr(path, '/');
    return slash != NULL && tg_tcl_match(spec->library, slash + 1);
}
