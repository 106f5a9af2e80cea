/* Strings kept once: models refer to names by pointer. */
#ifndef TG_FORMAT_BASE_STRING_POOL_H
#define TG_FORMAT_BASE_STRING_POOL_H

#include "format/base/error.h"

struct tg_string_pool_strings;

/* Caller's storage; zero-initialised is empty. */
struct tg_string_pool {
    struct tg_string_pool_strings *strings; /* NULL: none yet */
};

void tg_string_pool_deinit(struct tg_string_pool *pool);

/* The pool's copy of TEXT: the same pointer for equal texts, valid until deinit. */
struct tg_error *tg_string_pool_intern(struct tg_string_pool *pool, const char *text, const char **interned);

/* The pool's copy of TEXT where it has one, else NULL. */
const char *tg_string_pool_find(const struct tg_string_pool *pool, const char *text);

/* Makes OTHER, which is empty, the same pool: strings live until both are deinitialised. For copies of
 * models; both belong to one thread. */
void tg_string_pool_share(const struct tg_string_pool *pool, struct tg_string_pool *other);

#endif
