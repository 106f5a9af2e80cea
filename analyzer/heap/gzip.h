/* Bytes in a gzip file (RFC 1952), stored as they are: for readers that insist on gzip. */
#ifndef TG_ANALYZER_HEAP_GZIP_H
#define TG_ANALYZER_HEAP_GZIP_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

void tg_gzip_write(FILE *stream, const uint8_t *data, size_t size);

#endif
