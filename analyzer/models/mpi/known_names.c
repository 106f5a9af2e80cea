#include "analyzer/models/mpi/known_names.h"

#include <string.h>

struct tg_error *tg_mpi_known_names_get(struct tg_mpi_known_names *known_names, struct tg_string_pool *names,
                                        const char *text, const struct tg_mpi_known_name **known)
{
    enum { N_PLACES = sizeof known_names->places / sizeof known_names->places[0] };
    struct tg_mpi_known_name *place =
        &known_names->places[((uintptr_t)text ^ (uintptr_t)text >> 6) % N_PLACES];
    struct tg_error *error = NULL;
    if (place->told != text || strcmp(place->name, text) != 0) {
        const char *name;
        error = tg_string_pool_intern(names, text, &name);
        if (error == NULL)
            *place = (struct tg_mpi_known_name){text, name, tg_mpi_call_traits_of(name)};
    }
    *known = place;
    return error;
}
