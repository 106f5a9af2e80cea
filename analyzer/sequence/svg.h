/* Drawing that the svg and html formats of sequence diagrams share. */
#ifndef TG_ANALYZER_SEQUENCE_SVG_H
#define TG_ANALYZER_SEQUENCE_SVG_H

#include "analyzer/sequence/format.h"

#include <stdio.h>

/* Writes the <svg> element alone. FOR_PAGE: the page has the style. NO_MEMORY. */
struct tg_error *tg_sequence_svg_write_element(const struct tg_sequence_drawing *drawing, bool for_page,
                                               FILE *stream);
/* The style sheet's rules; DARK is the selector prefix for a page that is switched by hand, NULL none. */
void tg_sequence_svg_write_style(FILE *stream);

#endif
