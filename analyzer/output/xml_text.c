#include "analyzer/output/xml_text.h"

#include "format/base/utf8.h"

#include <string.h>

void tg_xml_text_write(FILE *stream, const char *text, size_t bytes)
{
    const char *end = text + strnlen(text, bytes);
    while (text < end) {
        uint32_t code_point;
        size_t length = tg_utf8_decode(text, &code_point);
        bool is_bad = length == 0 || (code_point < 0x20 && code_point != '\n' && code_point != '\t') ||
                      code_point == 0xfffe || code_point == 0xffff;
        if (is_bad)
            putc('?', stream);
        else if (*text == '&')
            fputs("&amp;", stream);
        else if (*text == '<')
            fputs("&lt;", stream);
        else if (*text == '>')
            fputs("&gt;", stream);
        else if (*text == '"')
            fputs("&quot;", stream);
        else if (*text == '\'')
            fputs("&#39;", stream);
        else
            fwrite(text, 1, length, stream);
        text += length == 0 ? 1 : length;
    }
}
