/* UTF-8 as untrusted bytes: decoding that never reads past a NUL and accepts only what the standard
 * accepts. */
#ifndef TG_FORMAT_BASE_UTF8_H
#define TG_FORMAT_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Length in bytes, [1, 4], of the well-formed sequence at TEXT (NUL-terminated, not empty), its code point in
 * *CODE_POINT. 0 where the first byte starts none: overlong forms, surrogates and numbers above U+10FFFF are
 * malformed (Unicode 15, table 3-7). Async-signal-safe. */
size_t tg_utf8_decode(const char *text, uint32_t *code_point);

/* Whether CODE_POINT can change what a terminal or a reader takes the text around it for: C0 and C1 controls,
 * DEL, bidirectional marks, embeddings and isolates, line and paragraph separators, invisible and tag
 * characters. */
bool tg_utf8_deceives(uint32_t code_point);

#endif
