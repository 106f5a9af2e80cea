/* An EVENTS section that was read from the file, and its decoder: what any thread can open by itself. */
#ifndef TG_FORMAT_TRACE_LOADED_CHUNK_H
#define TG_FORMAT_TRACE_LOADED_CHUNK_H

#include "format/base/byte_buffer.h"
#include "format/trace/chunk_decoder.h"
#include "format/trace/section_codec.h"

struct tg_loaded_chunk {
    struct tg_section_header header; /* as read from the file, like COMPRESSED */
    uint64_t offset;                 /* of the section in the file */
    struct tg_byte_buffer compressed;
    struct tg_chunk_decoder *decoder; /* has begun the chunk once it is opened */
    struct tg_error *error;           /* why it could not be opened */

    struct tg_byte_buffer raw; /* from here on for opening alone */
    struct tg_section_codec *codec;
    struct tg_byte_source source;
};

/* FILE is the name for errors; it must live as long as the chunk. */
struct tg_error *tg_loaded_chunk_create(const char *file, struct tg_loaded_chunk **chunk);
void tg_loaded_chunk_destroy(struct tg_loaded_chunk *chunk);

/* Decompresses the section and begins it in the decoder; ERROR says why that failed, naming file and offset. One
 * thread at a time; different chunks at the same time. */
void tg_loaded_chunk_open(struct tg_loaded_chunk *chunk);

/* Makes room for another section; the memory stays. */
void tg_loaded_chunk_clear(struct tg_loaded_chunk *chunk);

#endif
