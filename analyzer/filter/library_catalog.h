/* Every distinct library path of a trace, once, with what is known about it. */
#ifndef TG_ANALYZER_FILTER_LIBRARY_CATALOG_H
#define TG_ANALYZER_FILTER_LIBRARY_CATALOG_H

#include "format/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tg_library_catalog;

/* A requested breakpoint and a library. */
struct tg_library_goal {
    uint32_t goal; /* index in the survey */
    bool certain;  /* false: it is not known whether the library has a place for it */
};

enum { TG_LIBRARY_CATALOG_MAX = 1 << 24 };

/* Facts about one path. Owned by the catalog; ids count from 0 in the order of first sight. */
struct tg_catalog_library {
    const char *path; /* valid as long as the catalog */
    uint32_t id;
    uint32_t n_goals; /* requested breakpoints with a location in the library, or perhaps with one */
    struct tg_library_goal *goals; /* by index, ascending */
    size_t goals_capacity;
    const char *build_id; /* of its first load, "" unknown, or not the same in all loads */
    bool searched;        /* the recorder has looked for the recorded breakpoints in it, at least once */
    uint64_t dlopens;     /* dlopen events that loaded it */
    uint64_t startups;    /* times it was present without a dlopen event: start-up, attach */
    uint64_t programs;    /* times that a process ran it as its program */
    bool cuda;            /* a CUDA driver library, by "* /libcuda.so*" (without the blank) */
};

struct tg_error *tg_library_catalog_create(struct tg_library_catalog **catalog);
void tg_library_catalog_destroy(struct tg_library_catalog *catalog);

/* The entry for PATH, made if it is new. LIMIT error beyond TG_LIBRARY_CATALOG_MAX paths. */
struct tg_error *tg_library_catalog_intern(struct tg_library_catalog *catalog, const char *path,
                                           struct tg_catalog_library **library);

size_t tg_library_catalog_count(const struct tg_library_catalog *catalog);
/* For ID in [0, count). */
struct tg_catalog_library *tg_library_catalog_at(const struct tg_library_catalog *catalog, size_t id);

/* Notes that LIBRARY has BUILD_ID ("" unknown) in one of its loads. */
struct tg_error *tg_library_catalog_note_build_id(struct tg_catalog_library *library, const char *build_id);

/* Notes that breakpoint GOAL has a location in LIBRARY, or perhaps has one. Again is harmless: what is certain
 * stays so. */
struct tg_error *tg_catalog_library_add_goal(struct tg_catalog_library *library, uint32_t goal, bool certain);

/* Whether GOAL was noted for LIBRARY as certain. */
bool tg_catalog_library_has_goal(const struct tg_catalog_library *library, uint32_t goal);

#endif
