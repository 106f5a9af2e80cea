/* A program under a test's hands, and what can be asked of it: a stopped_child with its objects. */
#ifndef TG_TESTS_INSPECTED_CHILD_H
#define TG_TESTS_INSPECTED_CHILD_H

#include "recorder/dwarf/modules.h"
#include "tests/support/stopped_child.h"

/* Of all programs of a test: libraries are read once. */
struct inspected_caches {
    struct tg_image_cache *images;
    struct tg_debug_cache *debug;
};

void inspected_caches_create(struct inspected_caches *caches);
void inspected_caches_destroy(struct inspected_caches *caches);

/* Children of all tests of a program, made and destroyed by the fixtures of its group (STATE is cmocka's). */
extern struct inspected_caches inspected_shared_caches;
int inspected_shared_caches_create(void **state);
int inspected_shared_caches_destroy(void **state);

struct inspected_child {
    struct stopped_child child;
    struct tg_modules *modules;
    struct tg_inspect_memory memory;
};

/* Starts ARGV (ends with NULL), as stopped_child_start_writing does, behind its exec: libraries are not there
 * yet. False: there is no such file. */
bool inspected_child_start(struct inspected_child *child, const struct inspected_caches *caches,
                           const char *const *argv, int output);

/* Runs it to the first instruction of FUNCTION. */
void inspected_child_run_to(struct inspected_child *child, const char *function);

void inspected_child_finish(struct inspected_child *child);

/* The line of SOURCE that has the comment MARK. Aborts where there is none. */
int inspected_line_of(const char *source, const char *mark);

#endif
