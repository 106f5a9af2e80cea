/* Glob-lists: colon-separated positive and negated Tcl patterns (spec: dlopen filtering, "glob-list Matching
 * Rules"). */
#ifndef TG_FORMAT_SETTINGS_GLOB_LIST_H
#define TG_FORMAT_SETTINGS_GLOB_LIST_H

#include "format/base/error.h"
#include "format/settings/glob_match.h"

#include <stdbool.h>
#include <stddef.h>

struct tg_glob_list;

enum { TG_GLOB_LIST_MAX_BYTES = 1 << 20 };

/* Parses any TEXT up to TG_GLOB_LIST_MAX_BYTES; beyond, or with a pattern that tg_tcl_match_accepts refuses,
 * a LIMIT error. Spaces belong to patterns. An empty TEXT holds no pattern, ":" holds two empty ones.
 * Copies. */
struct tg_error *tg_glob_list_create(const char *text, struct tg_glob_list **list);
void tg_glob_list_destroy(struct tg_glob_list *list);

/* The text it was made from. */
const char *tg_glob_list_text(const struct tg_glob_list *list);
size_t tg_glob_list_count(const struct tg_glob_list *list);
/* Pattern I in [0, count) as written, with its '!'. */
const char *tg_glob_list_pattern(const struct tg_glob_list *list, size_t i);
bool tg_glob_list_is_empty_text(
    const struct tg_glob_list *list); /* "" : fast mode when not always recalculating */

/* How LIBRARY fares by itself. */
struct tg_glob_match tg_glob_list_match(const struct tg_glob_list *list, const char *library);

/* The verdict library by library, for callers that have no array of names: start from tg_glob_list_default,
 * hand in every library of the event with its INDEX. Returns false where nothing that follows can change
 * VERDICT any more (a positive match was found). */
bool tg_glob_list_consider(const struct tg_glob_list *list, const char *library, size_t index,
                           struct tg_glob_verdict *verdict);

/* First match decides per library; any library with a positive match makes it `report`; otherwise any negated
 * match makes it `defer`; no match at all: the default by the last non-empty pattern ("!" counts as
 * negated). */
struct tg_glob_verdict tg_glob_list_decide(const struct tg_glob_list *list, const char *const *libraries,
                                           size_t count);

/* The decision for a library list without any match. */
struct tg_glob_verdict tg_glob_list_default(const struct tg_glob_list *list);

#endif
