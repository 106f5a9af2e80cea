/* The tree as a page: one file, no script, no request to any network. Every name is text. */
#include "analyzer/where/page.h"

#include "analyzer/output/xml_text.h"
#include "analyzer/where/members.h"

#include <stdlib.h>
#include <string.h>

/* tests/golden/where_page_test.py compares the hash with the style. */
#define STYLE_HASH "sha256-4aeKM4DNgOCpmLCHqNtht07NpMbjeS6MDlJMvCjp6ig="

static const char style[] =
    "body{font:14px system-ui,sans-serif;margin:1.5em;max-width:110ch;background:#fff;color:#1b1f24}\n"
    "pre,details,.leaf{overflow-wrap:anywhere}\n"
    "pre{white-space:pre-wrap;font:13px ui-monospace,monospace;border-left:3px solid "
    "#0072b2;padding-left:1em}\n"
    "details,.leaf{margin-left:1.4em;font:13px ui-monospace,monospace}\n"
    "summary{cursor:pointer}\n.who{color:#0072b2}\n"
    "@media (prefers-color-scheme: dark){body{background:#14171c;color:#e4e7eb}.who{color:#56b4e9}}\n";

static void write_text(FILE *stream, const char *text)
{
    tg_xml_text_write(stream, text, strlen(text));
}

static void write_members(FILE *stream, const struct tg_where_threads *looked, const size_t *threads,
                          size_t count)
{
    char *text = tg_where_members_text(looked, threads, count);
    if (text == NULL)
        return;
    fputs("<span class=\"who\">", stream);
    write_text(stream, text);
    fputs("</span> ", stream);
    free(text);
}

/* Trees are at most as deep as recorded stacks. */
static void write_node(FILE *stream, const struct tg_where_threads *threads, const struct tg_where_node *node,
                       bool names_members)
{
    const char *end = node->n_children > 0 ? "</summary>\n" : "</div>\n";
    fputs(node->n_children > 0 ? "<details open><summary>" : "<div class=\"leaf\">", stream);
    if (names_members)
        write_members(stream, threads, node->threads, node->n_threads);
    if (node->text != NULL)
        write_text(stream, node->text);
    fputs(end, stream);
    for (size_t i = 0; i < node->n_children; i++)
        write_node(stream, threads, node->children[i], node->children[i]->n_threads != node->n_threads);
    if (node->n_children > 0 && node->n_ending > 0) {
        fputs("<div class=\"leaf\">", stream);
        write_members(stream, threads, node->ending, node->n_ending);
        fputs("no further</div>\n", stream);
    }
    if (node->n_children > 0)
        fputs("</details>\n", stream);
}

/* The part of the text that WRITE writes. */
static void write_part(FILE *stream, const struct tg_where_page *page,
                       void (*write)(FILE *stream, const struct tg_where_page *page))
{
    char *text = NULL;
    size_t size;
    FILE *memory = open_memstream(&text, &size);
    if (memory == NULL)
        return;
    write(memory, page);
    fclose(memory);
    if (size > 0) {
        fputs("<pre>", stream);
        write_text(stream, text + strspn(text, "\n"));
        fputs("</pre>\n", stream);
    }
    free(text);
}

void tg_where_write_html(FILE *stream, const struct tg_where_page *page)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src '" STYLE_HASH
          "'\">\n<title>tollgate where</title>\n<style>",
          stream);
    fputs(style, stream);
    fputs("</style></head><body>\n<h1>Where the job is</h1>\n", stream);
    struct tg_where_page shown = *page;
    shown.with_others |= page->ranks->n_threads == 0;
    write_part(stream, page, tg_where_write_head);
    if (page->ranks->n_threads > 0)
        write_node(stream, page->threads, page->ranks, true);
    if (page->others->n_threads > 0 && shown.with_others)
        write_node(stream, page->threads, page->others, true);
    write_part(stream, &shown, tg_where_write_rest);
    fputs("</body></html>\n", stream);
}
