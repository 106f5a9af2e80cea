/* libstdc++'s containers: what a program keeps in them, in their own order. What memory has is not believed:
 * numbers that do not agree are an error, and walks end. */
#ifndef TG_LIVE_INSPECT_VALUE_CONTAINER_H
#define TG_LIVE_INSPECT_VALUE_CONTAINER_H

#include "live/inspect/value/value.h"

enum tg_container_kind {
    TG_CONTAINER_ARRAY,   /* elements one behind the other: ARRAY */
    TG_CONTAINER_TEXT,    /* characters: ARRAY */
    TG_CONTAINER_ITEMS,   /* of nodes, of blocks, of bits: tg_container_next */
    TG_CONTAINER_MAP,     /* the same, of pairs */
    TG_CONTAINER_POINTER, /* CONTENT is the pointer */
    TG_CONTAINER_ONE,     /* CONTENT, where COUNT is 1 */
};

enum tg_container_walk {
    TG_CONTAINER_TREE,
    TG_CONTAINER_CHAIN,
    TG_CONTAINER_BLOCKS,
    TG_CONTAINER_BITS,
};

struct tg_container {
    const char *name; /* "std::vector" */
    enum tg_container_kind kind;
    bool has_count; /* false: a list that does not know its length */
    bool has_uses;  /* of a shared pointer that owns something */
    uint64_t count;
    int64_t uses, weak;
    struct tg_value array, content;
    /* of ITEMS and MAP, for tg_container_next */
    enum tg_container_walk walk;
    struct tg_type element;
    uint64_t element_bytes, item_offset; /* of the element in its node */
    uint64_t at, end;                    /* node; the one that is none */
    uint64_t block, block_end;           /* BLOCKS: the entry in the map of blocks; where its block ends */
    unsigned bit;                        /* BITS */
    uint64_t told;
};

/* Whether VALUE, no reference, is such a container; then CONTAINER is set, or *ERROR says what is wrong with it
 * (TARGET: memory cannot be read, or it is not constructed or damaged). */
bool tg_container_open(const struct tg_scene *scene, const struct tg_value *value,
                       struct tg_container *container, struct tg_error **error);

/* The next of its items. *DONE: there is none. Errors: TARGET. */
struct tg_error *tg_container_next(const struct tg_scene *scene, struct tg_container *container,
                                   struct tg_value *item, bool *done);

/* A container whose elements lie one behind the other becomes an array, a pointer class the pointer that it has,
 * an optional its value; a reference to one likewise. Anything else stays. Errors: TARGET. */
struct tg_error *tg_container_decay(const struct tg_scene *scene, struct tg_value *value);

#endif
