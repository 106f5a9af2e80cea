/* Settings: dset, dunset. */
#include "live/commands/session/dset.h"
#include "live/commands/session/commands.h"
#include "live/console/options.h"

#include "analyzer/output/text_table.h"
#include "format/base/near_name.h"
#include "format/base/printable.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { VALUE_WIDTH = 18 }; /* columns of a value in the table */

/* ---- dset */

static void put_setting(const struct tg_console *console, const struct tg_setting *setting,
                        struct tg_json *json)
{
    static const char *const types[] = {[TG_SETTING_BOOL] = "bool",
                                        [TG_SETTING_NUMBER] = "number",
                                        [TG_SETTING_WORD] = "word",
                                        [TG_SETTING_TEXT] = "text"};
    tg_json_begin_object(json);
    tg_json_member_string(json, "name", setting->name);
    tg_json_member_string(json, "value", tg_console_settings_text(console->settings, setting->name));
    tg_json_member_string(json, "initial", setting->initial);
    tg_json_member_string(json, "type", types[setting->type]);
    tg_json_member_string(json, "meaning", setting->meaning);
    tg_json_member_bool(json, "live", setting->is_live);
    tg_json_end_object(json);
}

bool tg_dset_is_of_use(const struct tg_console *console, const struct tg_setting *setting)
{
    return !setting->is_live || console->options.live != NULL;
}

/* Columns that the table may have. */
static size_t table_width(void)
{
    enum { USUAL = 100, LEAST = 80 };
    struct winsize size;
    if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return USUAL;
    return size.ws_col > USUAL ? USUAL : size.ws_col < LEAST ? LEAST : size.ws_col;
}

/* How much of TEXT is a line of at most WIDTH columns: up to a blank, a word that is longer whole. */
static size_t line_length(const char *text, size_t width)
{
    size_t length = strcspn(text, " ");
    for (size_t next; text[length] != '\0'; length = next) {
        next = length + 1 + strcspn(text + length + 1, " ");
        if (next > width)
            break;
    }
    return length;
}

/* A row, and below it the rest of a MEANING that has more than WIDTH columns. */
static struct tg_error *add_setting(struct tg_text_table *table, const char *name, const char *value,
                                    const char *meaning, size_t width)
{
    char line[256];
    struct tg_error *error = NULL;
    while (error == NULL && *meaning != '\0') {
        size_t length = line_length(meaning, width);
        snprintf(line, sizeof line, "%.*s", (int)length, meaning);
        error = tg_text_table_add(table, (const char *const[]){name, value, line});
        meaning += length + (meaning[length] == ' ');
        name = value = "";
    }
    return error;
}

/* dset NAME gives all of it. */
static const char *shown_value(const struct tg_console *console, const struct tg_setting *setting,
                               char buffer[VALUE_WIDTH + 1])
{
    const char *text = tg_console_settings_text(console->settings, setting->name);
    return *text == '\0' ? "{}" : tg_printable(text, buffer, VALUE_WIDTH + 1);
}

/* Of the columns of names and values, with the blanks behind them. */
static size_t width_of_others(const struct tg_console *console)
{
    char value[VALUE_WIDTH + 1];
    size_t name = 0, text = strlen("VALUE");
    for (const struct tg_setting *setting = tg_setting_table; setting->name != NULL; setting++) {
        if (!tg_dset_is_of_use(console, setting))
            continue;
        size_t sizes[] = {strlen(setting->name), strlen(shown_value(console, setting, value))};
        name = sizes[0] > name ? sizes[0] : name;
        text = sizes[1] > text ? sizes[1] : text;
    }
    return name + 2 + text + 2;
}

static struct tg_error *list_settings(struct tg_console *console, FILE *out)
{
    static const char *const headings[] = {"NAME", "VALUE", "MEANING", NULL};
    struct tg_text_table *table = NULL;
    size_t width = table_width() - width_of_others(console);
    struct tg_error *error = tg_text_table_create(headings, false, &table);
    struct tg_json *json = tg_console_data_begin(&console->data);
    if (json != NULL)
        tg_json_begin_array(json);
    for (const struct tg_setting *setting = tg_setting_table; error == NULL && setting->name != NULL;
         setting++) {
        char value[VALUE_WIDTH + 1];
        if (!tg_dset_is_of_use(console, setting))
            continue;
        error =
            add_setting(table, setting->name, shown_value(console, setting, value), setting->meaning, width);
        if (json != NULL)
            put_setting(console, setting, json);
    }
    if (json != NULL)
        tg_json_end_array(json);
    if (error == NULL)
        error = tg_text_table_print(table, out);
    tg_text_table_destroy(table);
    return error;
}

/* The setting NAME, which must mean something to the source. */
static struct tg_error *find(const struct tg_console *console, const char *name,
                             const struct tg_setting **setting)
{
    char shown[128], hint[TG_NEAR_NAME_HINT];
    struct tg_near_name near;
    *setting = tg_setting_find(name);
    if (*setting != NULL && tg_dset_is_of_use(console, *setting))
        return NULL;
    if (*setting != NULL)
        return tg_error_create(TG_ERROR_UNSUPPORTED,
                               "%s needs a live job: this is a recorded trace; see tollgate live",
                               (*setting)->name);
    tg_near_name_init(&near, name);
    for (const struct tg_setting *other = tg_setting_table; other->name != NULL; other++)
        tg_near_name_offer(&near, other->name);
    return tg_error_create(TG_ERROR_NOT_FOUND, "unknown setting '%s'%s (`dset` lists the settings)",
                           tg_printable(name, shown, sizeof shown), tg_near_name_hint(&near, hint));
}

struct tg_error *tg_dset_change(struct tg_console *console, const struct tg_setting *setting,
                                const char *value)
{
    char *former = strdup(tg_console_settings_text(console->settings, setting->name));
    if (former == NULL)
        return tg_error_no_memory();
    struct tg_error *error = tg_console_settings_set(console->settings, setting->name, value);
    const char *now = tg_console_settings_text(console->settings, setting->name);
    if (error == NULL && strcmp(former, now) != 0 && console->options.news != NULL)
        tg_news_tell(console->options.news,
                     &(struct tg_news){.kind = TG_NEWS_SETTING, .name = setting->name, .text = now});
    free(former);
    return error;
}

struct setting_words {
    bool as_default; /* as in settings files: there is nothing that it could change here */
};

static const struct tg_console_option dset_options[] = {
    TG_OPTION_FLAG("-set_as_default", struct setting_words, as_default),
    {.name = "NAME", .kind = TG_OPTION_REST},
    {0}};

static struct tg_error *run_dset(struct tg_console *console, int argc, Tcl_Obj *const *argv, FILE *out)
{
    const struct tg_setting *setting = NULL;
    struct setting_words words = {0};
    int first;
    struct tg_error *error = tg_console_take_options(&tg_console_dset, argc, argv, &words, &first);
    int n_words = argc - first;
    if (error == NULL && (n_words > 2 || (words.as_default && n_words != 2)))
        error = tg_console_usage(&tg_console_dset);
    if (error != NULL)
        return error;
    if (n_words == 0)
        return list_settings(console, out);
    const char *name = Tcl_GetString(argv[first]);
    error = find(console, name, &setting);
    if (error == NULL && n_words == 2)
        error = tg_dset_change(console, setting, Tcl_GetString(argv[first + 1]));
    if (error == NULL)
        console->result = Tcl_NewStringObj(tg_console_settings_text(console->settings, name), -1);
    return error;
}

struct unsetting {
    bool all;
    const char *name;
};

static const struct tg_console_option dunset_options[] = {
    TG_OPTION_FLAG_ALONE("-all", struct unsetting, all),
    {"NAME", TG_OPTION_WORD, TG_OPTION_IN(struct unsetting, name)},
    {0}};

static struct tg_error *run_dunset(struct tg_console *console, int argc, Tcl_Obj *const *argv, FILE *out)
{
    const struct tg_setting *setting = NULL;
    struct unsetting words = {0};
    (void)out;
    struct tg_error *error = tg_console_take_options(&tg_console_dunset, argc, argv, &words, NULL);
    if (error == NULL && !words.all && words.name == NULL)
        error = tg_console_usage(&tg_console_dunset);
    if (error == NULL && words.name != NULL)
        error = find(console, words.name, &setting);
    if (error == NULL && words.name != NULL)
        return tg_dset_change(console, setting, NULL);
    for (setting = tg_setting_table; error == NULL && setting->name != NULL; setting++)
        error = tg_dset_is_of_use(console, setting) ? tg_dset_change(console, setting, NULL) : NULL;
    return error;
}

static void offer_settings(const struct tg_console *console, void (*add)(void *context, const char *word),
                           void *context)
{
    for (const struct tg_setting *setting = tg_setting_table; setting->name != NULL; setting++)
        if (tg_dset_is_of_use(console, setting))
            add(context, setting->name);
}

const struct tg_console_command tg_console_dset = {
    .name = "dset",
    .arguments = "?NAME ?VALUE??",
    .summary = "lists the settings, or shows or changes one",
    .example = "dset MAX_LIST 40",
    .more = "The prefix TV:: of a NAME may be left out. Settings are Tcl variables, too: `set MAX_LIST 40`,\n"
            "`puts $TV::dlopen_always_recalculate`; `unset MAX_LIST` is `dunset MAX_LIST`.",
    .options = dset_options,
    .offer = offer_settings,
    .run = run_dset,
};

const struct tg_console_command tg_console_dunset = {
    .name = "dunset",
    .arguments = "NAME | -all",
    .summary = "resets a setting, or all settings, to the default",
    .example = "dunset SEARCH_PATH",
    .options = dunset_options,
    .offer = offer_settings,
    .run = run_dunset,
};
