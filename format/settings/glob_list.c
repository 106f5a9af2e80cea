#include "format/settings/glob_list.h"

#include "format/base/tcl_match.h"

#include <stdlib.h>
#include <string.h>

struct tg_glob_list {
    char *text;
    char *pieces; /* the text with its colons replaced by NULs; patterns point into it */
    size_t count;
    struct tg_glob_pattern *patterns;
};

static struct tg_error *check_patterns(const struct tg_glob_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        if (!tg_tcl_match_accepts(list->patterns[i].pattern))
            return tg_error_create(TG_ERROR_LIMIT,
                                   "glob-list pattern %zu has %d or more `*` after a range that ends in `]` "
                                   "(\"-]\"); write it with fewer",
                                   i + 1, TG_TCL_MATCH_MAX_STARS);
    }
    return NULL;
}

static bool split(struct tg_glob_list *list)
{
    if (list->text[0] == '\0')
        return true;
    size_t count = 1;
    for (const char *p = list->text; *p != '\0'; p++)
        count += *p == ':';
    list->patterns = calloc(count, sizeof *list->patterns);
    if (list->patterns == NULL)
        return false;
    list->count = tg_glob_split(list->pieces, list->patterns, count);
    return true;
}

struct tg_error *tg_glob_list_create(const char *text, struct tg_glob_list **list)
{
    size_t size = strlen(text);
    if (size > TG_GLOB_LIST_MAX_BYTES)
        return tg_error_create(TG_ERROR_LIMIT, "the glob-list is %zu bytes long, the limit is %d", size,
                               TG_GLOB_LIST_MAX_BYTES);
    struct tg_glob_list *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    made->text = strdup(text);
    made->pieces = strdup(text);
    struct tg_error *error = NULL;
    if (made->text == NULL || made->pieces == NULL || !split(made))
        error = tg_error_no_memory();
    else
        error = check_patterns(made);
    if (error != NULL) {
        tg_glob_list_destroy(made);
        return error;
    }
    *list = made;
    return NULL;
}

void tg_glob_list_destroy(struct tg_glob_list *list)
{
    if (list == NULL)
        return;
    free(list->patterns);
    free(list->pieces);
    free(list->text);
    free(list);
}

const char *tg_glob_list_text(const struct tg_glob_list *list)
{
    return list->text;
}

size_t tg_glob_list_count(const struct tg_glob_list *list)
{
    return list->count;
}

const char *tg_glob_list_pattern(const struct tg_glob_list *list, size_t i)
{
    return list->patterns[i].written;
}

bool tg_glob_list_is_empty_text(const struct tg_glob_list *list)
{
    return list->text[0] == '\0';
}

struct tg_glob_match tg_glob_list_match(const struct tg_glob_list *list, const char *library)
{
    return tg_glob_patterns_match(list->patterns, list->count, library);
}

struct tg_glob_verdict tg_glob_list_default(const struct tg_glob_list *list)
{
    return tg_glob_patterns_default(list->patterns, list->count);
}

bool tg_glob_list_consider(const struct tg_glob_list *list, const char *library, size_t index,
                           struct tg_glob_verdict *verdict)
{
    if (verdict->rule == TG_RULE_PATTERN && verdict->report)
        return false;
    return tg_glob_verdict_take(tg_glob_list_match(list, library), index, verdict);
}

struct tg_glob_verdict tg_glob_list_decide(const struct tg_glob_list *list, const char *const *libraries,
                                           size_t count)
{
    struct tg_glob_verdict verdict = tg_glob_list_default(list);
    for (size_t i = 0; i < count && tg_glob_list_consider(list, libraries[i], i, &verdict); i++) {
    }
    return verdict;
}
