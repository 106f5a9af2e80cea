/* Common to all fuzz targets: libFuzzer's entry point, and the way to cut an input into lines. */
#ifndef TG_TESTS_FUZZ_FUZZ_H
#define TG_TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Runs one input. Targets check what must hold with assert(), which is on in every build. Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* INPUT as a string for the caller to free; it ends at the first NUL. */
static inline char *fuzz_string(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (text == NULL)
        abort();
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    return text;
}

#endif
