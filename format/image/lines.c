#include "format/image/lines.h"

#include "format/base/array.h"
#include "format/base/search.h"
#include "format/image/debug_blocks.h"
#include "format/image/debug_units.h"
#include "format/image/line_index.h"
#include "format/image/outlined_bodies.h"
#include "format/image/source_path.h"

#include <gelf.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_ROWS = 64 << 10,   /* of one question */
    MAX_ANSWERS = 1 << 10, /* remembered */
    MAX_PATH_CHARS = 3 * PATH_MAX,
};
static const uint64_t MAX_SECTION_BYTES = UINT64_C(1) << 30;
static const uint64_t MAX_INFLATION = 1100; /* deflate cannot do more than 1032 to 1 */

struct answer {
    char *file;
    uint64_t line;
    uint64_t *addresses;
    size_t count;
    struct answer *next;
};

struct tg_image_lines {
    struct tg_elf_object *object;
    const struct tg_elf_object *code;
    uint64_t delta;
    bool loaded;
    bool strings_tried;
    struct tg_line_sections sections;
    bool blocks_tried;
    struct tg_debug_blocks *blocks;
    struct tg_debug_units *units; /* of their DWARF, made at the first question about a body */
    struct tg_outlined_bodies *bodies;
    struct tg_line_index *index; /* made at the first question by address */
    struct answer *answers;
    size_t n_answers;
};

struct tg_image_lines *tg_image_lines_create(struct tg_elf_object *object, const struct tg_elf_object *code,
                                             uint64_t delta)
{
    struct tg_image_lines *lines = calloc(1, sizeof *lines);
    if (lines != NULL)
        *lines = (struct tg_image_lines){.object = object, .code = code, .delta = delta};
    return lines;
}

void tg_image_lines_trim(struct tg_image_lines *lines)
{
    free((void *)lines->sections.line);
    free((void *)lines->sections.line_strings);
    free((void *)lines->sections.strings);
    lines->sections = (struct tg_line_sections){0};
    lines->loaded = lines->strings_tried = false;
    tg_outlined_bodies_destroy(lines->bodies);
    lines->bodies = NULL;
    tg_debug_units_destroy(lines->units);
    lines->units = NULL;
    tg_debug_blocks_destroy(lines->blocks);
    lines->blocks = NULL;
    lines->blocks_tried = false;
}

void tg_image_lines_destroy(struct tg_image_lines *lines)
{
    if (lines == NULL)
        return;
    tg_image_lines_trim(lines);
    tg_line_index_destroy(lines->index);
    while (lines->answers != NULL) {
        struct answer *answer = lines->answers;
        lines->answers = answer->next;
        free(answer->file);
        free(answer->addresses);
        free(answer);
    }
    free(lines);
}

/* ---- sections */

/* The content of a compressed section, through libelf; NULL where it cannot be had within bounds. */
static uint8_t *inflate_section(const struct tg_elf_object *object, const char *wanted, bool gnu,
                                size_t *size)
{
    (void)elf_version(EV_CURRENT);
    Elf *elf = elf_begin(object->fd, ELF_C_READ, NULL);
    uint8_t *content = NULL;
    size_t names;
    Elf_Scn *section = NULL;
    if (elf == NULL || elf_getshdrstrndx(elf, &names) != 0)
        goto out;
    while ((section = elf_nextscn(elf, section)) != NULL) {
        GElf_Shdr header;
        const char *name =
            gelf_getshdr(section, &header) == NULL ? NULL : elf_strptr(elf, names, header.sh_name);
        if (name == NULL || strcmp(name, wanted) != 0)
            continue;
        GElf_Chdr compressed;
        uint64_t inflated = 0;
        Elf_Data *data = elf_rawdata(section, NULL);
        if (gnu && data != NULL && data->d_size >= 12)
            inflated = __builtin_bswap64(tg_elf_u64((const uint8_t *)data->d_buf + 4));
        else if (!gnu && gelf_getchdr(section, &compressed) != NULL)
            inflated = compressed.ch_size;
        if (inflated == 0 || inflated > MAX_SECTION_BYTES || inflated / MAX_INFLATION > header.sh_size)
            break;
        if ((gnu ? elf_compress_gnu(section, 0, 0) : elf_compress(section, 0, 0)) < 0)
            break;
        data = elf_getdata(section, NULL);
        if (data != NULL && data->d_buf != NULL && (content = malloc(data->d_size + 1)) != NULL) {
            memcpy(content, data->d_buf, data->d_size);
            content[data->d_size] = '\0';
            *size = data->d_size;
        }
        break;
    }
out:
    elf_end(elf);
    return content;
}

/* Content of ".debug_NAME", or of the older ".zdebug_NAME"; NULL where there is none. */
static uint8_t *read_section(struct tg_elf_object *object, const char *name, size_t *size)
{
    char full[64] = ".zdebug_";
    strcat(full, name);
    const struct tg_elf_section *section = tg_elf_object_section(object, full);
    if (section != NULL)
        return inflate_section(object, full, true, size);
    strcpy(full, ".debug_");
    strcat(full, name);
    section = tg_elf_object_section(object, full);
    if (section == NULL)
        return NULL;
    if ((section->flags & SHF_COMPRESSED) != 0)
        return inflate_section(object, full, false, size);
    *size = section->size;
    return tg_elf_object_read_new(object, section->offset, section->size, MAX_SECTION_BYTES);
}

static bool load(struct tg_image_lines *lines)
{
    if (!lines->loaded) {
        lines->loaded = true;
        struct tg_line_sections *sections = &lines->sections;
        sections->line = read_section(lines->object, "line", &sections->line_size);
        if (sections->line != NULL)
            sections->line_strings =
                (const char *)read_section(lines->object, "line_str", &sections->line_strings_size);
    }
    return lines->sections.line != NULL;
}

static struct tg_debug_blocks *blocks_of(struct tg_image_lines *lines)
{
    if (!lines->blocks_tried) {
        lines->blocks_tried = true;
        lines->blocks = tg_debug_blocks_create(lines->object);
    }
    return lines->blocks;
}

/* ---- files */

/* Numbers that the file in question has in one unit. */
struct file_numbers {
    uint64_t *items;
    size_t count;
    size_t capacity;
};

/* NUMBERS ascend, as the walk that found them did. */
static bool has_number(const struct file_numbers *numbers, uint64_t number)
{
    size_t at = TG_PARTITION_POINT(numbers->count, i, numbers->items[i] < number);
    return at < numbers->count && numbers->items[at] == number;
}

struct directories {
    const char **items; /* NULL: not read yet */
    size_t count;
};

static bool read_directories(struct tg_image_lines *lines, const struct tg_line_unit *unit,
                             struct directories *directories)
{
    size_t count = tg_line_unit_directories(&lines->sections, unit, NULL, 0);
    directories->items = calloc(count + 1, sizeof *directories->items);
    if (directories->items == NULL)
        return false;
    directories->count = count;
    (void)tg_line_unit_directories(&lines->sections, unit, directories->items, count);
    return true;
}

/* Whether FILE of UNIT is WANTED (normalised). Its last component is known to fit. */
static bool file_is(struct tg_image_lines *lines, const struct tg_line_unit *unit,
                    struct directories *directories, const struct tg_line_file *file, const char *wanted)
{
    char path[MAX_PATH_CHARS];
    const char *parts[3] = {NULL, NULL, file->name};
    if (file->name[0] != '/') {
        if (directories->items == NULL && !read_directories(lines, unit, directories))
            return false;
        if (file->directory < directories->count)
            parts[1] = directories->items[file->directory];
        if (file->directory != 0 && directories->count > 0)
            parts[0] = directories->items[0];
    }
    if (!tg_source_path_join(parts, path, sizeof path))
        return false;
    if (tg_source_path_ends_with(path, wanted))
        return true;
    /* only for what begins in the directory of the compilation, or further up, .debug_info is worth its
     * while */
    if (path[0] == '/' || strchr(wanted, '/') == NULL || blocks_of(lines) == NULL)
        return false;
    parts[0] = tg_debug_blocks_directory(blocks_of(lines), unit->offset);
    return parts[0] != NULL && tg_source_path_join(parts, path, sizeof path) &&
           tg_source_path_ends_with(path, wanted);
}

static bool find_numbers(struct tg_image_lines *lines, const struct tg_line_unit *unit, const char *wanted,
                         struct file_numbers *numbers)
{
    const char *last = tg_source_path_last(wanted);
    struct tg_line_file file = {0};
    struct directories directories = {0};
    bool ok = true;
    numbers->count = 0;
    while (ok && tg_line_unit_next_file(&lines->sections, unit, &file))
        if (strcmp(tg_source_path_last(file.name), last) == 0 &&
            file_is(lines, unit, &directories, &file, wanted))
            ok = TG_ARRAY_APPEND(numbers->items, numbers->count, numbers->capacity, file.number) == NULL;
    free(directories.items);
    return ok && numbers->count > 0;
}

/* ---- rows */

struct row {
    uint64_t address; /* as in the line table, without delta */
    uint64_t unit;
    uint64_t block;
};

struct search {
    struct tg_image_lines *lines;
    uint64_t line;
    uint64_t next_line; /* the lowest line with code beyond LINE, UINT64_MAX none */
    const struct tg_line_unit *unit;
    struct file_numbers numbers; /* in UNIT */
    bool sequence_ok;
    bool in_run; /* the row before belonged to LINE and its run has its address */
    struct row *rows;
    size_t n_rows, capacity;
};

static bool add_row(struct search *search, uint64_t address)
{
    const struct row row = {.address = address, .unit = search->unit->offset};
    return search->n_rows < MAX_ROWS &&
           TG_ARRAY_APPEND(search->rows, search->n_rows, search->capacity, row) == NULL;
}

static bool see_row(void *context, const struct tg_line_row *row)
{
    struct search *search = context;
    const struct tg_image_lines *lines = search->lines;
    bool is_code =
        (row->first || row->is_stmt) && tg_elf_object_is_code(lines->code, row->address + lines->delta);
    if (row->first) /* functions that the linker dropped have their rows at 0 or -1 */
        search->sequence_ok = row->address != 0 && is_code;
    if (row->end_sequence || !search->sequence_ok || !has_number(&search->numbers, row->file)) {
        search->in_run = false;
        return true;
    }
    if (row->line != search->line) {
        search->in_run = false;
        if (row->is_stmt && is_code && row->line > search->line && row->line < search->next_line)
            search->next_line = row->line;
        return true;
    }
    if (row->is_stmt && is_code && !search->in_run) {
        search->in_run = true;
        return add_row(search, row->address);
    }
    return true;
}

static void load_strings(struct tg_image_lines *lines, const struct tg_line_unit *unit)
{
    if (lines->strings_tried || !tg_line_unit_needs_strings(&lines->sections, unit))
        return;
    lines->strings_tried = true;
    lines->sections.strings = (const char *)read_section(lines->object, "str", &lines->sections.strings_size);
}

static void search_units(struct search *search, const char *file)
{
    struct tg_image_lines *lines = search->lines;
    struct tg_line_unit unit;
    for (uint64_t at = 0; tg_line_unit_decode(&lines->sections, at, &unit); at = unit.next) {
        if (!unit.understood)
            continue;
        load_strings(lines, &unit);
        if (!find_numbers(lines, &unit, file, &search->numbers))
            continue;
        search->unit = &unit;
        search->in_run = search->sequence_ok = false;
        tg_line_unit_run(&unit, see_row, search);
    }
}

static int compare_rows(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    return x->address < y->address ? -1 : x->address > y->address;
}

/* Gives the rows [first, end) of one unit, sorted by address, the blocks they are in. */
static void find_blocks(struct search *search, size_t first, size_t end)
{
    size_t count = end - first;
    uint64_t *addresses = calloc(count, 2 * sizeof *addresses);
    struct tg_debug_blocks *blocks = blocks_of(search->lines);
    if (addresses != NULL && blocks != NULL) {
        uint64_t *innermost = addresses + count;
        for (size_t i = 0; i < count; i++)
            addresses[i] = search->rows[first + i].address;
        tg_debug_blocks_innermost(blocks, search->rows[first].unit, addresses, innermost, count);
        for (size_t i = 0; i < count; i++)
            search->rows[first + i].block = innermost[i];
    }
    free(addresses);
}

static int compare_row_blocks(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    if (x->block != y->block)
        return x->block < y->block ? -1 : 1;
    return compare_rows(a, b);
}

/* One row of each block, the first. Rows come unit by unit. */
static void keep_one_of_each_block(struct search *search, tg_function_start *function_start, void *context)
{
    size_t first = 0;
    for (size_t i = 1; i <= search->n_rows; i++) {
        if (i < search->n_rows && search->rows[i].unit == search->rows[first].unit)
            continue;
        if (i - first > 1)
            find_blocks(search, first, i);
        first = i;
    }
    for (size_t i = 0; i < search->n_rows; i++)
        if (search->rows[i].block == 0) /* apart from DIE offsets, which are file offsets */
            search->rows[i].block =
                UINT64_C(1) << 63 | function_start(context, search->rows[i].address + search->lines->delta);
    if (search->n_rows < 2)
        return;
    qsort(search->rows, search->n_rows, sizeof *search->rows, compare_row_blocks);
    size_t kept = 0;
    for (size_t i = 0; i < search->n_rows; i++)
        if (kept == 0 || search->rows[i].block != search->rows[kept - 1].block)
            search->rows[kept++] = search->rows[i];
    search->n_rows = kept;
    qsort(search->rows, search->n_rows, sizeof *search->rows, compare_rows);
}

/* ---- answers */

/* Takes COUNT ADDRESSES of the object's code, for FILE and LINE; LINE 0: of the copies of a function of that name. */
static void remember(struct tg_image_lines *lines, const char *file, uint64_t line, const uint64_t *addresses,
                     size_t count)
{
    if (lines->n_answers == MAX_ANSWERS)
        return;
    struct answer *answer = calloc(1, sizeof *answer);
    uint64_t *items = calloc(count + 1, sizeof *items);
    char *copy = strdup(file);
    if (answer == NULL || items == NULL || copy == NULL) {
        free(answer);
        free(items);
        free(copy);
        return;
    }
    if (count > 0)
        memcpy(items, addresses, count * sizeof *items);
    *answer = (struct answer){
        .file = copy, .line = line, .addresses = items, .count = count, .next = lines->answers};
    lines->answers = answer;
    lines->n_answers++;
}

static bool recall(const struct tg_image_lines *lines, const char *file, uint64_t line,
                   struct tg_address_set *addresses)
{
    const struct answer *answer = lines->answers;
    while (answer != NULL && (answer->line != line || strcmp(answer->file, file) != 0))
        answer = answer->next;
    for (size_t i = 0; answer != NULL && i < answer->count; i++)
        tg_address_set_add(addresses, answer->addresses[i]);
    return answer != NULL;
}

void tg_image_lines_find(struct tg_image_lines *lines, const char *file, uint64_t line,
                         tg_function_start *function_start, void *context, struct tg_address_set *addresses)
{
    if (recall(lines, file, line, addresses))
        return;
    char wanted[PATH_MAX];
    const char *parts[3] = {NULL, NULL, file};
    struct search search = {.lines = lines, .line = line, .next_line = UINT64_MAX};
    if (tg_source_path_join(parts, wanted, sizeof wanted) && load(lines)) {
        search_units(&search, wanted);
        if (search.n_rows == 0 && search.next_line != UINT64_MAX) {
            search.line = search.next_line;
            search_units(&search, wanted);
        }
        keep_one_of_each_block(&search, function_start, context);
    }
    uint64_t *found = calloc(search.n_rows + 1, sizeof *found);
    for (size_t i = 0; i < search.n_rows; i++) {
        tg_address_set_add(addresses, search.rows[i].address + lines->delta);
        if (found != NULL)
            found[i] = search.rows[i].address + lines->delta;
    }
    if (found != NULL)
        remember(lines, file, line, found, search.n_rows);
    free(found);
    free(search.rows);
    free(search.numbers.items);
}

enum { MAX_COPIES = 1024 };

void tg_image_lines_find_copies(struct tg_image_lines *lines, const char *name, struct tg_address_set *found)
{
    uint64_t addresses[MAX_COPIES];
    struct tg_address_set copies = {.items = addresses, .max = MAX_COPIES};
    if (recall(lines, name, 0, found) || blocks_of(lines) == NULL)
        return;
    tg_debug_blocks_find_copies(blocks_of(lines), name, &copies);
    for (size_t i = 0; i < copies.count; i++) {
        addresses[i] += lines->delta;
        tg_address_set_add(found, addresses[i]);
    }
    remember(lines, name, 0, addresses, copies.count);
}

/* ---- lines of addresses */

static bool is_code(void *context, uint64_t address)
{
    const struct tg_image_lines *lines = context;
    return tg_elf_object_is_code(lines->code, address + lines->delta);
}

static bool find_row(struct tg_image_lines *lines, uint64_t address, struct tg_line_unit *unit,
                     struct tg_line_row *row)
{
    if (!load(lines))
        return false;
    if (lines->index == NULL)
        lines->index = tg_line_index_create(&lines->sections, is_code, lines);
    return lines->index != NULL &&
           tg_line_index_find(lines->index, &lines->sections, address - lines->delta, unit, row);
}

const char *tg_image_lines_inlined_at(struct tg_image_lines *lines, uint64_t address, uint64_t *offset)
{
    struct tg_line_unit unit;
    struct tg_line_row row;
    if (!find_row(lines, address, &unit, &row) || blocks_of(lines) == NULL)
        return NULL;
    return tg_debug_blocks_inlined_at(blocks_of(lines), unit.offset, address - lines->delta, offset);
}

bool tg_image_lines_at(struct tg_image_lines *lines, uint64_t address, char *path, size_t size,
                       uint64_t *line)
{
    struct tg_line_unit unit;
    struct tg_line_row row;
    if (!find_row(lines, address, &unit, &row))
        return false;
    load_strings(lines, &unit);
    if (!tg_line_unit_file_path(&lines->sections, &unit, row.file, path, size))
        return false;
    *line = row.line;
    return true;
}

static bool is_code_here(void *context, uint64_t address)
{
    const struct tg_image_lines *lines = context;
    return tg_elf_object_is_code(lines->code, address);
}

const char *tg_image_lines_body_owner(struct tg_image_lines *lines, uint64_t address)
{
    struct tg_debug_blocks *blocks = blocks_of(lines);
    if (lines->units == NULL && blocks != NULL)
        lines->units = tg_debug_units_create(tg_debug_blocks_dwarf(blocks), lines->delta, is_code_here, lines,
                                             TG_DEBUG_UNITS_OWN_FILE);
    if (lines->bodies == NULL)
        lines->bodies = tg_outlined_bodies_create();
    if (lines->units == NULL || lines->bodies == NULL)
        return NULL;
    const struct tg_outlined_owner owner = tg_outlined_bodies_at(lines->bodies, lines->units, address);
    return owner.symbol != NULL ? owner.symbol : owner.name;
}
