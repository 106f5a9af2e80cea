#include "live/inspect/memory/disassembly.h"

#include "format/base/printable.h"
#include "recorder/process/insn.h"

#include <capstone/capstone.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 15, PAGE = 4096, WINDOW = 1024 };

struct tg_disassembler {
    csh handle;
    cs_insn *room;
    struct tg_insn_decoder *lengths; /* of what Capstone does not know */
    /* Bytes of the process, [start, start + size). */
    uint8_t window[WINDOW];
    uint64_t start;
    size_t size;
};

struct tg_error *tg_disassembler_create(struct tg_disassembler **disassembler)
{
    struct tg_disassembler *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    cs_err failed = cs_open(CS_ARCH_X86, CS_MODE_64, &made->handle);
    if (failed != CS_ERR_OK) {
        free(made);
        return tg_error_create(TG_ERROR_UNSUPPORTED, "Capstone cannot decode x86: %s", cs_strerror(failed));
    }
    cs_option(made->handle, CS_OPT_DETAIL, CS_OPT_ON);
    tg_disassembler_set_intel(made, false);
    made->room = cs_malloc(made->handle);
    struct tg_error *error =
        made->room == NULL ? tg_error_no_memory() : tg_insn_decoder_create(&made->lengths);
    if (error != NULL) {
        tg_disassembler_destroy(made);
        return error;
    }
    *disassembler = made;
    return NULL;
}

void tg_disassembler_destroy(struct tg_disassembler *disassembler)
{
    if (disassembler == NULL)
        return;
    if (disassembler->room != NULL)
        cs_free(disassembler->room, 1);
    cs_close(&disassembler->handle);
    tg_insn_decoder_destroy(disassembler->lengths);
    free(disassembler);
}

void tg_disassembler_set_intel(struct tg_disassembler *disassembler, bool intel)
{
    cs_option(disassembler->handle, CS_OPT_SYNTAX, intel ? CS_OPT_SYNTAX_INTEL : CS_OPT_SYNTAX_ATT);
}

/* ---- decoding */

/* As many bytes from ADDRESS as there are, up to the window's size; pages are there or not. */
static void fill(struct tg_disassembler *disassembler, const struct tg_inspect_memory *memory,
                 uint64_t address)
{
    disassembler->start = address;
    disassembler->size = 0;
    while (disassembler->size < WINDOW) {
        uint64_t at = address + disassembler->size;
        size_t left = WINDOW - disassembler->size, in_page = (size_t)(PAGE - at % PAGE);
        size_t part = left < in_page ? left : in_page;
        if (at < address)
            return;
        while (part > 0 &&
               !memory->read(memory->context, at, disassembler->window + disassembler->size, part))
            part /= 2;
        if (part == 0)
            return;
        disassembler->size += part;
    }
}

static uint64_t target_of(const cs_insn *insn)
{
    const cs_x86 *x86 = &insn->detail->x86;
    bool transfers = false;
    for (size_t i = 0; i < insn->detail->groups_count; i++)
        transfers |= insn->detail->groups[i] == CS_GRP_JUMP || insn->detail->groups[i] == CS_GRP_CALL ||
                     insn->detail->groups[i] == CS_GRP_BRANCH_RELATIVE;
    for (size_t i = 0; i < x86->op_count; i++) {
        const cs_x86_op *operand = &x86->operands[i];
        if (operand->type == X86_OP_IMM && transfers)
            return (uint64_t)operand->imm;
        if (operand->type == X86_OP_MEM && operand->mem.base == X86_REG_RIP)
            return insn->address + insn->size + (uint64_t)operand->mem.disp;
    }
    return 0;
}

/* The instruction at BYTES; TEXT is the room for its text. */
static void decode(struct tg_disassembler *disassembler, const uint8_t *bytes, size_t size, uint64_t address,
                   struct tg_instruction *instruction, char text[256])
{
    const uint8_t *at = bytes;
    size_t left = size < LONGEST ? size : LONGEST;
    uint64_t place = address;
    struct tg_insn known;
    *instruction = (struct tg_instruction){.address = address, .size = 1, .text = text};
    if (cs_disasm_iter(disassembler->handle, &at, &left, &place, disassembler->room)) {
        const cs_insn *insn = disassembler->room;
        snprintf(text, 256, insn->op_str[0] == '\0' ? "%s" : "%-7s %s", insn->mnemonic, insn->op_str);
        instruction->size = (uint8_t)insn->size;
        instruction->is_known = true;
        instruction->target = target_of(insn);
    } else {
        struct tg_error *error = tg_insn_decode(disassembler->lengths, 64, address, bytes,
                                                size < LONGEST ? size : LONGEST, &known);
        if (error == NULL)
            instruction->size = known.length;
        snprintf(text, 256, error == NULL ? "(not known)" : "(bad)");
        tg_error_destroy(error);
    }
    memcpy(instruction->bytes, bytes, instruction->size);
}

/* Tells TAKE of COUNT instructions from ADDRESS, where one begins, until it says false. NOT_FOUND where not
 * one can be read; what ends at memory that cannot be read ends there, *END is behind the last one then. */
static struct tg_error *run(struct tg_disassembler *disassembler, const struct tg_inspect_memory *memory,
                            uint64_t address, uint64_t count,
                            bool (*take)(void *context, const struct tg_instruction *instruction),
                            void *context, uint64_t *end)
{
    char text[256];
    uint64_t at = address;
    if (count > TG_DISASSEMBLY_MAX)
        return tg_error_create(TG_ERROR_LIMIT, "too many instructions at once: %" PRIu64 " (limit %d)", count,
                               TG_DISASSEMBLY_MAX);
    disassembler->size = 0;
    for (uint64_t i = 0; i < count; i++) {
        struct tg_instruction instruction;
        if (at - disassembler->start + LONGEST > disassembler->size)
            fill(disassembler, memory, at);
        size_t offset = (size_t)(at - disassembler->start);
        if (offset >= disassembler->size)
            break;
        decode(disassembler, disassembler->window + offset, disassembler->size - offset, at, &instruction,
               text);
        at += instruction.size;
        if (!take(context, &instruction))
            break;
    }
    *end = at;
    if (at == address && count > 0)
        return tg_error_create(TG_ERROR_NOT_FOUND, "cannot read code at 0x%" PRIx64, address);
    return NULL;
}

/* ---- backwards */

struct looking_back {
    uint64_t pc;
    uint64_t *last; /* the N addresses before, a ring */
    uint64_t n, seen;
    uint64_t reached; /* the end of the last one */
};

static bool look_back(void *context, const struct tg_instruction *instruction)
{
    struct looking_back *looking = context;
    if (instruction->address >= looking->pc)
        return false;
    looking->last[looking->seen++ % looking->n] = instruction->address;
    looking->reached = instruction->address + instruction->size;
    return true;
}

uint64_t tg_disassembler_back(struct tg_disassembler *disassembler, const struct tg_inspect_memory *memory,
                              const struct tg_inspect_namer *namer, uint64_t pc, uint64_t n)
{
    struct tg_symbol symbol;
    uint64_t end = 0, start = pc;
    if (n == 0 || n > TG_DISASSEMBLY_MAX || !tg_inspect_name(namer, pc, &symbol) || symbol.function == NULL ||
        symbol.offset == 0 || symbol.offset > TG_DISASSEMBLY_MAX_LEAD)
        return pc;
    struct looking_back looking = {.pc = pc, .n = n, .last = calloc(n, sizeof *looking.last)};
    if (looking.last == NULL)
        return pc;
    uint64_t from = pc - symbol.offset;
    while (from < pc) { /* in parts, as a run is bounded */
        struct tg_error *error =
            run(disassembler, memory, from, TG_DISASSEMBLY_MAX, look_back, &looking, &end);
        tg_error_destroy(error);
        if (error != NULL || end <= from)
            break;
        from = end;
    }
    if (looking.seen > 0 && looking.reached == pc) /* else what was read is out of step with what runs */
        start = looking.seen < n ? looking.last[0] : looking.last[looking.seen % n];
    free(looking.last);
    return start;
}

/* ---- what is shown */

struct showing {
    const struct tg_disassembly *disassembly;
    FILE *stream;
    struct tg_json *json;
    char file[512]; /* of the line shown last */
    uint64_t line;
    size_t label_width, bytes_width; /* of columns */
};

static void write_target(const struct tg_disassembly *disassembly, const struct tg_instruction *instruction,
                         FILE *stream)
{
    char label[256], number[24];
    if (instruction->target == 0)
        return;
    tg_inspect_label(disassembly->namer, instruction->target, label, sizeof label);
    snprintf(number, sizeof number, "0x%" PRIx64, instruction->target);
    if (strstr(instruction->text, number) == NULL) /* relative to rip */
        fprintf(stream, "  # %s", number);
    if (*label != '\0')
        fprintf(stream, " <%s>", label);
}

/* The source line that the code at SYMBOL is from, where it is another one than the last. */
static void show_source(struct showing *showing, const struct tg_symbol *symbol)
{
    const struct tg_disassembly *disassembly = showing->disassembly;
    const struct tg_source_text *text = NULL;
    if (disassembly->sources == NULL || symbol->file == NULL ||
        (symbol->line == showing->line && strcmp(symbol->file, showing->file) == 0))
        return;
    bool is_other_file = strcmp(symbol->file, showing->file) != 0;
    snprintf(showing->file, sizeof showing->file, "%s", symbol->file);
    showing->line = symbol->line;
    if (is_other_file) {
        tg_printable_write(showing->stream, symbol->file);
        fputs(":\n", showing->stream);
    }
    struct tg_error *error =
        tg_source_lines_find(disassembly->sources, showing->file, disassembly->program, &text);
    const struct tg_source_range range = {.first = symbol->line, .count = 1};
    if (error == NULL && symbol->line >= 1 && symbol->line <= text->n_lines)
        tg_source_text_print(text, &range, showing->stream);
    else
        fprintf(showing->stream, "   %" PRIu64 "\n", symbol->line);
    tg_error_destroy(error);
}

static bool is_marked(const struct tg_disassembly *disassembly, uint64_t address)
{
    for (size_t i = 0; i < disassembly->n_marks; i++)
        if (disassembly->marks[i] == address)
            return true;
    return false;
}

/* "<main+4>", "" where it is not known. */
static const char *write_label(const struct tg_disassembly *disassembly, uint64_t address, char label[260])
{
    label[0] = '<';
    tg_inspect_label(disassembly->namer, address, label + 1, 256);
    size_t length = strlen(label);
    memcpy(label + (length == 1 ? 0 : length), length == 1 ? "" : ">", length == 1 ? 1 : 2);
    return label;
}

static bool measure(void *context, const struct tg_instruction *instruction)
{
    struct showing *showing = context;
    char label[260];
    size_t width = strlen(write_label(showing->disassembly, instruction->address, label));
    if (width > showing->label_width)
        showing->label_width = width;
    if (instruction->size > showing->bytes_width)
        showing->bytes_width = instruction->size;
    return true;
}

static bool show_line(void *context, const struct tg_instruction *instruction)
{
    struct showing *showing = context;
    const struct tg_disassembly *disassembly = showing->disassembly;
    struct tg_symbol symbol;
    char label[260];
    if (tg_inspect_name(disassembly->namer, instruction->address, &symbol))
        show_source(showing, &symbol);
    write_label(disassembly, instruction->address, label);
    fprintf(showing->stream, "%c%c 0x%012" PRIx64, instruction->address == disassembly->pc ? '>' : ' ',
            is_marked(disassembly, instruction->address) ? 'b' : ' ', instruction->address);
    if (showing->label_width > 0)
        fprintf(showing->stream, " %-*s", (int)showing->label_width, label);
    fputs("  ", showing->stream);
    for (size_t i = 0; disassembly->shows_bytes && i < showing->bytes_width; i++)
        if (i < instruction->size)
            fprintf(showing->stream, "%02x ", instruction->bytes[i]);
        else
            fputs("   ", showing->stream);
    fputs(instruction->text, showing->stream);
    write_target(disassembly, instruction, showing->stream);
    fputc('\n', showing->stream);
    return true;
}

struct tg_error *tg_disassembly_print(struct tg_disassembler *disassembler,
                                      const struct tg_disassembly *disassembly, uint64_t address,
                                      uint64_t count, FILE *stream, uint64_t *end)
{
    struct showing showing = {.disassembly = disassembly, .stream = stream};
    uint64_t stop = address;
    struct tg_error *error = run(disassembler, disassembly->memory, address, count, measure, &showing, &stop);
    if (error == NULL)
        error = run(disassembler, disassembly->memory, address, count, show_line, &showing, &stop);
    if (error != NULL)
        return error;
    uint8_t byte;
    if (!disassembly->memory->read(disassembly->memory->context, stop, &byte, 1))
        fprintf(stream, "   0x%012" PRIx64 "  cannot be read\n", stop);
    *end = stop;
    return NULL;
}

static void put_symbol(struct tg_json *json, const char *prefix, const struct tg_symbol *symbol)
{
    char key[40];
    if (symbol->function == NULL)
        return;
    snprintf(key, sizeof key, "%sfunction", prefix);
    tg_json_member_string(json, key, symbol->function);
    snprintf(key, sizeof key, "%soffset", prefix);
    tg_json_member_unsigned(json, key, symbol->offset);
}

static bool show_object(void *context, const struct tg_instruction *instruction)
{
    struct showing *showing = context;
    struct tg_json *json = showing->json;
    struct tg_symbol symbol;
    char bytes[2 * LONGEST + 1] = "";
    for (size_t i = 0; i < instruction->size; i++)
        snprintf(bytes + 2 * i, 3, "%02x", instruction->bytes[i]);
    tg_json_begin_object(json);
    tg_json_key(json, "address");
    tg_json_address(json, instruction->address);
    tg_json_member_string(json, "bytes", bytes);
    tg_json_member_string(json, "text", instruction->text);
    if (tg_inspect_name(showing->disassembly->namer, instruction->address, &symbol))
        put_symbol(json, "", &symbol);
    if (symbol.file != NULL) {
        tg_json_member_string(json, "file", symbol.file);
        tg_json_member_unsigned(json, "line", symbol.line);
    }
    if (instruction->target != 0) {
        tg_json_key(json, "target");
        tg_json_address(json, instruction->target);
        if (tg_inspect_name(showing->disassembly->namer, instruction->target, &symbol))
            put_symbol(json, "target_", &symbol);
    }
    if (instruction->address == showing->disassembly->pc)
        tg_json_member_bool(json, "current", true);
    tg_json_end_object(json);
    return true;
}

struct tg_error *tg_disassembly_json(struct tg_disassembler *disassembler,
                                     const struct tg_disassembly *disassembly, uint64_t address,
                                     uint64_t count, struct tg_json *json, uint64_t *end)
{
    struct showing showing = {.disassembly = disassembly, .json = json};
    tg_json_begin_array(json);
    struct tg_error *error =
        run(disassembler, disassembly->memory, address, count, show_object, &showing, end);
    tg_json_end_array(json);
    return error;
}
