#include "format/trace/section_codec.h"

#include <stdlib.h>
#include <zstd.h>

/* Chosen by measurement: docs/performance.md. */
enum { DEFAULT_LEVEL = 1, MIN_BLOCK_BYTES = 2048, STORED_BYTES = 12 << 10 };

struct tg_section_codec {
    ZSTD_CCtx *compressor; /* both are made at first use */
    ZSTD_DCtx *decompressor;
    size_t stored_bytes; /* in sections before the first that was compressed */
    int level;
};

struct tg_error *tg_section_codec_create(int level, struct tg_section_codec **codec)
{
    struct tg_section_codec *created = calloc(1, sizeof *created);
    if (created == NULL)
        return tg_error_no_memory();
    created->level = level == 0 ? DEFAULT_LEVEL : level;
    *codec = created;
    return NULL;
}

void tg_section_codec_destroy(struct tg_section_codec *codec)
{
    if (codec == NULL)
        return;
    if (codec->compressor != NULL)
        ZSTD_freeCCtx(codec->compressor);
    if (codec->decompressor != NULL)
        ZSTD_freeDCtx(codec->decompressor);
    free(codec);
}

static struct tg_error *prepare_compressor(struct tg_section_codec *codec, size_t size)
{
    if (codec->compressor == NULL) {
        codec->compressor = ZSTD_createCCtx();
        if (codec->compressor == NULL)
            return tg_error_no_memory();
        size_t result = ZSTD_CCtx_setParameter(codec->compressor, ZSTD_c_compressionLevel, codec->level);
        if (ZSTD_isError(result))
            return tg_error_create(TG_ERROR_USAGE, "invalid zstd level %d: %s", codec->level,
                                   ZSTD_getErrorName(result));
    }
    ZSTD_CCtx_reset(codec->compressor, ZSTD_reset_session_only);
    ZSTD_CCtx_setPledgedSrcSize(codec->compressor, size);
    return NULL;
}

/* One zstd frame; a block ends at each boundary that is far enough from the last, so that columns of another
 * nature get entropy tables of their own. */
static struct tg_error *compress(struct tg_section_codec *codec, const struct tg_byte_buffer *payload,
                                 const struct tg_byte_buffer *boundaries, struct tg_byte_buffer *section)
{
    struct tg_error *error = prepare_compressor(codec, payload->size);
    if (error != NULL)
        return error;
    size_t n_boundaries = boundaries == NULL ? 0 : boundaries->size / sizeof(size_t);
    size_t room = ZSTD_compressBound(payload->size) + 16 * (n_boundaries + 1);
    if (!tg_byte_buffer_reserve(section, room))
        return tg_error_no_memory();
    ZSTD_outBuffer out = {section->data + section->size, room, 0};
    ZSTD_inBuffer in = {payload->data, 0, 0};
    for (size_t i = 0; i <= n_boundaries; i++) {
        size_t end = payload->size;
        if (i < n_boundaries)
            memcpy(&end, boundaries->data + i * sizeof end, sizeof end);
        if (i < n_boundaries && (end < in.pos + MIN_BLOCK_BYTES || end + MIN_BLOCK_BYTES > payload->size))
            continue;
        in.size = end;
        size_t result =
            ZSTD_compressStream2(codec->compressor, &out, &in, i < n_boundaries ? ZSTD_e_flush : ZSTD_e_end);
        if (result != 0) /* an error, or something left though there was room for all */
            return tg_error_create(TG_ERROR_LIMIT, "zstd cannot compress: %s", ZSTD_getErrorName(result));
    }
    section->size += out.pos;
    return NULL;
}

/* A frame of one block that is stored as it is (RFC 8878, sections 3.1.1.1 and 3.1.1.2). */
static struct tg_error *store(const struct tg_byte_buffer *payload, struct tg_byte_buffer *section)
{
    enum { SINGLE_SEGMENT = 1 << 5, SIZE_OF_FOUR_BYTES = 2 << 6, LAST_BLOCK = 1, HEAD_BYTES = 12 };
    uint32_t size = (uint32_t)payload->size, block = size << 3 | LAST_BLOCK; /* of type 0: stored */
    const uint8_t head[HEAD_BYTES] = {0x28,
                                      0xb5,
                                      0x2f,
                                      0xfd,
                                      SIZE_OF_FOUR_BYTES | SINGLE_SEGMENT,
                                      (uint8_t)size,
                                      (uint8_t)(size >> 8),
                                      (uint8_t)(size >> 16),
                                      (uint8_t)(size >> 24),
                                      (uint8_t)block,
                                      (uint8_t)(block >> 8),
                                      (uint8_t)(block >> 16)};
    if (!tg_byte_buffer_reserve(section, sizeof head + payload->size))
        return tg_error_no_memory();
    tg_byte_buffer_put(section, head, sizeof head);
    tg_byte_buffer_put(section, payload->data, payload->size);
    return NULL;
}

struct tg_error *tg_section_codec_pack(struct tg_section_codec *codec, struct tg_section_header *header,
                                       const struct tg_byte_buffer *payload,
                                       const struct tg_byte_buffer *boundaries,
                                       struct tg_byte_buffer *section)
{
    if (payload->size > TG_SECTION_MAX_RAW_BYTES)
        return tg_error_create(TG_ERROR_LIMIT, "a section of %zu bytes exceeds the limit of %d bytes",
                               payload->size, TG_SECTION_MAX_RAW_BYTES);
    if (!tg_byte_buffer_reserve(section, TG_SECTION_HEADER_BYTES))
        return tg_error_no_memory();
    size_t start = section->size;
    section->size += TG_SECTION_HEADER_BYTES;
    /* What a short job records need not be smaller: the library with its tables takes longer than all that is written. */
    bool is_stored = codec->compressor == NULL && codec->stored_bytes + payload->size <= STORED_BYTES;
    codec->stored_bytes += payload->size;
    struct tg_error *error =
        is_stored ? store(payload, section) : compress(codec, payload, boundaries, section);
    if (error != NULL) {
        section->size = start;
        return error;
    }
    header->major = TG_TRACE_MAJOR;
    header->minor = TG_TRACE_MINOR;
    header->raw_bytes = (uint32_t)payload->size;
    header->compressed_bytes = (uint32_t)(section->size - start - TG_SECTION_HEADER_BYTES);
    tg_section_header_encode(header, section->data + start + TG_SECTION_HEADER_BYTES, section->data + start);
    return NULL;
}

struct tg_error *tg_section_codec_unpack(struct tg_section_codec *codec,
                                         const struct tg_section_header *header, const uint8_t *payload,
                                         struct tg_byte_buffer *raw)
{
    if (tg_section_hash(payload, header->compressed_bytes) != header->payload_hash)
        return tg_error_create(TG_ERROR_INPUT, "checksum mismatch: payload damaged");
    if (codec->decompressor == NULL && (codec->decompressor = ZSTD_createDCtx()) == NULL)
        return tg_error_no_memory();
    raw->size = 0;
    if (!tg_byte_buffer_reserve(raw, (size_t)header->raw_bytes + TG_CURSOR_PADDING))
        return tg_error_no_memory();
    size_t result = ZSTD_decompressDCtx(codec->decompressor, raw->data, header->raw_bytes, payload,
                                        header->compressed_bytes);
    if (ZSTD_isError(result))
        return tg_error_create(TG_ERROR_INPUT, "cannot decompress the payload: %s",
                               ZSTD_getErrorName(result));
    if (result != header->raw_bytes)
        return tg_error_create(TG_ERROR_INPUT, "payload of %zu bytes, but the header says %u", result,
                               header->raw_bytes);
    raw->size = header->raw_bytes;
    memset(raw->data + raw->size, 0, TG_CURSOR_PADDING);
    return NULL;
}

struct tg_error *tg_meta_payload_encode(const struct tg_trace_meta *meta, struct tg_byte_buffer *payload)
{
    size_t count = tg_trace_meta_count(meta);
    if (!tg_byte_buffer_reserve(payload, TG_VARINT_MAX_BYTES))
        return tg_error_no_memory();
    tg_byte_buffer_put_varint(payload, count);
    for (size_t i = 0; i < count; i++) {
        const char *texts[] = {tg_trace_meta_key_at(meta, i), tg_trace_meta_value_at(meta, i)};
        for (size_t t = 0; t < 2; t++) {
            size_t size = strlen(texts[t]) + 1;
            if (!tg_byte_buffer_reserve(payload, size))
                return tg_error_no_memory();
            tg_byte_buffer_put(payload, texts[t], size);
        }
    }
    return NULL;
}

static struct tg_error *decode_text(struct tg_byte_cursor *cursor, const char *field, const char **text)
{
    const uint8_t *end = memchr(cursor->position, 0, (size_t)(cursor->end - cursor->position));
    if (end == NULL)
        return tg_byte_cursor_error(cursor, field, "unterminated text");
    *text = (const char *)cursor->position;
    cursor->position = end + 1;
    return NULL;
}

struct tg_error *tg_meta_payload_decode(struct tg_trace_meta *meta, struct tg_byte_cursor *cursor)
{
    uint64_t count = 0;
    struct tg_error *error = tg_byte_cursor_varint(cursor, "number of keys", TG_TRACE_META_MAX_COUNT, &count);
    for (uint64_t i = 0; error == NULL && i < count; i++) {
        const char *key = NULL, *value = NULL;
        error = decode_text(cursor, "key", &key);
        if (error == NULL)
            error = decode_text(cursor, "value", &value);
        if (error == NULL)
            error = tg_trace_meta_set(meta, key, value);
    }
    if (error == NULL && cursor->position != cursor->end)
        error = tg_byte_cursor_error(cursor, "end of the keys", "trailing bytes");
    return error;
}
