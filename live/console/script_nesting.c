#include "live/console/script_nesting.h"

enum { MAX_DEPTH = 1000 };

bool tg_script_nests_too_deep(const char *script, size_t size)
{
    size_t depth = 0;
    for (size_t i = 0; i < size && depth <= MAX_DEPTH; i++) {
        if (script[i] == '[')
            depth++;
        else if (script[i] == ']' && depth > 0)
            depth--;
    }
    return depth > MAX_DEPTH;
}
