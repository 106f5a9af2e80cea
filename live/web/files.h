/* Files of the page, which are in the program. */
#ifndef TG_LIVE_WEB_FILES_H
#define TG_LIVE_WEB_FILES_H

#include <stddef.h>

struct tg_web_file {
    const char *path; /* "/" */
    const char *type; /* "text/html; charset=utf-8" */
    const char *bytes;
    size_t size;
};

/* NULL: there is none. */
const struct tg_web_file *tg_web_file_find(const char *path);

#endif
