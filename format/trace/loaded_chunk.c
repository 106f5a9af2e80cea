#include "format/trace/loaded_chunk.h"

#include <inttypes.h>
#include <stdlib.h>

struct tg_error *tg_loaded_chunk_create(const char *file, struct tg_loaded_chunk **chunk)
{
    struct tg_loaded_chunk *created = calloc(1, sizeof *created);
    if (created == NULL)
        return tg_error_no_memory();
    created->source = (struct tg_byte_source){.file = file, .section = tg_section_name(TG_SECTION_EVENTS)};
    struct tg_error *error = tg_section_codec_create(0, &created->codec);
    if (error == NULL)
        error = tg_chunk_decoder_create(&created->decoder);
    if (error == NULL)
        *chunk = created;
    else
        tg_loaded_chunk_destroy(created);
    return error;
}

void tg_loaded_chunk_destroy(struct tg_loaded_chunk *chunk)
{
    if (chunk == NULL)
        return;
    tg_chunk_decoder_destroy(chunk->decoder);
    tg_section_codec_destroy(chunk->codec);
    tg_byte_buffer_deinit(&chunk->compressed);
    tg_byte_buffer_deinit(&chunk->raw);
    tg_error_destroy(chunk->error);
    free(chunk);
}

void tg_loaded_chunk_open(struct tg_loaded_chunk *chunk)
{
    struct tg_error *error =
        tg_section_codec_unpack(chunk->codec, &chunk->header, chunk->compressed.data, &chunk->raw);
    chunk->source.chunk_offset = chunk->offset;
    chunk->source.start = chunk->raw.data;
    chunk->error = error != NULL ? tg_error_prefix(error, "%s: %s section at offset %" PRIu64,
                                                   chunk->source.file, chunk->source.section, chunk->offset)
                                 : tg_chunk_decoder_begin(chunk->decoder, &chunk->source, chunk->raw.size,
                                                          &chunk->header);
}

void tg_loaded_chunk_clear(struct tg_loaded_chunk *chunk)
{
    chunk->compressed.size = 0;
    tg_error_destroy(chunk->error);
    chunk->error = NULL;
}
