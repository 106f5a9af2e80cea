#include "recorder/agent/record.h"

#include <string.h>

void tg_agent_record_slowly(unsigned shape, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e)
{
    size_t n_arguments = shape >> TG_AGENT_WORDS_SHIFT;
    uint64_t *arguments = tg_agent_begin(shape & 0xff, n_arguments);
    if (arguments == NULL)
        return;
    arguments[0] = a;
    arguments[1] = b;
    if (n_arguments > 2) {
        arguments[2] = c;
        arguments[3] = d;
    }
    if (n_arguments > 4)
        arguments[4] = e;
    tg_agent_commit();
}

size_t tg_agent_string_words(const char *text)
{
    size_t length = text == NULL ? 0 : strnlen(text, TG_AGENT_MAX_STRING_BYTES - 1);
    return length / 8 + 1;
}

void tg_agent_put_string(uint64_t *arguments, const char *text, size_t n_words)
{
    size_t length = text == NULL ? 0 : strnlen(text, n_words * 8 - 1);
    arguments[n_words - 1] = 0;
    memcpy(arguments, text == NULL ? "" : text, length);
    memset((char *)arguments + length, 0, n_words * 8 - length);
}

void tg_agent_say(unsigned kind, const char *text)
{
    size_t n_words = tg_agent_string_words(text);
    uint64_t *arguments = tg_agent_begin(kind, n_words);
    if (arguments != NULL) {
        tg_agent_put_string(arguments, text, n_words);
        tg_agent_commit();
    }
}

TG_AGENT_SHARE(tg_agent_record_slowly);
TG_AGENT_SHARE(tg_agent_string_words);
TG_AGENT_SHARE(tg_agent_put_string);
TG_AGENT_SHARE(tg_agent_say);
