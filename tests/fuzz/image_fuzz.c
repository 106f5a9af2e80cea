/* Any bytes as an ELF file: opened, and asked everything. */
#include "../support/image_probe.h"
#include "fuzz.h"

#include <stdlib.h>
#include <sys/mman.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int fd = -1;
    if (fd < 0)
        fd = memfd_create("image", MFD_CLOEXEC);
    if (fd < 0)
        abort();
    tg_image_probe(fd, data, size);
    return 0;
}
