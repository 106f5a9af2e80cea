/* Tables of source lines in CPython's code objects. */
#ifndef TG_RECORDER_STACKS_PYTHON_LINES_H
#define TG_RECORDER_STACKS_PYTHON_LINES_H

#include <stddef.h>
#include <stdint.h>

/* How the bytes are coded: co_lnotab to 3.9, co_linetable of 3.10 (PEP 626), co_linetable from 3.11 on
 * (Objects/locations.md of CPython). */
enum tg_python_line_code { TG_PYTHON_LNOTAB, TG_PYTHON_LINES_310, TG_PYTHON_LOCATIONS };

/* The line of the instruction at byte OFFSET of a function that begins in line FIRST, by the SIZE bytes of
 * TABLE, which may be anything; 0: it has none, or the table is broken. */
unsigned tg_python_line(enum tg_python_line_code code, const uint8_t *table, size_t size, unsigned first,
                        int64_t offset);

#endif
