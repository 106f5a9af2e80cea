#include "recorder/stacks/python_frames.h"

#include "recorder/engine/engine.h"
#include "recorder/stacks/python_lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Offsets of members, as the headers of the release have them (Include/internal). */
struct tg_python_layout {
    unsigned minor; /* 3.MINOR */
    uint16_t runtime_interpreters;
    uint16_t interpreter_next, interpreter_threads;
    uint16_t thread_next, thread_id, thread_frame;
    int16_t frame_in_thread; /* of the frame in what thread_frame points to, -1: that is the frame */
    uint16_t frame_code, frame_previous, frame_instruction;
    int16_t frame_line;  /* of a line that is set while tracing, -1 none */
    int16_t frame_entry; /* of a byte that says that the frame is an entry, -1 none */
    int16_t frame_owner; /* of its owner, -1 none */
    uint16_t code_first_line, code_file, code_name, code_lines;
    int16_t code_start; /* of the instructions; -1: frame_instruction is a number */
    uint8_t instruction_bytes;
    uint8_t line_code; /* enum tg_python_line_code */
    uint8_t ascii_data, compact_data;
};

static const struct tg_python_layout layouts[] = {
    {9,  32, 0, 8, 8, 176, 24, -1, 32, 24, 104, -1, -1, -1, 40, 104, 112, 120, -1, 1, TG_PYTHON_LNOTAB,
     48, 72},
    {10, 32, 0, 8, 8, 176, 24, -1, 32, 24, 96, 100, -1, -1, 40, 104, 112, 120, -1, 2, TG_PYTHON_LINES_310,
     48, 72},
    {11, 40, 0, 16, 8, 152, 56, 8, 32, 48, 56, -1, 68, 69, 72, 112, 128, 136, 184, 0, TG_PYTHON_LOCATIONS,
     48, 72},
    {12, 40, 0, 72, 8, 136, 56, 0, 0, 8, 56, -1, -1, 70, 68, 112, 128, 136, 192, 0, TG_PYTHON_LOCATIONS,
     40, 56},
    {13, 632, 7264, 7344, 8,   152, 72,
     -1, 0,   8,    56,   -1,  -1,  70,
     68, 112, 128,  136,  200, 0,   TG_PYTHON_LOCATIONS,
     40, 56},
};

enum {
    OBJECT_TYPE = 8,
    SIZED_COUNT = 16,
    BYTES_DATA = 32,
    TEXT_LENGTH = 16,
    TEXT_STATE = 32,
    OWNED_BY_C = 3, /* a frame of the evaluation function's own, from 3.12 on */
    MAX_INTERPRETERS = 64,
    MAX_THREADS = 1 << 14,      /* of all interpreters */
    THREADS_PER_LOOK = 64,      /* at the clock */
    MAX_TABLE_BYTES = 64 << 10, /* of lines */
};

/* ---- the interpreter */

static uint64_t find_variable(struct tg_debug_info *info, const char *name, uint64_t bias)
{
    uint64_t address = tg_debug_info_variable(info, name);
    return address == 0 ? 0 : address + bias;
}

static const struct tg_python_layout *layout_of_minor(unsigned long minor)
{
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        if (layouts[i].minor == minor)
            return &layouts[i];
    return NULL;
}

/* The name of an interpreter's file behind "lib" and "python"; NULL: it is none. */
static const char *name_behind_python(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    if (strncmp(name, "lib", 3) == 0)
        name += 3;
    return strncmp(name, "python", 6) == 0 ? name + 6 : NULL;
}

/* A 't' or 'd' behind the number is another build. */
const struct tg_python_layout *tg_python_layout_of(const char *path)
{
    const char *name = name_behind_python(path);
    if (name == NULL || strncmp(name, "3.", 2) != 0)
        return NULL;
    char *end;
    unsigned long minor = strtoul(name + 2, &end, 10);
    return *end == '\0' || *end == '.' || *end == ' ' ? layout_of_minor(minor) : NULL;
}

const struct tg_python_layout *tg_python_layout_of_extension(const char *path)
{
    static const char mark[] = ".cpython-3";
    const char *slash = strrchr(path, '/');
    const char *at = strstr(slash != NULL ? slash : path, mark);
    if (at == NULL)
        return NULL;
    char *end;
    unsigned long minor = strtoul(at + sizeof mark - 1, &end, 10);
    return *end == '-' ? layout_of_minor(minor) : NULL;
}

bool tg_python_is_interpreter(const char *path)
{
    const char *name = name_behind_python(path);
    return name != NULL && (*name == '\0' || *name == ' ' || (*name >= '2' && *name <= '9')) &&
           strncmp(name, "3.so", 4) != 0; /* which holds nothing */
}

/* A copy of the interpreter may be called "python": then the modules that it has loaded tell. */
static const struct tg_python_layout *find_layout(struct tg_modules *modules, const struct tg_module *module)
{
    const struct tg_python_layout *layout = tg_python_layout_of(module->path);
    const char *name = name_behind_python(module->path);
    if (layout != NULL || name == NULL || strcspn(name, ".") != strlen(name))
        return layout;
    for (size_t i = 0; i < tg_modules_count(modules) && layout == NULL; i++)
        layout = tg_python_layout_of_extension(tg_modules_at(modules, i)->path);
    return layout;
}

struct tg_python tg_python_find(struct tg_modules *modules)
{
    const struct tg_module *unknown = NULL;
    for (size_t i = 0; i < tg_modules_count(modules); i++) {
        struct tg_python python = {.module = tg_modules_at(modules, i)};
        uint64_t bias;
        if (!tg_python_is_interpreter(python.module->path))
            continue;
        unknown = python.module;
        python.layout = find_layout(modules, python.module);
        struct tg_debug_info *info =
            python.layout != NULL ? tg_modules_debug_info(modules, python.module, &bias) : NULL;
        if (info == NULL)
            continue;
        python.runtime = find_variable(info, "_PyRuntime", bias);
        python.code_type = find_variable(info, "PyCode_Type", bias);
        python.text_type = find_variable(info, "PyUnicode_Type", bias);
        if (python.runtime != 0 && python.code_type != 0 && python.text_type != 0)
            return python;
    }
    return (struct tg_python){.unknown = unknown};
}

bool tg_python_remark(const struct tg_python *python, char *text, size_t size)
{
    if (python->module != NULL || python->unknown == NULL)
        return false;
    const char *path = python->unknown->path, *slash = strrchr(path, '/');
    bool is_known = tg_python_layout_of(path) != NULL;
    snprintf(text, size, "its Python functions are unknown: %s %s", slash != NULL ? slash + 1 : path,
             is_known ? "has no symbols" : "is not known to be a release from 3.9 to 3.13");
    return true;
}

bool tg_python_is_evaluation(const struct tg_python *python, struct tg_modules *modules, uint64_t address)
{
    const char *name;
    uint64_t offset;
    return python->module != NULL && tg_modules_find(modules, address) == python->module &&
           tg_modules_symbol_at(modules, address, &name, &offset) &&
           strncmp(name, "_PyEval_EvalFrameDefault", strlen("_PyEval_EvalFrameDefault")) == 0;
}

/* ---- memory */

static bool read_word(const struct tg_inspect_memory *memory, uint64_t address, uint64_t *word)
{
    return memory->read(memory->context, address, word, sizeof *word);
}

static bool read_number(const struct tg_inspect_memory *memory, uint64_t address, int32_t *number)
{
    return memory->read(memory->context, address, number, sizeof *number);
}

static bool has_type(const struct tg_inspect_memory *memory, uint64_t object, uint64_t type)
{
    uint64_t found;
    return object != 0 && read_word(memory, object + OBJECT_TYPE, &found) && found == type;
}

static size_t put_utf8(uint32_t code, char *out)
{
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    size_t n = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = n; --i > 0; code >>= 6)
        out[i] = (char)(0x80 | (code & 0x3f));
    out[0] = (char)(0xf00 >> n | code);
    return n;
}

/* Of what is too long, END keeps the end, which matters most in a file's name, and else "..." stands for it. */
static bool read_text(const struct tg_python *python, const struct tg_inspect_memory *memory, uint64_t text,
                      bool end, char *out, size_t size)
{
    enum { MAX_CHARACTERS = 512, ASCII = 1 << 6, COMPACT = 1 << 5 };
    uint64_t length;
    uint32_t state;
    uint8_t bytes[MAX_CHARACTERS * 4];
    if (!has_type(memory, text, python->text_type) || !read_word(memory, text + TEXT_LENGTH, &length) ||
        !memory->read(memory->context, text + TEXT_STATE, &state, sizeof state) || (state & COMPACT) == 0)
        return false;
    unsigned width = state >> 2 & 7;
    bool is_ascii = (state & ASCII) != 0;
    if ((width != 1 && width != 2 && width != 4) || (is_ascii && width != 1) || length > INT32_MAX)
        return false;
    static const char dots[] = "...";
    uint64_t max = (size - sizeof dots) / (is_ascii ? 1 : 4);
    uint64_t left_out = length > max ? length - max : 0, count = length - left_out;
    uint64_t at = text + (is_ascii ? python->layout->ascii_data : python->layout->compact_data);
    if (count > MAX_CHARACTERS || count * width > sizeof bytes ||
        !memory->read(memory->context, at + (end ? left_out * width : 0), bytes, count * width))
        return false;
    size_t used = 0;
    for (uint64_t i = 0; i < count; i++) {
        uint32_t code = 0;
        memcpy(&code, bytes + i * width, width);
        bool is_wrong = code == 0 || code > 0x10ffff || (is_ascii && code > 0x7f);
        used += put_utf8(is_wrong ? '?' : code, out + used);
    }
    memcpy(out + used, left_out > 0 && !end ? dots : "", left_out > 0 && !end ? sizeof dots : 1);
    return used > 0;
}

/* ---- frames */

static unsigned read_line(const struct tg_python *python, const struct tg_inspect_memory *memory,
                          uint64_t frame, uint64_t code)
{
    const struct tg_python_layout *layout = python->layout;
    int32_t first, number;
    uint64_t table, size, instruction;
    if (!read_number(memory, code + layout->code_first_line, &first) || first < 0 ||
        !read_word(memory, code + layout->code_lines, &table) ||
        !read_word(memory, table + SIZED_COUNT, &size) || size > MAX_TABLE_BYTES)
        return 0;
    if (layout->frame_line >= 0 && read_number(memory, frame + (uint64_t)layout->frame_line, &number) &&
        number > 0)
        return (unsigned)number;
    int64_t offset;
    if (layout->code_start >= 0) {
        if (!read_word(memory, frame + layout->frame_instruction, &instruction))
            return 0;
        offset = (int64_t)(instruction - (code + (uint64_t)layout->code_start));
    } else {
        if (!read_number(memory, frame + layout->frame_instruction, &number))
            return 0;
        offset = (int64_t)number * layout->instruction_bytes;
    }
    uint8_t *bytes = malloc(size + 1);
    unsigned line = 0;
    if (bytes != NULL && memory->read(memory->context, table + BYTES_DATA, bytes, size))
        line =
            tg_python_line((enum tg_python_line_code)layout->line_code, bytes, size, (unsigned)first, offset);
    free(bytes);
    return line;
}

/* Whether too much was read already: a list that scribbled memory makes into a circle has no end. */
static bool is_enough(unsigned n_threads, uint64_t until_ns)
{
    return n_threads >= MAX_THREADS ||
           (n_threads % THREADS_PER_LOOK == THREADS_PER_LOOK - 1 && tg_engine_now_ns() > until_ns);
}

/* The innermost frame of the thread, 0: it has none, or runs no Python, or there was no time. */
static uint64_t find_frame(const struct tg_python *python, const struct tg_inspect_memory *memory,
                           uint64_t fs_base, uint64_t until_ns)
{
    const struct tg_python_layout *layout = python->layout;
    uint64_t interpreter, thread, id, frame;
    unsigned n_threads = 0;
    if (!read_word(memory, python->runtime + layout->runtime_interpreters, &interpreter))
        return 0;
    for (unsigned i = 0; interpreter != 0 && i < MAX_INTERPRETERS; i++) {
        if (!read_word(memory, interpreter + layout->interpreter_threads, &thread))
            return 0;
        for (; thread != 0; n_threads++) {
            if (is_enough(n_threads, until_ns) || !read_word(memory, thread + layout->thread_id, &id))
                return 0;
            if (id == fs_base) {
                bool found = read_word(memory, thread + layout->thread_frame, &frame) && frame != 0;
                if (found && layout->frame_in_thread >= 0)
                    found = read_word(memory, frame + (uint64_t)layout->frame_in_thread, &frame);
                return found ? frame : 0;
            }
            if (!read_word(memory, thread + layout->thread_next, &thread))
                return 0;
        }
        if (!read_word(memory, interpreter + layout->interpreter_next, &interpreter))
            return 0;
    }
    return 0;
}

static bool read_byte(const struct tg_inspect_memory *memory, uint64_t frame, int16_t offset, uint8_t *byte)
{
    *byte = 0;
    return offset < 0 || memory->read(memory->context, frame + (uint64_t)offset, byte, 1);
}

static bool read_frame(const struct tg_python *python, const struct tg_inspect_memory *memory, uint64_t frame,
                       struct tg_python_frame *result)
{
    const struct tg_python_layout *layout = python->layout;
    uint64_t code, text;
    if (!read_word(memory, frame + layout->frame_code, &code) || !has_type(memory, code, python->code_type) ||
        !read_word(memory, code + layout->code_name, &text) ||
        !read_text(python, memory, text, false, result->function, sizeof result->function) ||
        !read_word(memory, code + layout->code_file, &text) ||
        !read_text(python, memory, text, true, result->file, sizeof result->file))
        return false;
    result->line = read_line(python, memory, frame, code);
    return true;
}

size_t tg_python_frames_read(const struct tg_python *python, const struct tg_inspect_memory *memory,
                             uint64_t fs_base, uint64_t until_ns, struct tg_python_frame *frames, size_t max,
                             bool *is_whole)
{
    *is_whole = false;
    if (python->module == NULL || fs_base == 0)
        return 0;
    const struct tg_python_layout *layout = python->layout;
    uint64_t frame = find_frame(python, memory, fs_base, until_ns);
    size_t count = 0;
    for (size_t steps = 0; frame != 0 && count < max && steps < 2 * max; steps++) {
        uint8_t owner, entry;
        if (!read_byte(memory, frame, layout->frame_owner, &owner) ||
            !read_byte(memory, frame, layout->frame_entry, &entry))
            break;
        bool is_shim = layout->minor >= 12 && owner == OWNED_BY_C;
        if (is_shim && count > 0) {
            frames[count - 1].is_entry = true;
        } else if (!is_shim) {
            if (!read_frame(python, memory, frame, &frames[count]))
                break;
            frames[count].is_entry = layout->minor <= 10 || entry != 0;
            count++;
        }
        if (!read_word(memory, frame + layout->frame_previous, &frame))
            break;
        *is_whole = frame == 0;
    }
    return count;
}
