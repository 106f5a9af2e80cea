/* Growable arrays: a pointer to the items, a count and a capacity (size_t), in the caller's struct under
 * the caller's names; all zero at first, freed with free(). */
#ifndef TG_FORMAT_BASE_ARRAY_H
#define TG_FORMAT_BASE_ARRAY_H

#include <stddef.h>

#include "format/base/error.h"

/* All of these are expressions of type struct tg_error *. The only error is tg_error_no_memory(), which
 * needs no destroying, so that a caller which itself reports success as a bool or a pointer may compare
 * with NULL; nothing has changed then. Arguments are lvalues without side effects; ITEM, the last one, may
 * contain commas (a compound literal), is evaluated once the room is there, and not at all where there is
 * none. Each of them invalidates pointers into the array. */

/* Makes room for NEEDED items in all; capacities double. A comparison where the room is there. */
#define TG_ARRAY_RESERVE(items, capacity, needed)                                                            \
    ((size_t)(needed) <= (capacity) ? (struct tg_error *)NULL                                                \
                                    : tg_array_reserve(&(items), &(capacity), (needed), sizeof *(items)))

/* items[count++] = ITEM */
#define TG_ARRAY_APPEND(items, count, capacity, ...)                                                         \
    (TG_ARRAY_RESERVE(items, capacity, (size_t)(count) + 1) != NULL                                          \
         ? tg_error_no_memory()                                                                              \
         : ((void)((items)[(count)++] = (__VA_ARGS__)), (struct tg_error *)NULL))

/* Moves the items from index AT on back by one and puts ITEM there; AT <= COUNT. */
#define TG_ARRAY_INSERT(items, count, capacity, at, ...)                                                     \
    __extension__({                                                                                          \
        const size_t tg_at_ = (at);                                                                          \
        struct tg_error *tg_error_ = TG_ARRAY_RESERVE(items, capacity, (size_t)(count) + 1);                 \
        if (tg_error_ == NULL) {                                                                             \
            tg_array_open_gap((items), (count), tg_at_, sizeof *(items));                                    \
            (count)++;                                                                                       \
            (items)[tg_at_] = (__VA_ARGS__);                                                                 \
        }                                                                                                    \
        tg_error_;                                                                                           \
    })

/* Makes an array of COUNT items, which is empty, one of the FROM_COUNT items at FROM. */
#define TG_ARRAY_COPY(items, count, capacity, from, from_count)                                              \
    tg_array_copy(&(items), &(count), &(capacity), (1 ? (from) : (items)), (from_count), sizeof *(items))

/* For short lists that have no capacity, as those of options are: allocated anew at every append. */
#define TG_ARRAY_APPEND_EXACT(items, count, ...)                                                             \
    (tg_array_resize(&(items), (size_t)(count) + 1, sizeof *(items)) != NULL                                 \
         ? tg_error_no_memory()                                                                              \
         : ((void)((items)[(count)++] = (__VA_ARGS__)), (struct tg_error *)NULL))

/* Removes the item at index AT < COUNT and closes the gap; cannot fail, is of type void. */
#define TG_ARRAY_REMOVE(items, count, at)                                                                    \
    __extension__({                                                                                          \
        tg_array_close_gap((items), (count), (at), sizeof *(items));                                         \
        (count)--;                                                                                           \
        (void)0;                                                                                             \
    })

/* Functions behind the macros. ITEMS points to the caller's pointer, whatever its type. */
struct tg_error *tg_array_reserve(void *items, size_t *capacity, size_t needed, size_t item_bytes);
struct tg_error *tg_array_resize(void *items, size_t count, size_t item_bytes);
struct tg_error *tg_array_copy(void *items, size_t *count, size_t *capacity, const void *from,
                               size_t from_count, size_t item_bytes);
void tg_array_open_gap(void *first, size_t count, size_t at, size_t item_bytes);
void tg_array_close_gap(void *first, size_t count, size_t at, size_t item_bytes);

#endif
