#include "recorder/mpir/symbols.h"

#include "format/base/hash.h"
#include "recorder/process/symbol_probe.h"

#include <stdlib.h>
#include <string.h>

enum { BUILD_ID_CHARS = 129, MAX_KNOWN = 16384 };

/* The symbols of the object with one build-id. */
struct known {
    char build_id[BUILD_ID_CHARS];
    struct tg_mpir_symbols *symbols; /* NULL: it has none */
    UT_hash_handle hh;
};

/* Symbols of an object without a build-id: kept for whoever was told of them. */
struct kept {
    struct kept *next;
    struct tg_mpir_symbols symbols;
};

struct tg_mpir_finder {
    struct tg_image_cache *images;
    struct tg_symbol_probe *probe;
    struct known *known;
    struct kept *kept;
};

static const char *const names[] = {
#define X(symbol, name) name,
    TG_MPIR_NAMES(X)
#undef X
};

const char *tg_mpir_name_text(enum tg_mpir_name name)
{
    return names[name];
}

struct tg_error *tg_mpir_finder_create(struct tg_image_cache *images, struct tg_mpir_finder **finder)
{
    struct tg_mpir_finder *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    made->images = images;
    made->probe = tg_symbol_probe_create();
    if (made->probe == NULL) {
        free(made);
        return tg_error_no_memory();
    }
    *finder = made;
    return NULL;
}

void tg_mpir_finder_destroy(struct tg_mpir_finder *finder)
{
    if (finder == NULL)
        return;
    struct known *known, *next;
    HASH_ITER (hh, finder->known, known, next) {
        HASH_DEL(finder->known, known);
        free(known->symbols);
        free(known);
    }
    while (finder->kept != NULL) {
        struct kept *kept = finder->kept;
        finder->kept = kept->next;
        free(kept);
    }
    tg_symbol_probe_destroy(finder->probe);
    free(finder);
}

/* ---- one object */

static void take(void *context, const struct tg_image_symbol *symbol)
{
    struct tg_mpir_symbols *symbols = context;
    for (size_t i = 0; i < TG_MPIR_N_NAMES; i++) {
        if (symbols->found[i] || strcmp(symbol->name, names[i]) != 0)
            continue;
        symbols->found[i] = true;
        symbols->addresses[i] = symbol->address;
        symbols->sizes[i] = symbol->size_bytes;
        symbols->count++;
    }
}

static void read_symbols(struct tg_image *image, bool is_program, struct tg_mpir_symbols *symbols)
{
    symbols->entry = tg_image_info(image)->entry;
    tg_image_each_symbol(image, "MPIR_", is_program, take, symbols);
    if (symbols->count > 0)
        tg_image_each_symbol(image, "totalview_", is_program, take, symbols);
    if (symbols->found[TG_MPIR_PROCTABLE])
        tg_mpir_layout_from_dwarf(image, &symbols->layout);
}

/* ---- objects looked at before */

static const struct tg_mpir_symbols *remember(struct tg_mpir_finder *finder, const char *build_id,
                                              const struct tg_mpir_symbols *symbols)
{
    struct known *known = HASH_COUNT(finder->known) < MAX_KNOWN ? calloc(1, sizeof *known) : NULL;
    struct tg_mpir_symbols *copy = symbols != NULL ? malloc(sizeof *copy) : NULL;
    if (known == NULL || (symbols != NULL && copy == NULL)) {
        free(known);
        free(copy);
        return NULL;
    }
    if (symbols != NULL)
        *copy = *symbols;
    known->symbols = copy;
    memcpy(known->build_id, build_id, strnlen(build_id, BUILD_ID_CHARS - 1));
    if (TG_HASH_ADD_KEY(hh, finder->known, known->build_id, strlen(known->build_id), known) == NULL)
        return copy;
    free(known);
    free(copy);
    return NULL;
}

static const struct tg_mpir_symbols *keep(struct tg_mpir_finder *finder,
                                          const struct tg_mpir_symbols *symbols)
{
    for (struct kept *kept = finder->kept; kept != NULL; kept = kept->next)
        if (memcmp(&kept->symbols, symbols, sizeof *symbols) == 0)
            return &kept->symbols;
    struct kept *kept = calloc(1, sizeof *kept);
    if (kept == NULL)
        return NULL;
    memcpy(&kept->symbols, symbols, sizeof *symbols);
    kept->next = finder->kept;
    finder->kept = kept;
    return &kept->symbols;
}

/* The object IMAGE, whose build-id is BUILD_ID ("" it has none), was not looked at before; IMAGE NULL: it has
 * no such symbol. */
static const struct tg_mpir_symbols *look(struct tg_mpir_finder *finder, struct tg_image *image,
                                          const char *build_id, bool is_program)
{
    struct tg_mpir_symbols symbols;
    memset(&symbols, 0, sizeof symbols); /* also what is between the members: they are compared whole */
    if (image != NULL)
        read_symbols(image, is_program, &symbols);
    const struct tg_mpir_symbols *found = symbols.count > 0 ? &symbols : NULL;
    if (build_id[0] != '\0')
        return remember(finder, build_id, found);
    return found != NULL ? keep(finder, found) : NULL;
}

static bool is_known(const struct tg_mpir_finder *finder, const char *build_id,
                     const struct tg_mpir_symbols **symbols)
{
    struct known *known = NULL;
    if (build_id[0] != '\0')
        HASH_FIND_STR(finder->known, build_id, known);
    if (known != NULL)
        *symbols = known->symbols;
    return known != NULL;
}

const struct tg_mpir_symbols *tg_mpir_finder_look(struct tg_mpir_finder *finder,
                                                  const struct tg_image_source *source, bool is_program)
{
    const char *build_id = source->build_id != NULL ? source->build_id : "";
    const struct tg_mpir_symbols *symbols;
    if (is_known(finder, build_id, &symbols))
        return symbols;
    if (!is_program && tg_symbol_probe_lacks_text(finder->probe, source, "MPIR_"))
        return look(finder, NULL, build_id, false);
    struct tg_image *image = tg_image_cache_find(finder->images, source);
    if (image == NULL)
        return NULL;
    build_id = tg_image_info(image)->build_id;
    if (!is_known(finder, build_id, &symbols))
        symbols = look(finder, image, build_id, is_program);
    tg_image_unref(image);
    return symbols;
}
