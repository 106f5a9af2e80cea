/* Sequence diagrams as a page: the web page with this one part, in one file (analyzer/html/file.h). */
#include "analyzer/html/file.h"

#include "analyzer/sequence/page_diagram.h"

#include <stdlib.h>

static struct tg_error *write(const struct tg_sequence_drawing *drawing, FILE *stream)
{
    char *text = NULL;
    size_t size;
    struct tg_json json;
    FILE *memory = open_memstream(&text, &size);
    if (memory == NULL)
        return tg_error_no_memory();
    tg_json_init(&json, memory, false);
    tg_json_begin_object(&json);
    struct tg_error *error = tg_sequence_page_diagram(drawing, &json);
    tg_json_end_object(&json);
    if (fclose(memory) != 0 && error == NULL)
        error = tg_error_no_memory();
    const struct tg_html_document document = {.name = "diagram", .json = text};
    if (error == NULL)
        tg_html_file_write(stream, drawing->title, &document, 1);
    free(text);
    return error;
}

const struct tg_sequence_format tg_sequence_html = {
    .name = "html", .suffix = ".html", .summary = "an interactive page", .write = write};
