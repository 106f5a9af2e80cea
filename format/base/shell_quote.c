#include "format/base/shell_quote.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

void tg_shell_quote_write(FILE *stream, const char *text)
{
    bool printable = true;
    for (const unsigned char *p = (const unsigned char *)text; *p != '\0'; p++)
        printable &= *p >= ' ' && *p < 0x7f;
    if (printable && strpbrk(text, "\"$`\\!") == NULL) {
        fprintf(stream, "\"%s\"", text);
        return;
    }
    if (printable && strchr(text, '\'') == NULL) {
        fprintf(stream, "'%s'", text);
        return;
    }
    fputs("$'", stream);
    for (const unsigned char *p = (const unsigned char *)text; *p != '\0'; p++) {
        if (*p == '\'' || *p == '\\')
            fprintf(stream, "\\%c", *p);
        else if (*p < ' ' || *p >= 0x7f)
            fprintf(stream, "\\%03o", *p);
        else
            putc(*p, stream);
    }
    putc('\'', stream);
}

static bool is_plain(const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
    return *text != '\0' && text[strspn(text, letters)] == '\0';
}

void tg_shell_quote_write_path(FILE *stream, const char *path)
{
    char *anchored = NULL;
    if (*path == '-' && asprintf(&anchored, "./%s", path) >= 0)
        path = anchored;
    if (is_plain(path))
        fputs(path, stream);
    else
        tg_shell_quote_write(stream, path);
    free(anchored);
}
