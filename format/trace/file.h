/* The output side of a trace file: sections appended whole, index, NAME.incomplete and the rename at the
 * end. */
#ifndef TG_FORMAT_TRACE_FILE_H
#define TG_FORMAT_TRACE_FILE_H

#include "format/base/error.h"
#include "format/trace/kind_set.h"
#include "format/trace/meta.h"
#include "format/trace/section.h"

#include <stdbool.h>

/* Used by one thread at a time. */
struct tg_trace_file;

/* Behind PATH while it is being written. */
#define TG_TRACE_INCOMPLETE_SUFFIX ".incomplete"

/* Contents of one EVENTS section. */
struct tg_chunk_facts {
    uint32_t n_events;
    uint64_t first_time_ns, last_time_ns;
    struct tg_kind_set kinds;
};

/* Creates PATH followed by SUFFIX (TG_TRACE_INCOMPLETE_SUFFIX where it is being recorded) with META as its
 * first section; nothing is left behind on failure. OVERWRITE: existing files of both names may be replaced.
 * LEVEL as for tg_section_codec_create. Errors: OS, EXISTS, NO_MEMORY, USAGE (level). */
struct tg_error *tg_trace_file_create(const char *path, const char *suffix, bool overwrite, int level,
                                      const struct tg_trace_meta *meta, struct tg_trace_file **file);

/* Closes the descriptor; without a finish before, the file keeps its suffix. */
void tg_trace_file_destroy(struct tg_trace_file *file);

/* Removes the file under its first name; for whoever decides against the file after creating it. */
void tg_trace_file_discard(struct tg_trace_file *file);

/* Compresses PAYLOAD and appends it as an EVENTS section. Where writing fails (OS), what was written of the
 * section is taken away again as far as the system lets us, and a later append may be tried. */
struct tg_error *tg_trace_file_append_events(struct tg_trace_file *file, const struct tg_chunk_facts *facts,
                                             const struct tg_byte_buffer *payload,
                                             const struct tg_byte_buffer *boundaries);

/* Appends a section as another file has it: HEADER with a new sequence number, PAYLOAD byte for byte. KINDS: of an
 * EVENTS section's events. */
struct tg_error *tg_trace_file_append_packed(struct tg_trace_file *file,
                                             const struct tg_section_header *header, const uint8_t *payload,
                                             const struct tg_kind_set *kinds);

/* Writes both indices and renames to PATH. Without overwrite an existing PATH is EXISTS and the file stays
 * what it was called, complete as it is. */
struct tg_error *tg_trace_file_finish(struct tg_trace_file *file, uint64_t lost_events);

uint64_t tg_trace_file_size(const struct tg_trace_file *file);

#endif
