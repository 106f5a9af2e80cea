/* The instructions of one function, and where each of them goes on. x86-64. */
#ifndef TG_LIVE_INSPECT_DWARF_CODE_GRAPH_H
#define TG_LIVE_INSPECT_DWARF_CODE_GRAPH_H

#include "recorder/dwarf/debug_info.h"

enum tg_code_flow {
    TG_CODE_ON,
    TG_CODE_JUMP_IF,
    TG_CODE_JUMP,
    TG_CODE_CALL,
    TG_CODE_LEAVES,  /* returns or traps, or another function goes on */
    TG_CODE_UNKNOWN, /* a jump to an address that is not in the code: a switch */
};

struct tg_code_node {
    uint64_t address; /* the image's own */
    uint64_t next;    /* of what is behind */
    size_t target;    /* node that it jumps to; SIZE_MAX: none in this function */
    const char *
        callee; /* called through the linkage table, "GOMP_barrier"; NULL. Not terminated: CALLEE_SIZE bytes */
    size_t callee_size;
    enum tg_code_flow flow;
};

/* Ordered by address. What cannot be decoded ends a piece of the function. */
struct tg_code_graph {
    struct tg_code_node *nodes;
    size_t count, max;
};

/* Of FUNCTION, a DW_TAG_subprogram of INFO, with the parts that a compiler put elsewhere. GRAPH was all zero, and is to be
 * deinitialised also after an error: NO_MEMORY. */
struct tg_error *tg_code_graph_read(struct tg_debug_info *info, Dwarf_Die *function,
                                    struct tg_code_graph *graph);
void tg_code_graph_deinit(struct tg_code_graph *graph);

/* The node that ADDRESS lies in; SIZE_MAX. */
size_t tg_code_graph_find(const struct tg_code_graph *graph, uint64_t address);

/* Whether node I is a call of NAME. */
bool tg_code_graph_calls(const struct tg_code_graph *graph, size_t i, const char *name);

/* Bytes of INFO's code at ADDRESS; returns how many of SIZE could be read. */
size_t tg_code_graph_bytes(const struct tg_debug_info *info, uint64_t address, uint8_t *bytes, size_t size);

#endif
