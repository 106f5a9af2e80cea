/* Text from traces in XML and HTML. */
#ifndef TG_ANALYZER_OUTPUT_XML_TEXT_H
#define TG_ANALYZER_OUTPUT_XML_TEXT_H

#include <stddef.h>
#include <stdio.h>

/* Writes at most BYTES bytes of TEXT so that they are text wherever they stand, also in an attribute; what XML cannot
 * have becomes "?". */
void tg_xml_text_write(FILE *stream, const char *text, size_t bytes);

#endif
