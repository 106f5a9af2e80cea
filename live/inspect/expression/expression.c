#include "live/inspect/expression/expression.h"

#include "live/inspect/expression/words.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_TEXT = 4096,
    MAX_NESTED = 64,
    LEVEL_EQUAL = 7, /* of == */
};

struct parser {
    struct tg_words words;
    struct tg_expression *expression;
    unsigned nested;
    bool is_fortran; /* what C and Fortran read differently is Fortran's */
};

static int parse_binary(struct parser *parser, unsigned lowest);
static int parse_unary(struct parser *parser);

static int fail(struct parser *parser, size_t position, struct tg_error *error)
{
    tg_words_fail(&parser->words, position, error);
    return TG_NO_NODE;
}

static int expected(struct parser *parser, const char *what)
{
    tg_words_expected(&parser->words, what);
    return TG_NO_NODE;
}

static int add(struct parser *parser, enum tg_node_kind kind, size_t position, int a, int b)
{
    struct tg_expression *expression = parser->expression;
    if (parser->words.error != NULL)
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

static int parse_number(struct parser *parser)
{
    size_t position = parser->words.at;
    struct tg_number number;
    if (!tg_words_number(&parser->words, &number))
        return TG_NO_NODE;
    int made = add(parser, TG_NODE_NUMBER, position, TG_NO_NODE, TG_NO_NODE);
    if (made != TG_NO_NODE)
        node(parser, made)->number = number;
    return made;
}

/* 'c', 'file'::name, or 'name'. */
static int parse_quoted(struct parser *parser)
{
    size_t position = parser->words.at;
    const char *start = parser->words.text + parser->words.at + 1;
    const char *end = strchr(start, '\'');
    if (end != NULL && end > start && end[1] == ':' && end[2] == ':') {
        parser->words.at = (size_t)(end + 3 - parser->words.text);
        size_t length = tg_words_name_length(&parser->words);
        if (length == 0)
            return expected(parser, "the name of a variable of that file");
        int made = add(parser, TG_NODE_NAME, position, TG_NO_NODE, TG_NO_NODE);
        if (made != TG_NO_NODE) {
            node(parser, made)->file = tg_words_keep(&parser->words, start, (size_t)(end - start));
            node(parser, made)->name =
                tg_words_keep(&parser->words, parser->words.text + parser->words.at, length);
            parser->words.at += length;
        }
        return made;
    }
    if (end != NULL && end - start > 1 &&
        *start != '\\') { /* with template arguments: 'holder<int>::count' */
        int made = add(parser, TG_NODE_NAME, position, TG_NO_NODE, TG_NO_NODE);
        if (made != TG_NO_NODE)
            node(parser, made)->name = tg_words_keep(&parser->words, start, (size_t)(end - start));
        parser->words.at = (size_t)(end + 1 - parser->words.text);
        return made;
    }
    const char *text = start;
    int character = 0;
    if (*text == '\\') {
        text++;
        character = tg_words_escape(&text);
    } else if (*text != '\0') {
        character = (unsigned char)*text++;
    }
    if (*text != '\'' || text == start)
        return fail(parser, position,
                    tg_error_create(TG_ERROR_USAGE,
                                    "a quote begins a character ('c'), a name ('name') or a file "
                                    "name ('file.c'::variable)"));
    parser->words.at = (size_t)(text + 1 - parser->words.text);
    int made = add(parser, TG_NODE_NUMBER, position, TG_NO_NODE, TG_NO_NODE);
    if (made != TG_NO_NODE)
        node(parser, made)->number = tg_number_of_int((signed char)character, TG_BASIC_CHAR);
    return made;
}

static int parse_name(struct parser *parser)
{
    size_t position = parser->words.at;
    bool is_register = parser->words.text[parser->words.at] == '$';
    parser->words.at += is_register;
    size_t length = tg_words_name_length(&parser->words);
    if (length == 0 || (is_register && parser->words.text[parser->words.at] == '.'))
        return expected(parser, is_register ? "the name of a register" : "a name, a number or '('");
    int made = add(parser, is_register ? TG_NODE_REGISTER : TG_NODE_NAME, position, TG_NO_NODE, TG_NO_NODE);
    if (made == TG_NO_NODE)
        return made;
    size_t skip = parser->words.text[parser->words.at] == ':' ? 2 : 0;
    node(parser, made)->name =
        tg_words_keep(&parser->words, parser->words.text + parser->words.at + skip, length - skip);
    if (!is_register)
        node(parser, made)->remembered =
            calloc(TG_EXPRESSION_REMEMBERED, sizeof *node(parser, made)->remembered); /* NULL: slower */
    parser->words.at += length;
    return made;
}

/* Behind '(': a cast, or an expression. */
static int parse_parenthesis(struct parser *parser, size_t position)
{
    struct tg_type_words type;
    const char *name;
    bool is_name;
    tg_words_skip_blanks(&parser->words);
    if (tg_words_type(&parser->words, &type, &name, &is_name)) {
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
    if (!tg_words_take(&parser->words, ")"))
        return expected(parser, "')'");
    struct tg_node *of = node(parser, inner);
    if (of->kind != TG_NODE_NAME || of->file != NULL)
        return inner;
    tg_words_skip_blanks(&parser->words);
    char next = parser->words.text[parser->words.at];
    if (tg_words_is_word(next) || next == '$' || next == '\'' || next == '~' ||
        (next == '!' && !tg_words_starts(&parser->words, "!="))) {
        int operand = parse_unary(parser); /* nothing else can follow (name) here */
        int made = add(parser, TG_NODE_CAST, position, operand, TG_NO_NODE);
        if (made != TG_NO_NODE)
            node(parser, made)->name = node(parser, inner)->name;
        return made;
    }
    of->is_parenthesized = true;
    return inner;
}

/* Behind ".true." or ".false.". */
static int add_logical(struct parser *parser, size_t position, bool is_true)
{
    int made = add(parser, TG_NODE_NUMBER, position, TG_NO_NODE, TG_NO_NODE);
    if (made != TG_NO_NODE)
        node(parser, made)->number = tg_number_of_int(is_true, TG_BASIC_BOOL);
    return made;
}

static int parse_primary(struct parser *parser)
{
    tg_words_skip_blanks(&parser->words);
    const char *text = parser->words.text + parser->words.at;
    size_t position = parser->words.at;
    if (isdigit((unsigned char)*text) || (*text == '.' && isdigit((unsigned char)text[1])))
        return parse_number(parser);
    if (*text == '\'')
        return parse_quoted(parser);
    if (*text == '"')
        return fail(parser, position,
                    tg_error_create(TG_ERROR_USAGE,
                                    "strings are not supported here: compare characters, as in "
                                    "s[0] == 'a'"));
    if (tg_words_take(&parser->words, "("))
        return parse_parenthesis(parser, position);
    if (tg_words_take(&parser->words, ".true."))
        return add_logical(parser, position, true);
    if (tg_words_take(&parser->words, ".false."))
        return add_logical(parser, position, false);
    return parse_name(parser);
}

static int parse_member(struct parser *parser, int of, bool is_arrow, size_t position)
{
    tg_words_skip_blanks(&parser->words);
    size_t length = 0;
    const char *text = parser->words.text + parser->words.at;
    if (tg_words_is_word_start(*text))
        while (tg_words_is_word(text[length]))
            length++;
    if (length == 0)
        return expected(parser, "the name of a member");
    int made = add(parser, is_arrow ? TG_NODE_ARROW : TG_NODE_MEMBER, position, of, TG_NO_NODE);
    if (made != TG_NO_NODE)
        node(parser, made)->name = tg_words_keep(&parser->words, text, length);
    parser->words.at += length;
    return made;
}

/* Behind '[': an index, or a range of them. */
static int parse_index(struct parser *parser, int of, size_t position)
{
    int first = TG_NO_NODE, last = TG_NO_NODE;
    tg_words_skip_blanks(&parser->words);
    if (parser->words.text[parser->words.at] != ':' || tg_words_starts(&parser->words, "::"))
        first = parse_binary(parser, 0);
    bool is_slice = tg_words_take(&parser->words, ":");
    tg_words_skip_blanks(&parser->words);
    if (is_slice && parser->words.text[parser->words.at] != ']')
        last = parse_binary(parser, 0);
    if (!tg_words_take(&parser->words, "]"))
        return expected(parser, is_slice ? "']'" : "']' or ':'");
    int made = add(parser, is_slice ? TG_NODE_SLICE : TG_NODE_INDEX, position, of, first);
    if (made != TG_NO_NODE)
        node(parser, made)->c = last;
    return made;
}

/* Behind '(' that follows a value: Fortran's indexes. */
static int parse_round(struct parser *parser, int of, size_t position)
{
    if (tg_words_take(&parser->words, ")"))
        return fail(parser, position,
                    tg_error_create(TG_ERROR_USAGE, "functions of the program cannot be called here"));
    int round = add(parser, TG_NODE_ROUND, position, of, TG_NO_NODE), previous = round;
    while (round != TG_NO_NODE) {
        int first = TG_NO_NODE, last = TG_NO_NODE;
        tg_words_skip_blanks(&parser->words);
        size_t start = parser->words.at;
        if (parser->words.text[parser->words.at] != ':')
            first = parse_binary(parser, 0);
        bool is_range = tg_words_take(&parser->words, ":");
        tg_words_skip_blanks(&parser->words);
        if (is_range && parser->words.text[parser->words.at] != ',' &&
            parser->words.text[parser->words.at] != ')')
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
        if (tg_words_take(&parser->words, ")"))
            return round;
        if (!tg_words_take(&parser->words, ","))
            return expected(parser, "',' or ')'");
    }
    return TG_NO_NODE;
}

static const struct binary *next_binary(struct parser *parser);

static int parse_postfix(struct parser *parser)
{
    int value = parse_primary(parser);
    while (parser->words.error == NULL) {
        tg_words_skip_blanks(&parser->words);
        size_t position = parser->words.at;
        if (tg_words_take(&parser->words, "->"))
            value = parse_member(parser, value, true, position);
        else if (next_binary(parser) == NULL && (tg_words_take(&parser->words, ".") ||
                                                 (parser->is_fortran && tg_words_take(&parser->words, "%"))))
            value = parse_member(parser, value, false, position);
        else if (tg_words_take(&parser->words, "["))
            value = parse_index(parser, value, position);
        else if (tg_words_take(&parser->words, "("))
            value = parse_round(parser, value, position);
        else if (tg_words_starts(&parser->words, "++") || tg_words_starts(&parser->words, "--"))
            return fail(parser, position, tg_error_create(TG_ERROR_USAGE, "assignment is not supported"));
        else
            return value;
    }
    return TG_NO_NODE;
}

/* Fortran's power binds tighter than a sign, and from the right. */
static int parse_power(struct parser *parser)
{
    int base = parse_postfix(parser);
    tg_words_skip_blanks(&parser->words);
    size_t position = parser->words.at;
    if (!parser->is_fortran || parser->words.error != NULL || !tg_words_take(&parser->words, "**"))
        return base;
    int exponent = parse_unary(parser);
    int made = add(parser, TG_NODE_BINARY, position, base, exponent);
    if (made != TG_NO_NODE)
        node(parser, made)->operation = TG_OPERATION_POWER;
    return made;
}

/* Behind sizeof. */
static int parse_size(struct parser *parser, size_t position)
{
    struct tg_type_words type;
    const char *name;
    bool is_name;
    tg_words_skip_blanks(&parser->words);
    size_t start = parser->words.at;
    if (tg_words_take(&parser->words, "(")) {
        tg_words_skip_blanks(&parser->words);
        if (tg_words_type(&parser->words, &type, &name, &is_name)) {
            int made = add(parser, TG_NODE_SIZE, position, TG_NO_NODE, TG_NO_NODE);
            if (made != TG_NO_NODE) {
                node(parser, made)->type = type;
                node(parser, made)->name = name;
            }
            return made;
        }
        parser->words.at = start;
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
    tg_words_skip_blanks(&parser->words);
    size_t position = parser->words.at;
    if (parser->words.error != NULL)
        return TG_NO_NODE;
    if (parser->nested == MAX_NESTED)
        return fail(parser, position, tg_error_create(TG_ERROR_LIMIT, "the expression is nested too deeply"));
    parser->nested++;
    int result = TG_NO_NODE;
    char next = parser->words.text[parser->words.at];
    enum tg_operation operation = TG_OPERATION_NONE;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (next == table[i].character)
            operation = table[i].operation;
    if (operation != TG_OPERATION_NONE) {
        parser->words.at++;
        int operand = parse_unary(parser);
        result = add(parser, TG_NODE_UNARY, position, operand, TG_NO_NODE);
        if (result != TG_NO_NODE)
            node(parser, result)->operation = operation;
    } else if (tg_words_take(&parser->words, ".not.")) {
        int operand = parse_binary(parser, LEVEL_EQUAL);
        result = add(parser, TG_NODE_UNARY, position, operand, TG_NO_NODE);
        if (result != TG_NO_NODE)
            node(parser, result)->operation = TG_OPERATION_NOT;
    } else if (tg_words_take_word(&parser->words, "sizeof")) {
        result = parse_size(parser, position);
    } else {
        result = parse_power(parser);
    }
    parser->nested--;
    return result;
}

/* How they bind: C's levels. Those of Fortran have their C counterpart's. */
static const struct binary {
    const char *token;
    unsigned level;
    enum tg_operation operation;
} binaries[] = {
    {"||", 2, TG_OPERATION_OR},
    {"&&", 3, TG_OPERATION_AND},
    {"==", LEVEL_EQUAL, TG_OPERATION_EQUAL},
    {"!=", 7, TG_OPERATION_UNEQUAL},
    {"<<", 9, TG_OPERATION_SHIFT_LEFT},
    {">>", 9, TG_OPERATION_SHIFT_RIGHT},
    {"<=", 8, TG_OPERATION_LESS_EQUAL},
    {">=", 8, TG_OPERATION_GREATER_EQUAL},
    {"<", 8, TG_OPERATION_LESS},
    {">", 8, TG_OPERATION_GREATER},
    {"|", 4, TG_OPERATION_BIT_OR},
    {"^", 5, TG_OPERATION_BIT_XOR},
    {"&", 6, TG_OPERATION_BIT_AND},
    {"@", 10, TG_OPERATION_REPEAT},
    {"+", 11, TG_OPERATION_ADD},
    {"-", 11, TG_OPERATION_SUBTRACT},
    {"*", 12, TG_OPERATION_MULTIPLY},
    {"/", 12, TG_OPERATION_DIVIDE},
    {"%", 12, TG_OPERATION_MODULO},
    {".or.", 2, TG_OPERATION_OR},
    {".and.", 3, TG_OPERATION_AND},
    {".eq.", LEVEL_EQUAL, TG_OPERATION_EQUAL},
    {".ne.", 7, TG_OPERATION_UNEQUAL},
    {".lt.", 8, TG_OPERATION_LESS},
    {".le.", 8, TG_OPERATION_LESS_EQUAL},
    {".gt.", 8, TG_OPERATION_GREATER},
    {".ge.", 8, TG_OPERATION_GREATER_EQUAL},
};

/* Of these C makes something else. */
static const struct binary fortran_binaries[] = {
    {".eqv.", 1, TG_OPERATION_EQUAL},
    {".neqv.", 1, TG_OPERATION_UNEQUAL},
    {"/=", LEVEL_EQUAL, TG_OPERATION_UNEQUAL},
};

static const struct binary *next_binary(struct parser *parser)
{
    tg_words_skip_blanks(&parser->words);
    for (size_t i = 0; parser->is_fortran && i < sizeof fortran_binaries / sizeof *fortran_binaries; i++)
        if (tg_words_starts(&parser->words, fortran_binaries[i].token))
            return &fortran_binaries[i];
    if (parser->is_fortran && tg_words_starts(&parser->words, "%"))
        return NULL;
    for (size_t i = 0; i < sizeof binaries / sizeof *binaries; i++)
        if (tg_words_starts(&parser->words, binaries[i].token))
            return &binaries[i];
    return NULL;
}

static int parse_choice(struct parser *parser, int condition, size_t position)
{
    int first = parse_binary(parser, 0);
    if (parser->words.error == NULL && !tg_words_take(&parser->words, ":"))
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
        return fail(parser, parser->words.at,
                    tg_error_create(TG_ERROR_LIMIT, "the expression is nested too deeply"));
    parser->nested++;
    int left = parse_unary(parser);
    while (parser->words.error == NULL) {
        const struct binary *binary = next_binary(parser);
        size_t position = parser->words.at;
        if (binary == NULL && lowest <= 1 && tg_words_take(&parser->words, "?")) {
            left = parse_choice(parser, left, position);
            continue;
        }
        if (binary == NULL || binary->level < lowest)
            break;
        parser->words.at += strlen(binary->token);
        if (parser->words.text[parser->words.at] == '=' && strchr(binary->token, '=') == NULL) {
            left = fail(parser, position, tg_error_create(TG_ERROR_USAGE, "assignment is not supported"));
            break;
        }
        int right = parse_binary(parser, binary->level + 1);
        left = add(parser, TG_NODE_BINARY, position, left, right);
        if (left != TG_NO_NODE)
            node(parser, left)->operation = binary->operation;
    }
    parser->nested--;
    return parser->words.error == NULL ? left : TG_NO_NODE;
}

/* Parses all of TEXT; TG_NO_NODE: it is no expression, *ERROR, at *POSITION. */
static int parse_all(struct parser *parser, struct tg_error **error, size_t *position)
{
    struct tg_words *words = &parser->words;
    int root = parse_binary(parser, 0);
    tg_words_skip_blanks(words);
    if (words->error == NULL && words->text[words->at] == '=')
        fail(parser, words->at,
             tg_error_create(TG_ERROR_USAGE, "assignment is not supported: '==' compares"));
    if (words->error == NULL && words->text[words->at] != '\0')
        expected(parser, "an operator or the end");
    *error = words->error;
    *position = words->position;
    return words->error == NULL ? root : TG_NO_NODE;
}

/* Whether C and Fortran may read TEXT differently. */
static bool has_two_meanings(const char *text)
{
    return strchr(text, '%') != NULL || strstr(text, "**") != NULL || strstr(text, "/=") != NULL ||
           strstr(text, "eqv.") != NULL;
}

struct tg_error *tg_expression_parse(const char *text, struct tg_expression **result, size_t *position)
{
    size_t length = strlen(text);
    if (position != NULL)
        *position = 0;
    if (length > MAX_TEXT)
        return tg_error_create(TG_ERROR_LIMIT, "the expression is longer than %d bytes", MAX_TEXT);
    struct tg_expression *expression = calloc(1, sizeof *expression);
    char *strings = calloc(
        2, 3 * length + 64); /* for both languages: each byte is in at most one name but for retried types */
    if (expression == NULL || strings == NULL) {
        free(expression);
        free(strings);
        return tg_error_no_memory();
    }
    expression->strings = strings;
    struct parser parser = {.words = {.text = text, .strings = strings}, .expression = expression};
    expression->fortran = TG_NO_NODE;
    expression->root = parse_all(&parser, &expression->error, &expression->error_position);
    if (has_two_meanings(text)) {
        TG_AUTO_ERROR struct tg_error *error = NULL;
        size_t at;
        struct parser second = {.words = {.text = text, .strings = strings + 3 * length + 64},
                                .expression = expression,
                                .is_fortran = true};
        expression->fortran = parse_all(&second, &error, &at);
    }
    if (expression->root == TG_NO_NODE && expression->fortran == TG_NO_NODE) {
        struct tg_error *error = expression->error;
        if (position != NULL)
            *position = expression->error_position;
        expression->error = NULL;
        tg_expression_destroy(expression);
        return error;
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
    tg_error_destroy(expression->error);
    free(expression->strings);
    free(expression);
}
