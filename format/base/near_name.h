/* "Did you mean 'NAME'?": the name that a mistyped word most likely meant. */
#ifndef TG_FORMAT_BASE_NEAR_NAME_H
#define TG_FORMAT_BASE_NEAR_NAME_H

#include <stddef.h>

/* Search for one word. Usage, where nothing matched exactly:
 *
 *     struct tg_near_name near;
 *     char hint[TG_NEAR_NAME_HINT];
 *     tg_near_name_init(&near, word);
 *     for (size_t i = 0; i < n; i++)
 *         tg_near_name_offer(&near, names[i]);
 *     return tg_error_create(TG_ERROR_USAGE, "unknown kind '%s'%s", word, tg_near_name_hint(&near, hint));
 *
 * WORD and the names offered are kept by pointer; nothing is allocated. */
struct tg_near_name {
    const char *word;
    const char *best;  /* nearest name so far; NULL while none is near enough */
    unsigned distance; /* edits from WORD to BEST */
};

/* Bytes of the longest hint, with its NUL; a name too long for it gives no hint. */
enum { TG_NEAR_NAME_HINT = 96 };

void tg_near_name_init(struct tg_near_name *near, const char *word);

/* Considers NAME. Edits are inserted, deleted, replaced and swapped characters; case does not count.
 * One edit is allowed for every three characters, and a word that NAME begins with is one edit away. Of
 * equally near names the first one offered stays. The word itself is never its own hint. */
void tg_near_name_offer(struct tg_near_name *near, const char *name);

/* Writes "; did you mean 'NAME'?" to BUFFER, or "" where no name is near; returns BUFFER. */
const char *tg_near_name_hint(const struct tg_near_name *near, char buffer[TG_NEAR_NAME_HINT]);

#endif
