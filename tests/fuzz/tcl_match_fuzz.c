/* First line: pattern; the rest: text. The answer is libtcl's. */
#include "format/base/tcl_match.h"
#include "tests/fuzz/fuzz.h"

#include <assert.h>
#include <tcl.h>

/* Whether libtcl can be asked: its matcher recurses for each `*`, so its time grows like the ways to lay the
 * runs of stars over the text. */
static bool oracle_is_quick(const char *pattern, const char *text)
{
    double ways = 1;
    size_t stars = 0, length = strlen(text);
    for (const char *p = pattern; *p != '\0'; p++) {
        if (p[0] != '*' || p[1] == '*')
            continue;
        stars++;
        ways = ways * (double)(length + stars) / (double)stars;
    }
    return ways < 20000 && strlen(pattern) < 256;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *pattern = fuzz_string(data, size);
    char *text = strchr(pattern, '\n');
    if (text != NULL) {
        *text++ = '\0';
        bool matches = tg_tcl_match(pattern, text);
        if (tg_tcl_match_accepts(pattern) && oracle_is_quick(pattern, text))
            assert(matches == (Tcl_StringMatch(text, pattern) != 0));
    }
    free(pattern);
    return 0;
}
