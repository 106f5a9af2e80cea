#include "analyzer/page/query.h"

#include <string.h>

/* The value of KEY, whose *LENGTH bytes are not ended by NUL; NULL: it is not there. */
static const char *find(const char *query, const char *key, size_t *length)
{
    size_t key_length = strlen(key);
    for (const char *at = query; at != NULL && *at != '\0';) {
        size_t part = strcspn(at, "&");
        if (part > key_length && at[key_length] == '=' && strncmp(at, key, key_length) == 0) {
            *length = part - key_length - 1;
            return at + key_length + 1;
        }
        at += part + (at[part] == '&');
    }
    return NULL;
}

uint64_t tg_query_number(const char *query, const char *key, uint64_t otherwise)
{
    size_t length;
    const char *value = find(query, key, &length);
    uint64_t number = 0;
    if (value == NULL || length == 0 || length > 18)
        return otherwise;
    for (size_t i = 0; i < length; i++) {
        if (value[i] < '0' || value[i] > '9')
            return otherwise;
        number = number * 10 + (uint64_t)(value[i] - '0');
    }
    return number;
}

const char *tg_query_text(const char *query, const char *key, char *text, size_t size)
{
    size_t length = 0;
    const char *value = find(query, key, &length);
    if (value == NULL || length >= size)
        length = 0;
    memcpy(text, value == NULL ? "" : value, length);
    text[length] = '\0';
    return text;
}

bool tg_query_lists(const char *query, const char *key, const char *word)
{
    size_t length, word_length = strlen(word);
    const char *value = find(query, key, &length);
    for (size_t at = 0; value != NULL && at < length;) {
        size_t part = strcspn(value + at, ",&");
        if (part > length - at)
            part = length - at;
        if (part == word_length && memcmp(value + at, word, part) == 0)
            return true;
        at += part + 1;
    }
    return false;
}
