/* From columns to the payload of an EVENTS section. */
#ifndef TG_FORMAT_TRACE_CHUNK_SERIALIZER_H
#define TG_FORMAT_TRACE_CHUNK_SERIALIZER_H

#include "format/base/byte_buffer.h"
#include "format/base/error.h"
#include "format/trace/chunk_columns.h"

/* Memory that one chunk after the other is serialized in. NULL without memory. */
struct tg_chunk_serializer;
struct tg_chunk_serializer *tg_chunk_serializer_create(void);
void tg_chunk_serializer_destroy(struct tg_chunk_serializer *serializer); /* NULL is accepted */

/* Writes the payload to PAYLOAD (emptied first). BOUNDARIES gets, as size_t values in its bytes, the offsets
 * at which a column of another nature begins: a compressor may start a block there. NO_MEMORY only. */
struct tg_error *tg_chunk_serialize(struct tg_chunk_serializer *serializer,
                                    const struct tg_chunk_columns *columns, struct tg_byte_buffer *payload,
                                    struct tg_byte_buffer *boundaries);

#endif
