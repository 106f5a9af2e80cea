#include "live/inspect/dwarf/openmp_statement.h"

#include "format/base/array.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    MAX_DEPTH = 256,
    MAX_WORD = 64,
    MAX_MARKS = 4 << 20,
    DIRECTIVE = '#',
    BARRIER = '!', /* a directive with a barrier */
    LITERAL = '"',
};

/* What counts of the text: in C a character that is no blank, no comment and in no literal, or a directive; in Fortran a
 * statement or a directive, with its first word. */
struct mark {
    char sign;
    uint32_t column;
    uint64_t line;
    uint64_t last; /* line */
};

struct tg_openmp_text {
    bool is_fortran;
    struct mark *marks;
    size_t count, max;
};

static struct tg_error *add(struct tg_openmp_text *parts, char sign, uint64_t line, size_t column,
                            uint64_t last)
{
    const struct mark mark = {sign, (uint32_t)column, line, last};
    if (parts->count >= MAX_MARKS)
        return NULL;
    return TG_ARRAY_APPEND(parts->marks, parts->count, parts->max, mark);
}

/* Takes the directive in line *NUMBER, if there is one; *NUMBER is its last line then. */
static struct tg_error *take_directive(struct tg_openmp_text *parts, const struct tg_source_text *text,
                                       uint64_t *number, bool *is_one)
{
    struct tg_openmp_directive directive;
    *is_one = tg_openmp_directive_read(text, *number, &directive);
    if (!*is_one)
        return NULL;
    uint64_t first = *number;
    *number = directive.last;
    return add(parts, directive.has_barrier ? BARRIER : DIRECTIVE, first, 1, directive.last);
}

static bool is_letter(char sign)
{
    return isalnum((unsigned char)sign) != 0 || sign == '_';
}

/* ---- C and C++ */

/* Behind the literal that begins at AT. */
static size_t behind_literal(const char *bytes, size_t size, size_t at)
{
    char quote = bytes[at++];
    while (at < size && bytes[at] != quote)
        at += bytes[at] == '\\' ? 2 : 1;
    return at + 1;
}

static struct tg_error *take_c_line(struct tg_openmp_text *parts, const struct tg_source_text *text,
                                    uint64_t number, bool *in_comment)
{
    size_t size = 0;
    const char *bytes = tg_source_text_line(text, number, &size);
    struct tg_error *error = NULL;
    for (size_t at = 0; error == NULL && at < size;) {
        bool has_next = at + 1 < size;
        if (*in_comment) {
            *in_comment = !(bytes[at] == '*' && has_next && bytes[at + 1] == '/');
            at += *in_comment ? 1 : 2;
        } else if (bytes[at] == '/' && has_next && bytes[at + 1] == '/') {
            break;
        } else if (bytes[at] == '/' && has_next && bytes[at + 1] == '*') {
            *in_comment = true;
            at += 2;
        } else if (bytes[at] == '"' || (bytes[at] == '\'' && (at == 0 || !is_letter(bytes[at - 1])))) {
            error = add(parts, LITERAL, number, at + 1, number);
            at = behind_literal(bytes, size, at);
        } else {
            if (isspace((unsigned char)bytes[at]) == 0)
                error = add(parts, bytes[at] == DIRECTIVE || bytes[at] == BARRIER ? '%' : bytes[at], number,
                            at + 1, number);
            at++;
        }
    }
    return error;
}

/* Whether line NUMBER is for the preprocessor; *LAST: its last line. */
static bool is_of_preprocessor(const struct tg_source_text *text, uint64_t number, uint64_t *last)
{
    size_t size = 0, at = 0;
    const char *bytes = tg_source_text_line(text, number, &size);
    while (at < size && isspace((unsigned char)bytes[at]) != 0)
        at++;
    if (at == size || bytes[at] != '#')
        return false;
    while (size > 0 && bytes[size - 1] == '\\' && number < text->n_lines)
        bytes = tg_source_text_line(text, ++number, &size);
    *last = number;
    return true;
}

static struct tg_error *take_c(struct tg_openmp_text *parts, const struct tg_source_text *text)
{
    struct tg_error *error = NULL;
    bool in_comment = false;
    for (uint64_t number = 1; error == NULL && number <= text->n_lines; number++) {
        bool is_directive = false;
        if (!in_comment)
            error = take_directive(parts, text, &number, &is_directive);
        if (error == NULL && !is_directive && (in_comment || !is_of_preprocessor(text, number, &number)))
            error = take_c_line(parts, text, number, &in_comment);
    }
    return error;
}

static bool is_directive(const struct mark *mark)
{
    return mark->sign == DIRECTIVE || mark->sign == BARRIER;
}

/* The word that begins at mark AT; how many marks it has, 0: none begins there. */
static size_t word_at(const struct tg_openmp_text *parts, size_t at, char word[MAX_WORD])
{
    const struct mark *marks = parts->marks;
    size_t length = 0;
    bool goes_on = at > 0 && is_letter(marks[at - 1].sign) && marks[at - 1].line == marks[at].line &&
                   marks[at - 1].column + 1 == marks[at].column;
    for (size_t i = at; !goes_on && i < parts->count && is_letter(marks[i].sign); i++, length++) {
        if (i > at && (marks[i].line != marks[at].line || marks[i].column != marks[i - 1].column + 1))
            break;
        if (length < MAX_WORD - 1)
            word[length] = marks[i].sign;
    }
    word[length < MAX_WORD - 1 ? length : MAX_WORD - 1] = '\0';
    return length;
}

/* The mark that closes what the one at AT opens, of (), [] and {}; COUNT: none. */
static size_t closing(const struct tg_openmp_text *parts, size_t at)
{
    int depth = 0;
    for (size_t i = at; i < parts->count; i++) {
        char sign = parts->marks[i].sign;
        depth += (sign == '(' || sign == '[' || sign == '{') - (sign == ')' || sign == ']' || sign == '}');
        if (depth == 0)
            return i;
    }
    return parts->count;
}

/* The mark ';' that ends what is at AT. */
static size_t semicolon(const struct tg_openmp_text *parts, size_t at)
{
    while (at < parts->count && parts->marks[at].sign != ';') {
        char sign = parts->marks[at].sign;
        if (sign == '(' || sign == '[' || sign == '{')
            at = closing(parts, at);
        if (at < parts->count)
            at++;
    }
    return at;
}

static size_t skip_directives(const struct tg_openmp_text *parts, size_t at)
{
    while (at < parts->count && is_directive(&parts->marks[at]))
        at++;
    return at;
}

/* The last mark of the statement that begins at AT; COUNT: not to be seen. */
static size_t last_of(const struct tg_openmp_text *parts, size_t at, int depth) // NOLINT: bounded
{
    char word[MAX_WORD];
    at = skip_directives(parts, at);
    if (at >= parts->count || depth > MAX_DEPTH)
        return parts->count;
    if (parts->marks[at].sign == '{')
        return closing(parts, at);
    size_t length = word_at(parts, at, word);
    if (strcmp(word, "do") == 0) {
        size_t body = last_of(parts, at + length, depth + 1);
        return body < parts->count ? semicolon(parts, body + 1) : body;
    }
    if (strcmp(word, "for") != 0 && strcmp(word, "while") != 0 && strcmp(word, "if") != 0 &&
        strcmp(word, "switch") != 0)
        return semicolon(parts, at);
    size_t open = at + length;
    while (open < parts->count && parts->marks[open].sign != '(')
        open++;
    size_t close = open < parts->count ? closing(parts, open) : open;
    size_t last = close < parts->count ? last_of(parts, close + 1, depth + 1) : close;
    if (strcmp(word, "if") != 0 || last + 1 >= parts->count)
        return last;
    char other[MAX_WORD];
    length = word_at(parts, last + 1, other);
    return strcmp(other, "else") == 0 ? last_of(parts, last + 1 + length, depth + 1) : last;
}

/* The first mark behind line NUMBER. */
static size_t first_behind(const struct tg_openmp_text *parts, uint64_t number)
{
    size_t at = 0;
    while (at < parts->count && parts->marks[at].line <= number)
        at++;
    return at;
}

static struct tg_source_position position_of(const struct mark *mark)
{
    return (struct tg_source_position){mark->line, mark->column};
}

static bool find_c(const struct tg_openmp_text *parts, const struct tg_openmp_directive *directive,
                   struct tg_openmp_statement *statement)
{
    size_t at = first_behind(parts, directive->last), last = last_of(parts, at, 0);
    if (last >= parts->count)
        return false;
    statement->end = position_of(&parts->marks[last]);
    if (directive->construct != TG_OPENMP_CONSTRUCT_STATIC_LOOP)
        return true;
    for (unsigned i = 0; i < directive->n_loops; i++) {
        char word[MAX_WORD];
        while (at < last && (is_directive(&parts->marks[at]) || parts->marks[at].sign == '{'))
            at++;
        size_t length = word_at(parts, at, word);
        if (strcmp(word, "for") != 0)
            return false;
        size_t close = closing(parts, at + length);
        if (close >= last)
            return false;
        statement->header = position_of(&parts->marks[close]);
        at = close + 1;
    }
    return true;
}

/* What is known where a brace opens. */
struct brace {
    size_t loop; /* 1 + mark of the innermost loop around, 0 none */
    int parentheses;
};

/* 1 + the mark at which the innermost loop around mark END begins; 0: there is none; COUNT + 1: not to be seen. */
static size_t loop_around(const struct tg_openmp_text *parts, size_t end)
{
    struct brace braces[MAX_DEPTH];
    struct brace now = {0};
    size_t depth = 0, pending = 0;
    for (size_t i = 0; i < end; i++) {
        char sign = parts->marks[i].sign, word[MAX_WORD];
        if (sign == '{' && depth == MAX_DEPTH)
            return parts->count + 1;
        if (sign == '{') {
            braces[depth++] = now;
            now = (struct brace){pending != 0 ? pending : now.loop, 0};
            pending = 0;
        } else if (sign == '}') {
            now = depth > 0 ? braces[--depth] : (struct brace){0};
            pending = 0;
        } else if (sign == ';' && now.parentheses == 0) {
            pending = 0;
        } else if (sign == '(' || sign == ')') {
            now.parentheses += sign == '(' ? 1 : -1;
        } else if (is_letter(sign) && now.parentheses == 0 && word_at(parts, i, word) > 0 &&
                   (strcmp(word, "for") == 0 || strcmp(word, "while") == 0 || strcmp(word, "do") == 0)) {
            pending = i + 1;
        }
    }
    return pending != 0 ? pending : now.loop;
}

static bool has_goto(const struct tg_openmp_text *parts)
{
    char word[MAX_WORD];
    for (size_t i = 0; i < parts->count; i++)
        if (parts->marks[i].sign == 'g' && word_at(parts, i, word) > 0 && strcmp(word, "goto") == 0)
            return true;
    return false;
}

static enum tg_openmp_rounds rounds_of_c(const struct tg_openmp_text *parts, uint64_t number)
{
    size_t end = 0;
    while (end < parts->count && parts->marks[end].line < number)
        end++;
    size_t loop = loop_around(parts, end);
    if (loop == 0)
        return has_goto(parts) ? TG_OPENMP_WITH_BARRIER : TG_OPENMP_ONCE;
    size_t last = loop <= parts->count ? last_of(parts, loop - 1, 0) : parts->count;
    for (size_t i = loop; last < parts->count && i < last; i++)
        if (parts->marks[i].sign == BARRIER)
            return TG_OPENMP_WITH_BARRIER;
    return TG_OPENMP_AGAIN;
}

/* ---- Fortran: signs are 'd' do, 'e' end do, 's' the end of a subprogram, 'g' goto, 'm' the end of master or masked, 'w' of
 * workshare */

/* The words of LINE, without blanks and in small letters, as far as WORDS has room: what a statement is shows at its
 * beginning. */
static void take_words(const char *bytes, size_t size, char words[MAX_WORD])
{
    size_t length = 0;
    for (size_t i = 0; i < size && length < MAX_WORD - 1 && bytes[i] != '!'; i++)
        if (isspace((unsigned char)bytes[i]) == 0)
            words[length++] = (char)tolower((unsigned char)bytes[i]);
    words[length] = '\0';
}

static bool begins(const char *words, const char *with)
{
    return strncmp(words, with, strlen(with)) == 0;
}

/* do, do i = ..., do while, do concurrent; not done = 1. */
static bool is_do(const char *words)
{
    if (!begins(words, "do"))
        return false;
    const char *equals = strchr(words, '=');
    return words[2] == '\0' || begins(words, "dowhile(") || begins(words, "doconcurrent(") ||
           (equals != NULL && strchr(equals, ',') != NULL);
}

static char sign_of(const char *words)
{
    const char *named = strchr(words, ':');
    if (named != NULL && named[1] != ':' && is_do(named + 1))
        return 'd';
    if (is_do(words))
        return 'd';
    if (begins(words, "enddo"))
        return 'e';
    if (begins(words, "endsubroutine") || begins(words, "endfunction") || begins(words, "endprogram") ||
        begins(words, "contains") || strcmp(words, "end") == 0)
        return 's';
    return begins(words, "goto") || strstr(words, ")goto") != NULL ? 'g' : '.';
}

/* "$omp end workshare", and with parallel. */
static bool is_end_of_workshare(const char *words)
{
    return begins(words, "$ompendworkshare") || begins(words, "$ompendparallelworkshare");
}

static struct tg_error *take_fortran(struct tg_openmp_text *parts, const struct tg_source_text *text)
{
    struct tg_error *error = NULL;
    bool goes_on = false;
    for (uint64_t number = 1; error == NULL && number <= text->n_lines; number++) {
        bool is_one = false;
        char words[MAX_WORD];
        size_t size = 0;
        uint64_t first = number;
        error = take_directive(parts, text, &number, &is_one);
        const char *bytes = tg_source_text_line(text, first, &size);
        size_t sentinel = is_one ? (size_t)((const char *)memchr(bytes, '!', size) - bytes) + 1 : 0;
        take_words(bytes + sentinel, size - sentinel, words);
        if (error == NULL && is_one &&
            (begins(words, "$ompendmaster") || begins(words, "$ompendmasked") ||
             begins(words, "$ompendparallelmas")))
            error = add(parts, 'm', first, 1, number);
        else if (error == NULL && is_one && is_end_of_workshare(words))
            error = add(parts, 'w', first, 1, number);
        if (error != NULL || is_one || words[0] == '\0')
            continue;
        if (goes_on && parts->count > 0)
            parts->marks[parts->count - 1].last = number;
        else
            error = add(parts, sign_of(words), number, 1, number);
        while (size > 0 && isspace((unsigned char)bytes[size - 1]) != 0)
            size--;
        goes_on = size > 0 && bytes[size - 1] == '&';
    }
    return error;
}

/* The mark of the end of the loop at AT. */
static size_t end_of_do(const struct tg_openmp_text *parts, size_t at)
{
    int depth = 0;
    for (; at < parts->count && parts->marks[at].sign != 's'; at++) {
        depth += (parts->marks[at].sign == 'd') - (parts->marks[at].sign == 'e');
        if (depth == 0)
            return at;
    }
    return parts->count;
}

static bool find_fortran(const struct tg_openmp_text *parts, const struct tg_openmp_directive *directive,
                         struct tg_openmp_statement *statement)
{
    bool is_loop = directive->construct == TG_OPENMP_CONSTRUCT_STATIC_LOOP && directive->n_loops > 0;
    const char end = is_loop ? 'd' : directive->n_loops == 0 ? 'w' : 'm';
    size_t at = first_behind(parts, directive->last);
    while (at < parts->count && parts->marks[at].sign != end)
        at++;
    size_t last = is_loop ? end_of_do(parts, at) : at;
    if (at >= parts->count || last >= parts->count)
        return false;
    statement->end = (struct tg_source_position){parts->marks[last].last, TG_SOURCE_LAST_COLUMN};
    for (unsigned i = 0; is_loop && i < directive->n_loops; i++, at++) {
        while (at < last && parts->marks[at].sign != 'd')
            at++;
        if (at >= last)
            return false;
        statement->header = (struct tg_source_position){parts->marks[at].last, TG_SOURCE_LAST_COLUMN};
    }
    return true;
}

static enum tg_openmp_rounds rounds_of_fortran(const struct tg_openmp_text *parts, uint64_t number)
{
    size_t loops[MAX_DEPTH], depth = 0;
    bool has_jumps = false;
    for (size_t i = 0; i < parts->count && parts->marks[i].line < number; i++) {
        char sign = parts->marks[i].sign;
        if (sign == 'd' && depth < MAX_DEPTH)
            loops[depth++] = i;
        else if (sign == 'e' && depth > 0)
            depth--;
        else if (sign == 's')
            depth = 0;
        has_jumps = sign == 'g' || (has_jumps && sign != 's');
    }
    if (depth == 0)
        return has_jumps ? TG_OPENMP_WITH_BARRIER : TG_OPENMP_ONCE;
    size_t last = end_of_do(parts, loops[depth - 1]);
    for (size_t i = loops[depth - 1]; last < parts->count && i < last; i++)
        if (parts->marks[i].sign == BARRIER)
            return TG_OPENMP_WITH_BARRIER;
    return TG_OPENMP_AGAIN;
}

/* ---- both */

struct tg_error *tg_openmp_text_create(const struct tg_source_text *text, bool is_fortran,
                                       struct tg_openmp_text **parts)
{
    struct tg_openmp_text *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    made->is_fortran = is_fortran;
    struct tg_error *error = is_fortran ? take_fortran(made, text) : take_c(made, text);
    if (error != NULL) {
        tg_openmp_text_destroy(made);
        return error;
    }
    *parts = made;
    return NULL;
}

void tg_openmp_text_destroy(struct tg_openmp_text *parts)
{
    if (parts == NULL)
        return;
    free(parts->marks);
    free(parts);
}

bool tg_openmp_text_statement(const struct tg_openmp_text *parts, const struct tg_openmp_directive *directive,
                              struct tg_openmp_statement *statement)
{
    *statement = (struct tg_openmp_statement){.header = {directive->last, TG_SOURCE_LAST_COLUMN}};
    return parts->is_fortran ? find_fortran(parts, directive, statement)
                             : find_c(parts, directive, statement);
}

enum tg_openmp_rounds tg_openmp_text_rounds(const struct tg_openmp_text *parts, uint64_t number)
{
    return parts->is_fortran ? rounds_of_fortran(parts, number) : rounds_of_c(parts, number);
}
