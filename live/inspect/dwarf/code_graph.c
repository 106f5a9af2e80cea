#include "live/inspect/dwarf/code_graph.h"

#include "format/base/array.h"
#include "format/image/elf_object.h"
#include "recorder/agent/gomp/x86_code.h"

#include <stdlib.h>
#include <string.h>

enum {
    MAX_NODES = 1 << 18,
    CHUNK_BYTES = 4096,
    MAX_INSTRUCTION = 15,
};

size_t tg_code_graph_bytes(const struct tg_debug_info *info, uint64_t address, uint8_t *bytes, size_t size)
{
    const struct tg_elf_object *object = tg_image_object(tg_debug_info_image(info));
    uint64_t offset, available = tg_elf_object_available_at(object, address, &offset);
    size_t n = available < size ? (size_t)available : size;
    return n > 0 && tg_elf_object_read(object, offset, bytes, n) ? n : 0;
}

/* ---- decoding */

struct reading {
    struct tg_debug_info *info;
    struct tg_code_graph *graph;
    uint8_t bytes[CHUNK_BYTES];
    uint64_t start; /* of BYTES */
    size_t size;
};

/* Up to MAX_INSTRUCTION bytes at ADDRESS, before END; *SIZE how many. */
static const uint8_t *bytes_at(struct reading *reading, uint64_t address, uint64_t end, size_t *size)
{
    size_t wanted = end - address < MAX_INSTRUCTION ? (size_t)(end - address) : MAX_INSTRUCTION;
    if (address < reading->start || address + wanted > reading->start + reading->size) {
        reading->start = address;
        reading->size =
            tg_code_graph_bytes(reading->info, address, reading->bytes,
                                end - address < CHUNK_BYTES ? (size_t)(end - address) : CHUNK_BYTES);
    }
    size_t available = (size_t)(reading->start + reading->size - address);
    *size = available < wanted ? available : wanted;
    return reading->bytes + (address - reading->start);
}

static void find_callee(struct reading *reading, uint64_t target, struct tg_code_node *node)
{
    static const char suffix[] = "@plt";
    const char *name;
    uint64_t offset;
    if (!tg_debug_info_symbol_at(reading->info, target, &name, &offset) || offset != 0)
        return;
    size_t length = strlen(name);
    if (length < sizeof suffix || strcmp(name + length - (sizeof suffix - 1), suffix) != 0)
        return;
    node->callee = name;
    node->callee_size = length - (sizeof suffix - 1);
}

/* The target of a jump is its address at first. */
static struct tg_error *add(struct reading *reading, uint64_t address, const struct tg_x86_code *code)
{
    struct tg_code_node node = {.address = address, .next = address + code->length, .target = SIZE_MAX};
    uint64_t target = node.next + (uint64_t)code->operand;
    bool is_computed = code->map == 0 && !code->is_vector && code->opcode == 0xff;
    switch ((enum tg_x86_flow)code->flow) {
    case TG_X86_ON:
        node.flow = TG_CODE_ON;
        break;
    case TG_X86_JUMP_IF:
        node.flow = TG_CODE_JUMP_IF;
        node.target = target;
        break;
    case TG_X86_JUMP:
        node.flow = TG_CODE_JUMP;
        node.target = target;
        break;
    case TG_X86_CALL:
        node.flow = TG_CODE_CALL;
        if (!is_computed)
            find_callee(reading, target, &node);
        break;
    case TG_X86_LEAVES:
        node.flow = is_computed ? TG_CODE_UNKNOWN : TG_CODE_LEAVES;
        break;
    }
    return TG_ARRAY_APPEND(reading->graph->nodes, reading->graph->count, reading->graph->max, node);
}

static struct tg_error *read_piece(struct reading *reading, uint64_t start, uint64_t end)
{
    struct tg_error *error = NULL;
    for (uint64_t at = start; error == NULL && at < end && reading->graph->count < MAX_NODES;) {
        struct tg_x86_code code;
        size_t size;
        const uint8_t *bytes = bytes_at(reading, at, end, &size);
        if (!tg_x86_decode(bytes, size, &code))
            break;
        error = add(reading, at, &code);
        at += code.length;
    }
    return error;
}

static int compare(const void *a, const void *b)
{
    const struct tg_code_node *left = a, *right = b;
    return (left->address > right->address) - (left->address < right->address);
}

/* From the address to the node; a jump elsewhere leaves the function. */
static void find_targets(struct tg_code_graph *graph)
{
    for (size_t i = 0; i < graph->count; i++) {
        struct tg_code_node *node = &graph->nodes[i];
        if (node->flow != TG_CODE_JUMP && node->flow != TG_CODE_JUMP_IF)
            continue;
        size_t target = tg_code_graph_find(graph, node->target);
        bool is_there = target != SIZE_MAX && graph->nodes[target].address == node->target;
        if (!is_there && node->flow == TG_CODE_JUMP)
            node->flow = TG_CODE_LEAVES;
        node->target = is_there ? target : SIZE_MAX;
    }
}

struct tg_error *tg_code_graph_read(struct tg_debug_info *info, Dwarf_Die *function,
                                    struct tg_code_graph *graph)
{
    struct reading reading = {.info = info, .graph = graph};
    struct tg_error *error = NULL;
    Dwarf_Addr base, start, end;
    uint64_t delta = tg_debug_info_delta(info);
    for (ptrdiff_t at = 0; error == NULL && (at = dwarf_ranges(function, at, &base, &start, &end)) > 0;)
        error = read_piece(&reading, start + delta, end + delta);
    if (error != NULL || graph->count == 0)
        return error;
    qsort(graph->nodes, graph->count, sizeof *graph->nodes, compare);
    find_targets(graph);
    return NULL;
}

void tg_code_graph_deinit(struct tg_code_graph *graph)
{
    free(graph->nodes);
    *graph = (struct tg_code_graph){0};
}

/* ---- questions */

size_t tg_code_graph_find(const struct tg_code_graph *graph, uint64_t address)
{
    size_t low = 0, high = graph->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (graph->nodes[middle].next <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < graph->count && graph->nodes[low].address <= address ? low : SIZE_MAX;
}

bool tg_code_graph_calls(const struct tg_code_graph *graph, size_t i, const char *name)
{
    const struct tg_code_node *node = &graph->nodes[i];
    return node->callee_size == strlen(name) && memcmp(node->callee, name, node->callee_size) == 0 &&
           node->callee_size > 0;
}
