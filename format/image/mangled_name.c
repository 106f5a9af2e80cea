#include "format/image/mangled_name.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_IDENTIFIER_DIGITS = 6, MAX_DEPTH = 256 };

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* A number at *AT and the bytes that it counts; NULL where they are not there. Moves on behind them. */
static const char *take_identifier(const char **at, size_t *length)
{
    size_t digits = strspn(*at, "0123456789");
    *length = 0;
    if (digits == 0 || digits > MAX_IDENTIFIER_DIGITS)
        return NULL;
    for (size_t i = 0; i < digits; i++)
        *length = 10 * *length + (size_t)((*at)[i] - '0');
    const char *text = *at + digits;
    if (*length == 0 || strnlen(text, *length) < *length)
        return NULL;
    *at = text + *length;
    return text;
}

/* Behind a substitution (S_, S1a_, St, Ss ...) or a template parameter (T_, T0_); NULL where it is none. */
static const char *skip_reference(const char *at)
{
    if (*at == 'S' && at[1] != '\0' && strchr("tabsiod", at[1]) != NULL)
        return at + 2;
    at += 1 + strspn(at + 1, *at == 'S' ? "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ" : "0123456789");
    return *at == '_' ? at + 1 : NULL;
}

/* Behind a literal template argument of a builtin type: Li5E, Lb1E, Lin3E. */
static const char *skip_literal(const char *at)
{
    if (at[1] < 'a' || at[1] > 'z')
        return NULL;
    const char *end = strchr(at, 'E');
    return end != NULL ? end + 1 : NULL;
}

/* Behind what begins with D and is no nesting: Dn, Dp, DF16_, Dv4_. */
static const char *skip_extended(const char *at)
{
    if (at[1] == '\0')
        return NULL;
    const char *next = at + 2;
    if (at[1] == 'F' || at[1] == 'v') {
        next += strspn(next, "0123456789");
        next += *next == '_' || *next == 'b' || *next == 'x';
    }
    return next;
}

/* Behind the template arguments at AT, an I up to its E. What is nested is counted, not understood: of types
 * only names and references need care, because their letters could be taken for something else. */
static const char *skip_template_arguments(const char *at)
{
    size_t depth = 0, length;
    do {
        char c = *at;
        if (c == '\0' || depth > MAX_DEPTH)
            return NULL;
        if (is_digit(c)) {
            if (take_identifier(&at, &length) == NULL)
                return NULL;
        } else if (c == 'S' || c == 'T') {
            at = skip_reference(at);
        } else if (c == 'L') {
            at = skip_literal(at);
        } else if (c == 'A') { /* an array's extent */
            at += 1 + strspn(at + 1, "0123456789");
        } else if (c == 'D' && at[1] != 't' && at[1] != 'T') {
            at = skip_extended(at);
        } else {
            depth += c == 'I' || c == 'J' || c == 'N' || c == 'F' || c == 'X' || c == 'D';
            depth -= c == 'E';
            at += c == 'D' ? 2 : 1;
        }
        if (at == NULL)
            return NULL;
    } while (depth > 0);
    return at;
}

static bool add_part(struct tg_mangled_name *name, struct tg_mangled_part part)
{
    if (name->count == TG_MANGLED_MAX_PARTS)
        return false;
    name->parts[name->count++] = part;
    return true;
}

/* One part of a name: an identifier, or what constructs or destroys the part before it. */
static const char *take_part(const char *at, struct tg_mangled_name *name)
{
    struct tg_mangled_part part = {0};
    if ((*at == 'C' || *at == 'D') && is_digit(at[1]) && name->count > 0) {
        part = name->parts[name->count - 1];
        part.is_destructor = *at == 'D';
        at += 2;
    } else {
        at += *at == 'L'; /* internal linkage */
        part.text = take_identifier(&at, &part.length);
        size_t tag;
        while (part.text != NULL && *at == 'B') { /* ABI tags */
            at++;
            if (take_identifier(&at, &tag) == NULL)
                return NULL;
        }
    }
    if ((part.text == NULL) || !add_part(name, part))
        return NULL;
    return *at == 'I' ? skip_template_arguments(at) : at;
}

/* Clones have their function's code, cold parts have not. */
static bool is_jumped_into(const char *symbol)
{
    return strstr(symbol, ".cold") != NULL;
}

/* __MODULE_MOD_PROCEDURE of GNU Fortran, which writes names in small letters. */
static bool parse_fortran(const char *symbol, struct tg_mangled_name *name)
{
    static const char small[] = "abcdefghijklmnopqrstuvwxyz0123456789_", joint[] = "_MOD_";
    const char *module = symbol + 2, *end = module + strspn(module, small);
    const char *own =
        end + sizeof joint - 2; /* the first sign of what joins them is a letter of names as well */
    if (end - module < 2 || strncmp(end - 1, joint, sizeof joint - 1) != 0)
        return false;
    size_t length = strspn(own, small);
    if (length == 0 || (own[length] != '\0' && strchr(".@", own[length]) == NULL))
        return false;
    return add_part(name, (struct tg_mangled_part){.text = module, .length = (size_t)(end - 1 - module)}) &&
           add_part(name, (struct tg_mangled_part){.text = own, .length = length});
}

bool tg_mangled_name_parse(const char *symbol, struct tg_mangled_name *name)
{
    static const char std[] = "std";
    name->count = 0;
    if (symbol[0] != '_' || is_jumped_into(symbol))
        return false;
    if (symbol[1] == '_')
        return parse_fortran(symbol, name);
    if (symbol[1] != 'Z')
        return false;
    const char *at = symbol + 2;
    bool nested = *at == 'N';
    if (nested)
        at += 1 + strspn(at + 1, "rVKRO"); /* of a member: qualifiers */
    if (at[0] == 'S' && at[1] == 't') {
        add_part(name, (struct tg_mangled_part){.text = std, .length = sizeof std - 1});
        at += 2;
    }
    do {
        at = take_part(at, name);
    } while (nested && at != NULL && *at != 'E');
    return at != NULL;
}

/* Source spelling of a part, without a destructor's ~. */
static const char *words_of(const struct tg_mangled_part *part, size_t *length)
{
    static const char prefix[] = "_GLOBAL__N_", anonymous[] = "(anonymous namespace)";
    if (part->length >= sizeof prefix - 1 && memcmp(part->text, prefix, sizeof prefix - 1) == 0) {
        *length = sizeof anonymous - 1;
        return anonymous;
    }
    *length = part->length;
    return part->text;
}

bool tg_mangled_name_ends_with(const struct tg_mangled_name *name, const char *text)
{
    size_t left = name->count, length = strlen(text);
    while (left > 0) {
        const struct tg_mangled_part *part = &name->parts[--left];
        size_t own_length;
        const char *own = words_of(part, &own_length);
        if (own_length > length || memcmp(text + length - own_length, own, own_length) != 0)
            return false;
        length -= own_length;
        if (part->is_destructor && (length == 0 || text[--length] != '~'))
            return false;
        if (length == 0)
            return true;
        if (length < 2 || text[length - 1] != ':' || text[length - 2] != ':')
            return false;
        length -= 2;
    }
    return false;
}

const char *tg_mangled_name_last(const char *text)
{
    const char *last = text;
    for (const char *colon = text; (colon = strstr(colon, "::")) != NULL; colon += 2)
        last = colon + 2;
    return last + (*last == '~');
}

char *tg_mangled_name_words(const char *symbol)
{
    struct tg_mangled_name name;
    if (!tg_mangled_name_parse(symbol, &name))
        return strdup(symbol);
    char *words = NULL;
    size_t size;
    FILE *stream = open_memstream(&words, &size);
    if (stream == NULL)
        return NULL;
    for (size_t i = 0; i < name.count; i++) {
        size_t length;
        const char *part = words_of(&name.parts[i], &length);
        fprintf(stream, "%s%s%.*s", i > 0 ? "::" : "", name.parts[i].is_destructor ? "~" : "", (int)length,
                part);
    }
    fputs(symbol + strcspn(symbol, ".@"), stream);
    bool failed = ferror(stream) != 0;
    if (fclose(stream) == 0 && !failed)
        return words;
    free(words);
    return NULL;
}
