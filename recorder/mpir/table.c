#include "recorder/mpir/table.h"

#include "format/base/array.h"
#include "format/image/elf_decode.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PAGE_BYTES = 4096,
    BLOCK_PAGES = 2 * TG_MPIR_TABLE_BLOCK, /* the most that strings of a block can begin in */
    BLOCK_RANGES = TG_MPIR_TABLE_BLOCK,    /* ranges of one call of READ */
    PROBLEM_BYTES = 128,
};
_Static_assert((int)TG_MPIR_TABLE_MAX_STRING <= (int)PAGE_BYTES, "a string may touch three pages");

/* Pages of the starter's memory, in ascending order. */
struct pages {
    uint64_t numbers[BLOCK_PAGES]; /* address / PAGE_BYTES */
    bool readable[BLOCK_PAGES];
    size_t count;
    uint8_t *bytes;  /* PAGE_BYTES each */
    size_t capacity; /* bytes */
};

/* A string that crosses into the next page, put together. */
struct joined {
    struct joined *next;
    char text[TG_MPIR_TABLE_MAX_STRING];
};

struct reading {
    const struct tg_mpir_memory *memory;
    const struct tg_mpir_table_place *place;
    uint8_t *raw;       /* entries of a block, as they are */
    struct pages first; /* in which strings begin */
    struct pages next;  /* into which they cross, where those are not among the former */
    struct joined *joined;
    size_t bad_pages;
    size_t n_broken; /* entries with something that could not be read */
    struct tg_mpir_entry entries[TG_MPIR_TABLE_BLOCK];
    char problems[TG_MPIR_TABLE_BLOCK][PROBLEM_BYTES];
};

/* ---- entries */

static uint64_t pointer_at(const struct reading *reading, size_t i, uint32_t offset)
{
    const uint8_t *at = reading->raw + i * reading->place->layout.stride_bytes + offset;
    return reading->place->layout.pointer_bytes == 8 ? tg_elf_u64(at) : tg_elf_u32(at);
}

static uint64_t host_at(const struct reading *reading, size_t i)
{
    return pointer_at(reading, i, reading->place->layout.host_offset);
}

static uint64_t executable_at(const struct reading *reading, size_t i)
{
    return pointer_at(reading, i, reading->place->layout.executable_offset);
}

static int64_t pid_at(const struct reading *reading, size_t i)
{
    const struct tg_mpir_layout *layout = &reading->place->layout;
    return (int32_t)tg_elf_u32(reading->raw + i * layout->stride_bytes + layout->pid_offset);
}

/* Reads COUNT entries from FIRST on; returns how many could be. */
static size_t read_entries(struct reading *reading, uint64_t first, size_t count)
{
    const struct tg_mpir_memory *memory = reading->memory;
    uint64_t stride = reading->place->layout.stride_bytes;
    uint64_t address = reading->place->address + first * stride;
    struct tg_memory_range ranges[TG_MPIR_TABLE_BLOCK];
    ranges[0] = (struct tg_memory_range){address, reading->raw, count * stride};
    if (memory->read(memory->context, ranges, 1) == 1)
        return count;
    for (size_t i = 0; i < count; i++)
        ranges[i] = (struct tg_memory_range){address + i * stride, reading->raw + i * stride, stride};
    return memory->read(memory->context, ranges, count);
}

/* ---- pages */

static int compare_numbers(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

static size_t find_page(const struct pages *pages, uint64_t number)
{
    const uint64_t *found = pages->count == 0 ? NULL
                                              : bsearch(&number, pages->numbers, pages->count,
                                                        sizeof pages->numbers[0], compare_numbers);
    return found == NULL ? SIZE_MAX : (size_t)(found - pages->numbers);
}

static bool prepare_pages(struct pages *pages)
{
    size_t unique = 0;
    if (pages->count == 0)
        return true;
    qsort(pages->numbers, pages->count, sizeof pages->numbers[0], compare_numbers);
    for (size_t i = 0; i < pages->count; i++)
        if (unique == 0 || pages->numbers[i] != pages->numbers[unique - 1])
            pages->numbers[unique++] = pages->numbers[i];
    pages->count = unique;
    memset(pages->readable, 0, sizeof pages->readable);
    return TG_ARRAY_RESERVE(pages->bytes, pages->capacity, unique * PAGE_BYTES) == NULL;
}

/* As many of the pages from AT on as one call can read: neighbours make one range, unless ONE_BY_ONE. Returns
 * the index of the first page that was not read. */
static size_t read_some(const struct reading *reading, struct pages *pages, size_t at, bool one_by_one)
{
    struct tg_memory_range ranges[BLOCK_RANGES];
    size_t ends[BLOCK_RANGES], n = 0;
    ranges[0] = (struct tg_memory_range){0};
    for (size_t i = at; i < pages->count; i++) {
        bool is_neighbour = n > 0 && pages->numbers[i] == pages->numbers[i - 1] + 1;
        if (is_neighbour && !one_by_one) {
            ranges[n - 1].size += PAGE_BYTES;
            ends[n - 1] = i + 1;
            continue;
        }
        if (n == BLOCK_RANGES)
            break;
        ranges[n] = (struct tg_memory_range){pages->numbers[i] * PAGE_BYTES, pages->bytes + i * PAGE_BYTES,
                                             PAGE_BYTES};
        ends[n++] = i + 1;
    }
    size_t whole = reading->memory->read(reading->memory->context, ranges, n);
    size_t end = whole == 0 || whole > n ? at : ends[whole - 1];
    memset(pages->readable + at, true, end - at);
    return end;
}

static void read_pages(struct reading *reading, struct pages *pages)
{
    for (size_t at = 0; at < pages->count && reading->bad_pages < TG_MPIR_TABLE_MAX_BAD_PAGES;) {
        size_t end = read_some(reading, pages, at, false);
        if (end == at) /* is it the first page of a range that is bad, or a later one? */
            end = read_some(reading, pages, at, true);
        if (end == at) {
            reading->bad_pages++;
            end++;
        }
        at = end;
    }
}

static bool add_page(struct pages *pages, uint64_t address)
{
    uint64_t number = address / PAGE_BYTES;
    if (pages->count > 0 && pages->numbers[pages->count - 1] == number)
        return true;
    if (pages->count == BLOCK_PAGES)
        return false;
    pages->numbers[pages->count++] = number;
    return true;
}

/* ---- strings */

static const char *bytes_of(const struct pages *pages, uint64_t address)
{
    size_t page = find_page(pages, address / PAGE_BYTES);
    return page == SIZE_MAX || !pages->readable[page]
               ? NULL
               : (const char *)pages->bytes + page * PAGE_BYTES + address % PAGE_BYTES;
}

/* The place where the string at ADDRESS crosses into a page that is not read yet. */
static bool wants_next_page(const struct reading *reading, uint64_t address)
{
    const char *start = bytes_of(&reading->first, address);
    uint64_t next = (address / PAGE_BYTES + 1) * PAGE_BYTES;
    return start != NULL && memchr(start, '\0', PAGE_BYTES - address % PAGE_BYTES) == NULL && next != 0 &&
           find_page(&reading->first, next / PAGE_BYTES) == SIZE_MAX;
}

static bool read_strings(struct reading *reading, size_t count)
{
    reading->first.count = reading->next.count = 0;
    for (size_t i = 0; i < count; i++) {
        if (host_at(reading, i) != 0)
            add_page(&reading->first, host_at(reading, i));
        if (executable_at(reading, i) != 0)
            add_page(&reading->first, executable_at(reading, i));
    }
    if (!prepare_pages(&reading->first))
        return false;
    read_pages(reading, &reading->first);
    for (size_t i = 0; i < count; i++) {
        if (wants_next_page(reading, host_at(reading, i)))
            add_page(&reading->next, host_at(reading, i) + PAGE_BYTES);
        if (wants_next_page(reading, executable_at(reading, i)))
            add_page(&reading->next, executable_at(reading, i) + PAGE_BYTES);
    }
    if (!prepare_pages(&reading->next))
        return false;
    read_pages(reading, &reading->next);
    return true;
}

/* The string at ADDRESS, which begins with the N bytes at START and goes on in the next page; *PROBLEM where
 * it does not. NULL: no memory. */
static const char *join(struct reading *reading, uint64_t address, const char *start, size_t n,
                        const char **problem)
{
    uint64_t next = (address / PAGE_BYTES + 1) * PAGE_BYTES;
    const char *rest = next == 0 ? NULL : bytes_of(&reading->next, next);
    if (rest == NULL && next != 0)
        rest = bytes_of(&reading->first, next);
    size_t room = TG_MPIR_TABLE_MAX_STRING - n;
    const char *end = rest == NULL ? NULL : memchr(rest, '\0', room);
    if (end == NULL) {
        *problem = rest == NULL ? "runs into memory that cannot be read" : "does not end within 4096 bytes";
        return "";
    }
    struct joined *joined = malloc(sizeof *joined);
    if (joined == NULL)
        return NULL;
    memcpy(joined->text, start, n);
    memcpy(joined->text + n, rest, (size_t)(end - rest) + 1);
    joined->next = reading->joined;
    reading->joined = joined;
    return joined->text;
}

/* "" and *PROBLEM where there is no string at ADDRESS; NULL: no memory. */
static const char *string_at(struct reading *reading, uint64_t address, const char **problem)
{
    const char *start = address == 0 ? NULL : bytes_of(&reading->first, address);
    size_t n = PAGE_BYTES - address % PAGE_BYTES;
    *problem = NULL;
    if (start == NULL) {
        *problem = address == 0 ? "is NULL" : "cannot be read";
        return "";
    }
    return memchr(start, '\0', n) != NULL ? start : join(reading, address, start, n, problem);
}

static bool take_entry(struct reading *reading, uint64_t rank, size_t i)
{
    const char *host_problem, *executable_problem;
    struct tg_mpir_entry *entry = &reading->entries[i];
    *entry = (struct tg_mpir_entry){
        .rank = rank,
        .host = string_at(reading, host_at(reading, i), &host_problem),
        .executable = string_at(reading, executable_at(reading, i), &executable_problem),
        .pid = pid_at(reading, i),
        .problem = "",
    };
    if (host_problem == NULL && executable_problem == NULL)
        return entry->host != NULL && entry->executable != NULL;
    bool both = host_problem != NULL && executable_problem != NULL;
    snprintf(reading->problems[i], PROBLEM_BYTES, "%s%s%s%s%s", host_problem != NULL ? "host_name " : "",
             host_problem != NULL ? host_problem : "", both ? ", " : "",
             executable_problem != NULL ? "executable_name " : "",
             executable_problem != NULL ? executable_problem : "");
    entry->problem = reading->problems[i];
    reading->n_broken++;
    return entry->host != NULL && entry->executable != NULL;
}

/* ---- the table */

static void drop_joined(struct reading *reading)
{
    while (reading->joined != NULL) {
        struct joined *joined = reading->joined;
        reading->joined = joined->next;
        free(joined);
    }
}

/* *N_READ becomes how many of the block's COUNT entries could be read. */
static struct tg_error *read_block(struct reading *reading, uint64_t first, size_t count,
                                   const struct tg_mpir_table_sink *sink, size_t *n_read)
{
    size_t n = read_entries(reading, first, count);
    bool fine = read_strings(reading, n);
    for (size_t i = 0; fine && i < n; i++)
        fine = take_entry(reading, first + i, i);
    if (fine && n > 0)
        sink->block(sink->context, first, reading->entries, n);
    drop_joined(reading);
    *n_read = n;
    return fine ? NULL : tg_error_no_memory();
}

static struct tg_error *read_blocks(struct reading *reading, const struct tg_mpir_table_sink *sink,
                                    char *reason)
{
    uint64_t size = (uint64_t)reading->place->size, first = 0;
    while (first < size) {
        size_t count = size - first < TG_MPIR_TABLE_BLOCK ? (size_t)(size - first) : TG_MPIR_TABLE_BLOCK;
        size_t n;
        struct tg_error *error = read_block(reading, first, count, sink, &n);
        if (error != NULL)
            return error;
        first += n;
        if (n < count)
            break;
    }
    if (first < size)
        snprintf(reason, TG_MPIR_TABLE_REASON_BYTES, "only %" PRIu64 " of %" PRIu64 " entries can be read",
                 first, size);
    else if (reading->n_broken > 0)
        snprintf(reason, TG_MPIR_TABLE_REASON_BYTES, "cannot read the names of %zu entries",
                 reading->n_broken);
    return NULL;
}

/* A reason for not looking at the table at all; false: none. */
static bool refuses(const struct tg_mpir_table_place *place, char *reason)
{
    const char *why = NULL;
    if (place->size < 0)
        why = "MPIR_proctable_size is negative";
    else if (place->size > TG_MPIR_TABLE_MAX_ENTRIES)
        why = "MPIR_proctable_size is too large (the limit is 1048576 entries)";
    else if (place->size > 0 && place->address == 0)
        why = "MPIR_proctable is NULL";
    else if (!tg_mpir_layout_is_sound(&place->layout))
        why = "the layout of its entries is unknown";
    else if (place->address > UINT64_MAX - (uint64_t)place->size * place->layout.stride_bytes)
        why = "MPIR_proctable is not a valid address";
    if (why != NULL)
        snprintf(reason, TG_MPIR_TABLE_REASON_BYTES, "%s", why);
    return why != NULL;
}

struct tg_error *tg_mpir_table_read(const struct tg_mpir_memory *memory,
                                    const struct tg_mpir_table_place *place,
                                    const struct tg_mpir_table_sink *sink,
                                    char reason[TG_MPIR_TABLE_REASON_BYTES])
{
    reason[0] = '\0';
    if (refuses(place, reason) || place->size == 0)
        return NULL;
    struct reading *reading = calloc(1, sizeof *reading);
    uint8_t *raw = malloc((size_t)TG_MPIR_TABLE_BLOCK * place->layout.stride_bytes);
    struct tg_error *error = NULL;
    if (reading == NULL || raw == NULL) {
        error = tg_error_no_memory();
    } else {
        reading->memory = memory;
        reading->place = place;
        reading->raw = raw;
        error = read_blocks(reading, sink, reason);
        free(reading->first.bytes);
        free(reading->next.bytes);
    }
    free(reading);
    free(raw);
    return error;
}
