/* First line: a breakpoint specification; the rest: the path of an object. */
#include "format/base/tcl_match.h"
#include "format/settings/break_spec.h"
#include "tests/fuzz/fuzz.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

/* SPEC as text, written anew; for the caller to free. */
static char *write_spec(const struct tg_break_spec *spec)
{
    char *text = NULL;
    const char *library = spec->library != NULL ? spec->library : "";
    const char *tick = spec->library != NULL ? "`" : "";
    int length = -1;
    switch (spec->kind) {
    case TG_BREAK_FUNCTION:
        length = asprintf(&text, "%s%s%s", library, tick, spec->name);
        break;
    case TG_BREAK_LINE:
        length = asprintf(&text, "%s%s%s:%" PRIu64, library, tick, spec->name, spec->line);
        break;
    case TG_BREAK_ADDRESS:
        length = asprintf(&text, "%s%s*0x%" PRIx64, library, tick, spec->address);
        break;
    }
    if (length < 0)
        abort();
    return text;
}

static void check_spec(const struct tg_break_spec *spec, const char *text)
{
    assert(strcmp(spec->text, text) == 0);
    assert((spec->kind == TG_BREAK_ADDRESS) == (spec->name == NULL));
    assert(spec->name == NULL || (spec->name[0] != '\0' && strchr(spec->name, '`') == NULL));
    assert(spec->library == NULL || spec->library[0] != '\0');
    assert((spec->kind == TG_BREAK_LINE) == (spec->line != 0) && spec->line <= UINT32_MAX);
    assert(spec->kind == TG_BREAK_ADDRESS || spec->address == 0);

    char *written = write_spec(spec);
    struct tg_break_spec *again = NULL;
    assert(tg_break_spec_parse(written, &again) == NULL);
    assert(again->kind == spec->kind && again->line == spec->line && again->address == spec->address);
    assert((again->name == NULL) == (spec->name == NULL));
    assert(spec->name == NULL || strcmp(again->name, spec->name) == 0);
    assert((again->library == NULL) == (spec->library == NULL));
    assert(spec->library == NULL || strcmp(again->library, spec->library) == 0);
    tg_break_spec_destroy(again);
    free(written);
}

static void check_admits(const struct tg_break_spec *spec, const char *path)
{
    const char *slash = strrchr(path, '/');
    bool expected = spec->library == NULL || tg_tcl_match(spec->library, path) ||
                    tg_tcl_match(spec->library, slash != NULL ? slash + 1 : path);
    assert(tg_break_spec_admits(spec, path) == expected);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *input = fuzz_string(data, size);
    char *path = input;
    const char *text = strsep(&path, "\n");
    struct tg_break_spec *spec = NULL;
    struct tg_error *error = tg_break_spec_parse(text, &spec);
    assert((error == NULL) == (spec != NULL));
    if (spec != NULL) {
        check_spec(spec, text);
        if (path != NULL)
            check_admits(spec, path);
    } else {
        assert(tg_error_code(error) == TG_ERROR_INPUT || tg_error_code(error) == TG_ERROR_LIMIT);
    }
    tg_error_destroy(error);
    tg_break_spec_destroy(spec);
    free(input);
    return 0;
}
