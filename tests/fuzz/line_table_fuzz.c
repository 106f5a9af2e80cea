/* Any bytes as .debug_line; the same bytes serve as the string sections. */
#include "format/image/line_index.h"
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

static bool see_row(void *context, const struct tg_line_row *row)
{
    (void)row;
    size_t *rows = context;
    return ++*rows < 100000;
}

static void walk_unit(const struct tg_line_sections *sections, const struct tg_line_unit *unit)
{
    const char *directories[8];
    size_t n = tg_line_unit_directories(sections, unit, directories, 8);
    size_t total = 0;
    for (size_t i = 0; i < n && i < 8; i++)
        total += directories[i] == NULL ? 0 : strlen(directories[i]);
    struct tg_line_file file = {0};
    size_t files = 0;
    while (tg_line_unit_next_file(sections, unit, &file)) {
        total += strlen(file.name);
        if (++files > sections->line_size) /* each takes a byte at least */
            abort();
    }
    (void)tg_line_unit_needs_strings(sections, unit);
    size_t rows = 0;
    tg_line_unit_run(unit, see_row, &rows);
    if (total > SIZE_MAX / 2)
        abort();
}

static bool is_code(void *context, uint64_t address)
{
    (void)context;
    return address < UINT64_C(1) << 62;
}

/* Every address that the index knows of has a row at or before it. */
static void look_up(const struct tg_line_sections *sections)
{
    static const uint64_t addresses[] = {0, 1, 0x1000, 0x401136, UINT64_MAX};
    struct tg_line_index *index = tg_line_index_create(sections, is_code, NULL);
    for (size_t i = 0; index != NULL && i < sizeof addresses / sizeof *addresses; i++) {
        struct tg_line_unit unit;
        struct tg_line_row row;
        char path[256];
        if (!tg_line_index_find(index, sections, addresses[i], &unit, &row))
            continue;
        if (row.address > addresses[i] || row.line == 0)
            abort();
        (void)tg_line_unit_file_path(sections, &unit, row.file, path, sizeof path);
    }
    tg_line_index_destroy(index);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *bytes = malloc(size + 1);
    if (bytes == NULL)
        return 0;
    if (size > 0)
        memcpy(bytes, data, size);
    bytes[size] = '\0';
    const struct tg_line_sections sections = {
        .line = bytes,
        .line_size = size,
        .line_strings = (const char *)bytes,
        .line_strings_size = size,
        .strings = (const char *)bytes,
        .strings_size = size,
    };
    struct tg_line_unit unit;
    for (uint64_t at = 0; tg_line_unit_decode(&sections, at, &unit); at = unit.next)
        if (unit.understood)
            walk_unit(&sections, &unit);
    look_up(&sections);
    free(bytes);
    return 0;
}
