/* uthash, with insertion that fails without memory (with HASH_NONFATAL_OOM a bare HASH_ADD leaves the entry
 * outside of the table, and says so only in its hh.tbl) and a hash that is quick for keys of a few numbers.
 * All other macros are uthash's own. It is included by way of this header only: a table is one for all. */
#ifndef TG_FORMAT_BASE_HASH_H
#define TG_FORMAT_BASE_HASH_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

__extension__ typedef unsigned __int128 tg_hash_product;

/* Both halves of the product: a word's highest bits, which are the last letters of a text, get into the lowest of the hash,
 * which choose the bucket. */
static inline uint64_t tg_hash_mix(uint64_t hash, uint64_t word)
{
    const tg_hash_product product = (tg_hash_product)(hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Mixes word by word: with a size that the compiler knows, a few instructions. */
static inline unsigned tg_hash_bytes(const void *key, size_t size)
{
    const unsigned char *at = key;
    uint64_t hash = size * UINT64_C(0xd6e8feb86659fd93), word = 0;
    for (; size >= sizeof word; size -= sizeof word, at += sizeof word) {
        memcpy(&word, at, sizeof word);
        hash = tg_hash_mix(hash, word);
    }
    if (size > 0) {
        word = 0;
        memcpy(&word, at, size);
        hash = tg_hash_mix(hash, word);
    }
    return (unsigned)(hash ^ hash >> 32);
}
#define HASH_FUNCTION(key, size, hash) ((hash) = tg_hash_bytes(key, size))
#include <uthash.h>

#include "format/base/error.h"

#if !HASH_NONFATAL_OOM
#error "compile with -DHASH_NONFATAL_OOM=1: uthash exits without memory otherwise"
#endif

/* All of these are expressions of type struct tg_error *. The only error is tg_error_no_memory(), which
 * needs no destroying, so that a caller which itself reports success as a bool or a pointer may compare
 * with NULL. HH is the name of the entry's UT_hash_handle. The key must not be in the table yet. */

/* Adds ENTRY under KEY_BYTES bytes at KEY, which live as long as the entry. After an error ENTRY is still
 * the caller's. */
#define TG_HASH_ADD_KEY(hh, head, key, key_bytes, entry)                                                     \
    __extension__({                                                                                          \
        HASH_ADD_KEYPTR(hh, head, key, key_bytes, entry);                                                    \
        (entry)->hh.tbl != NULL ? (struct tg_error *)NULL : tg_error_no_memory();                            \
    })

/* Adds ENTRY under its member KEY_MEMBER, all bytes of it: padding must be zero. */
#define TG_HASH_ADD(hh, head, key_member, entry)                                                             \
    TG_HASH_ADD_KEY(hh, head, &(entry)->key_member, sizeof((entry)->key_member), entry)

/* Points ENTRY, a variable, to a new one with a copy of *KEY in its member KEY_MEMBER and all else zero,
 * added; to be freed with free() after HASH_DELETE. After an error ENTRY is NULL. KEY points to the
 * member's type. */
#define TG_HASH_CREATE(hh, head, key_member, new_key, entry)                                                 \
    __extension__({                                                                                          \
        const __typeof__((entry)->key_member) *tg_hash_key_ = (new_key);                                     \
        (entry) = calloc(1, sizeof *(entry));                                                                \
        if ((entry) != NULL) {                                                                               \
            memcpy(&(entry)->key_member, tg_hash_key_, sizeof((entry)->key_member));                         \
            if (TG_HASH_ADD(hh, head, key_member, entry) != NULL) {                                          \
                free(entry);                                                                                 \
                (entry) = NULL;                                                                              \
            }                                                                                                \
        }                                                                                                    \
        (entry) != NULL ? (struct tg_error *)NULL : tg_error_no_memory();                                    \
    })

#endif
