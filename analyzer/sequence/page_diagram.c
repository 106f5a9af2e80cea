#include "analyzer/sequence/page_diagram.h"

#include "analyzer/sequence/svg.h"

#include <stdlib.h>

/* The member KEY: TEXT, written to STREAM, which is closed. */
static struct tg_error *finish(struct tg_json *json, const char *key, FILE *stream, char **text)
{
    struct tg_error *error = fclose(stream) == 0 ? NULL : tg_error_no_memory();
    if (error == NULL)
        tg_json_member_string(json, key, *text);
    free(*text);
    return error;
}

struct tg_error *tg_sequence_page_diagram(const struct tg_sequence_drawing *drawing, struct tg_json *json)
{
    char *text = NULL;
    size_t size;
    tg_json_member_bool(json, "there", true);
    tg_json_member_string(json, "title", drawing->title);
    tg_json_member_string(json, "note", drawing->note);
    FILE *stream = open_memstream(&text, &size);
    if (stream == NULL)
        return tg_error_no_memory();
    tg_sequence_svg_write_style(stream);
    struct tg_error *error = finish(json, "style", stream, &text);
    if (error != NULL)
        return error;
    stream = open_memstream(&text, &size);
    if (stream == NULL)
        return tg_error_no_memory();
    error = tg_sequence_svg_write_element(drawing, true, stream);
    struct tg_error *written = finish(json, "svg", stream, &text);
    if (error == NULL)
        return written;
    tg_error_destroy(written);
    return error;
}
