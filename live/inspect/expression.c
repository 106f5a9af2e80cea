#include "live/inspect/expression.h"

#include "format/printable.h"
#include "live/inspect/expression_tree.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_TEXT = 4096,
    MAX_NESTED = 64,
    MAX_POINTERS = 8,
};

struct parser {
    const char *text;
    size_t at;
    struct tg_expression *expression;
    size_t n_strings;
    unsigned nested;
    struct tg_error *error; /* the first one */
    size_t position;        /* of it */
};

static int parse_binary(struct parser *parser, unsigned lowest);
static int parse_unary(struct parser *parser);

static int fail(struct parser *parser, size_t position, struct tg_error *error)
{
    if (parser->error == NULL) {
        parser->error = error;
        parser->position = position;
    } else {
        tg_error_destroy(error);
    }
    return TG_NO_NODE;
}

static void skip_blanks(struct parser *parser)
{
    while (isspace((unsigned char)parser->text[parser->at]))
        parser->at++;
}

static bool starts(const struct parser *parser, const char *token)
{
    return strncmp(parser->text + parser->at, token, strlen(token)) == 0;
}

/* Takes TOKEN if it is next. */
static bool take(struct parser *parser, const char *token)
{
    skip_blanks(parser);
    if (!starts(parser, token))
        return false;
    parser->at += strlen(token);
    return true;
}

static int expected(struct parser *parser, const char *what)
{
    skip_blanks(parser);
    char found[8 + 16] = "the end";
    const char *text = parser->text + parser->at;
    if (*text != '\0') {
        char word[5] = {0};
        strncpy(word, text,
                1 + ((unsigned char)*text >= 0xc0) + ((unsigned char)*text >= 0xe0) +
                    ((unsigned char)*text >= 0xf0));
        char shown[16];
        snprintf(found, sizeof found, "'%s'", tg_printable(word, shown, sizeof shown));
    }
    return fail(parser, parser->at,
                tg_error_create(TG_ERROR_USAGE, "here is %s: %s is expected", found, what));
}

static int add(struct parser *parser, enum tg_node_kind kind, size_t position, int a, int b)
{
    struct tg_expression *expression = parser->expression;
    if (parser->error != NULL)
        return TG_NO_NODE;
    if (expression->n_nodes == TG_EXPRESSION_MAX_NODES)
        return fail(parser, position,
                    tg_error_create(TG_ERROR_LIMIT, "the expression has more than %d parts",
                                    TG_EXPRESSION_MAX_NODES));
    expression->nodes[expression->n_nodes] =
        (struct tg_node){.kind = kind, .position = position, .a = a, .b = b, .c = TG_NO_NODE};
    return expression->n_nodes++;
}

static struct tg_node *node(struct parser *parser, int number)
{
    return &parser->expression->nodes[number];
}

/* A copy of LENGTH bytes at TEXT, without the blanks around "::". The room is that of the text and a NUL
 * each. */
static const char *keep(struct parser *parser, const char *text, size_t length)
{
    char *copy = parser->expression->strings + parser->n_strings;
    memcpy(copy, text, length);
    copy[length] = '\0';
    parser->n_strings += length + 1;
    return copy;
}

static bool is_word_start(char c)
{
    return isalpha((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

static bool is_word(char c)
{
    return is_word_start(c) || isdigit((unsigned char)c);
}

/* How long the name at the parser is: words with "::" between them; a leading '.' as compilers have it. 0:
 * none. */
static size_t name_length(const struct parser *parser)
{
    const char *text = parser->text + parser->at;
    size_t n = 0;
    if (text[0] == '.' && is_word_start(text[1]))
        n = 1;
    else if (text[0] == ':' && text[1] == ':' && is_word_start(text[2]))
        n = 2;
    if (!is_word_start(text[n]))
        return 0;
    for (;;) {
        while (is_word(text[n]))
            n++;
        if (text[n] != ':' || text[n + 1] != ':' || !is_word_start(text[n + 2]))
            return n;
        n += 2;
    }
}

/* The word at the parser is WORD. */
static bool is_next_word(const struct parser *parser, const char *word)
{
    size_t n = strlen(word);
    return strncmp(parser->text + parser->at, word, n) == 0 && !is_word(parser->text[parser->at + n]);
}

static bool take_word(struct parser *parser, const char *word)
{
    skip_blanks(parser);
    if (!is_next_word(parser, word))
        return false;
    parser->at += strlen(word);
    return true;
}

/* Which of the words that base types are made of were there. */
struct base_words {
    unsigned longs, shorts, ints, chars, is_unsigned, is_signed, floats, doubles, bools, voids, wide, any;
};

static bool take_base_word(struct parser *parser, struct base_words *words)
{
    const struct {
        const char *word;
        unsigned *count;
    } table[] = {
        {"long", &words->longs},   {"short", &words->shorts},         {"int", &words->ints},
        {"char", &words->chars},   {"unsigned", &words->is_unsigned}, {"signed", &words->is_signed},
        {"float", &words->floats}, {"double", &words->doubles},       {"_Bool", &words->bools},
        {"bool", &words->bools},   {"void", &words->voids},           {"__int128", &words->wide},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (take_word(parser, table[i].word)) {
            ++*table[i].count;
            words->any++;
            return true;
        }
    }
    return false;
}

static bool skip_qualifiers(struct parser *parser)
{
    bool any = false;
    while (take_word(parser, "const") || take_word(parser, "volatile") || take_word(parser, "restrict"))
        any = true;
    return any;
}

static enum tg_basic_type basic_of(const struct base_words *words)
{
    bool is_unsigned = words->is_unsigned > 0;
    if (words->voids > 0)
        return TG_BASIC_VOID;
    if (words->bools > 0)
        return TG_BASIC_BOOL;
    if (words->chars > 0)
        return is_unsigned            ? TG_BASIC_UNSIGNED_CHAR
               : words->is_signed > 0 ? TG_BASIC_SIGNED_CHAR
                                      : TG_BASIC_CHAR;
    if (words->floats > 0)
        return TG_BASIC_FLOAT;
    if (words->doubles > 0)
        return words->longs > 0 ? TG_BASIC_LONG_DOUBLE : TG_BASIC_DOUBLE;
    if (words->wide > 0)
        return is_unsigned ? TG_BASIC_UNSIGNED_INT128 : TG_BASIC_INT128;
    if (words->shorts > 0)
        return is_unsigned ? TG_BASIC_UNSIGNED_SHORT : TG_BASIC_SHORT;
    if (words->longs > 1)
        return is_unsigned ? TG_BASIC_UNSIGNED_LONG_LONG : TG_BASIC_LONG_LONG;
    if (words->longs > 0)
        return is_unsigned ? TG_BASIC_UNSIGNED_LONG : TG_BASIC_LONG;
    return is_unsigned ? TG_BASIC_UNSIGNED : TG_BASIC_INT;
}

static unsigned take_stars(struct parser *parser)
{
    unsigned n = 0;
    for (;;) {
        if (take(parser, "*"))
            n++;
        else if (!skip_qualifiers(parser))
            return n;
    }
}

/*
 * A type in parentheses, behind '('. Certain ones: base types, struct and the like, names with stars. Of a
 * plain name in parentheses *IS_NAME says that it may be one. Nothing is taken where there is no type.
 */
static bool parse_type(struct parser *parser, struct tg_type_words *type, const char **name, bool *is_name)
{
    size_t start = parser->at;
    struct base_words words = {0};
    *type = (struct tg_type_words){0};
    *name = NULL;
    *is_name = false;
    bool is_certain = skip_qualifiers(parser);
    while (take_base_word(parser, &words) || skip_qualifiers(parser))
        ;
    if (words.any > 0) {
        type->is_basic = is_certain = true;
        type->basic = basic_of(&words);
    } else {
        type->is_struct = take_word(parser, "struct") || take_word(parser, "union") ||
                          take_word(parser, "enum") || take_word(parser, "class");
        skip_blanks(parser);
        size_t length = name_length(parser), at = parser->at;
        if (length == 0 || parser->text[at] == '.') {
            parser->at = start;
            return false;
        }
        parser->at += length;
        is_certain = skip_qualifiers(parser) || is_certain || type->is_struct;
        type->pointers = take_stars(parser);
        skip_blanks(parser);
        if (parser->text[parser->at] != ')' || (!is_certain && type->pointers == 0 && *is_name)) {
            parser->at = start;
            return false;
        }
        *is_name = !is_certain && type->pointers == 0;
        if (!*is_name)
            *name = keep(parser, parser->text + at, length);
    }
    if (type->is_basic)
        type->pointers = take_stars(parser);
    skip_blanks(parser);
    if (*is_name || parser->text[parser->at] != ')' || type->pointers > MAX_POINTERS) {
        if (!*is_name && is_certain && type->pointers <= MAX_POINTERS)
            expected(parser, "'*' or ')' behind the type");
        else if (type->pointers > MAX_POINTERS)
            fail(parser, start,
                 tg_error_create(TG_ERROR_LIMIT, "a type of more than %d stars", MAX_POINTERS));
        parser->at = start;
        return false;
    }
    parser->at++;
    return true;
}

static int parse_number(struct parser *parser)
{
    const char *text = parser->text + parser->at;
    size_t position = parser->at;
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
    if (is_word(*end) || (overflow && !is_real))
        return fail(parser, position,
                    tg_error_create(TG_ERROR_USAGE, overflow && !is_real
                                                        ? "the number is larger than 64 bits"
                                                        : "the number does not end where a number can"));
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
    parser->at = (size_t)(end - parser->text);
    int made = add(parser, TG_NODE_NUMBER, position, TG_NO_NODE, TG_NO_NODE);
    if (made != TG_NO_NODE)
        node(parser, made)->number = number;
    return made;
}

/* The character behind a backslash; moves TEXT to its end. */
static int parse_escape(const char **text)
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

/* 'c', or 'file'::name. */
static int parse_quoted(struct parser *parser)
{
    size_t position = parser->at;
    const char *start = parser->text + parser->at + 1;
    const char *end = strchr(start, '\'');
    if (end != NULL && end > start && end[1] == ':' && end[2] == ':') {
        parser->at = (size_t)(end + 3 - parser->text);
        size_t length = name_length(parser);
        if (length == 0)
            return expected(parser, "the name of a variable of that file");
        int made = add(parser, TG_NODE_NAME, position, TG_NO_NODE, TG_NO_NODE);
        if (made != TG_NO_NODE) {
            node(parser, made)->file = keep(parser, start, (size_t)(end - start));
            node(parser, made)->name = keep(parser, parser->text + parser->at, length);
            parser->at += length;
        }
        return made;
    }
    const char *text = start;
    int character = 0;
    if (*text == '\\') {
        text++;
        character = parse_escape(&text);
    } else if (*text != '\0') {
        character = (unsigned char)*text++;
    }
    if (*text != '\'' || text == start)
        return fail(parser, position,
                    tg_error_create(TG_ERROR_USAGE, "a quote begins a character, 'c', or the name of a file, "
                                                    "'file.c'::variable"));
    parser->at = (size_t)(text + 1 - parser->text);
    int made = add(parser, TG_NODE_NUMBER, position, TG_NO_NODE, TG_NO_NODE);
    if (made != TG_NO_NODE)
        node(parser, made)->number = tg_number_of_int((signed char)character, TG_BASIC_CHAR);
    return made;
}

static int parse_name(struct parser *parser)
{
    size_t position = parser->at;
    bool is_register = parser->text[parser->at] == '$';
    parser->at += is_register;
    size_t length = name_length(parser);
    if (length == 0 || (is_register && parser->text[parser->at] == '.'))
        return expected(parser, is_register ? "the name of a register" : "a name, a number or '('");
    int made = add(parser, is_register ? TG_NODE_REGISTER : TG_NODE_NAME, position, TG_NO_NODE, TG_NO_NODE);
    if (made == TG_NO_NODE)
        return made;
    size_t skip = parser->text[parser->at] == ':' ? 2 : 0;
    node(parser, made)->name = keep(parser, parser->text + parser->at + skip, length - skip);
    if (!is_register)
        node(parser, made)->remembered =
            calloc(TG_EXPRESSION_REMEMBERED, sizeof *node(parser, made)->remembered); /* NULL: slower */
    parser->at += length;
    return made;
}

/* Behind '(': a cast, or an expression. */
static int parse_parenthesis(struct parser *parser, size_t position)
{
    struct tg_type_words type;
    const char *name;
    bool is_name;
    skip_blanks(parser);
    if (parse_type(parser, &type, &name, &is_name)) {
        int operand = parse_unary(parser);
        int made = add(parser, TG_NODE_CAST, position, operand, TG_NO_NODE);
        if (made != TG_NO_NODE) {
            node(parser, made)->type = type;
            node(parser, made)->name = name;
        }
        return made;
    }
    int inner = parse_binary(parser, 0);
    if (inner == TG_NO_NODE)
        return inner;
    if (!take(parser, ")"))
        return expected(parser, "')'");
    struct tg_node *of = node(parser, inner);
    if (of->kind != TG_NODE_NAME || of->file != NULL)
        return inner;
    skip_blanks(parser);
    char next = parser->text[parser->at];
    if (is_word(next) || next == '$' || next == '\'' || next == '~' ||
        (next == '!' && !starts(parser, "!="))) {
        int operand = parse_unary(parser); /* nothing else can stand behind (name) here */
        int made = add(parser, TG_NODE_CAST, position, operand, TG_NO_NODE);
        if (made != TG_NO_NODE)
            node(parser, made)->name = node(parser, inner)->name;
        return made;
    }
    of->is_parenthesized = true;
    return inner;
}

static int parse_primary(struct parser *parser)
{
    skip_blanks(parser);
    const char *text = parser->text + parser->at;
    size_t position = parser->at;
    if (isdigit((unsigned char)*text) || (*text == '.' && isdigit((unsigned char)text[1])))
        return parse_number(parser);
    if (*text == '\'')
        return parse_quoted(parser);
    if (*text == '"')
        return fail(parser, position,
                    tg_error_create(TG_ERROR_USAGE,
                                    "a string has no value here: the characters of a variable are "
                                    "compared one by one, as in s[0] == 'a'"));
    if (take(parser, "("))
        return parse_parenthesis(parser, position);
    return parse_name(parser);
}

static int parse_member(struct parser *parser, int of, bool is_arrow, size_t position)
{
    skip_blanks(parser);
    size_t length = 0;
    const char *text = parser->text + parser->at;
    if (is_word_start(*text))
        while (is_word(text[length]))
            length++;
    if (length == 0)
        return expected(parser, "the name of a member");
    int made = add(parser, is_arrow ? TG_NODE_ARROW : TG_NODE_MEMBER, position, of, TG_NO_NODE);
    if (made != TG_NO_NODE)
        node(parser, made)->name = keep(parser, text, length);
    parser->at += length;
    return made;
}

/* Behind '[': an index, or a range of them. */
static int parse_index(struct parser *parser, int of, size_t position)
{
    int first = TG_NO_NODE, last = TG_NO_NODE;
    skip_blanks(parser);
    if (parser->text[parser->at] != ':' || starts(parser, "::"))
        first = parse_binary(parser, 0);
    bool is_slice = take(parser, ":");
    skip_blanks(parser);
    if (is_slice && parser->text[parser->at] != ']')
        last = parse_binary(parser, 0);
    if (!take(parser, "]"))
        return expected(parser, is_slice ? "']'" : "']' or ':'");
    int made = add(parser, is_slice ? TG_NODE_SLICE : TG_NODE_INDEX, position, of, first);
    if (made != TG_NO_NODE)
        node(parser, made)->c = last;
    return made;
}

/* Behind '(' that follows a value: Fortran's indexes. */
static int parse_round(struct parser *parser, int of, size_t position)
{
    int round = add(parser, TG_NODE_ROUND, position, of, TG_NO_NODE), previous = round;
    while (round != TG_NO_NODE) {
        int first = TG_NO_NODE, last = TG_NO_NODE;
        skip_blanks(parser);
        size_t start = parser->at;
        if (parser->text[parser->at] != ':')
            first = parse_binary(parser, 0);
        bool is_range = take(parser, ":");
        skip_blanks(parser);
        if (is_range && parser->text[parser->at] != ',' && parser->text[parser->at] != ')')
            last = parse_binary(parser, 0);
        int made = add(parser, TG_NODE_ARGUMENT, start, first, last); /* C: the next one */
        if (made == TG_NO_NODE)
            return made;
        node(parser, made)->operation = is_range ? TG_OPERATION_RANGE : TG_OPERATION_NONE;
        if (previous == round)
            node(parser, round)->b = made;
        else
            node(parser, previous)->c = made;
        previous = made;
        if (take(parser, ")"))
            return round;
        if (!take(parser, ","))
            return expected(parser, "',' or ')'");
    }
    return TG_NO_NODE;
}

static int parse_postfix(struct parser *parser)
{
    int value = parse_primary(parser);
    while (parser->error == NULL) {
        skip_blanks(parser);
        size_t position = parser->at;
        if (take(parser, "->"))
            value = parse_member(parser, value, true, position);
        else if (take(parser, "."))
            value = parse_member(parser, value, false, position);
        else if (take(parser, "["))
            value = parse_index(parser, value, position);
        else if (take(parser, "("))
            value = parse_round(parser, value, position);
        else if (starts(parser, "++") || starts(parser, "--"))
            return fail(parser, position, tg_error_create(TG_ERROR_USAGE, "variables are not changed"));
        else
            return value;
    }
    return TG_NO_NODE;
}

/* Behind sizeof. */
static int parse_size(struct parser *parser, size_t position)
{
    struct tg_type_words type;
    const char *name;
    bool is_name;
    skip_blanks(parser);
    size_t start = parser->at;
    if (take(parser, "(")) {
        skip_blanks(parser);
        if (parse_type(parser, &type, &name, &is_name)) {
            int made = add(parser, TG_NODE_SIZE, position, TG_NO_NODE, TG_NO_NODE);
            if (made != TG_NO_NODE) {
                node(parser, made)->type = type;
                node(parser, made)->name = name;
            }
            return made;
        }
        parser->at = start;
    }
    int operand = parse_unary(parser);
    return add(parser, TG_NODE_SIZE, position, operand, TG_NO_NODE);
}

static int parse_unary(struct parser *parser)
{
    static const struct {
        char character;
        enum tg_operation operation;
    } table[] = {{'-', TG_OPERATION_SUBTRACT}, {'+', TG_OPERATION_ADD},      {'!', TG_OPERATION_NOT},
                 {'~', TG_OPERATION_BIT_NOT},  {'*', TG_OPERATION_MULTIPLY}, {'&', TG_OPERATION_BIT_AND}};
    skip_blanks(parser);
    size_t position = parser->at;
    if (parser->error != NULL)
        return TG_NO_NODE;
    if (parser->nested == MAX_NESTED)
        return fail(parser, position, tg_error_create(TG_ERROR_LIMIT, "the expression is nested too deep"));
    parser->nested++;
    int result = TG_NO_NODE;
    char next = parser->text[parser->at];
    enum tg_operation operation = TG_OPERATION_NONE;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (next == table[i].character)
            operation = table[i].operation;
    if (operation != TG_OPERATION_NONE) {
        parser->at++;
        int operand = parse_unary(parser);
        result = add(parser, TG_NODE_UNARY, position, operand, TG_NO_NODE);
        if (result != TG_NO_NODE)
            node(parser, result)->operation = operation;
    } else if (take_word(parser, "sizeof")) {
        result = parse_size(parser, position);
    } else {
        result = parse_postfix(parser);
    }
    parser->nested--;
    return result;
}

static const struct binary {
    const char *token;
    unsigned level;
    enum tg_operation operation;
} binaries[] = {
    {"||", 2, TG_OPERATION_OR},         {"&&", 3, TG_OPERATION_AND},
    {"==", 7, TG_OPERATION_EQUAL},      {"!=", 7, TG_OPERATION_UNEQUAL},
    {"<<", 9, TG_OPERATION_SHIFT_LEFT}, {">>", 9, TG_OPERATION_SHIFT_RIGHT},
    {"<=", 8, TG_OPERATION_LESS_EQUAL}, {">=", 8, TG_OPERATION_GREATER_EQUAL},
    {"<", 8, TG_OPERATION_LESS},        {">", 8, TG_OPERATION_GREATER},
    {"|", 4, TG_OPERATION_BIT_OR},      {"^", 5, TG_OPERATION_BIT_XOR},
    {"&", 6, TG_OPERATION_BIT_AND},     {"@", 10, TG_OPERATION_REPEAT},
    {"+", 11, TG_OPERATION_ADD},        {"-", 11, TG_OPERATION_SUBTRACT},
    {"*", 12, TG_OPERATION_MULTIPLY},   {"/", 12, TG_OPERATION_DIVIDE},
    {"%", 12, TG_OPERATION_MODULO},
};

static const struct binary *next_binary(struct parser *parser)
{
    skip_blanks(parser);
    for (size_t i = 0; i < sizeof binaries / sizeof *binaries; i++)
        if (starts(parser, binaries[i].token))
            return &binaries[i];
    return NULL;
}

static int parse_choice(struct parser *parser, int condition, size_t position)
{
    int first = parse_binary(parser, 0);
    if (parser->error == NULL && !take(parser, ":"))
        return expected(parser, "':'");
    int second = parse_binary(parser, 1);
    int made = add(parser, TG_NODE_CHOICE, position, condition, first);
    if (made != TG_NO_NODE)
        node(parser, made)->c = second;
    return made;
}

/* LOWEST: what binds weaker is left to the caller. 0 and 1: everything. */
static int parse_binary(struct parser *parser, unsigned lowest)
{
    if (parser->nested == MAX_NESTED)
        return fail(parser, parser->at, tg_error_create(TG_ERROR_LIMIT, "the expression is nested too deep"));
    parser->nested++;
    int left = parse_unary(parser);
    while (parser->error == NULL) {
        const struct binary *binary = next_binary(parser);
        size_t position = parser->at;
        if (binary == NULL && lowest <= 1 && take(parser, "?")) {
            left = parse_choice(parser, left, position);
            continue;
        }
        if (binary == NULL || binary->level < lowest)
            break;
        parser->at += strlen(binary->token);
        if (parser->text[parser->at] == '=' && strcmp(binary->token, "==") != 0 && binary->token[0] != '=') {
            left = fail(parser, position, tg_error_create(TG_ERROR_USAGE, "variables are not changed"));
            break;
        }
        int right = parse_binary(parser, binary->level + 1);
        left = add(parser, TG_NODE_BINARY, position, left, right);
        if (left != TG_NO_NODE)
            node(parser, left)->operation = binary->operation;
    }
    parser->nested--;
    return parser->error == NULL ? left : TG_NO_NODE;
}

struct tg_error *tg_expression_parse(const char *text, struct tg_expression **result, size_t *position)
{
    size_t length = strlen(text);
    if (position != NULL)
        *position = 0;
    if (length > MAX_TEXT)
        return tg_error_create(TG_ERROR_LIMIT, "the expression is longer than %d bytes", MAX_TEXT);
    struct tg_expression *expression = calloc(1, sizeof *expression);
    char *strings = calloc(1, 3 * length + 64); /* each byte is in at most one name but for retried types */
    if (expression == NULL || strings == NULL) {
        free(expression);
        free(strings);
        return tg_error_no_memory();
    }
    expression->strings = strings;
    struct parser parser = {.text = text, .expression = expression};
    expression->root = parse_binary(&parser, 0);
    skip_blanks(&parser);
    if (parser.error == NULL && text[parser.at] == '=')
        fail(&parser, parser.at, tg_error_create(TG_ERROR_USAGE, "variables are not changed: '==' compares"));
    if (parser.error == NULL && text[parser.at] != '\0')
        expected(&parser, "an operator or the end");
    if (parser.error != NULL) {
        if (position != NULL)
            *position = parser.position;
        tg_expression_destroy(expression);
        return parser.error;
    }
    *result = expression;
    return NULL;
}

void tg_expression_destroy(struct tg_expression *expression)
{
    if (expression == NULL)
        return;
    for (int i = 0; i < expression->n_nodes; i++)
        free(expression->nodes[i].remembered);
    free(expression->strings);
    free(expression);
}
