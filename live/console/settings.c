#include "live/console/settings.h"

#include "format/base/printable.h"
#include "live/control/manager_threads.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *const widths[] = {"group", "process", "none", "thread", NULL};
static const char *const syntaxes[] = {"att", "intel", NULL};

const struct tg_setting tg_setting_table[] = {
    {.name = "BARRIER_STOP_ALL",
     .type = TG_SETTING_WORD,
     .initial = "group",
     .words = widths,
     .is_live = true,
     .meaning = "what dbarrier stops when a thread arrives, unless -stop_when_hit is given"},
    {.name = "BARRIER_STOP_WHEN_DONE",
     .type = TG_SETTING_WORD,
     .initial = "none",
     .words = widths,
     .is_live = true,
     .meaning = "what dbarrier stops when it is satisfied, unless -stop_when_done is given"},
    {.name = "STOP_ALL",
     .type = TG_SETTING_WORD,
     .initial = "process",
     .words = widths,
     .is_live = true,
     .meaning = "what dbreak stops when a thread hits it, unless -p, -g or -t is given"},
    {.name = "TV::dlopen_always_recalculate",
     .type = TG_SETTING_BOOL,
     .initial = "true",
     .is_live = true,
     .meaning = "handle each library when it is loaded (Slow); false: the pattern decides"},
    {.name = "TV::dlopen_recalculate_on_match",
     .type = TG_SETTING_TEXT,
     .initial = "",
     .is_live = true,
     .meaning = "glob-list of libraries to handle when they are loaded (Medium); empty: none (Fast)"},
    {.name = "manager_libraries",
     .type = TG_SETTING_TEXT,
     .initial = TG_MANAGER_LIBRARIES,
     .is_live = true,
     .meaning = "glob-list of libraries whose threads, from now on, are MPI helper threads, not workers"},
    {.name = "SEARCH_PATH",
     .type = TG_SETTING_TEXT,
     .initial = "",
     .meaning = "directories, separated by :, in which dlist looks for sources"},
    {.name = "MAX_LIST",
     .type = TG_SETTING_NUMBER,
     .initial = "20",
     .lowest = 1,
     .highest = 10000,
     .meaning = "number of lines that dlist shows"},
    {.name = "ASSEMBLER_SYNTAX",
     .type = TG_SETTING_WORD,
     .initial = "att",
     .words = syntaxes,
     .meaning = "syntax of instructions"},
    {.name = NULL},
};

enum { N_SETTINGS = sizeof tg_setting_table / sizeof tg_setting_table[0] - 1 };

struct tg_console_settings {
    char *values[N_SETTINGS]; /* NULL: the initial one */
    struct {
        struct tg_error *(*changed)(void *context, const char *value);
        void *context;
    } watchers[N_SETTINGS];
};

struct tg_error *tg_console_settings_create(struct tg_console_settings **settings)
{
    struct tg_console_settings *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    *settings = made;
    return NULL;
}

void tg_console_settings_destroy(struct tg_console_settings *settings)
{
    if (settings == NULL)
        return;
    for (size_t i = 0; i < N_SETTINGS; i++)
        free(settings->values[i]);
    free(settings);
}

/* NAME without TV::, where it begins with that. */
static const char *without_space(const char *name)
{
    static const char space[] = "TV::";
    return strncmp(name, space, sizeof space - 1) == 0 ? name + sizeof space - 1 : name;
}

const struct tg_setting *tg_setting_find(const char *name)
{
    const char *wanted = without_space(name);
    for (const struct tg_setting *setting = tg_setting_table; setting->name != NULL; setting++) {
        bool of_barrier = wanted != name && strncmp(setting->name, "BARRIER_", 8) == 0;
        if (strcmp(without_space(setting->name), wanted) == 0 ||
            (of_barrier && strcasecmp(setting->name, wanted) == 0)) /* TV::barrier_stop_all */
            return setting;
    }
    return NULL;
}

/* Of a setting that the caller knows to be there. */
static size_t index_of(const char *name)
{
    const struct tg_setting *setting = tg_setting_find(name);
    assert(setting != NULL);
    return (size_t)(setting - tg_setting_table);
}

const char *tg_console_settings_text(const struct tg_console_settings *settings, const char *name)
{
    size_t i = index_of(name);
    return settings->values[i] != NULL ? settings->values[i] : tg_setting_table[i].initial;
}

bool tg_console_settings_bool(const struct tg_console_settings *settings, const char *name)
{
    return strcmp(tg_console_settings_text(settings, name), "true") == 0;
}

int64_t tg_console_settings_number(const struct tg_console_settings *settings, const char *name)
{
    return strtoll(tg_console_settings_text(settings, name), NULL, 10);
}

/* ---- values */

static struct tg_error *refuse(const struct tg_setting *setting, const char *value, const char *wanted)
{
    char shown[128];
    return tg_error_create(TG_ERROR_USAGE, "%s: invalid value '%s'; give %s", setting->name,
                           tg_printable(value, shown, sizeof shown), wanted);
}

static struct tg_error *take_bool(const struct tg_setting *setting, const char *value, char text[24])
{
    static const char *const names[] = {"true", "1", "yes", "on", "false", "0", "no", "off"};
    for (size_t i = 0; i < 8; i++) {
        if (strcasecmp(names[i], value) != 0)
            continue;
        strcpy(text, i < 4 ? "true" : "false");
        return NULL;
    }
    return refuse(setting, value, "true or false");
}

static struct tg_error *take_number(const struct tg_setting *setting, const char *value, char text[24])
{
    char *end, wanted[64];
    errno = 0;
    long long number = strtoll(value, &end, 10);
    if (end == value || *end != '\0' || errno != 0 || number < setting->lowest || number > setting->highest) {
        snprintf(wanted, sizeof wanted, "a number from %" PRId64 " to %" PRId64, setting->lowest,
                 setting->highest);
        return refuse(setting, value, wanted);
    }
    snprintf(text, 24, "%lld", number);
    return NULL;
}

static struct tg_error *take_word(const struct tg_setting *setting, const char *value, char text[24])
{
    char wanted[128] = "";
    for (size_t i = 0; setting->words[i] != NULL; i++) {
        if (strcmp(setting->words[i], value) == 0) {
            snprintf(text, 24, "%s", value);
            return NULL;
        }
        size_t used = strlen(wanted);
        snprintf(wanted + used, sizeof wanted - used, "%s%s",
                 i == 0                          ? ""
                 : setting->words[i + 1] == NULL ? " or "
                                                 : ", ",
                 setting->words[i]);
    }
    return refuse(setting, value, wanted);
}

/* VALUE in the one form that is kept; *KEPT is the caller's. */
static struct tg_error *normalize(const struct tg_setting *setting, const char *value, char **kept)
{
    char text[24] = "";
    struct tg_error *error = NULL;
    switch (setting->type) {
    case TG_SETTING_BOOL:
        error = take_bool(setting, value, text);
        break;
    case TG_SETTING_NUMBER:
        error = take_number(setting, value, text);
        break;
    case TG_SETTING_WORD:
        error = take_word(setting, value, text);
        break;
    case TG_SETTING_TEXT:
        break;
    }
    if (error != NULL)
        return error;
    *kept = strdup(setting->type == TG_SETTING_TEXT ? value : text);
    return *kept == NULL ? tg_error_no_memory() : NULL;
}

struct tg_error *tg_console_settings_set(struct tg_console_settings *settings, const char *name,
                                         const char *value)
{
    char shown[128], *kept = NULL;
    const struct tg_setting *setting = tg_setting_find(name);
    if (setting == NULL)
        return tg_error_create(TG_ERROR_NOT_FOUND, "unknown setting '%s' (`dset` lists the settings)",
                               tg_printable(name, shown, sizeof shown));
    size_t i = (size_t)(setting - tg_setting_table);
    struct tg_error *error = normalize(setting, value == NULL ? setting->initial : value, &kept);
    if (error == NULL && strcmp(kept, tg_console_settings_text(settings, name)) != 0 &&
        settings->watchers[i].changed != NULL)
        error = settings->watchers[i].changed(settings->watchers[i].context, kept);
    if (error != NULL) {
        free(kept);
        return error;
    }
    free(settings->values[i]);
    settings->values[i] = kept;
    return NULL;
}

void tg_console_settings_watch(struct tg_console_settings *settings, const char *name,
                               struct tg_error *(*changed)(void *context, const char *value), void *context)
{
    size_t i = index_of(name);
    settings->watchers[i].changed = changed;
    settings->watchers[i].context = context;
}
