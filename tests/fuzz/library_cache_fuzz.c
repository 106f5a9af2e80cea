/* Any bytes as /etc/ld.so.cache. The names that are looked up are taken from it, and are others. */
#include "fuzz.h"
#include "recorder/inject/library_cache.h"

#include <assert.h>

/* All paths of NAME; there cannot be more than entries in the file. */
static void look_up(struct tg_library_cache *cache, const char *name, size_t size)
{
    size_t n = 0;
    const char *path;
    while ((path = tg_library_cache_path(cache, name, n)) != NULL) {
        assert(strlen(path) < size);
        assert(++n <= size / 24);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tg_library_cache *cache = tg_library_cache_parse(data, size);
    if (cache == NULL)
        return 0;
    enum { MAX_LOOKUPS = 64 };
    char *text = fuzz_string(data, size);
    look_up(cache, "libc.so.6", size);
    look_up(cache, "", size);
    /* each string of the file is a name that may be there */
    size_t lookups = 0;
    for (size_t at = size < 48 ? size : 48; at < size && lookups < MAX_LOOKUPS; at++) {
        if (at > 0 && data[at - 1] != '\0')
            continue;
        size_t length = strnlen((const char *)data + at, size - at);
        if (length == 0 || at + length == size)
            continue;
        look_up(cache, text + at, size);
        lookups++;
    }
    tg_library_cache_destroy(cache);
    free(text);
    return 0;
}
