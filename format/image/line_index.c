#include "format/image/line_index.h"

#include "format/base/array.h"
#include "format/base/search.h"
#include "format/image/source_path.h"

#include <stdlib.h>

enum { MAX_SEQUENCES = 4 << 20, MAX_OVERLAPS = 64 };

struct sequence {
    uint64_t start, end;
    uint64_t unit; /* offset in .debug_line */
};

struct tg_line_index {
    struct sequence *items; /* by start */
    size_t count, capacity;
};

/* ---- making */

struct building {
    struct tg_line_index *index;
    bool (*is_code)(void *context, uint64_t address);
    void *context;
    uint64_t unit;
    uint64_t start;
    bool kept; /* the sequence under way */
    bool no_memory;
};

static bool see_row(void *context, const struct tg_line_row *row)
{
    struct building *building = context;
    if (row->first) {
        building->start = row->address;
        building->kept = row->address != 0 && building->is_code(building->context, row->address);
    }
    if (!row->end_sequence || !building->kept || row->address <= building->start)
        return true;
    struct tg_line_index *index = building->index;
    const struct sequence sequence = {building->start, row->address, building->unit};
    building->no_memory = TG_ARRAY_APPEND(index->items, index->count, index->capacity, sequence) != NULL;
    return !building->no_memory && building->index->count < MAX_SEQUENCES;
}

static int compare_sequences(const void *a, const void *b)
{
    const struct sequence *x = a, *y = b;
    return x->start < y->start ? -1 : x->start > y->start;
}

struct tg_line_index *tg_line_index_create(const struct tg_line_sections *sections,
                                           bool (*is_code)(void *context, uint64_t address), void *context)
{
    struct building building = {.is_code = is_code, .context = context};
    building.index = calloc(1, sizeof *building.index);
    if (building.index == NULL)
        return NULL;
    struct tg_line_unit unit;
    for (uint64_t at = 0; building.index->count < MAX_SEQUENCES && tg_line_unit_decode(sections, at, &unit);
         at = unit.next) {
        building.unit = unit.offset;
        building.kept = false;
        if (unit.understood)
            tg_line_unit_run(&unit, see_row, &building);
        if (building.no_memory) {
            tg_line_index_destroy(building.index);
            return NULL;
        }
    }
    if (building.index->count > 0)
        qsort(building.index->items, building.index->count, sizeof *building.index->items, compare_sequences);
    return building.index;
}

void tg_line_index_destroy(struct tg_line_index *index)
{
    if (index == NULL)
        return;
    free(index->items);
    free(index);
}

/* ---- questions */

struct lookup {
    uint64_t address;
    uint64_t start; /* of the sequence that it is in */
    bool in_sequence;
    struct tg_line_row best;
    bool has_best; /* of the sequence under way, at or before ADDRESS */
    bool found;
};

static bool match_row(void *context, const struct tg_line_row *row)
{
    struct lookup *lookup = context;
    if (row->first) {
        lookup->in_sequence = row->address == lookup->start;
        lookup->has_best = false;
    }
    if (lookup->has_best && row->address > lookup->address) {
        lookup->found = true;
        return false;
    }
    if (lookup->in_sequence && !row->end_sequence && row->line != 0 && row->address <= lookup->address) {
        lookup->best = *row;
        lookup->has_best = true;
    }
    if (row->end_sequence)
        lookup->has_best = false;
    return true;
}

bool tg_line_index_find(const struct tg_line_index *index, const struct tg_line_sections *sections,
                        uint64_t address, struct tg_line_unit *unit, struct tg_line_row *row)
{
    size_t at = TG_UPPER_BOUND(index->items, index->count, start, address);
    for (size_t i = at; i > 0 && at - i < MAX_OVERLAPS; i--) {
        const struct sequence *sequence = &index->items[i - 1];
        if (address >= sequence->end)
            continue;
        struct lookup lookup = {.address = address, .start = sequence->start};
        if (!tg_line_unit_decode(sections, sequence->unit, unit) || !unit->understood)
            continue;
        tg_line_unit_run(unit, match_row, &lookup);
        if (lookup.found) {
            *row = lookup.best;
            return true;
        }
    }
    return false;
}

bool tg_line_unit_file_path(const struct tg_line_sections *sections, const struct tg_line_unit *unit,
                            uint64_t number, char *path, size_t size)
{
    struct tg_line_file file = {0};
    while (tg_line_unit_next_file(sections, unit, &file))
        if (file.number == number)
            break;
    if (file.name == NULL || file.number != number)
        return false;
    const char *parts[3] = {NULL, NULL, file.name};
    size_t count = tg_line_unit_directories(sections, unit, NULL, 0);
    const char **directories = calloc(count + 1, sizeof *directories);
    if (directories == NULL)
        return false;
    (void)tg_line_unit_directories(sections, unit, directories, count);
    if (file.directory < count)
        parts[1] = directories[file.directory];
    if (file.directory != 0 && count > 0)
        parts[0] = directories[0];
    bool fits = tg_source_path_join(parts, path, size);
    free(directories);
    return fits;
}
