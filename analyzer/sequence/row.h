/* The rows of a sequence diagram, from top to bottom: what every format draws, in its order, with its
 * words. */
#ifndef TG_ANALYZER_SEQUENCE_ROW_H
#define TG_ANALYZER_SEQUENCE_ROW_H

#include "analyzer/sequence/sequence.h"

enum tg_sequence_row_kind {
    TG_ROW_OPEN,    /* a fragment begins; LABEL is its title */
    TG_ROW_CLOSE,   /* and ends */
    TG_ROW_BARS,    /* LANES did what the fragment around says */
    TG_ROW_SELF,    /* TO does something by itself: "enter" */
    TG_ROW_ARROW,   /* arrow from FROM to TO */
    TG_ROW_LOST,    /* an arrow that never came; TO may be NO_LANE */
    TG_ROW_HERE,    /* LANES are here at the end; they wait for TO unless that is NO_LANE */
    TG_ROW_BARRIER, /* barrier of LANES: WAITING are at it, PASSED are past it */
    TG_ROW_ELIDED,  /* something was left out */
};

enum tg_sequence_style {
    TG_STYLE_PLAIN,
    TG_STYLE_BACK,
    TG_STYLE_MESSAGE,
    TG_STYLE_LATE,
    TG_STYLE_CYCLE, /* of waits */
    TG_STYLE_OVER,  /* TG_ROW_HERE: it has ended as it should */
};

#define TG_ROW_NO_LINK SIZE_MAX

struct tg_sequence_row {
    enum tg_sequence_row_kind kind;
    enum tg_sequence_style style;
    unsigned depth; /* fragments around */
    char *label;    /* printable; never NULL */
    char *time;     /* the moment, to stand beside it: "1.250000"; "" none */
    char *detail;   /* times and places, lines separated by \n; never NULL */
    uint32_t from, to;
    size_t link;     /* the row of the other half of a message, TG_ROW_NO_LINK none */
    uint32_t *lanes; /* ascending by column */
    size_t n_lanes;
    size_t n_lifelines; /* lifelines that LANES stand for, where columns are shared */
    uint32_t *waiting;  /* TG_ROW_BARRIER */
    size_t n_waiting;
    size_t n_waiters; /* lifelines that WAITING stand for */
    uint32_t *passed;
    size_t n_passed;
    uint32_t *missing;
    size_t n_missing;
    uint64_t longest_ns; /* wait at a barrier, or for a message */
    bool is_open;        /* a fragment or barrier that is not over */
    bool is_cancelled;
    bool is_repeated;
    const struct tg_sequence_node *node; /* NULL: none of its own */
};

struct tg_sequence_rows {
    struct tg_sequence_row *items;
    size_t count, capacity;
    uint32_t *columns; /* lanes that are drawn, from left to right */
    size_t n_columns;
    uint32_t
        *group; /* by lane: the lane whose column shows it; of many lifelines, like ones share a column */
    unsigned max_depth;
};

#endif
