/* Any bytes as a symbol's name, split and said again: parts lie within it, and the name ends with itself. */
#include "format/image/mangled_name.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *symbol = fuzz_string(data, size);
    struct tg_mangled_name name;
    if (tg_mangled_name_parse(symbol, &name)) {
        if (name.count == 0 || name.count > TG_MANGLED_MAX_PARTS)
            abort();
        char *words = tg_mangled_name_words(symbol);
        if (words == NULL)
            abort();
        words[strlen(words) - strlen(symbol + strcspn(symbol, ".@"))] = '\0';
        if (!tg_mangled_name_ends_with(&name, words) || strstr(words, tg_mangled_name_last(words)) == NULL)
            abort();
        free(words);
    }
    free(symbol);
    return 0;
}
