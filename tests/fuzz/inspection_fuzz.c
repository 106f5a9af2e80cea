/* Bytes of a process as instructions, memory and text. The first line is a format as dexamine has it, the
 * rest is the memory at BASE. What is printed must be harmless, and what is data well-formed. */
#include "live/inspect/memory/disassembly.h"
#include "live/inspect/memory/memory_dump.h"
#include "tests/fuzz/fuzz.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { BASE = 0x10000, MOST = 64 };

struct bytes {
    const uint8_t *bytes;
    size_t size;
};

static bool read_bytes(void *context, uint64_t address, void *buffer, size_t size)
{
    const struct bytes *bytes = context;
    if (address < BASE || address - BASE > bytes->size || size > bytes->size - (address - BASE))
        return false;
    memcpy(buffer, bytes->bytes + (address - BASE), size);
    return true;
}

/* Everything is in one function whose name would deceive. */
static bool name(void *context, uint64_t address, struct tg_symbol *symbol)
{
    (void)context;
    if (address % 3 == 0)
        return false;
    *symbol = (struct tg_symbol){.function = "f\x1b[31m\xff", .offset = address - BASE, .file = "/\x07.c"};
    return true;
}

/* No control character comes out but line ends. */
static void check(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        assert((unsigned char)text[i] >= ' ' || text[i] == '\n');
    for (size_t i = 0; i < size; i++)
        assert(text[i] != 0x7f);
}

static void print(const struct tg_inspect_memory *memory, const struct tg_memory_format *format)
{
    static const struct tg_inspect_namer namer = {.name = name};
    struct tg_disassembler *disassembler = NULL;
    const struct tg_disassembly disassembly = {
        .memory = memory, .namer = &namer, .pc = BASE, .shows_bytes = format->size == 8};
    struct tg_json json;
    char *text = NULL;
    size_t size;
    uint64_t end;
    FILE *stream = open_memstream(&text, &size);
    if (tg_disassembler_create(&disassembler) != NULL || stream == NULL)
        abort();
    tg_json_init(&json, stream, false);
    tg_disassembler_set_intel(disassembler, format->size == 4);
    if (format->kind == TG_MEMORY_INSTRUCTION) {
        tg_error_destroy(tg_disassembly_print(disassembler, &disassembly, BASE, format->count, stream, &end));
        tg_error_destroy(tg_disassembly_json(disassembler, &disassembly, BASE, format->count, &json, &end));
        (void)tg_disassembler_back(disassembler, memory, &namer, BASE + format->count, 3);
    } else {
        tg_error_destroy(tg_memory_dump_print(memory, &namer, BASE, format, stream, &end));
        tg_error_destroy(tg_memory_dump_json(memory, BASE, format, &json, &end));
    }
    fclose(stream);
    check(text, size);
    free(text);
    tg_disassembler_destroy(disassembler);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[MOST] = "", *shown = NULL;
    size_t shown_size, length = 0;
    struct tg_memory_format format = {TG_MEMORY_HEX, 4, 1};
    while (length < size && length < MOST - 1 && data[length] != '\n' && data[length] != '\0')
        length++;
    memcpy(text, data, length);
    struct bytes bytes = {data + length, size - length};
    const struct tg_inspect_memory memory = {&bytes, read_bytes};
    FILE *stream = open_memstream(&shown, &shown_size);
    if (stream == NULL)
        return 0;
    tg_inspect_write_text((const char *)bytes.bytes, bytes.size, 200, stream);
    fclose(stream);
    for (size_t i = 0; i < shown_size; i++)
        assert((unsigned char)shown[i] >= ' ' && shown[i] != 0x7f);
    free(shown);
    struct tg_error *error = tg_memory_format_parse(text, &format);
    if (error == NULL && format.count <= 1024)
        print(&memory, &format);
    tg_error_destroy(error);
    return 0;
}
