/* A sequence diagram for the web page. */
#ifndef TG_ANALYZER_SEQUENCE_PAGE_DIAGRAM_H
#define TG_ANALYZER_SEQUENCE_PAGE_DIAGRAM_H

#include "analyzer/sequence/format.h"
#include "format/base/json_writer.h"

/* Writes title, note, style and picture as members of the object that JSON is in. Only error: NO_MEMORY. */
struct tg_error *tg_sequence_page_diagram(const struct tg_sequence_drawing *drawing, struct tg_json *json);

#endif
