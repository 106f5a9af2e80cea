#include "live/web/files.h"

#include <string.h>

static const char index_page[] =
    "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>tollgate</title>"
    "</head><body><p>tollgate</p></body></html>\n";

static const struct tg_web_file files[] = {
    {"/", "text/html; charset=utf-8", index_page, sizeof index_page - 1},
};

const struct tg_web_file *tg_web_file_find(const char *path)
{
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        if (strcmp(files[i].path, path) == 0)
            return &files[i];
    return NULL;
}
