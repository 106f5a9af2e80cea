/* Asks everything that an image can be asked, of bytes that may be anything: for the hostile-file test and
 * the fuzzer. */
#ifndef TG_TESTS_IMAGE_PROBE_H
#define TG_TESTS_IMAGE_PROBE_H

#include <stddef.h>
#include <stdint.h>

/* FD: a memfd of the caller's, overwritten with the SIZE bytes. Aborts where an answer is not even
 * possible. */
void tg_image_probe(int fd, const uint8_t *bytes, size_t size);

#endif
