/* JSON text straight to a stream: reports and dumps stay small in memory, and any byte string comes out
 * valid. */
#ifndef TG_FORMAT_BASE_JSON_WRITER_H
#define TG_FORMAT_BASE_JSON_WRITER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Caller's storage; initialise with tg_json_init. Depth is at most 32. */
struct tg_json {
    FILE *stream;
    unsigned depth;
    bool pretty; /* indent with two spaces; otherwise one line */
    bool after_key;
    uint32_t not_first; /* bit per depth: a comma is needed before the next member */
};

/* STREAM stays the caller's; nothing is written yet. Errors of writing are the stream's (ferror). */
void tg_json_init(struct tg_json *json, FILE *stream, bool pretty);

/* The same within an object on one line that has members already; whoever began it ends it. */
void tg_json_init_inside(struct tg_json *json, FILE *stream);

/* Commas and line ends come by themselves. In an object each value follows a key, an array has values alone: anything else is a
 * bug of the caller's (assert). */
void tg_json_begin_object(struct tg_json *json);
void tg_json_end_object(struct tg_json *json);
void tg_json_begin_array(struct tg_json *json);
void tg_json_end_array(struct tg_json *json);
void tg_json_key(struct tg_json *json, const char *key);

/* Bytes that are not UTF-8 are written as U+DC80..U+DCFF escapes (\udcXX, as Python's surrogateescape does):
 * nothing is lost. Characters that could deceive a terminal are escaped too (tg_utf8_deceives). */
void tg_json_string(struct tg_json *json, const char *text);
void tg_json_unsigned(struct tg_json *json, uint64_t value);
void tg_json_signed(struct tg_json *json, int64_t value);
void tg_json_bool(struct tg_json *json, bool value);
void tg_json_null(struct tg_json *json);
/* DECIMALS digits after the point. NaN and infinities become null. */
void tg_json_double(struct tg_json *json, double value, int decimals);
/* VALUE / 10^DECIMALS with all its digits, exactly. DECIMALS is at most 18. */
void tg_json_decimal(struct tg_json *json, uint64_t value, unsigned decimals);
/* "0x..." as a string: JSON numbers are not exact beyond 2^53. */
void tg_json_address(struct tg_json *json, uint64_t address);

/* key + value in one call */
void tg_json_member_string(struct tg_json *json, const char *key, const char *text);
void tg_json_member_unsigned(struct tg_json *json, const char *key, uint64_t value);
void tg_json_member_signed(struct tg_json *json, const char *key, int64_t value);
void tg_json_member_bool(struct tg_json *json, const char *key, bool value);
void tg_json_member_double(struct tg_json *json, const char *key, double value, int decimals);

/* After the outermost value: a line end. */
void tg_json_end_line(struct tg_json *json);

#endif
