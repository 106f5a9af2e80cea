/* News: events of a job that no command caused, told where they happen and said where somebody listens: in
 * words to people, as JSON (docs/json-console.md) to programs.
 *
 * To add a kind: a line in TG_NEWS_KINDS, its words and its members in news.c, both in
 * docs/json-console.md. */
#ifndef TG_LIVE_SOURCE_NEWS_H
#define TG_LIVE_SOURCE_NEWS_H

#include "analyzer/job/run_model.h"
#include "analyzer/job/view.h"
#include "format/base/json_writer.h"
#include "format/event/event.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Kind, its name in JSON; behind it the members of struct tg_news that it uses, besides thread, rank and
 * text. */
#define TG_NEWS_KINDS(X)                                                                                     \
    X(STARTED, "started")   /* a process, or thread; OTHER is the dpid of who started it */                  \
    X(EXITED, "exited")     /* HOW, STATUS; SET in words to people: "processes 3-7" */                       \
    X(DETACHED, "detached") /* a process was let go; text: why */                                            \
    X(EXECUTED, "executed") /* a process runs a program from here on: NAME */                                \
    X(IDENTIFIED, "rank")   /* a process is a rank: RANK, NAME the host */                                   \
    X(STOPPED, "stopped")   /* STATE, POINT, STATUS the signal (0 none), PC, PLACE, COUNT threads, SET,    \
                                 STEPPED */ \
    X(RUNNING, "running")   /* COUNT threads, SET */                                                         \
    X(BARRIER, "barrier")   /* POINT; DECISION, REASON, COUNT and OTHER as the barrier model has them; SET \
                                 as of EXITED */ \
    X(POINT, "point")       /* POINT, 0 all of them; NAME: made, enabled, ...; PC, PLACE */                  \
    X(WATCHED, "watched") /* POINT, NAME what it watches; BEFORE and AFTER a write of THREAD at PC, PLACE, \
                                 and of OTHER threads; else it has ended: text */ \
    X(PLANTED, "planted") /* an action point was found: POINT, PC, PLACE; SET as of EXITED */                \
    X(LIBRARIES, "libraries") /* COUNT came with one event, OTHER went; NAME one of them */                  \
    X(SETTING, "setting")     /* of dset: NAME, text the value */                                            \
    X(NOTE, "note")           /* only TEXT */                                                                \
    X(ERROR, "error")         /* only TEXT: something that tollgate could not do */

enum tg_news_kind {
#define X(kind, name) TG_NEWS_##kind,
    TG_NEWS_KINDS(X)
#undef X
        TG_NEWS_KIND_COUNT
};

/* Texts may hold any bytes, and live while it is told. Members that a kind does not use are 0. */
struct tg_news {
    enum tg_news_kind kind;
    struct tg_thread_id thread; /* the subject: dtid 0 a process, dpid 0 nobody, or several */
    int32_t pid, tid;           /* of the same, 0 not known */
    bool has_rank;              /* RANK is its, or its process's, rank in MPI_COMM_WORLD */
    int64_t rank;
    const char *set;            /* the subjects where there are several: "0-3.1-4"; NULL */
    const char *name;           /* of a program, host, library or setting; NULL */
    const char *place;          /* "solve (solver.c:120)", NULL not known */
    const char *before, *after; /* values; NULL */
    const char *text;           /* further words, NULL none */
    bool is_printable;          /* TEXT is words with names that are escaped already */
    uint64_t pc;                /* 0 not known */
    bool is_own;                /* of PLANTED: at a function of tollgate's own, which nobody has asked for */
    bool stepped;               /* the end of a step */
    uint32_t point;             /* number of an action point, 0 none */
    enum tg_job_state state;
    enum tg_run_decision_kind decision;
    enum tg_barrier_reason reason;
    enum tg_exit_how how;
    int64_t status;
    uint64_t count, other; /* of threads that left a barrier together: OTHER of process UNIT */
};

/* A listener. Called by the console's thread. */
struct tg_news_sink {
    void (*tell)(void *context, const struct tg_news *news);
    void *context;
};

static inline void tg_news_tell(const struct tg_news_sink *sink, const struct tg_news *news)
{
    sink->tell(sink->context, news);
}

/* The news of a decision that people should know; false: it is none. POINT is DECISION's barrier. Names and
 * rank of its thread are the caller's to add. */
bool tg_news_of_decision(const struct tg_run_decision *decision, struct tg_news *news);

/* The news of an event that begins or ends a process or thread, or says what it is; false: it is none. UNIT
 * is whom it is about, by the numbers of before an end and after a start. Rank and OTHER are the caller's to
 * add. */
bool tg_news_of_event(const struct tg_event *event, struct tg_thread_id thread_id, struct tg_news *news);

/* Whether people are told, and not only programs: one line for many, and nothing that they did themselves. */
bool tg_news_is_for_people(const struct tg_news *news);

/* One line, printable, without its end. */
void tg_news_words(const struct tg_news *news, FILE *stream);

/* The members of an object that JSON is in: event, and what is known. */
void tg_news_json(const struct tg_news *news, struct tg_json *json);

#endif
