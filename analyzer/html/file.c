#include "analyzer/html/file.h"

#include "analyzer/html/asset.h"
#include "analyzer/output/xml_text.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

/* What stands in index.html for other things in a file. */
#define TITLE  "<title>tollgate</title>"
#define STYLE  "<link rel=\"stylesheet\" href=\"page.css\">"
#define SCRIPT "<script type=\"module\" src=\"bundle.js\"></script>"

static unsigned digit(char hex)
{
    return (unsigned)(hex <= '9' ? hex - '0' : hex - 'a' + 10);
}

/* HEX, of 32 bytes, as policies have it. */
static void write_hash(FILE *stream, const char *hex)
{
    static const char signs[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    fputs("'sha256-", stream);
    for (size_t i = 0; i < 32; i += 3) {
        uint32_t bits = 0;
        size_t n = 32 - i < 3 ? 32 - i : 3;
        for (size_t k = 0; k < 3; k++)
            bits = bits << 8 | (k < n ? digit(hex[2 * (i + k)]) << 4 | digit(hex[2 * (i + k) + 1]) : 0);
        for (size_t k = 0; k < 4; k++)
            fputc(k <= n ? signs[bits >> (18 - 6 * k) & 63] : '=', stream);
    }
    fputc('\'', stream);
}

/* JSON inside of an element: a "<" could end it. */
static void write_json(FILE *stream, const char *json)
{
    for (; *json != '\0'; json++) {
        if (*json == '<')
            fputs("\\u003c", stream);
        else
            fputc(*json, stream);
    }
}

static void write_asset(FILE *stream, const char *path)
{
    const struct tg_asset *asset = tg_asset_find(path);
    fwrite(asset->data, 1, asset->size, stream);
}

static void write_title(FILE *stream, const char *title)
{
    fputs("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src ", stream);
    write_hash(stream, tg_asset_find("bundle.js")->sha256);
    fputs("; style-src ", stream);
    write_hash(stream, tg_asset_find("page.css")->sha256);
    fputs("; img-src data:\">\n<title>", stream);
    tg_xml_text_write(stream, title, SIZE_MAX);
    fputs("</title>", stream);
}

static void write_script(FILE *stream, const struct tg_html_document *documents, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        fprintf(stream, "<script type=\"application/json\" id=\"data-%s\">", documents[i].name);
        write_json(stream, documents[i].json);
        fputs("</script>\n", stream);
    }
    fputs("<script>", stream);
    write_asset(stream, "bundle.js");
    fputs("</script>", stream);
}

/* Writes the text from FROM up to MARK; returns what is behind that. */
static const char *write_up_to(FILE *stream, const char *from, const char *mark)
{
    const char *at = strstr(from, mark);
    assert(at != NULL);
    fwrite(from, 1, (size_t)(at - from), stream);
    return at + strlen(mark);
}

void tg_html_file_write(FILE *stream, const char *title, const struct tg_html_document *documents,
                        size_t count)
{
    const char *at = (const char *)tg_asset_find("index.html")->data; /* ended by NUL */
    at = write_up_to(stream, at, TITLE);
    write_title(stream, title);
    at = write_up_to(stream, at, STYLE);
    fputs("<style>", stream);
    write_asset(stream, "page.css");
    fputs("</style>", stream);
    at = write_up_to(stream, at, SCRIPT);
    write_script(stream, documents, count);
    fputs(at, stream);
}
