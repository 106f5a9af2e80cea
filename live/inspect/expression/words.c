#include "live/inspect/expression/words.h"

#include "format/base/printable.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    MAX_POINTERS = 8,
    MAX_NUMBER = 64, /* bytes of a text with a number of Fortran */
};

void tg_words_fail(struct tg_words *words, size_t position, struct tg_error *error)
{
    if (words->error == NULL) {
        words->error = error;
        words->position = position;
    } else {
        tg_error_destroy(error);
    }
}

void tg_words_skip_blanks(struct tg_words *words)
{
    while (isspace((unsigned char)words->text[words->at]))
        words->at++;
}

bool tg_words_starts(const struct tg_words *words, const char *token)
{
    return strncasecmp(words->text + words->at, token, strlen(token)) == 0; /* .AND. */
}

bool tg_words_take(struct tg_words *words, const char *token)
{
    tg_words_skip_blanks(words);
    if (!tg_words_starts(words, token))
        return false;
    words->at += strlen(token);
    return true;
}

void tg_words_expected(struct tg_words *words, const char *what)
{
    tg_words_skip_blanks(words);
    char found[8 + 16] = "the end";
    const char *text = words->text + words->at;
    if (*text != '\0') {
        char word[5] = {0};
        strncpy(word, text,
                1 + ((unsigned char)*text >= 0xc0) + ((unsigned char)*text >= 0xe0) +
                    ((unsigned char)*text >= 0xf0));
        char shown[16];
        snprintf(found, sizeof found, "'%s'", tg_printable(word, shown, sizeof shown));
    }
    tg_words_fail(words, words->at, tg_error_create(TG_ERROR_USAGE, "expected %s, found %s", what, found));
}

const char *tg_words_keep(struct tg_words *words, const char *text, size_t length)
{
    char *copy = words->strings + words->n_strings;
    memcpy(copy, text, length);
    copy[length] = '\0';
    words->n_strings += length + 1;
    return copy;
}

bool tg_words_is_word_start(char c)
{
    return isalpha((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

bool tg_words_is_word(char c)
{
    return tg_words_is_word_start(c) || isdigit((unsigned char)c);
}

/* Length of the template arguments at TEXT, "<int>", if a member of that template follows; 0: a comparison. */
static size_t template_length(const char *text)
{
    size_t n = 0;
    unsigned nested = 0;
    do {
        nested += text[n] == '<';
        nested -= text[n] == '>';
        if (text[n] == '\0' || (!tg_words_is_word(text[n]) && strchr("<>:,*& -", text[n]) == NULL))
            return 0;
        n++;
    } while (nested > 0);
    return text[n] == ':' && text[n + 1] == ':' && tg_words_is_word_start(text[n + 2]) ? n : 0;
}

size_t tg_words_name_length(const struct tg_words *words)
{
    const char *text = words->text + words->at;
    size_t n = 0;
    if (text[0] == '.' && tg_words_is_word_start(text[1]))
        n = 1;
    else if (text[0] == ':' && text[1] == ':' && tg_words_is_word_start(text[2]))
        n = 2;
    if (!tg_words_is_word_start(text[n]))
        return 0;
    for (;;) {
        while (tg_words_is_word(text[n]))
            n++;
        if (text[n] == '<')
            n += template_length(text + n);
        if (text[n] != ':' || text[n + 1] != ':' || !tg_words_is_word_start(text[n + 2]))
            return n;
        n += 2;
    }
}

/* WORD is next. */
static bool is_next_word(const struct tg_words *words, const char *word)
{
    size_t n = strlen(word);
    return strncmp(words->text + words->at, word, n) == 0 && !tg_words_is_word(words->text[words->at + n]);
}

bool tg_words_take_word(struct tg_words *words, const char *word)
{
    tg_words_skip_blanks(words);
    if (!is_next_word(words, word))
        return false;
    words->at += strlen(word);
    return true;
}

/* Counts of the words that base types are made of. */
struct base_words {
    unsigned longs, shorts, ints, chars, is_unsigned, is_signed, floats, doubles, bools, voids, wide, any;
};

static bool take_base_word(struct tg_words *words, struct base_words *base)
{
    const struct {
        const char *word;
        unsigned *count;
    } table[] = {
        {"long", &base->longs},   {"short", &base->shorts},         {"int", &base->ints},
        {"char", &base->chars},   {"unsigned", &base->is_unsigned}, {"signed", &base->is_signed},
        {"float", &base->floats}, {"double", &base->doubles},       {"_Bool", &base->bools},
        {"bool", &base->bools},   {"void", &base->voids},           {"__int128", &base->wide},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (tg_words_take_word(words, table[i].word)) {
            ++*table[i].count;
            base->any++;
            return true;
        }
    }
    return false;
}

static bool skip_qualifiers(struct tg_words *words)
{
    bool any = false;
    while (tg_words_take_word(words, "const") || tg_words_take_word(words, "volatile") ||
           tg_words_take_word(words, "restrict"))
        any = true;
    return any;
}

static enum tg_basic_type basic_of(const struct base_words *base)
{
    bool is_unsigned = base->is_unsigned > 0;
    if (base->voids > 0)
        return TG_BASIC_VOID;
    if (base->bools > 0)
        return TG_BASIC_BOOL;
    if (base->chars > 0)
        return is_unsigned           ? TG_BASIC_UNSIGNED_CHAR
               : base->is_signed > 0 ? TG_BASIC_SIGNED_CHAR
                                     : TG_BASIC_CHAR;
    if (base->floats > 0)
        return TG_BASIC_FLOAT;
    if (base->doubles > 0)
        return base->longs > 0 ? TG_BASIC_LONG_DOUBLE : TG_BASIC_DOUBLE;
    if (base->wide > 0)
        return is_unsigned ? TG_BASIC_UNSIGNED_INT128 : TG_BASIC_INT128;
    if (base->shorts > 0)
        return is_unsigned ? TG_BASIC_UNSIGNED_SHORT : TG_BASIC_SHORT;
    if (base->longs > 1)
        return is_unsigned ? TG_BASIC_UNSIGNED_LONG_LONG : TG_BASIC_LONG_LONG;
    if (base->longs > 0)
        return is_unsigned ? TG_BASIC_UNSIGNED_LONG : TG_BASIC_LONG;
    return is_unsigned ? TG_BASIC_UNSIGNED : TG_BASIC_INT;
}

static unsigned take_stars(struct tg_words *words)
{
    unsigned n = 0;
    for (;;) {
        if (tg_words_take(words, "*"))
            n++;
        else if (!skip_qualifiers(words))
            return n;
    }
}

bool tg_words_type(struct tg_words *words, struct tg_type_words *type, const char **name, bool *is_name)
{
    size_t start = words->at;
    struct base_words base = {0};
    *type = (struct tg_type_words){0};
    *name = NULL;
    *is_name = false;
    bool is_certain = skip_qualifiers(words);
    while (take_base_word(words, &base) || skip_qualifiers(words))
        ;
    if (base.any > 0) {
        type->is_basic = is_certain = true;
        type->basic = basic_of(&base);
    } else {
        type->is_struct = tg_words_take_word(words, "struct") || tg_words_take_word(words, "union") ||
                          tg_words_take_word(words, "enum") || tg_words_take_word(words, "class");
        tg_words_skip_blanks(words);
        size_t length = tg_words_name_length(words), at = words->at;
        if (length == 0 || words->text[at] == '.') {
            words->at = start;
            return false;
        }
        words->at += length;
        is_certain = skip_qualifiers(words) || is_certain || type->is_struct;
        type->pointers = take_stars(words);
        tg_words_skip_blanks(words);
        if (words->text[words->at] != ')' || (!is_certain && type->pointers == 0 && *is_name)) {
            words->at = start;
            return false;
        }
        *is_name = !is_certain && type->pointers == 0;
        if (!*is_name)
            *name = tg_words_keep(words, words->text + at, length);
    }
    if (type->is_basic)
        type->pointers = take_stars(words);
    tg_words_skip_blanks(words);
    if (*is_name || words->text[words->at] != ')' || type->pointers > MAX_POINTERS) {
        if (!*is_name && is_certain && type->pointers <= MAX_POINTERS)
            tg_words_expected(words, "'*' or ')' after the type");
        else if (type->pointers > MAX_POINTERS)
            tg_words_fail(words, start,
                          tg_error_create(TG_ERROR_LIMIT, "a type with more than %d stars", MAX_POINTERS));
        words->at = start;
        return false;
    }
    words->at++;
    return true;
}

int tg_words_escape(const char **text)
{
    static const char names[] = "abtnvfr", codes[] = "\a\b\t\n\v\f\r";
    const char *at = *text;
    const char *name = *at == '\0' ? NULL : strchr(names, *at);
    int value = 0;
    if (name != NULL) {
        *text = at + 1;
        return codes[name - names];
    }
    if (*at == 'x' && isxdigit((unsigned char)at[1])) {
        char *end;
        char digits[3] = {at[1], isxdigit((unsigned char)at[2]) ? at[2] : '\0', '\0'};
        value = (int)strtol(digits, &end, 16);
        *text = at + 1 + (end - digits);
        return value;
    }
    if (*at >= '0' && *at <= '7') {
        for (int i = 0; i < 3 && *at >= '0' && *at <= '7'; i++)
            value = value * 8 + (*at++ - '0');
        *text = at;
        return value & 0xff;
    }
    *text = at + (*at != '\0');
    return (unsigned char)*at;
}

/* Writes Fortran's 1.5d0 at TEXT as 1.5e0 to COPY; returns that, or TEXT where it is no such number. */
static const char *translate_exponent(const char *text, char *copy, size_t size)
{
    size_t mantissa = strspn(text, "0123456789.");
    if (mantissa == 0 || (text[mantissa] != 'd' && text[mantissa] != 'D'))
        return text;
    const char *exponent = text + mantissa + 1;
    exponent += *exponent == '-' || *exponent == '+';
    size_t length = (size_t)(exponent - text) + strspn(exponent, "0123456789");
    if (!isdigit((unsigned char)*exponent) || length >= size)
        return text;
    memcpy(copy, text, length);
    copy[length] = '\0';
    copy[mantissa] = 'e';
    return copy;
}

bool tg_words_number(struct tg_words *words, struct tg_number *result)
{
    char copy[MAX_NUMBER];
    const char *start = words->text + words->at, *text = translate_exponent(start, copy, sizeof copy);
    size_t position = words->at;
    char *integer_end, *real_end;
    errno = 0;
    unsigned long long integer = strtoull(text, &integer_end, 0);
    bool overflow = errno == ERANGE;
    long double real = strtold(text, &real_end);
    bool is_hexadecimal = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    struct tg_number number = {.type = TG_BASIC_INT, .size_bytes = 4, .low = integer};
    bool is_real =
        real_end > integer_end && (!is_hexadecimal || memchr(text, '.', (size_t)(real_end - text)) != NULL ||
                                   memchr(text, 'p', (size_t)(real_end - text)) != NULL);
    const char *end = is_real ? real_end : integer_end;
    bool is_unsigned = false, is_long = false, is_float = false;
    for (; isalpha((unsigned char)*end); end++) {
        char c = (char)tolower((unsigned char)*end);
        if ((c == 'u' && !is_real) || c == 'l') {
            is_unsigned = is_unsigned || c == 'u';
            is_long = is_long || c == 'l';
        } else if (c == 'f' && is_real) {
            is_float = true;
        } else {
            break;
        }
    }
    if (tg_words_is_word(*end) || (overflow && !is_real)) {
        tg_words_fail(words, position,
                      tg_error_create(TG_ERROR_USAGE, overflow && !is_real
                                                          ? "the number is larger than 64 bits"
                                                          : "invalid number"));
        return false;
    }
    if (is_real) {
        enum tg_basic_type type = is_float  ? TG_BASIC_FLOAT
                                  : is_long ? TG_BASIC_LONG_DOUBLE
                                            : TG_BASIC_DOUBLE;
        number =
            (struct tg_number){.is_real = true, .real = real, .type = TG_BASIC_LONG_DOUBLE, .size_bytes = 16};
        number = tg_number_convert(&number, type);
    } else {
        bool is_octal_or_hex = text[0] == '0';
        enum tg_basic_type type = TG_BASIC_INT;
        if (is_long || integer > UINT32_MAX || (integer > INT32_MAX && !is_octal_or_hex && !is_unsigned))
            type = is_unsigned || integer > INT64_MAX ? TG_BASIC_UNSIGNED_LONG : TG_BASIC_LONG;
        else if (is_unsigned || integer > INT32_MAX)
            type = TG_BASIC_UNSIGNED;
        number = tg_number_of_int((int64_t)integer, type);
    }
    words->at += (size_t)(end - text);
    *result = number;
    return true;
}
