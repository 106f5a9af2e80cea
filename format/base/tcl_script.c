#include "format/base/tcl_script.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Positions are pointers into [text, end). The functions that read a part of the text return the position
 * behind it, or NULL when `error` was set. */
struct tg_tcl_script {
    const char *name;
    const char *end;
    const char *next;    /* start of the next command, or of the blanks and comments before it */
    const char *line_at; /* a position in the text and its line number, to count on from */
    size_t line;
    unsigned depth;
    char
        *values; /* of the words of one command: not longer than the command, with a NUL for each separator */
    struct tg_error *error;
};

/* End of a row of characters and substitutions. */
enum row_end {
    ROW_WORD,        /* blank, newline, `;` */
    ROW_WORD_NESTED, /* the same and `]` */
    ROW_QUOTE,       /* `"` */
    ROW_PAREN,       /* `)` */
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\v' || c == '\f' || c == '\r';
}

static bool is_name_character(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static bool is_terminator(char c, bool nested)
{
    return c == '\n' || c == ';' || (nested && c == ']');
}

static bool is_continuation(const struct tg_tcl_script *script, const char *p)
{
    return script->end - p >= 2 && p[0] == '\\' && p[1] == '\n';
}

/* Behind `\` newline: the spaces and tabs that belong to it. */
static const char *skip_indentation(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\t'))
        p++;
    return p;
}

static const char *skip_blanks(const struct tg_tcl_script *script, const char *p)
{
    for (;;) {
        if (p < script->end && is_blank(*p))
            p++;
        else if (is_continuation(script, p))
            p += 2;
        else
            return p;
    }
}

static size_t line_of(const struct tg_tcl_script *script, const char *p)
{
    size_t line = script->line;
    for (const char *q = script->line_at; q < p; q++)
        line += *q == '\n';
    return line;
}

static const char *fail(struct tg_tcl_script *script, enum tg_error_code code, const char *at,
                        const char *what)
{
    script->error = tg_error_create(code, "%s:%zu: %s", script->name, line_of(script, at), what);
    return NULL;
}

static const char *read_row(struct tg_tcl_script *script, const char *p, enum row_end row_end,
                            bool *substituted);
static const char *read_command(struct tg_tcl_script *script, const char *p, bool nested,
                                struct tg_tcl_command *command);

static bool enter(struct tg_tcl_script *script, const char *at)
{
    if (script->depth < TG_TCL_SCRIPT_MAX_DEPTH) {
        script->depth++;
        return true;
    }
    fail(script, TG_ERROR_LIMIT, at, "substitutions nested too deeply");
    return false;
}

/* [command; command] at OPEN. */
static const char *read_bracket(struct tg_tcl_script *script, const char *open)
{
    if (!enter(script, open))
        return NULL;
    const char *p = open + 1;
    for (;; p++) { /* over the newline or `;` that ended a command */
        p = read_command(script, p, true, NULL);
        if (p == NULL)
            return NULL;
        if (p == script->end)
            return fail(script, TG_ERROR_INPUT, open, "missing `]` for this `[`");
        if (*p == ']')
            break;
    }
    script->depth--;
    return p + 1;
}

/* $name, ${name} or $name(index) at DOLLAR; a `$` that begins no variable stands for itself. */
static const char *read_variable(struct tg_tcl_script *script, const char *dollar, bool *substituted)
{
    const char *p = dollar + 1;
    if (p < script->end && *p == '{') {
        *substituted = true;
        const char *close = memchr(p, '}', (size_t)(script->end - p));
        return close != NULL ? close + 1 : fail(script, TG_ERROR_INPUT, dollar, "missing `}` for this `${`");
    }
    const char *name = p;
    while (p < script->end) {
        if (is_name_character(*p)) {
            p++;
        } else if (script->end - p >= 2 && p[0] == ':' && p[1] == ':') {
            while (p < script->end && *p == ':')
                p++;
        } else {
            break;
        }
    }
    bool array = p < script->end && *p == '(';
    if (p == name && !array)
        return p;
    *substituted = true;
    if (!array)
        return p;
    if (!enter(script, dollar))
        return NULL;
    p = read_row(script, p + 1, ROW_PAREN, substituted);
    script->depth--;
    if (p != NULL && p == script->end)
        return fail(script, TG_ERROR_INPUT, dollar, "missing `)` for the index of this variable");
    return p != NULL ? p + 1 : NULL;
}

static bool row_ends_at(char c, enum row_end row_end)
{
    switch (row_end) {
    case ROW_WORD:
        return is_blank(c) || is_terminator(c, false);
    case ROW_WORD_NESTED:
        return is_blank(c) || is_terminator(c, true);
    case ROW_QUOTE:
        return c == '"';
    case ROW_PAREN:
        return c == ')';
    }
    return true;
}

/* Returns the position of what ends the row, or the script's end. Sets *SUBSTITUTED where there is cause. */
static const char *read_row(struct tg_tcl_script *script, const char *p, enum row_end row_end,
                            bool *substituted)
{
    bool in_word = row_end == ROW_WORD || row_end == ROW_WORD_NESTED;
    while (p != NULL && p < script->end && !row_ends_at(*p, row_end)) {
        if (*p == '\\') {
            if (in_word && is_continuation(script, p))
                return p;
            p += script->end - p >= 2 ? 2 : 1;
        } else if (*p == '[') {
            *substituted = true;
            p = read_bracket(script, p);
        } else if (*p == '$') {
            p = read_variable(script, p, substituted);
        } else {
            p++;
        }
    }
    return p;
}

static const char *read_braces(struct tg_tcl_script *script, const char *open)
{
    size_t level = 0;
    for (const char *p = open; p < script->end; p++) {
        if (*p == '\\')
            p += script->end - p >= 2 ? 1 : 0;
        else if (*p == '{')
            level++;
        else if (*p == '}' && --level == 0)
            return p + 1;
    }
    return fail(script, TG_ERROR_INPUT, open, "missing close-brace for this brace");
}

/* ---- values */

static unsigned digit_value(char c)
{
    if (c >= '0' && c <= '9')
        return (unsigned)(c - '0');
    if (c >= 'a' && c <= 'f')
        return (unsigned)(c - 'a' + 10);
    if (c >= 'A' && c <= 'F')
        return (unsigned)(c - 'A' + 10);
    return 99;
}

/* Reads at most COUNT digits of BASE at P into *VALUE, as long as it stays within MAXIMUM. */
static const char *read_digits(const char *p, const char *end, unsigned count, unsigned base,
                               uint32_t maximum, uint32_t *value)
{
    *value = 0;
    for (; count > 0 && p < end; p++, count--) {
        unsigned digit = digit_value(*p);
        if (digit >= base || *value * base + digit > maximum)
            break;
        *value = *value * base + digit;
    }
    return p;
}

static char *put_utf8(char *out, uint32_t c)
{
    if (c < 0x80) {
        *out++ = (char)c;
        return out;
    }
    if (c < 0x800) {
        *out++ = (char)(0xc0 | (c >> 6));
    } else if (c < 0x10000) {
        *out++ = (char)(0xe0 | (c >> 12));
        *out++ = (char)(0x80 | ((c >> 6) & 0x3f));
    } else {
        *out++ = (char)(0xf0 | (c >> 18));
        *out++ = (char)(0x80 | ((c >> 12) & 0x3f));
        *out++ = (char)(0x80 | ((c >> 6) & 0x3f));
    }
    *out++ = (char)(0x80 | (c & 0x3f));
    return out;
}

/* The value of the backslash sequence at *P, which it moves on; never longer than what is written. */
static char *put_backslash(char *out, const char **p, const char *end)
{
    static const char letters[] = "abfnrtv";
    static const char controls[] = "\a\b\f\n\r\t\v";
    const char *s = *p + 1;
    if (s == end) {
        *p = s;
        *out++ = '\\';
        return out;
    }
    const char kind = *s++;
    const char *digits = s;
    const char *letter = kind != '\0' ? strchr(letters, kind) : NULL;
    uint32_t value = 0;
    if (kind == '\n') {
        *p = skip_indentation(s, end);
        *out++ = ' ';
        return out;
    }
    if (letter != NULL) {
        *out++ = controls[letter - letters];
    } else if (kind == 'x' || kind == 'u' || kind == 'U') {
        s = read_digits(s, end, kind == 'x' ? 2 : kind == 'u' ? 4 : 8, 16, 0x10ffff, &value);
        out = put_utf8(out, s != digits ? value : (unsigned char)kind);
    } else if (kind >= '0' && kind <= '7') {
        s = read_digits(s - 1, end, 3, 8, 0xff, &value);
        out = put_utf8(out, value);
    } else {
        *out++ = kind; /* of a character of several bytes the others follow as they are */
    }
    *p = s;
    return out;
}

/* Writes the value of what is in [p, end): in braces only continuations are replaced. */
static char *put_value(char *out, const char *p, const char *end, bool braced)
{
    while (p < end) {
        bool continuation = *p == '\\' && end - p >= 2 && p[1] == '\n';
        if (*p == '\\' && (!braced || continuation)) {
            out = put_backslash(out, &p, end);
        } else if (*p == '\\' && end - p >= 2) {
            *out++ = *p++;
            *out++ = *p++;
        } else {
            *out++ = *p++;
        }
    }
    return out;
}

/* ---- words and commands */

struct word_extent {
    const char *start; /* as written, with {*} and quotes */
    const char *end;
    const char *value_start;
    const char *value_end;
    bool braced;
    bool substituted;
};

/* {*} in front of a word, rather than a braced word of one star. */
static bool is_expansion(const struct tg_tcl_script *script, const char *p, bool nested)
{
    return script->end - p > 3 && memcmp(p, "{*}", 3) == 0 && !is_blank(p[3]) &&
           !is_terminator(p[3], nested) && !is_continuation(script, p + 3);
}

static const char *check_closed(struct tg_tcl_script *script, const char *p, bool nested, const char *what)
{
    if (p < script->end && !is_blank(*p) && !is_terminator(*p, nested) && !is_continuation(script, p))
        return fail(script, TG_ERROR_INPUT, p, what);
    return p;
}

static const char *read_word(struct tg_tcl_script *script, const char *p, bool nested,
                             struct word_extent *word)
{
    *word = (struct word_extent){.start = p};
    if (is_expansion(script, p, nested)) {
        word->substituted = true;
        p += 3;
    }
    const char *open = p;
    if (*p == '"') {
        p = read_row(script, p + 1, ROW_QUOTE, &word->substituted);
        if (p == script->end)
            return fail(script, TG_ERROR_INPUT, open, "missing closing quote for this quote");
        if (p == NULL)
            return NULL;
        word->value_start = open + 1;
        word->value_end = p++;
        p = check_closed(script, p, nested, "extra characters after the closing quote");
    } else if (*p == '{') {
        p = read_braces(script, p);
        if (p == NULL)
            return NULL;
        word->braced = true;
        word->value_start = open + 1;
        word->value_end = p - 1;
        p = check_closed(script, p, nested, "extra characters after the closing brace");
    } else {
        p = read_row(script, p, nested ? ROW_WORD_NESTED : ROW_WORD, &word->substituted);
        word->value_start = open;
        word->value_end = p;
    }
    word->end = p;
    return p;
}

/* Blanks, newlines and comments in front of a command. */
static const char *skip_to_command(const struct tg_tcl_script *script, const char *p)
{
    for (;;) {
        p = skip_blanks(script, p);
        if (p < script->end && *p == '\n') {
            p++;
        } else if (p < script->end && *p == '#') {
            while (p < script->end && *p != '\n')
                p += *p == '\\' && script->end - p >= 2 ? 2 : 1;
        } else {
            return p;
        }
    }
}

static void keep_word(const struct word_extent *extent, struct tg_tcl_command *command, char **out)
{
    struct tg_tcl_word *word = &command->words[command->n_words];
    char *start = *out;
    char *end;
    if (extent->substituted)
        end = mempcpy(start, extent->start, (size_t)(extent->end - extent->start));
    else
        end = put_value(start, extent->value_start, extent->value_end, extent->braced);
    *word = (struct tg_tcl_word){
        .text = start, .size = (size_t)(end - start), .substituted = extent->substituted};
    *end++ = '\0';
    *out = end;
}

/* One command, which may be empty; returns the position of what ends it. COMMAND may be NULL. */
static const char *read_command(struct tg_tcl_script *script, const char *p, bool nested,
                                struct tg_tcl_command *command)
{
    p = skip_to_command(script, p);
    const char *last = p;
    char *out = script->values;
    if (command != NULL)
        *command = (struct tg_tcl_command){.text = p};
    while (p < script->end && !is_terminator(*p, nested)) {
        struct word_extent word;
        p = read_word(script, p, nested, &word);
        if (p == NULL)
            return NULL;
        last = p;
        if (command != NULL) {
            if (command->n_words < TG_TCL_SCRIPT_MAX_WORDS)
                keep_word(&word, command, &out);
            command->n_words++;
        }
        p = skip_blanks(script, p);
    }
    if (command != NULL)
        command->size = (size_t)(last - command->text);
    return p;
}

struct tg_error *tg_tcl_script_create(const char *name, const char *text, size_t size,
                                      struct tg_tcl_script **script)
{
    struct tg_tcl_script *made = calloc(1, sizeof *made);
    char *values = malloc(size + 1);
    if (made == NULL || values == NULL) {
        free(made);
        free(values);
        return tg_error_no_memory();
    }
    *made = (struct tg_tcl_script){
        .name = name, .end = text + size, .next = text, .line_at = text, .line = 1, .values = values};
    *script = made;
    return NULL;
}

void tg_tcl_script_destroy(struct tg_tcl_script *script)
{
    if (script == NULL)
        return;
    free(script->values);
    free(script);
}

struct tg_error *tg_tcl_script_next(struct tg_tcl_script *script, struct tg_tcl_command *command)
{
    for (;;) {
        const char *end = read_command(script, script->next, false, command);
        if (end == NULL) {
            script->next = script->end;
            command->n_words = 0;
            return script->error;
        }
        command->line = line_of(script, command->text);
        script->line = command->line;
        script->line_at = command->text;
        script->next = end < script->end ? end + 1 : end;
        if (command->n_words > 0 || end == script->end)
            return NULL;
    }
}
