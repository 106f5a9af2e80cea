/* Numbers as people read them: counts, durations, bytes, moments of a trace. */
#ifndef TG_ANALYZER_OUTPUT_QUANTITY_H
#define TG_ANALYZER_OUTPUT_QUANTITY_H

#include <stddef.h>
#include <stdint.h>

/* Each writes to BUFFER (TG_QUANTITY_SIZE bytes are always enough) and returns it. */
enum { TG_QUANTITY_SIZE = 48 };

/* 1234567 as "1,234,567". */
char *tg_quantity_count(uint64_t count, char *buffer);

/* A duration with four significant digits or more and a unit: "0", "850 ns", "12.35 us", "3.210 ms", "1.500
 * s". */
char *tg_quantity_duration(uint64_t duration_ns, char *buffer);

/* Bytes with three significant digits or more and a unit of 1,024: "0 B", "850 B", "1.21 KiB", "14.0 GiB". */
char *tg_quantity_bytes(uint64_t bytes, char *buffer);

/* TIME_NS relative to START_NS in seconds with DECIMALS (0 to 9) digits, truncated; negative before it. */
char *tg_quantity_moment(uint64_t time_ns, uint64_t start_ns, int decimals, char *buffer);

#endif
