#include "recorder/agent/deep/settings.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static void warn(struct tg_deep_settings *settings, const char *what, const char *text, size_t length)
{
    size_t used = strlen(settings->warning);
    snprintf(settings->warning + used, sizeof settings->warning - used, "%s%s '%.*s'",
             used == 0 ? "TVHEAP_DEEPBIND: " : ", ", what, (int)(length < 64 ? length : 64), text);
}

static bool is_word(const char *text, size_t length, const char *word)
{
    return strlen(word) == length && strncasecmp(text, word, length) == 0;
}

/* False where it is no boolean. */
static bool read_boolean(const char *text, size_t length, bool *value)
{
    static const char *const words[][2] = {{"false", "true"}, {"no", "yes"}, {"off", "on"}, {"0", "1"}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        for (int truth = 0; truth < 2; truth++)
            if (is_word(text, length, words[i][truth])) {
                *value = truth != 0;
                return true;
            }
    return false;
}

/* The bytes of a key at TEXT, without its '='; 0: there is none. */
static size_t key_length(const char *text)
{
    size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyz_ABCDEFGHIJKLMNOPQRSTUVWXYZ");
    return text[length] == '=' ? length : 0;
}

static size_t value_length(const char *text, bool has_commas)
{
    size_t length = strcspn(text, ",");
    while (has_commas && text[length] == ',' && key_length(text + length + 1) == 0)
        length += 1 + strcspn(text + length + 1, ",");
    return length;
}

static void set_directory(struct tg_deep_settings *settings, const char *value, size_t length)
{
    if (length >= sizeof settings->directory)
        warn(settings, "path too long", value, length);
    else if (length > 0)
        snprintf(settings->directory, sizeof settings->directory, "%.*s", (int)length, value);
}

enum method { BY_DEFAULT, BY_AUDIT, BY_WRAPPER };

static void set(struct tg_deep_settings *settings, enum method *method, const char *key, size_t n_key,
                const char *value, size_t length)
{
    bool is_good = true;
    if (is_word(key, n_key, "pass_through"))
        is_good = read_boolean(value, length, &settings->passes_through);
    else if (is_word(key, n_key, "keep_wrapper"))
        is_good = read_boolean(value, length, &settings->keeps_wrapper);
    else if (is_word(key, n_key, "tmpdir"))
        set_directory(settings, value, length);
    else if (is_word(key, n_key, "method") && is_word(value, length, "wrapper"))
        *method = BY_WRAPPER;
    else if (is_word(key, n_key, "method") && is_word(value, length, "audit"))
        *method = BY_AUDIT;
    else if (is_word(key, n_key, "method"))
        is_good = false;
    else
        warn(settings, "unknown setting", key, n_key);
    if (!is_good)
        warn(settings, "invalid value", key, n_key + 1 + length);
}

void tg_deep_settings_read(const char *text, const char *tmpdir, struct tg_deep_settings *settings)
{
    enum method method = BY_DEFAULT;
    *settings = (struct tg_deep_settings){.directory = "/tmp"};
    if (tmpdir != NULL)
        set_directory(settings, tmpdir, strlen(tmpdir));
    while (text != NULL && *text != '\0') {
        size_t n_key = key_length(text);
        if (n_key == 0) {
            size_t length = strcspn(text, ",");
            if (length > 0)
                warn(settings, "unknown setting", text, length);
            text += length;
        } else {
            const char *value = text + n_key + 1;
            size_t length = value_length(value, is_word(text, n_key, "tmpdir"));
            set(settings, &method, text, n_key, value, length);
            text = value + length;
        }
        text += *text == ',';
    }
    /* to keep a wrapper there has to be one */
    settings->prefers_wrapper = method == BY_WRAPPER || (method == BY_DEFAULT && settings->keeps_wrapper);
}
