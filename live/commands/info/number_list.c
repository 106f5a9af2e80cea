#include "live/commands/info/number_list.h"

#include "format/base/array.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void tg_number_list_deinit(struct tg_number_list *list)
{
    free(list->numbers);
    *list = (struct tg_number_list){0};
}

struct tg_error *tg_number_list_add(struct tg_number_list *list, uint64_t number)
{
    return TG_ARRAY_APPEND(list->numbers, list->count, list->capacity, number);
}

struct tg_error *tg_number_list_join(struct tg_number_list *list, const struct tg_number_list *other)
{
    struct tg_error *error = NULL;
    size_t count = list->count;
    for (size_t i = 0; error == NULL && i < other->count; i++)
        error = tg_number_list_add(list, other->numbers[i]);
    if (error != NULL)
        list->count = count;
    return error;
}

static int compare(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

void tg_number_list_sort(struct tg_number_list *list)
{
    size_t kept = 0;
    if (list->count > 1)
        qsort(list->numbers, list->count, sizeof *list->numbers, compare);
    for (size_t i = 0; i < list->count; i++)
        if (i == 0 || list->numbers[i] != list->numbers[i - 1])
            list->numbers[kept++] = list->numbers[i];
    list->count = kept;
}

void tg_number_list_print(const struct tg_number_list *list, size_t max_ranges, FILE *stream)
{
    size_t printed = 0;
    for (size_t i = 0; i < list->count;) {
        size_t last = i;
        if (max_ranges > 0 && printed++ == max_ranges) {
            fputs(",...", stream);
            return;
        }
        while (last + 1 < list->count && list->numbers[last + 1] - list->numbers[last] == 1)
            last++;
        fprintf(stream, "%s%" PRIu64, i == 0 ? "" : ",", list->numbers[i]);
        if (last > i)
            fprintf(stream, "-%" PRIu64, list->numbers[last]);
        i = last + 1;
    }
}
