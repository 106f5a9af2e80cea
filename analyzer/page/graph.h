/* The wait-for graph as JSON: who waits for whom, those that wait alike as one. */
#ifndef TG_ANALYZER_PAGE_GRAPH_H
#define TG_ANALYZER_PAGE_GRAPH_H

#include "analyzer/page/page.h"
#include "format/base/json_writer.h"

enum { TG_GRAPH_NODES = 80, TG_GRAPH_EDGES = 240 }; /* at most so many are written; others are counted */

/* Members "nodes", "edges" and "left_out" (edges) of the object that JSON is in. Only error: NO_MEMORY. */
struct tg_error *tg_page_graph(const struct tg_page *page, const struct tg_verdict *verdict,
                               struct tg_json *json);

#endif
