/* Binary search in what is sorted, as expressions of type size_t. */
#ifndef TG_FORMAT_BASE_SEARCH_H
#define TG_FORMAT_BASE_SEARCH_H

#include <stddef.h>

/* The first index in [0, COUNT) for which IS_BEFORE is false, or COUNT. IS_BEFORE is an expression in I,
 * the name of the index, true for the indices up to some point and false from there on:
 *     size_t at = TG_PARTITION_POINT(n_names, i, strcmp(names[i].text, text) < 0); */
#define TG_PARTITION_POINT(count, i, is_before)                                                              \
    __extension__({                                                                                          \
        size_t tg_low_ = 0, tg_high_ = (count);                                                              \
        while (tg_low_ < tg_high_) {                                                                         \
            const size_t i = tg_low_ + (tg_high_ - tg_low_) / 2;                                             \
            if (is_before)                                                                                   \
                tg_low_ = i + 1;                                                                             \
            else                                                                                             \
                tg_high_ = i;                                                                                \
        }                                                                                                    \
        tg_low_;                                                                                             \
    })

/* The index of the first item whose MEMBER is >= KEY, or COUNT; items are sorted by it. */
#define TG_LOWER_BOUND(items, count, member, key)                                                            \
    TG_PARTITION_POINT(count, tg_index_, (items)[tg_index_].member < (key))

/* The index of the first item whose MEMBER is > KEY, or COUNT: the one before it is the last with MEMBER
 * <= KEY, the interval that may contain KEY. */
#define TG_UPPER_BOUND(items, count, member, key)                                                            \
    TG_PARTITION_POINT(count, tg_index_, (items)[tg_index_].member <= (key))

#endif
