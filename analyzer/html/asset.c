#include "analyzer/html/asset.h"

#include <string.h>

const struct tg_asset *tg_asset_find(const char *path)
{
    if (*path == '\0')
        path = "index.html";
    for (size_t i = 0; i < tg_asset_count; i++)
        if (strcmp(tg_assets[i].path, path) == 0)
            return &tg_assets[i];
    return NULL;
}
