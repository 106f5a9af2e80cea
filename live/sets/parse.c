/* The parser of process/thread sets: recursive descent, one character ahead. */
#include "live/sets/ptset.h"
#include "live/sets/tree.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct parser {
    const char *text, *at;
    struct tg_ptset *set;
    unsigned depth;
    bool is_primary; /* the part read last has no operator of its own level */
    size_t *position;
    struct tg_error *error; /* the first one; nothing is read behind it */
};

static size_t offset_of(const struct parser *parser, const char *at)
{
    return (size_t)(at - parser->text);
}

/* Sets the error at AT, which is bounded as to how much of the text it repeats. Returns TG_NO_NODE. */
__attribute__((format(printf, 3, 4))) static uint32_t fail(struct parser *parser, const char *at,
                                                           const char *format, ...)
{
    enum { SHOWN = 100 };
    char message[256];
    va_list arguments;
    if (parser->error != NULL)
        return TG_NO_NODE;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    size_t offset = offset_of(parser, at);
    bool is_long = strlen(parser->text) > SHOWN;
    struct tg_error *error = is_long ? tg_error_create(TG_ERROR_USAGE, "the set '%.*s...', character %zu: %s",
                                                       SHOWN, parser->text, offset + 1, message)
                                     : tg_error_create(TG_ERROR_USAGE, "the set '%s', character %zu: %s",
                                                       parser->text, offset + 1, message);
    parser->error = tg_ptset_at(error, offset, parser->position);
    return TG_NO_NODE;
}

/* The character at AT, for messages. */
static const char *shown(const char *at, char buffer[static 24])
{
    if (*at == '\0')
        return "the end";
    if (*at < ' ' || *at > '~')
        snprintf(buffer, 24, "byte 0x%02x", (unsigned char)*at);
    else
        snprintf(buffer, 24, "'%c'", *at);
    return buffer;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static bool is_name_start(char c)
{
    return is_lower(c) || (c >= 'A' && c <= 'Z') || c == '_';
}

static void skip_blanks(struct parser *parser)
{
    while (*parser->at == ' ' || *parser->at == '\t' || *parser->at == '\n' || *parser->at == '\r')
        parser->at++;
}

static uint32_t put(struct parser *parser, enum tg_ptset_node_kind kind, const char *at)
{
    const struct tg_ptset_node node = {.kind = kind, .position = offset_of(parser, at)};
    uint32_t place = TG_NO_NODE;
    if (parser->error == NULL)
        parser->error = tg_ptset_put_node(parser->set, &node, &place, parser->position);
    return place;
}

/* Puts NODE, of a list its items, behind *LAST as children of PARENT. */
static void append(struct parser *parser, uint32_t parent, uint32_t *last, uint32_t node)
{
    struct tg_ptset_node *nodes = parser->set->nodes;
    if (nodes[parent].kind == TG_NODE_LIST && nodes[node].kind == TG_NODE_LIST)
        node = nodes[node].first;
    if (*last == TG_NO_NODE)
        nodes[parent].first = node;
    else
        nodes[*last].next = node;
    for (*last = node; nodes[*last].next != TG_NO_NODE;)
        *last = nodes[*last].next;
}

/* ---- arenas */

/* The digits at the parser's place. LEAST is the least number that there can be. */
static bool read_number(struct parser *parser, const char *what, uint32_t least, uint32_t *number)
{
    const char *begin = parser->at;
    uint64_t value = 0;
    for (; is_digit(*parser->at); parser->at++)
        if (value <= UINT32_MAX)
            value = value * 10 + (uint64_t)(*parser->at - '0');
    if (value > INT32_MAX)
        fail(parser, begin, "%s is too large; the maximum is %d", what, INT32_MAX);
    else if (value < least)
        fail(parser, begin, "%ss are numbered from %" PRIu32, what, least);
    *number = (uint32_t)value;
    return parser->error == NULL;
}

static bool read_group_name(struct parser *parser, struct tg_ptset_arena *arena)
{
    const char *begin = ++parser->at; /* behind the '/' */
    char buffer[24];
    while (is_name_start(*parser->at) ||
           (parser->at > begin && *parser->at != '\0' && strchr("0123456789.:+-", *parser->at) != NULL))
        parser->at++;
    size_t size = (size_t)(parser->at - begin);
    if (size == 0)
        fail(parser, begin, "a group name begins with a letter or '_', not %s", shown(begin, buffer));
    else if (*parser->at != '/')
        fail(parser, parser->at, "a group name ends with '/'; %s is not allowed in it",
             shown(parser->at, buffer));
    else if (size >= sizeof arena->group_name)
        fail(parser, begin, "a group name has at most %zu characters", sizeof arena->group_name - 1);
    if (parser->error != NULL)
        return false;
    memcpy(arena->group_name, begin, size);
    arena->group_name[size] = '\0';
    arena->group = TG_GROUP_NAME;
    parser->at++;
    return true;
}

static enum tg_ptset_width width_of(char c)
{
    switch (c) {
    case 't':
        return TG_WIDTH_THREAD;
    case 'p':
        return TG_WIDTH_PROCESS;
    case 'g':
        return TG_WIDTH_GROUP;
    case 'a':
        return TG_WIDTH_ALL;
    case 'd':
        return TG_WIDTH_DEFAULT;
    default:
        return TG_WIDTH_MISSING;
    }
}

static enum tg_ptset_group group_of(char c)
{
    switch (c) {
    case 'C':
        return TG_GROUP_CONTROL;
    case 'D':
        return TG_GROUP_DEFAULT;
    case 'S':
        return TG_GROUP_SHARE;
    case 'W':
        return TG_GROUP_WORKERS;
    case 'L':
        return TG_GROUP_LOCKSTEP;
    default:
        return TG_GROUP_MISSING;
    }
}

/* Digits that a '/' follows are a group's number. */
static bool is_group_number(const char *at)
{
    const char *p = at;
    while (is_digit(*p))
        p++;
    return p > at && *p == '/';
}

static bool read_group(struct parser *parser, struct tg_ptset_arena *arena)
{
    size_t at = offset_of(parser, parser->at);
    arena->group = group_of(*parser->at);
    if (arena->group != TG_GROUP_MISSING) {
        parser->at++;
        if (*parser->at == '/' && !is_name_start(parser->at[1]))
            parser->at++;
    } else if (*parser->at == '/') {
        arena->group_at = at;
        return read_group_name(parser, arena);
    } else if (is_group_number(parser->at)) {
        if (!read_number(parser, "group", 1, &arena->group_number))
            return false;
        arena->group = TG_GROUP_NUMBER;
        parser->at++;
    }
    if (arena->group != TG_GROUP_MISSING &&
        (*parser->at == '/' || group_of(*parser->at) != TG_GROUP_MISSING || is_group_number(parser->at)))
        fail(parser, parser->at, "an arena has only one group");
    if (arena->group != TG_GROUP_MISSING)
        arena->group_at = at;
    return parser->error == NULL;
}

/* "-3" behind a rank: up to that one. An operator has something else behind it than digits. */
static bool read_last_rank(struct parser *parser, const struct tg_ptset_arena *arena, uint32_t *last)
{
    const char *begin = parser->at;
    *last = arena->process;
    if (!arena->by_rank || *begin != '-' || !is_digit(begin[1]))
        return true;
    parser->at++;
    if (read_number(parser, "rank", 0, last) && *last < arena->process)
        fail(parser, begin + 1, "a range of ranks must ascend; to leave out a process write -p%" PRIu32,
             *last);
    return parser->error == NULL;
}

/* [DPID]['.'[DTID]]; *LAST: where it is a range of ranks the last one, else the process. */
static bool read_process_and_thread(struct parser *parser, struct tg_ptset_arena *arena, uint32_t *last)
{
    arena->by_rank = *parser->at == 'r';
    if (arena->by_rank && !is_digit(*++parser->at)) {
        fail(parser, parser->at, "a rank number must follow 'r'");
        return false;
    }
    const char *begin = parser->at;
    if (is_digit(*begin)) {
        arena->has_process = true;
        arena->process_at = offset_of(parser, begin);
        if (!read_number(parser, arena->by_rank ? "rank" : "process", 0, &arena->process) ||
            !read_last_rank(parser, arena, last))
            return false;
    }
    bool has_dot = *parser->at == '.';
    if (has_dot && is_digit(*++parser->at)) {
        arena->has_thread = true;
        arena->thread_at = offset_of(parser, parser->at);
        if (!read_number(parser, "thread", 1, &arena->thread))
            return false;
    } else if (has_dot && *parser->at == '<') {
        arena->has_thread = true;
        arena->thread_at = offset_of(parser, parser->at);
        parser->at++;
    } else if (!has_dot && arena->has_process && !arena->by_rank && arena->width == TG_WIDTH_THREAD) {
        arena->has_process = false;
        arena->has_thread = true;
        arena->thread_at = arena->process_at;
        arena->process_at = arena->position;
        arena->thread = arena->process;
        arena->process = 0;
    }
    /* a process is numbered from 1, and so is the thread that it may have turned out to be */
    if ((arena->has_process && !arena->by_rank && arena->process == 0) ||
        (arena->has_thread && !has_dot && arena->thread == 0))
        fail(parser, begin, "%s are numbered from 1", arena->has_process ? "processes" : "threads");
    return parser->error == NULL;
}

/* Whether C can follow an arena. */
static bool ends_arena(char c)
{
    return c == '\0' || strchr(" \t\n\r|-&(){}", c) != NULL;
}

static uint32_t put_arena(struct parser *parser, enum tg_ptset_node_kind kind, const char *at,
                          const struct tg_ptset_arena *arena)
{
    uint32_t node = put(parser, kind, at);
    if (node != TG_NO_NODE)
        parser->set->nodes[node].arena = *arena;
    return node;
}

/* ARENA for each of the ranks from its own to LAST, as a list. */
static uint32_t put_ranks(struct parser *parser, const char *at, struct tg_ptset_arena arena, uint32_t last)
{
    uint32_t list = put(parser, TG_NODE_LIST, at), former = TG_NO_NODE;
    for (uint32_t rank = arena.process; list != TG_NO_NODE && rank <= last; rank++) {
        arena.process = rank;
        uint32_t node = put_arena(parser, TG_NODE_ARENA, at, &arena);
        if (node == TG_NO_NODE)
            return TG_NO_NODE;
        append(parser, list, &former, node);
    }
    return list;
}

static uint32_t read_arena(struct parser *parser)
{
    const char *begin = parser->at;
    uint32_t last = 0;
    char buffer[24];
    const size_t at = offset_of(parser, begin);
    struct tg_ptset_arena arena = {.position = at, .group_at = at, .process_at = at, .thread_at = at};
    arena.width = width_of(*parser->at);
    if (arena.width != TG_WIDTH_MISSING)
        parser->at++;
    if (!read_group(parser, &arena) || !read_process_and_thread(parser, &arena, &last))
        return TG_NO_NODE;
    if (parser->at == begin)
        return fail(parser, begin,
                    "an arena ([tpgad][CDSWL][PROCESS][.THREAD]), a function, '(' or '{' is "
                    "expected, not %s",
                    shown(begin, buffer));
    if (!ends_arena(*parser->at))
        return fail(parser, parser->at,
                    "unexpected %s; an arena is [tpgad], group, process, '.' and thread in this order",
                    shown(parser->at, buffer));
    if (arena.by_rank && last > arena.process)
        return put_ranks(parser, begin, arena, last);
    bool is_dot = parser->at == begin + 1 && *begin == '.';
    return put_arena(parser, is_dot ? TG_NODE_CURRENT : TG_NODE_ARENA, begin, &arena);
}

/* ---- lists, functions, operators */

static uint32_t read_sum(struct parser *parser);
static uint32_t read_set(struct parser *parser, char end);

static bool enter(struct parser *parser)
{
    if (parser->depth == TG_PTSET_MAX_DEPTH) {
        if (parser->error == NULL)
            parser->error = tg_ptset_at(
                tg_error_create(TG_ERROR_LIMIT, "character %zu of the set: nested more than %d deep",
                                offset_of(parser, parser->at) + 1, TG_PTSET_MAX_DEPTH),
                offset_of(parser, parser->at), parser->position);
        return false;
    }
    parser->depth++;
    return true;
}

static uint32_t read_list(struct parser *parser);
static uint32_t read_function(struct parser *parser, const char *begin, size_t size);

/* An expression between parentheses. */
static uint32_t read_parenthesised(struct parser *parser)
{
    const char *open = parser->at++;
    char buffer[24];
    if (!enter(parser))
        return TG_NO_NODE;
    uint32_t node = read_sum(parser);
    parser->depth--;
    if (node == TG_NO_NODE)
        return TG_NO_NODE;
    if (*parser->at == '\0')
        return fail(parser, open, "unmatched '('");
    if (*parser->at != ')')
        return fail(parser, parser->at, "expected an operator (| - &) or ')', not %s",
                    shown(parser->at, buffer));
    parser->at++;
    return node;
}

static uint32_t read_primary(struct parser *parser)
{
    skip_blanks(parser);
    const char *begin = parser->at;
    size_t letters = 0;
    uint32_t node;
    while (is_lower(begin[letters]))
        letters++;
    if (*begin == '(')
        node = read_parenthesised(parser);
    else if (*begin == '{')
        node = read_list(parser);
    else if (letters > 0 && begin[letters] == '(')
        node = read_function(parser, begin, letters);
    else
        node = read_arena(parser);
    parser->is_primary = true;
    return node;
}

static uint32_t read_function(struct parser *parser, const char *begin, size_t size)
{
    enum tg_ptset_function function = 0;
    while (function < TG_FUNCTION_COUNT && (strlen(tg_ptset_function_names[function]) != size ||
                                            memcmp(tg_ptset_function_names[function], begin, size) != 0))
        function++;
    if (function == TG_FUNCTION_COUNT)
        return fail(parser, begin,
                    "no function '%.*s'; functions are breakpoint, error, existent, held, "
                    "nonexistent, running, stopped, unheld and watchpoint",
                    size > 32 ? 32 : (int)size, begin);
    uint32_t node = put(parser, TG_NODE_FUNCTION, begin);
    const char *open = parser->at = begin + size;
    parser->at++;
    if (node == TG_NO_NODE || !enter(parser))
        return TG_NO_NODE;
    parser->set->nodes[node].function = function;
    uint32_t child = read_set(parser, ')');
    parser->depth--;
    if (child == TG_NO_NODE)
        return TG_NO_NODE;
    if (*parser->at == '\0')
        return fail(parser, open, "unmatched '('");
    parser->at++;
    parser->set->nodes[node].first = child;
    return node;
}

/* Items from the parser's place to END; FIRST, where it is a node, is the first of them. The list collapses
 * where it has but one. */
static uint32_t read_items(struct parser *parser, uint32_t first, const char *begin, char end)
{
    uint32_t list = put(parser, TG_NODE_LIST, begin), last = TG_NO_NODE;
    char buffer[24];
    if (list == TG_NO_NODE)
        return TG_NO_NODE;
    if (first != TG_NO_NODE)
        append(parser, list, &last, first);
    for (skip_blanks(parser); *parser->at != end && *parser->at != '\0'; skip_blanks(parser)) {
        if (*parser->at == '|' || *parser->at == '-' || *parser->at == '&')
            return fail(parser, parser->at,
                        "operators join sets, not the arenas of a list; "
                        "use parentheses");
        if (*parser->at == ')' || *parser->at == '}')
            return fail(parser, parser->at, "unmatched %s", shown(parser->at, buffer));
        uint32_t item = read_primary(parser);
        if (item == TG_NO_NODE)
            return TG_NO_NODE;
        append(parser, list, &last, item);
    }
    uint32_t only = parser->set->nodes[list].first;
    if (only == TG_NO_NODE)
        return fail(parser, parser->at, "a list needs at least one arena");
    return parser->set->nodes[only].next == TG_NO_NODE ? only : list;
}

static uint32_t read_list(struct parser *parser)
{
    const char *open = parser->at++;
    if (!enter(parser))
        return TG_NO_NODE;
    uint32_t list = read_items(parser, TG_NO_NODE, open, '}');
    parser->depth--;
    if (list == TG_NO_NODE)
        return TG_NO_NODE;
    if (*parser->at != '}')
        return fail(parser, open, "unmatched '{'");
    parser->at++;
    return list;
}

/* Operands that READ reads, joined by ONE or OTHER. */
static uint32_t read_chain(struct parser *parser, uint32_t (*read)(struct parser *),
                           enum tg_ptset_node_kind kind, char one, char other)
{
    skip_blanks(parser);
    const char *begin = parser->at;
    uint32_t first = read(parser), chain = TG_NO_NODE, last = TG_NO_NODE;
    if (first == TG_NO_NODE)
        return TG_NO_NODE;
    for (skip_blanks(parser); *parser->at == one || *parser->at == other; skip_blanks(parser)) {
        char joined = *parser->at++;
        if (chain == TG_NO_NODE) {
            chain = put(parser, kind, begin);
            if (chain == TG_NO_NODE)
                return TG_NO_NODE;
            append(parser, chain, &last, first);
        }
        uint32_t operand = read(parser);
        if (operand == TG_NO_NODE)
            return TG_NO_NODE;
        parser->set->nodes[operand].joined = joined;
        append(parser, chain, &last, operand);
        parser->is_primary = false;
    }
    return chain == TG_NO_NODE ? first : chain;
}

static uint32_t read_product(struct parser *parser)
{
    return read_chain(parser, read_primary, TG_NODE_PRODUCT, '&', '&');
}

static uint32_t read_sum(struct parser *parser)
{
    return read_chain(parser, read_product, TG_NODE_SUM, '|', '-');
}

/* A whole set up to END, where the parser is then, or at the end of the text. */
static uint32_t read_set(struct parser *parser, char end)
{
    char buffer[24];
    skip_blanks(parser);
    const char *begin = parser->at;
    uint32_t node = read_sum(parser);
    if (node == TG_NO_NODE || *parser->at == end || *parser->at == '\0')
        return node;
    if (*parser->at == ')' || *parser->at == '}')
        return fail(parser, parser->at, "unmatched %s", shown(parser->at, buffer));
    if (!parser->is_primary)
        return fail(parser, parser->at, "expected an operator (| - &) or the end of the set, not %s",
                    shown(parser->at, buffer));
    return read_items(parser, node, begin, end);
}

struct tg_error *tg_ptset_parse(const char *text, struct tg_ptset **set, size_t *position)
{
    if (strnlen(text, TG_PTSET_MAX_BYTES + 1) > TG_PTSET_MAX_BYTES)
        return tg_ptset_at(
            tg_error_create(TG_ERROR_LIMIT, "the set has more than %d characters", TG_PTSET_MAX_BYTES),
            TG_PTSET_MAX_BYTES, position);
    struct parser parser = {.text = text, .at = text, .position = position};
    parser.set = calloc(1, sizeof *parser.set);
    if (parser.set == NULL)
        return tg_error_no_memory();
    parser.set->root = read_set(&parser, '\0');
    if (parser.error == NULL)
        parser.error = tg_ptset_check_depth(parser.set, position);
    if (parser.error != NULL)
        tg_ptset_destroy(parser.set);
    else
        *set = parser.set;
    return parser.error;
}
