/* Settings and short names: dset, dunset, alias. */
#include "analyzer/output/text_table.h"
#include "format/base/printable.h"
#include "live/console/aliases.h"
#include "live/console/settings.h"

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

static bool is_of_use(const struct tg_console *console, const struct tg_setting *setting)
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
        if (!is_of_use(console, setting))
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
        if (!is_of_use(console, setting))
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

/* The setting NAME, which must say something to the source. */
static struct tg_error *find(const struct tg_console *console, const char *name,
                             const struct tg_setting **setting)
{
    char shown[128];
    *setting = tg_setting_find(name);
    if (*setting == NULL)
        return tg_error_create(TG_ERROR_NOT_FOUND, "there is no setting '%s'; `dset` lists them",
                               tg_printable(name, shown, sizeof shown));
    if (!is_of_use(console, *setting))
        return tg_error_create(TG_ERROR_UNSUPPORTED,
                               "%s is for a job that runs: this is a trace (see tollgate live)",
                               (*setting)->name);
    return NULL;
}

/* Sets one, NULL the initial value; a program that listens is told. */
static struct tg_error *set(struct tg_console *console, const struct tg_setting *setting, const char *value)
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

static struct tg_error *run_dset(struct tg_console *console, int argc, Tcl_Obj *const *argv, FILE *out)
{
    const struct tg_setting *setting = NULL;
    if (argc == 3 && strcmp(Tcl_GetString(argv[0]), "-set_as_default") == 0) {
        argc--; /* as in settings files: there is nothing that it could be told from here */
        argv++;
    }
    if (argc > 2)
        return tg_console_usage(&tg_console_dset);
    if (argc == 0)
        return list_settings(console, out);
    const char *name = Tcl_GetString(argv[0]);
    struct tg_error *error = find(console, name, &setting);
    if (error == NULL && argc == 2)
        error = set(console, setting, Tcl_GetString(argv[1]));
    if (error == NULL)
        console->result = Tcl_NewStringObj(tg_console_settings_text(console->settings, name), -1);
    return error;
}

static struct tg_error *run_dunset(struct tg_console *console, int argc, Tcl_Obj *const *argv, FILE *out)
{
    const struct tg_setting *setting = NULL;
    (void)out;
    if (argc != 1)
        return tg_console_usage(&tg_console_dunset);
    const char *name = Tcl_GetString(argv[0]);
    if (strcmp(name, "-all") != 0) {
        struct tg_error *error = find(console, name, &setting);
        return error != NULL ? error : set(console, setting, NULL);
    }
    for (setting = tg_setting_table; setting->name != NULL; setting++) {
        struct tg_error *error = is_of_use(console, setting) ? set(console, setting, NULL) : NULL;
        if (error != NULL)
            return error;
    }
    return NULL;
}

const struct tg_console_command tg_console_dset = {
    .name = "dset",
    .arguments = "?NAME ?VALUE??",
    .summary = "lists the settings with their meaning, gives or sets one",
    .example = "dset MAX_LIST 40",
    .more = "NAME may be written without TV::. A value that is none is refused, with what would be one.",
    .run = run_dset,
};

static const char *const dunset_words[] = {"-all", NULL};

const struct tg_console_command tg_console_dunset = {
    .name = "dunset",
    .arguments = "NAME | -all",
    .summary = "gives a setting, or all, the value that it has at first",
    .example = "dunset SEARCH_PATH",
    .words = dunset_words,
    .run = run_dunset,
};

/* ---- alias */

static struct tg_error *run_alias(struct tg_console *console, int argc, Tcl_Obj *const *argv, FILE *out)
{
    const struct tg_console_command *command = NULL;
    const char *wanted = argc > 0 ? Tcl_GetString(argv[0]) : NULL;
    bool found = false;
    if (argc > 1)
        return tg_console_usage(&tg_console_alias);
    struct tg_json *json = tg_console_data_begin(&console->data);
    if (json != NULL)
        tg_json_begin_object(json);
    for (const struct tg_console_alias *alias = tg_console_alias_table; alias->name != NULL; alias++) {
        if (tg_console_alias_find(alias->name, strlen(alias->name), &command) == NULL ||
            (command->needs == TG_CONSOLE_NEEDS_LIVE && console->options.live == NULL) ||
            (wanted != NULL && strcmp(alias->name, wanted) != 0))
            continue;
        found = true;
        fprintf(out, "%-4s %s\n", alias->name, alias->words);
        if (json != NULL)
            tg_json_member_string(json, alias->name, alias->words);
    }
    if (json != NULL)
        tg_json_end_object(json);
    if (found)
        return NULL;
    char shown[64];
    return tg_error_create(TG_ERROR_NOT_FOUND,
                           "there is no alias '%s'; `alias` lists them, a `proc` makes a command of your own",
                           tg_printable(wanted == NULL ? "" : wanted, shown, sizeof shown));
}

const struct tg_console_command tg_console_alias = {
    .name = "alias",
    .arguments = "?NAME?",
    .summary = "lists the short names of commands",
    .example = "alias baw",
    .more = "What is written behind a short name follows the words that it stands for.",
    .run = run_alias,
};
