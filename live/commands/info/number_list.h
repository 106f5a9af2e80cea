/* Many numbers in few characters: "0-3,7". */
#ifndef TG_LIVE_COMMANDS_INFO_NUMBER_LIST_H
#define TG_LIVE_COMMANDS_INFO_NUMBER_LIST_H

#include "format/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* All zero: empty. */
struct tg_number_list {
    uint64_t *numbers;
    size_t count, capacity;
};

void tg_number_list_deinit(struct tg_number_list *list);

/* Only error: NO_MEMORY, which leaves LIST as it was. */
struct tg_error *tg_number_list_add(struct tg_number_list *list, uint64_t number);
/* Adds those of OTHER. */
struct tg_error *tg_number_list_join(struct tg_number_list *list, const struct tg_number_list *other);

/* Ascending, each number once. */
void tg_number_list_sort(struct tg_number_list *list);

/* As "0-3,7"; LIST must be sorted. Of more than MAX_RANGES the others are "..."; 0: all are printed. */
void tg_number_list_print(const struct tg_number_list *list, size_t max_ranges, FILE *stream);

#endif
