/* Decodes the columns of one EVENTS chunk, block by block, straight into events. */
#ifndef TG_FORMAT_TRACE_CHUNK_DECODER_H
#define TG_FORMAT_TRACE_CHUNK_DECODER_H

#include "format/base/byte_cursor.h"
#include "format/base/error.h"
#include "format/event/event.h"
#include "format/trace/kind_set.h"
#include "format/trace/section.h"

struct tg_chunk_decoder;

struct tg_error *tg_chunk_decoder_create(struct tg_chunk_decoder **decoder);
void tg_chunk_decoder_destroy(struct tg_chunk_decoder *decoder);

/* From the next chunk on, events of kinds that are not WANTED are passed over, but for those with a stop: where a
 * chunk has no other events, nothing of it is decoded. At first every event is wanted. */
void tg_chunk_decoder_want(struct tg_chunk_decoder *decoder, struct tg_wanted_kinds wanted);

/* Begins the chunk of HEADER (of which the number of events, the first time and the flags count) whose
 * payload is [source->start, source->start + SIZE), with TG_CURSOR_PADDING readable bytes behind. SOURCE and
 * the payload must stay until the next begin. INPUT error where the payload is not well-formed. */
struct tg_error *tg_chunk_decoder_begin(struct tg_chunk_decoder *decoder, const struct tg_byte_source *source,
                                        size_t size, const struct tg_section_header *header);

/* The kinds of the chunk that was begun last, whether wanted or not. */
struct tg_kind_set tg_chunk_decoder_kinds(const struct tg_chunk_decoder *decoder);

/* The next events in file order; *COUNT is 0 at the end of the chunk. They and all they point to stay valid
 * until the next call of block or begin. *UNKNOWN grows by the number of events that were passed over because
 * their kind is not known here. After an error the chunk cannot be continued. */
struct tg_error *tg_chunk_decoder_block(struct tg_chunk_decoder *decoder, const struct tg_event **events,
                                        size_t *count, uint64_t *unknown);

#endif
