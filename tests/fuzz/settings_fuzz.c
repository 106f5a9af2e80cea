/* A settings file; also a script for libtcl's parser, and a glob-list to be written and read back. */
#include "format/settings/glob_list.h"
#include "format/settings/settings.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/tcl_script_oracle.h"

#include <assert.h>

static void check_round_trip(bool always_recalculate, const char *match)
{
    char *text = tg_settings_format(always_recalculate, match);
    assert(text != NULL);
    struct tg_settings settings = {0};
    struct tg_error *error = tg_settings_parse("written", text, strlen(text), &settings);
    assert(error == NULL);
    assert(settings.n_notes == 0);
    assert(settings.has_always_recalculate && settings.always_recalculate == always_recalculate);
    assert(settings.match != NULL && strcmp(settings.match, match) == 0);
    tg_settings_deinit(&settings);
    free(text);
}

static void check_text_as_glob_list(const char *text)
{
    struct tg_glob_list *list = NULL;
    struct tg_error *error = tg_glob_list_create(text, &list);
    if (error == NULL)
        check_round_trip(true, text);
    tg_error_destroy(error);
    tg_glob_list_destroy(list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_string(data, size);
    struct tg_settings settings = {0};
    struct tg_error *error = tg_settings_parse("rc", text, size, &settings);
    if (error != NULL) {
        assert(tg_error_code(error) == TG_ERROR_INPUT || tg_error_code(error) == TG_ERROR_LIMIT);
        assert(strncmp(tg_error_message(error), "rc:", 3) == 0);
        assert(settings.match == NULL && settings.n_notes == 0 && !settings.has_always_recalculate);
    }
    for (size_t i = 0; i < settings.n_notes; i++)
        assert(strncmp(settings.notes[i], "rc:", 3) == 0);
    if (settings.match != NULL)
        check_round_trip(settings.always_recalculate, settings.match);
    tg_error_destroy(error);
    tg_settings_deinit(&settings);

    const char *disagreement = size < 4096 ? tcl_script_disagreement(text, size) : NULL;
    assert(disagreement == NULL);
    check_text_as_glob_list(text);
    free(text);
    return 0;
}
