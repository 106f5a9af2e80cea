#include "recorder/process/sanitizer.h"

#include <string.h>

/* Beginnings of the names of files, GCC's and LLVM's. */
static const char *const for_addresses[] = {"libasan.", "libclang_rt.asan"};
static const char *const for_leaks[] = {"liblsan.", "libclang_rt.lsan"};

static bool begins(const char *name, size_t length, const char *const beginnings[2])
{
    const char *slash = memrchr(name, '/', length);
    const char *base = slash != NULL ? slash + 1 : name;
    size_t left = length - (size_t)(base - name);
    for (size_t i = 0; i < 2; i++) {
        size_t n = strlen(beginnings[i]);
        if (left >= n && memcmp(base, beginnings[i], n) == 0)
            return true;
    }
    return false;
}

bool tg_sanitizer_must_be_first(const char *name, size_t length)
{
    return begins(name, length, for_addresses);
}

bool tg_sanitizer_is_for_leaks_alone(const char *name, size_t length)
{
    return begins(name, length, for_leaks);
}

bool tg_sanitizer_looks_for_leaks(const char *name, size_t length)
{
    return begins(name, length, for_addresses) || begins(name, length, for_leaks);
}
