/* Places of the rows of a sequence diagram in a picture, so that no texts overlap. Lengths are
 * pixels. */
#ifndef TG_ANALYZER_SEQUENCE_LAYOUT_H
#define TG_ANALYZER_SEQUENCE_LAYOUT_H

#include "analyzer/sequence/rows.h"

enum {
    TG_LAYOUT_LINE = 22,      /* height of a row */
    TG_LAYOUT_TITLE = 22,     /* a fragment's title */
    TG_LAYOUT_HEADER = 34,    /* titles of lifelines */
    TG_LAYOUT_TOP = 30,       /* title of the diagram */
    TG_LAYOUT_LEGEND = 16,    /* a line that names the lifelines of a column */
    TG_LAYOUT_MAX_LABEL = 96, /* characters of a label that are drawn */
    TG_LAYOUT_MAX_KEYS = 8,
    TG_LAYOUT_MAX_WAIT = 42, /* height of the longest wait at a barrier */
};

struct tg_sequence_place {
    int y, height;   /* the row; for a fragment, its title */
    int left, right; /* extent of the drawing; for a fragment, of the box */
    int box_height;  /* for a fragment: from Y on */
    size_t close;    /* for a fragment: the row that ends it */
    int label_x;
    bool label_centred; /* LABEL_X is its middle, above the line; otherwise its left, on the line */
};

struct tg_sequence_layout {
    int left, right, height;              /* the picture, which begins at y 0 */
    int spacing;                          /* between lifelines */
    bool short_titles;                    /* titles of lifelines are numbers only */
    int mark;                             /* length of the mark that says where somebody is */
    struct tg_sequence_place *places;     /* by row */
    int *x;                               /* by lane */
    size_t n_shared;                      /* columns of several lifelines: each has a line at the bottom */
    const char *keys[TG_LAYOUT_MAX_KEYS]; /* what the signs that are drawn mean: below these */
    size_t n_keys;
    int time_x; /* right end of the moments at the left */
};

struct tg_error *tg_sequence_layout_create(const struct tg_sequence *sequence,
                                           const struct tg_sequence_rows *rows, const char *title,
                                           struct tg_sequence_layout *layout);
void tg_sequence_layout_deinit(struct tg_sequence_layout *layout);

/* Height of a wait at a barrier, up to TG_LAYOUT_MAX_WAIT: by its order of magnitude; 0 where it is short. */
int tg_sequence_wait_height(uint64_t wait_ns);

/* Width of TEXT as it is drawn: cut to TG_LAYOUT_MAX_LABEL characters, which *BYTES (may be NULL) counts. */
int tg_sequence_text_width(const char *text, size_t *bytes);

#endif
