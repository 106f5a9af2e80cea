/* Where the rows of a sequence diagram go on a picture, so that no text lies on another. Lengths are
 * pixels. */
#ifndef TG_ANALYZER_SEQUENCE_LAYOUT_H
#define TG_ANALYZER_SEQUENCE_LAYOUT_H

#include "analyzer/sequence/rows.h"

enum {
    TG_LAYOUT_LINE = 22,      /* height of a row */
    TG_LAYOUT_TITLE = 22,     /* of a fragment's title */
    TG_LAYOUT_HEADER = 34,    /* of the lifelines' titles */
    TG_LAYOUT_TOP = 30,       /* of the diagram's own title */
    TG_LAYOUT_LEGEND = 16,    /* of a line that says whose a column is */
    TG_LAYOUT_MAX_LABEL = 96, /* characters of a label that are drawn */
};

struct tg_sequence_place {
    int y, height;   /* of the row; a fragment's title */
    int left, right; /* of what it draws; of a fragment the box */
    int box_height;  /* of a fragment: from Y on */
    size_t close;    /* of a fragment: the row that ends it */
    int label_x;
    bool label_centred; /* LABEL_X is its middle, above the line; otherwise its left, on the line */
};

struct tg_sequence_layout {
    int left, right, height;          /* of the picture; it begins at y 0 */
    int spacing;                      /* between lifelines */
    bool short_titles;                /* of the lifelines */
    int mark;                         /* length of the mark that says where somebody is */
    struct tg_sequence_place *places; /* by row */
    int *x;                           /* by lane */
    size_t n_shared;                  /* columns of several lifelines: each has a line at the bottom */
};

struct tg_error *tg_sequence_layout_create(const struct tg_sequence *sequence,
                                           const struct tg_sequence_rows *rows, const char *title,
                                           struct tg_sequence_layout *layout);
void tg_sequence_layout_deinit(struct tg_sequence_layout *layout);

/* Width of TEXT as it is drawn: cut to TG_LAYOUT_MAX_LABEL characters, which *BYTES (may be NULL) counts. */
int tg_sequence_text_width(const char *text, size_t *bytes);

#endif
