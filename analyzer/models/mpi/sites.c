#include "analyzer/models/mpi/sites.h"

#include "format/base/array.h"

#include <stdlib.h>

static bool is_at(const struct tg_mpi_site *site, const char *name, uint64_t code)
{
    return site->name == name && tg_mpi_site_low(site->code) == tg_mpi_site_low(code);
}

/* Index of the site, sites->count: there is none. Programs call from one place after the other. */
static size_t find(const struct tg_mpi_sites *sites, const char *name, uint64_t code)
{
    for (size_t i = 0; i < sites->count; i++) {
        size_t at = (sites->last + 1 + i) % sites->count;
        if (is_at(&sites->items[at], name, code))
            return at;
    }
    return sites->count;
}

/* The thread made BETWEEN other calls before this one. */
static void note_between(struct tg_mpi_site *site, uint64_t between, uint64_t time_ns)
{
    if (site->n_usual == 0)
        site->usual = between;
    if (between == site->usual) {
        site->n_usual++;
        return;
    }
    site->n_odd++;
    site->odd = between;
    site->odd_nth = site->count;
    site->odd_ns = time_ns;
}

struct tg_error *tg_mpi_sites_come(struct tg_mpi_sites *sites, const char *name, uint64_t code,
                                   uint64_t instance, uint64_t calls, uint64_t time_ns, uint64_t *nth)
{
    size_t at = find(sites, name, code);
    *nth = 0;
    if (at == sites->count && at >= TG_MPI_MAX_SITES) {
        sites->is_incomplete = true;
        return NULL;
    }
    if (at == sites->count) {
        const struct tg_mpi_site site = {.name = name, .code = code};
        struct tg_error *error = TG_ARRAY_APPEND(sites->items, sites->count, sites->capacity, site);
        if (error != NULL)
            return error;
    }
    struct tg_mpi_site *site = &sites->items[at];
    *nth = ++site->count;
    site->last_instance = instance;
    /* before the first call at a place lies what is not repeated */
    if (site->count > 1 && calls > sites->calls)
        note_between(site, calls - sites->calls - 1, time_ns);
    sites->last = at;
    sites->calls = calls;
    return NULL;
}

const struct tg_mpi_site *tg_mpi_sites_find(const struct tg_mpi_sites *sites, const char *name, uint64_t code)
{
    size_t at = find(sites, name, code);
    return at == sites->count ? NULL : &sites->items[at];
}

void tg_mpi_sites_deinit(struct tg_mpi_sites *sites)
{
    free(sites->items);
    *sites = (struct tg_mpi_sites){0};
}

struct tg_error *tg_mpi_sites_copy(const struct tg_mpi_sites *from, struct tg_mpi_sites *to)
{
    to->last = from->last;
    to->calls = from->calls;
    to->is_incomplete = from->is_incomplete;
    return TG_ARRAY_COPY(to->items, to->count, to->capacity, from->items, from->count);
}
