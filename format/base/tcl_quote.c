#include "format/base/tcl_quote.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Whether {TEXT} is one word with the value TEXT, also after `source` has read it. */
static bool fits_braces(const char *text)
{
    size_t level = 0;
    for (const char *p = text; *p != '\0'; p++) {
        bool escaped = *p == '\\';
        p += escaped;
        if ((unsigned char)*p < 0x20) /* also a backslash at the end */
            return false;
        if (escaped)
            continue;
        if (*p == '{')
            level++;
        else if (*p == '}' && level-- == 0)
            return false;
    }
    return level == 0;
}

/* TEXT in double quotes, with what would end them or start something escaped. */
static void write_quoted(FILE *out, const char *text)
{
    putc('"', out);
    for (const char *p = text; *p != '\0'; p++) {
        if ((unsigned char)*p < 0x20)
            fprintf(out, "\\%03o", (unsigned char)*p);
        else if (strchr("\\\"$[]{}", *p) != NULL)
            fprintf(out, "\\%c", *p);
        else
            putc(*p, out);
    }
    putc('"', out);
}

void tg_tcl_quote_write(const char *text, FILE *out)
{
    if (text[0] != '\0' && fits_braces(text))
        fprintf(out, "{%s}", text);
    else
        write_quoted(out, text);
}
