/* A symbolizer that knows of every address what program it is of. */
#ifndef TG_TESTS_UNIT_ANALYZER_DUMP_PROGRAM_SYMBOLIZER_H
#define TG_TESTS_UNIT_ANALYZER_DUMP_PROGRAM_SYMBOLIZER_H

#include "format/settings/command.h"

static unsigned n_asked; /* how often it was asked */

static struct tg_error *create(struct tg_symbolizer **created)
{
    *created = (struct tg_symbolizer *)&n_asked;
    return NULL;
}

static void destroy(struct tg_symbolizer *created)
{
    (void)created;
}

static bool resolve(struct tg_symbolizer *created, const char *path, const char *build_id, uint64_t address,
                    struct tg_symbol *symbol)
{
    (void)created;
    (void)build_id;
    n_asked++;
    *symbol = (struct tg_symbol){.function = path, .offset = address, .file = "dir/a.c", .line = address};
    return true;
}

static const struct tg_command_services services = {
    .symbolizer_create = create, .symbolizer_destroy = destroy, .symbolizer_resolve = resolve};

#endif
