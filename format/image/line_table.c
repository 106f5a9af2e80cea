#include "format/image/line_table.h"

#include "format/image/elf_decode.h"

#include <dwarf.h>
#include <string.h>

/* ---- bytes */

struct cursor {
    const uint8_t *at;
    const uint8_t *end;
    bool bad; /* something lay beyond END: everything from then on reads as zero */
};

static const uint8_t *take(struct cursor *cursor, uint64_t size)
{
    if (cursor->bad || size > (uint64_t)(cursor->end - cursor->at)) {
        cursor->bad = true;
        return NULL;
    }
    const uint8_t *at = cursor->at;
    cursor->at += size;
    return at;
}

static uint64_t take_unsigned(struct cursor *cursor, unsigned size)
{
    const uint8_t *bytes = take(cursor, size);
    if (bytes == NULL)
        return 0;
    switch (size) {
    case 1:
        return bytes[0];
    case 2:
        return tg_elf_u16(bytes);
    case 4:
        return tg_elf_u32(bytes);
    case 8:
        return tg_elf_u64(bytes);
    default:
        cursor->bad = true;
        return 0;
    }
}

/* A LEB128 number; IS_SIGNED: its last bit is the sign. */
static uint64_t take_leb(struct cursor *cursor, bool is_signed)
{
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        const uint8_t *byte = take(cursor, 1);
        if (byte == NULL)
            return 0;
        if (shift < 64)
            value |= (uint64_t)(*byte & 0x7f) << shift;
        if ((*byte & 0x80) != 0)
            continue;
        bool is_negative = is_signed && (*byte & 0x40) != 0 && shift + 7 < 64;
        return is_negative ? value | UINT64_MAX << (shift + 7) : value;
    }
}

static uint64_t take_uleb(struct cursor *cursor)
{
    return take_leb(cursor, false);
}

static int64_t take_sleb(struct cursor *cursor)
{
    return (int64_t)take_leb(cursor, true);
}

static const char *take_string(struct cursor *cursor)
{
    const uint8_t *nul = cursor->bad ? NULL : memchr(cursor->at, '\0', (size_t)(cursor->end - cursor->at));
    if (nul == NULL) {
        cursor->bad = true;
        return "";
    }
    const char *text = (const char *)cursor->at;
    cursor->at = nul + 1;
    return text;
}

/* ---- headers */

static void decode_header(struct cursor header, struct tg_line_unit *unit)
{
    const uint8_t *unit_end = header.end;
    unit->version = (unsigned)take_unsigned(&header, 2);
    if (unit->version < 2 || unit->version > 5)
        return;
    unit->address_bytes = 8;
    if (unit->version >= 5) {
        unit->address_bytes = (unsigned)take_unsigned(&header, 1);
        (void)take(&header, 1); /* segment selector size */
    }
    uint64_t length = take_unsigned(&header, unit->offset_bytes);
    if (header.bad || length > (uint64_t)(header.end - header.at))
        return;
    header.end = header.at + length;
    unit->program = header.end;
    unit->end = unit_end;
    unit->instruction_bytes = (unsigned)take_unsigned(&header, 1);
    if (unit->version >= 4)
        (void)take(&header, 1); /* operations per instruction: 1 but for VLIW machines */
    unit->default_is_stmt = take_unsigned(&header, 1) != 0;
    unit->line_base = (int8_t)take_unsigned(&header, 1);
    unit->line_range = (unsigned)take_unsigned(&header, 1);
    unit->opcode_base = (unsigned)take_unsigned(&header, 1);
    if (header.bad || unit->line_range == 0 || unit->opcode_base == 0)
        return;
    unit->opcode_lengths = take(&header, unit->opcode_base - 1);
    unit->directories = header.at;
    if (header.bad)
        return;
    if (unit->version >= 5) {
        unit->files = NULL; /* behind the directories: found by walking them */
    } else {
        while (!header.bad && take_string(&header)[0] != '\0')
            ;
        if (header.bad)
            return;
        unit->files = header.at;
    }
    unit->understood = true;
}

bool tg_line_unit_decode(const struct tg_line_sections *sections, uint64_t offset, struct tg_line_unit *unit)
{
    if (offset >= sections->line_size)
        return false;
    struct cursor cursor = {.at = sections->line + offset, .end = sections->line + sections->line_size};
    *unit = (struct tg_line_unit){.offset = offset, .offset_bytes = 4};
    uint64_t length = take_unsigned(&cursor, 4);
    if (length == UINT32_MAX) {
        unit->offset_bytes = 8;
        length = take_unsigned(&cursor, 8);
    }
    if (cursor.bad || length == 0 || length > (uint64_t)(cursor.end - cursor.at))
        return false;
    cursor.end = cursor.at + length;
    unit->next = (uint64_t)(cursor.end - sections->line);
    decode_header(cursor, unit);
    return true;
}

/* ---- version 5 tables: entries of described fields */

struct table {
    struct cursor format; /* pairs of content type and form */
    unsigned n_fields;
    uint64_t n_entries;
    struct cursor entries;
};

static struct table take_table(struct cursor *cursor)
{
    struct table table = {.n_fields = (unsigned)take_unsigned(cursor, 1)};
    table.format = *cursor;
    for (unsigned i = 0; i < table.n_fields; i++) {
        (void)take_uleb(cursor);
        (void)take_uleb(cursor);
    }
    table.format.end = cursor->at;
    table.n_entries = take_uleb(cursor);
    table.entries = *cursor;
    /* every field takes a byte at least, so that a count beyond them cannot keep anyone busy */
    if (cursor->bad || table.n_fields == 0 || table.n_entries > (uint64_t)(cursor->end - cursor->at))
        table.n_entries = 0;
    return table;
}

struct entry {
    const char *path; /* NULL: not known */
    uint64_t directory;
};

static const char *string_at(const char *strings, size_t size, uint64_t offset)
{
    return offset < size ? strings + offset : NULL;
}

static void take_field(const struct tg_line_sections *sections, const struct tg_line_unit *unit,
                       struct cursor *cursor, uint64_t type, uint64_t form, struct entry *entry)
{
    const char *text = NULL;
    uint64_t value = 0;
    switch (form) {
    case DW_FORM_string:
        text = take_string(cursor);
        break;
    case DW_FORM_line_strp:
        text = string_at(sections->line_strings, sections->line_strings_size,
                         take_unsigned(cursor, unit->offset_bytes));
        break;
    case DW_FORM_strp:
        text =
            string_at(sections->strings, sections->strings_size, take_unsigned(cursor, unit->offset_bytes));
        break;
    case DW_FORM_strp_sup: /* in a file that is not read */
    case DW_FORM_GNU_strp_alt:
        (void)take_unsigned(cursor, unit->offset_bytes);
        break;
    case DW_FORM_udata:
        value = take_uleb(cursor);
        break;
    case DW_FORM_data1:
        value = take_unsigned(cursor, 1);
        break;
    case DW_FORM_data2:
        value = take_unsigned(cursor, 2);
        break;
    case DW_FORM_data4:
        value = take_unsigned(cursor, 4);
        break;
    case DW_FORM_data8:
        value = take_unsigned(cursor, 8);
        break;
    case DW_FORM_data16: /* checksum */
        (void)take(cursor, 16);
        break;
    case DW_FORM_block:
        (void)take(cursor, take_uleb(cursor));
        break;
    default:
        cursor->bad = true;
        break;
    }
    if (type == DW_LNCT_path)
        entry->path = text;
    else if (type == DW_LNCT_directory_index)
        entry->directory = value;
}

static struct entry take_entry(const struct tg_line_sections *sections, const struct tg_line_unit *unit,
                               const struct table *table, struct cursor *cursor)
{
    struct entry entry = {0};
    struct cursor format = table->format;
    for (unsigned i = 0; i < table->n_fields && !cursor->bad; i++) {
        uint64_t type = take_uleb(&format);
        uint64_t form = take_uleb(&format);
        take_field(sections, unit, cursor, type, form, &entry);
    }
    return entry;
}

/* ---- files and directories */

static struct cursor header_cursor(const struct tg_line_unit *unit, const uint8_t *at)
{
    return (struct cursor){.at = at, .end = unit->program};
}

static struct table directory_table(const struct tg_line_unit *unit)
{
    struct cursor cursor = header_cursor(unit, unit->directories);
    return take_table(&cursor);
}

static struct table file_table(const struct tg_line_sections *sections, const struct tg_line_unit *unit)
{
    struct table directories = directory_table(unit);
    struct cursor cursor = directories.entries;
    for (uint64_t i = 0; i < directories.n_entries && !cursor.bad; i++)
        (void)take_entry(sections, unit, &directories, &cursor);
    return take_table(&cursor);
}

static bool next_file_5(const struct tg_line_sections *sections, const struct tg_line_unit *unit,
                        struct tg_line_file *file)
{
    /* the description of the entries is decoded again for every file but the tables are walked once */
    struct table table = {0};
    if (!file->started) {
        table = file_table(sections, unit);
        file->n_left = table.n_entries;
        file->table_at = table.format.at;
        file->n_fields = table.n_fields;
        file->at = table.entries.at;
        file->number = UINT64_MAX; /* the first one is 0 */
        file->started = true;
    }
    table.format = header_cursor(unit, file->table_at);
    table.n_fields = file->n_fields;
    struct cursor cursor = header_cursor(unit, file->at);
    while (file->n_left > 0 && !cursor.bad) {
        struct entry entry = take_entry(sections, unit, &table, &cursor);
        file->n_left--;
        file->number++;
        if (cursor.bad || entry.path == NULL)
            continue;
        file->name = entry.path;
        file->directory = entry.directory;
        file->at = cursor.at;
        return true;
    }
    file->n_left = 0;
    return false;
}

bool tg_line_unit_next_file(const struct tg_line_sections *sections, const struct tg_line_unit *unit,
                            struct tg_line_file *file)
{
    if (unit->version >= 5)
        return next_file_5(sections, unit, file);
    if (!file->started) {
        file->started = true;
        file->at = unit->files;
        file->number = 0; /* the first one is 1 */
    }
    struct cursor cursor = header_cursor(unit, file->at);
    const char *name = take_string(&cursor);
    uint64_t directory = take_uleb(&cursor);
    (void)take_uleb(&cursor); /* time */
    (void)take_uleb(&cursor); /* size */
    if (name[0] == '\0' || cursor.bad)
        return false;
    file->name = name;
    file->directory = directory;
    file->number++;
    file->at = cursor.at;
    return true;
}

size_t tg_line_unit_directories(const struct tg_line_sections *sections, const struct tg_line_unit *unit,
                                const char **directories, size_t max)
{
    size_t count = 0;
    if (unit->version >= 5) {
        struct table table = directory_table(unit);
        struct cursor cursor = table.entries;
        for (; count < table.n_entries; count++) {
            struct entry entry = take_entry(sections, unit, &table, &cursor);
            if (cursor.bad)
                break;
            if (count < max)
                directories[count] = entry.path;
        }
        return count;
    }
    struct cursor cursor = header_cursor(unit, unit->directories);
    for (const char *name = NULL; !cursor.bad && (name == NULL || name[0] != '\0');
         name = take_string(&cursor), count++) {
        if (count < max)
            directories[count] = name;
    }
    return count;
}

static bool has_form(const struct table *table, uint64_t wanted)
{
    struct cursor format = table->format;
    for (unsigned i = 0; i < table->n_fields && !format.bad; i++) {
        (void)take_uleb(&format);
        if (take_uleb(&format) == wanted)
            return true;
    }
    return false;
}

bool tg_line_unit_needs_strings(const struct tg_line_sections *sections, const struct tg_line_unit *unit)
{
    if (unit->version < 5)
        return false;
    struct table directories = directory_table(unit), files = file_table(sections, unit);
    return has_form(&directories, DW_FORM_strp) || has_form(&files, DW_FORM_strp);
}

/* ---- the program */

struct machine {
    struct tg_line_row row;
    const struct tg_line_unit *unit;
    bool (*emit)(void *context, const struct tg_line_row *row);
    void *context;
};

static void reset(struct machine *machine)
{
    machine->row =
        (struct tg_line_row){.file = 1, .line = 1, .is_stmt = machine->unit->default_is_stmt, .first = true};
}

static bool emit(struct machine *machine)
{
    bool go_on = machine->emit(machine->context, &machine->row);
    machine->row.first = false;
    return go_on;
}

static bool run_extended(struct machine *machine, struct cursor *cursor)
{
    uint64_t length = take_uleb(cursor);
    const uint8_t *bytes = take(cursor, length);
    if (bytes == NULL || length == 0)
        return !cursor->bad;
    struct cursor operand = {.at = bytes + 1, .end = bytes + length};
    if (bytes[0] == DW_LNE_end_sequence) {
        machine->row.end_sequence = true;
        bool go_on = emit(machine);
        reset(machine);
        return go_on;
    }
    if (bytes[0] == DW_LNE_set_address)
        machine->row.address = take_unsigned(&operand, (unsigned)(length - 1 <= 8 ? length - 1 : 0));
    return true; /* DW_LNE_define_file, discriminators, vendors' own: skipped */
}

static bool run_standard(struct machine *machine, struct cursor *cursor, unsigned opcode)
{
    const struct tg_line_unit *unit = machine->unit;
    struct tg_line_row *row = &machine->row;
    switch (opcode) {
    case DW_LNS_copy:
        return emit(machine);
    case DW_LNS_advance_pc:
        row->address += take_uleb(cursor) * unit->instruction_bytes;
        return true;
    case DW_LNS_advance_line:
        row->line += (uint64_t)take_sleb(cursor);
        return true;
    case DW_LNS_set_file:
        row->file = take_uleb(cursor);
        return true;
    case DW_LNS_negate_stmt:
        row->is_stmt = !row->is_stmt;
        return true;
    case DW_LNS_const_add_pc:
        row->address += (uint64_t)((255 - unit->opcode_base) / unit->line_range) * unit->instruction_bytes;
        return true;
    case DW_LNS_fixed_advance_pc:
        row->address += take_unsigned(cursor, 2);
        return true;
    default: /* the header says how many operands an opcode has */
        for (unsigned i = 0; i < unit->opcode_lengths[opcode - 1]; i++)
            (void)take_uleb(cursor);
        return true;
    }
}

void tg_line_unit_run(const struct tg_line_unit *unit,
                      bool (*row)(void *context, const struct tg_line_row *row), void *context)
{
    struct machine machine = {.unit = unit, .emit = row, .context = context};
    struct cursor cursor = {.at = unit->program, .end = unit->end};
    bool go_on = true;
    reset(&machine);
    while (go_on && !cursor.bad && cursor.at < cursor.end) {
        unsigned opcode = *cursor.at++;
        if (opcode >= unit->opcode_base) {
            unsigned adjusted = opcode - unit->opcode_base;
            machine.row.address += (uint64_t)(adjusted / unit->line_range) * unit->instruction_bytes;
            machine.row.line += (uint64_t)(int64_t)(unit->line_base + (int)(adjusted % unit->line_range));
            go_on = emit(&machine);
        } else if (opcode == 0) {
            go_on = run_extended(&machine, &cursor);
        } else {
            go_on = run_standard(&machine, &cursor, opcode);
        }
    }
}
