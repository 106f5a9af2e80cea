/* Compresses and decompresses the payloads of sections; META's payload. */
#ifndef TG_FORMAT_TRACE_SECTION_CODEC_H
#define TG_FORMAT_TRACE_SECTION_CODEC_H

#include "format/base/byte_cursor.h"
#include "format/trace/meta.h"
#include "format/trace/section.h"

struct tg_section_codec;

/* LEVEL is a zstd level; 0 is the default of this project. */
struct tg_error *tg_section_codec_create(int level, struct tg_section_codec **codec);
void tg_section_codec_destroy(struct tg_section_codec *codec);

/* Appends the whole section (header and compressed PAYLOAD) to SECTION. HEADER's sizes, version and hash are
 * set here. At BOUNDARIES (size_t values, ascending, may be NULL) a compression block may begin. Errors:
 * NO_MEMORY, LIMIT (the payload is beyond what a section can hold). */
struct tg_error *tg_section_codec_pack(struct tg_section_codec *codec, struct tg_section_header *header,
                                       const struct tg_byte_buffer *payload,
                                       const struct tg_byte_buffer *boundaries,
                                       struct tg_byte_buffer *section);

/* Decompresses into RAW (size header->raw_bytes, TG_CURSOR_PADDING zero bytes behind). PAYLOAD has
 * header->compressed_bytes bytes. The INPUT error says what is wrong; the caller adds where. */
struct tg_error *tg_section_codec_unpack(struct tg_section_codec *codec,
                                         const struct tg_section_header *header, const uint8_t *payload,
                                         struct tg_byte_buffer *raw);

/* META's payload, appended to PAYLOAD, and back into META (which must be empty). */
struct tg_error *tg_meta_payload_encode(const struct tg_trace_meta *meta, struct tg_byte_buffer *payload);
struct tg_error *tg_meta_payload_decode(struct tg_trace_meta *meta, struct tg_byte_cursor *cursor);

#endif
