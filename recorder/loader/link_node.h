/* Nodes of the loader's lists (struct link_map) in the memory of a process, of 64 or 32 bits. */
#ifndef TG_RECORDER_LOADER_LINK_NODE_H
#define TG_RECORDER_LOADER_LINK_NODE_H

#include "recorder/loader/loaded_object.h"
#include "recorder/process/memory.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    TG_LINK_NODE_WORDS = 5, /* l_addr, l_name, l_ld, l_next, l_prev */
    TG_LINK_NAME_BYTES = 256,
};

/* A node of a list and what lies before it in its page: loaders allocate an object's name just before the
 * object. */
struct tg_link_window {
    uint64_t address; /* address of the node; 0: nothing was read */
    size_t before;    /* bytes before it */
    uint8_t bytes[TG_LINK_NAME_BYTES + TG_LINK_NODE_WORDS * 8];
};

/* Word I of BYTES, of WORD bytes each: 8 or 4. */
uint64_t tg_link_word(const uint8_t *bytes, size_t i, size_t word);
struct tg_link_node tg_link_node_parse(const uint8_t *bytes, size_t word, uint64_t address);

/* What has to be read of the node at ADDRESS, into WINDOW. */
struct tg_memory_range tg_link_window_range(struct tg_link_window *window, uint64_t address, size_t word);

/* The node at ADDRESS, from AHEAD where it was read already; NAME[0] is not NUL where what was read along holds its name. */
bool tg_link_node_read(pid_t pid, uint64_t address, size_t word, const struct tg_link_window *ahead,
                       struct tg_link_node *node, char name[TG_LINK_NAME_BYTES]);

/* Whether what is now at an object's place in memory is still that object, or the same once more: the same
 * file at the same place. NAME: the bytes where its name was; l_name may be elsewhere then. */
bool tg_link_node_is(pid_t pid, const struct tg_loaded_object *object, const struct tg_link_node *node,
                     const char *name);

/* Buffers for the node of an object and its name. */
struct tg_link_remembered {
    const char *name;
    const uint8_t *node;
    uint8_t bytes[PATH_MAX + 1 + TG_LINK_NAME_BYTES + TG_LINK_NODE_WORDS * 8];
};

/* Memory to read in order to compare OBJECT with what it was: at most two RANGES; returns how many. A name
 * that lies just before the node is read with it. */
size_t tg_link_remembered_ranges(const struct tg_loaded_object *object, size_t word,
                                 struct tg_link_remembered *to, struct tg_memory_range *ranges);

#endif
