#include "tests/support/inspected_child.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void inspected_caches_create(struct inspected_caches *caches)
{
    assert(tg_image_cache_create(0, &caches->images) == NULL);
    assert(tg_debug_cache_create(0, &caches->debug) == NULL);
}

void inspected_caches_destroy(struct inspected_caches *caches)
{
    tg_debug_cache_destroy(caches->debug);
    tg_image_cache_destroy(caches->images);
}

struct inspected_caches inspected_shared_caches;

int inspected_shared_caches_create(void **state)
{
    (void)state;
    inspected_caches_create(&inspected_shared_caches);
    return 0;
}

int inspected_shared_caches_destroy(void **state)
{
    (void)state;
    inspected_caches_destroy(&inspected_shared_caches);
    return 0;
}

bool inspected_child_start(struct inspected_child *child, const struct inspected_caches *caches,
                           const char *const *argv, int output)
{
    if (access(argv[0], X_OK) != 0)
        return false;
    *child = (struct inspected_child){0};
    stopped_child_start_writing(&child->child, argv, output);
    assert(tg_modules_create(child->child.pid, caches->images, caches->debug, &child->modules) == NULL);
    assert(tg_modules_refresh(child->modules) == NULL);
    child->memory = stopped_child_memory(&child->child);
    return true;
}

static uint64_t function_address(const struct inspected_child *child, const char *name)
{
    uint64_t bias, address;
    for (size_t i = 0; i < tg_modules_count(child->modules); i++) {
        struct tg_debug_info *info =
            tg_modules_debug_info(child->modules, tg_modules_at(child->modules, i), &bias);
        if (info != NULL && tg_image_find_function(tg_debug_info_image(info), name, &address, 1) == 1)
            return address + bias;
    }
    assert(!"there is such a function");
    return 0;
}

void inspected_child_run_to(struct inspected_child *child, const char *function)
{
    const struct stopped_child_target entry = {.address = function_address(child, function)};
    stopped_child_run_to(&child->child, &entry, 1);
    assert(tg_modules_refresh(child->modules) == NULL); /* the libraries have come */
}

void inspected_child_finish(struct inspected_child *child)
{
    stopped_child_kill(&child->child);
    tg_modules_destroy(child->modules);
}

int inspected_line_of(const char *source, const char *mark)
{
    FILE *file = fopen(source, "re");
    assert(file != NULL);
    char line[512], comment[64];
    snprintf(comment, sizeof comment, " %s */", mark);
    int number = 1;
    while (fgets(line, sizeof line, file) != NULL && strstr(line, comment) == NULL)
        number++;
    assert(!feof(file));
    fclose(file);
    return number;
}
