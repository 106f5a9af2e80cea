/* The web page's own files, built into the program. */
#ifndef TG_ANALYZER_HTML_ASSET_H
#define TG_ANALYZER_HTML_ASSET_H

#include <stddef.h>

struct tg_asset {
    const char *path; /* "index.html", "strip.js" */
    const char *type; /* MIME */
    const unsigned char *data;
    size_t size;
    const char *sha256; /* hex */
};

/* Made at build time, of the files in assets/. "bundle.js" is all modules as one script. */
extern const struct tg_asset tg_assets[];
extern const size_t tg_asset_count;

/* By its path; "" is the page. NULL: there is none. */
const struct tg_asset *tg_asset_find(const char *path);

#endif
