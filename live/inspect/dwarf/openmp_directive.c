#include "live/inspect/dwarf/openmp_directive.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    MAX_DIRECTIVE = 512, /* bytes that are looked at */
    MAX_LOOPS = 16,
};

/* TEXT behind PREFIX and blanks; NULL where it begins otherwise. */
static const char *behind(const char *text, const char *prefix)
{
    text += strspn(text, " \t");
    size_t length = strlen(prefix);
    if (strncasecmp(text, prefix, length) != 0)
        return NULL;
    return text + length + strspn(text + length, " \t");
}

/* Where TEXT has the word NAME outside of parentheses; behind it. NULL: nowhere. */
static const char *find_word(const char *text, const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    int depth = 0;
    for (size_t length; *text != '\0'; text += length) {
        length = strspn(text, letters);
        if (length > 0 && depth == 0 && length == strlen(name) && strncasecmp(text, name, length) == 0)
            return text + length;
        if (length > 0)
            continue;
        depth += (*text == '(') - (*text == ')');
        length = 1;
    }
    return NULL;
}

static bool has_word(const char *text, const char *name)
{
    return find_word(text, name) != NULL;
}

/* Whether the schedule is one that calls the runtime for iterations. */
static bool calls_runtime(const char *text)
{
    const char *schedule = strcasestr(text, "schedule");
    const char *kind = schedule == NULL ? NULL : strchr(schedule, '(');
    if (has_word(text, "ordered"))
        return true;
    return kind != NULL && (strcasestr(kind, "dynamic") != NULL || strcasestr(kind, "guided") != NULL ||
                            strcasestr(kind, "runtime") != NULL);
}

/* Whether the directive has no construct: it stands alone, or ends one. */
static bool is_alone(const char *text)
{
    return has_word(text, "end") || has_word(text, "declare") || has_word(text, "cancel") ||
           has_word(text, "cancellation");
}

static enum tg_openmp_construct construct_of(const char *text, bool is_fortran)
{
    if (is_alone(text))
        return TG_OPENMP_CONSTRUCT_NONE;
    if (has_word(text, "master") || has_word(text, "masked"))
        return TG_OPENMP_CONSTRUCT_MASTER;
    if (is_fortran && has_word(text, "workshare"))
        return TG_OPENMP_CONSTRUCT_STATIC_LOOP;
    if (!has_word(text, is_fortran ? "do" : "for") || has_word(text, "distribute") || calls_runtime(text))
        return TG_OPENMP_CONSTRUCT_NONE;
    return TG_OPENMP_CONSTRUCT_STATIC_LOOP;
}

/* In Fortran the end of a construct is what says nowait. */
static bool has_barrier(const char *text, bool is_fortran)
{
    static const char *const names[] = {"for", "do", "sections", "single", "workshare", "scope"};
    if (has_word(text, "barrier"))
        return true;
    if (has_word(text, "parallel") || has_word(text, "declare") || has_word(text, "cancel") ||
        has_word(text, "cancellation") || has_word(text, "nowait") || has_word(text, "distribute") ||
        has_word(text, "end") != is_fortran)
        return false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (has_word(text, names[i]))
            return true;
    return false;
}

/* The number in parentheses behind the clause NAME; OTHERWISE without that clause, -1 where it is no plain number. */
static int number_of(const char *text, const char *name, int otherwise)
{
    const char *at = find_word(text, name);
    char *end;
    if (at == NULL)
        return otherwise;
    at += strspn(at, " \t");
    if (*at != '(')
        return otherwise;
    long number = strtol(at + 1, &end, 10);
    end += strspn(end, " \t");
    return end == at + 1 || *end != ')' || number < 0 || number > INT32_MAX ? -1 : (int)number;
}

/* Line NUMBER as a string, cut, without its mark of continuation: *GOES_ON. */
static void take_line(const struct tg_source_text *text, uint64_t number, char *line, size_t size,
                      bool *goes_on)
{
    size_t length = 0;
    const char *bytes = tg_source_text_line(text, number, &length);
    length = length < size - 1 ? length : size - 1;
    memcpy(line, bytes, length);
    while (length > 0 && (line[length - 1] == ' ' || line[length - 1] == '\t' || line[length - 1] == '\r'))
        length--;
    *goes_on = length > 0 && (line[length - 1] == '\\' || line[length - 1] == '&');
    line[length - *goes_on] = '\0';
}

bool tg_openmp_directive_read(const struct tg_source_text *text, uint64_t number,
                              struct tg_openmp_directive *directive)
{
    char line[MAX_DIRECTIVE], whole[2 * MAX_DIRECTIVE];
    bool goes_on;
    *directive = (struct tg_openmp_directive){.first = number, .last = number, .n_loops = 1};
    take_line(text, number, line, sizeof line, &goes_on);
    const char *fortran = behind(line, "!$omp"), *words = fortran;
    if (words == NULL && (words = behind(line, "#")) != NULL && (words = behind(words, "pragma")) != NULL)
        words = behind(words, "omp");
    if (words == NULL || (fortran != NULL && *fortran == '&'))
        return false;
    snprintf(whole, sizeof whole, "%s", words);
    while (goes_on && directive->last < text->n_lines) {
        take_line(text, ++directive->last, line, sizeof line, &goes_on);
        const char *more = fortran == NULL ? line : behind(line, "!$omp");
        size_t length = strlen(whole);
        snprintf(whole + length, sizeof whole - length, " %s", more == NULL ? "" : more);
    }
    directive->is_fortran = fortran != NULL;
    directive->construct = construct_of(whole, directive->is_fortran);
    directive->has_barrier = has_barrier(whole, directive->is_fortran);
    directive->filter = number_of(whole, "filter", 0);
    int n_loops = number_of(whole, "collapse", 1);
    directive->n_loops = n_loops < 1 || n_loops > MAX_LOOPS ? 1 : (unsigned)n_loops;
    if (directive->is_fortran && has_word(whole, "workshare"))
        directive->n_loops = 0;
    return true;
}
