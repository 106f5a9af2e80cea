#include "live/console/flush.h"

#include <errno.h>

void tg_flush(FILE *stream, int *failed)
{
    errno = 0;
    if ((fflush(stream) != 0 || ferror(stream) != 0) && *failed == 0)
        *failed = errno != 0 ? errno : EIO;
    clearerr(stream);
}

struct tg_error *tg_flush_error(int failed)
{
    return failed == 0 || failed == EPIPE ? NULL
                                          : tg_error_create_errno(failed, "cannot write to standard output");
}
