/* First line: a glob-list; each further line: a library. Verdicts follow from the patterns one by one. */
#include "format/base/tcl_match.h"
#include "format/settings/glob_list.h"
#include "tests/fuzz/fuzz.h"

#include <assert.h>

enum { MAX_LIBRARIES = 64 };

static void check_round_trip(const struct tg_glob_list *list, const char *text)
{
    assert(strcmp(tg_glob_list_text(list), text) == 0);
    const char *rest = text;
    for (size_t i = 0; i < tg_glob_list_count(list); i++) {
        const char *pattern = tg_glob_list_pattern(list, i);
        size_t length = strlen(pattern);
        assert(strncmp(rest, pattern, length) == 0 && strchr(pattern, ':') == NULL);
        rest += length;
        bool last = i + 1 == tg_glob_list_count(list);
        assert(*rest == (last ? '\0' : ':'));
        rest += !last;
    }
    assert(*rest == '\0');
}

/* The first pattern that matches, found the long way; COUNT where none does. */
static size_t first_match(const struct tg_glob_list *list, const char *library)
{
    size_t i = 0;
    for (; i < tg_glob_list_count(list); i++) {
        const char *pattern = tg_glob_list_pattern(list, i);
        pattern += pattern[0] == '!';
        if (*pattern != '\0' && tg_tcl_match(pattern, library))
            break;
    }
    return i;
}

static void check_verdict(const struct tg_glob_list *list, const char *const *libraries, size_t n_libraries)
{
    struct tg_glob_verdict verdict = tg_glob_list_decide(list, libraries, n_libraries);
    bool positive = false, negated = false;
    for (size_t i = 0; i < n_libraries; i++) {
        struct tg_glob_match match = tg_glob_list_match(list, libraries[i]);
        size_t expected = first_match(list, libraries[i]);
        assert(match.matched == (expected < tg_glob_list_count(list)));
        if (!match.matched)
            continue;
        assert(match.pattern == expected);
        assert(match.negated == (tg_glob_list_pattern(list, expected)[0] == '!'));
        positive |= !match.negated;
        negated |= match.negated;
    }
    if (positive || negated) {
        assert(verdict.rule == TG_RULE_PATTERN && verdict.report == positive);
        assert(verdict.library < n_libraries &&
               verdict.pattern == first_match(list, libraries[verdict.library]));
        assert((tg_glob_list_pattern(list, verdict.pattern)[0] != '!') == positive);
        return;
    }
    const char *last = "";
    for (size_t i = 0; i < tg_glob_list_count(list); i++)
        last = tg_glob_list_pattern(list, i)[0] != '\0' ? tg_glob_list_pattern(list, i) : last;
    assert(verdict.report == (last[0] == '!'));
    assert(verdict.rule == (last[0] == '!'    ? TG_RULE_DEFAULT_LAST_NEGATED
                            : last[0] == '\0' ? TG_RULE_DEFAULT_ALL_EMPTY
                                              : TG_RULE_DEFAULT_LAST_POSITIVE));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *input = fuzz_string(data, size);
    char *rest = input;
    const char *text = strsep(&rest, "\n");
    const char *libraries[MAX_LIBRARIES];
    size_t n_libraries = 0;
    while (rest != NULL && n_libraries < MAX_LIBRARIES)
        libraries[n_libraries++] = strsep(&rest, "\n");

    struct tg_glob_list *list = NULL;
    struct tg_error *error = tg_glob_list_create(text, &list);
    assert((error == NULL) == (list != NULL));
    if (list != NULL) {
        check_round_trip(list, text);
        check_verdict(list, libraries, n_libraries);
    } else {
        assert(tg_error_code(error) == TG_ERROR_LIMIT);
    }
    tg_error_destroy(error);
    tg_glob_list_destroy(list);
    free(input);
    return 0;
}
