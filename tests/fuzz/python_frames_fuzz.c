/* An interpreter's memory made of the input: the first byte says which release, the rest is found again and again in
 * the lower 4 GiB, but for one page in 16. Whatever it is, reading ends, and what is read are strings. */
#include "recorder/stacks/python_frames.h"
#include "recorder/stacks/python_lines.h"
#include "tests/fuzz/fuzz.h"

#include <assert.h>
#include <stdio.h>

enum { HEAD = 1, MAX_FRAMES = 16, MAX_READS = 1 << 20 };

struct memory {
    const uint8_t *bytes;
    size_t size, reads;
};

static bool read_memory(void *context, uint64_t address, void *buffer, size_t size)
{
    struct memory *memory = context;
    assert(++memory->reads < MAX_READS && size <= 64 << 10);
    if (address >> 32 != 0 || (address >> 12 & 15) == 15)
        return false;
    for (size_t i = 0; i < size; i++)
        ((uint8_t *)buffer)[i] = memory->bytes[(address + i) % memory->size];
    return true;
}

static void check(const char *text, size_t size)
{
    size_t length = strnlen(text, size);
    assert(length > 0 && length < size);
}

static void read_frames(const uint8_t *data, size_t size, unsigned minor)
{
    static const struct tg_module module;
    char path[32];
    snprintf(path, sizeof path, "/usr/bin/python3.%u", minor);
    struct memory memory = {.bytes = data, .size = size};
    const struct tg_inspect_memory inspected = {.context = &memory, .read = read_memory};
    struct tg_python python = {.module = &module, .layout = tg_python_layout_of(path), .runtime = size};
    assert(python.layout != NULL);
    memcpy(&python.code_type, data, 8);
    memcpy(&python.text_type, data + 8, 8);
    uint64_t fs_base;
    memcpy(&fs_base, data + 16, 8);
    struct tg_python_frame frames[MAX_FRAMES];
    bool is_whole;
    size_t n = tg_python_frames_read(&python, &inspected, fs_base, UINT64_MAX, frames, MAX_FRAMES, &is_whole);
    assert(n <= MAX_FRAMES);
    for (size_t i = 0; i < n; i++) {
        check(frames[i].function, sizeof frames[i].function);
        check(frames[i].file, sizeof frames[i].file);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int64_t offsets[] = {-1, 0, 2, 100, INT32_MAX};
    if (size < HEAD + 24)
        return 0;
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++)
        for (int code = TG_PYTHON_LNOTAB; code <= TG_PYTHON_LOCATIONS; code++)
            assert(tg_python_line((enum tg_python_line_code)code, data + HEAD, size - HEAD, 7, offsets[i]) <=
                   INT32_MAX);
    read_frames(data + HEAD, size - HEAD, 9 + data[0] % 5);
    return 0;
}
