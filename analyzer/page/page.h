/* What the documents of the web page are made from: a job at a moment, and its time line. */
#ifndef TG_ANALYZER_PAGE_PAGE_H
#define TG_ANALYZER_PAGE_PAGE_H

#include "analyzer/models/stack_places.h"
#include "analyzer/page/timeline.h"
#include "analyzer/verdict/verdict.h"
#include "format/base/error.h"
#include "format/settings/command.h"

#include <stdbool.h>
#include <stdint.h>

struct tg_page_collectives;

/* Somebody whom the verdict blames. TID 0: the process. */
struct tg_page_culprit {
    size_t process;
    int32_t tid;
};

/* The stack of a thread that is stopped. */
struct tg_page_stack {
    size_t process;
    int32_t tid;
    struct tg_stack_call *calls; /* innermost first */
    size_t n_calls;
};

/* Caller's storage, and all that it points to. */
struct tg_page {
    struct tg_verdict_input words;    /* the models, as they are at the moment */
    const struct tg_verdict *verdict; /* at that moment; NULL: made when it is asked for */
    const char *name;                 /* of the trace or the command */
    const char *path;                 /* of the trace's file; NULL: there is none */
    const char *limits; /* what limits the verdict, a sentence; "" nothing does, NULL likewise */
    uint64_t moment_ns; /* of that moment; of a live job it is now */
    uint64_t end_ns;    /* of the last event that is known of */
    uint64_t n_events;  /* the moment is behind so many events of the trace; 0: MOMENT_NS alone says it */
    bool has_heap;      /* the trace has events of the heap */
    bool is_live;
    bool is_untraced;                       /* recorded without ptrace */
    bool is_over;                           /* the moment is the end of a trace that is not being recorded */
    const struct tg_page_culprit *culprits; /* where VERDICT is NULL: whom that of the moment blames */
    size_t n_culprits;
    const struct tg_page_stack
        *stopped; /* of a live job: stacks as they are now, in place of recorded ones */
    size_t n_stopped;
    bool stopped_is_cut;                           /* there are more */
    const struct tg_timeline *timeline;            /* NULL: there is none (yet) */
    const struct tg_page_collectives *collectives; /* NULL likewise */
    uint64_t seen_from_ns; /* the time line begins then, long after the job; 0: with the job */
    const struct tg_command_services *services; /* for names of code; NULL: addresses stay numbers */
    unsigned progress;         /* of the pass that makes the time line, in millionths; 0: it is not asked */
    bool is_file;              /* the documents go into a file: no question can follow, so they hold more */
    struct tg_progress *shown; /* of documents that read the trace; NULL: nobody watches */
};

#endif
