/* Looks at jobs, made of small words, and what is said of them: each thread is at one line of the program, or in a call that the
 * line makes. */
#ifndef TG_TESTS_UNIT_ANALYZER_WHERE_LOOKS_H
#define TG_TESTS_UNIT_ANALYZER_WHERE_LOOKS_H

#include "analyzer/where/verdict_words.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define PROGRAM "/home/a/app"
#define MPI     "/usr/lib/libmpi.so.40"
#define LIBC    "/usr/lib/libc.so.6"
#define GOMP    "/usr/lib/libgomp.so.1"
#define LIBOMP  "/usr/lib/libomp.so.5"

static inline void feed(struct tg_where_look *look, struct tg_event event)
{
    struct tg_process_entry *entry = NULL;
    assert_null(tg_process_model_feed(look->own_processes, &event, &entry));
    assert_null(tg_stack_model_feed(look->own_stacks, &event, entry != NULL ? entry->index : SIZE_MAX));
}

static inline void add_rank(struct tg_where_look *look, int rank, int size)
{
    const int32_t pid = 100 + rank;
    feed(look, (struct tg_event){.kind = TG_EVENT_PROCESS_START, .pid = pid, .tid = pid});
    feed(look,
         (struct tg_event){.kind = TG_EVENT_IDENTITY,
                           .pid = pid,
                           .tid = pid,
                           .identity = {.host = "h", .job = "j", .source = "s", .rank = rank, .size = size}});
}

/* The address of line LINE, or of function CALL of a library. */
static inline void name(struct tg_where_look *look, const char *module, uint64_t address,
                        const char *function, uint64_t line)
{
    const struct tg_named_call call = {.function = function, .file = line != 0 ? "a.c" : "", .line = line};
    feed(look, (struct tg_event){.kind = TG_EVENT_CODE_NAME,
                                 .code_name = {.module = module,
                                               .build_id = "",
                                               .address = address,
                                               .calls = {.items = &call, .count = 1}}});
}

static inline void add_stack(struct tg_where_look *look, int rank, int thread, const char *library,
                             const char *call, uint64_t line, uint64_t pc)
{
    struct tg_stack_frame frames[3] = {{.module = "", .build_id = "", .function = "", .file = ""},
                                       {.module = "", .build_id = "", .function = "", .file = ""},
                                       {.module = "", .build_id = "", .function = "", .file = ""}};
    const int32_t pid = 100 + rank;
    size_t n = 0;
    if (call != NULL) {
        frames[n].module = library;
        frames[n].address = frames[n].pc = 0x1000 + (uint64_t)(unsigned char)call[4];
        name(look, library, frames[n].address, call, 0);
        n++;
    }
    frames[n].module = PROGRAM;
    frames[n].address = line;
    frames[n].pc = pc;
    name(look, PROGRAM, line, "solve", line);
    n++;
    if (thread > 0 && (strcmp(library, GOMP) == 0 || strcmp(library, LIBOMP) == 0)) { /* a worker */
        frames[n].module = library;
        frames[n].address = frames[n].pc = 0x2fff;
        name(look, library, frames[n].address, "", 0);
        n++;
    }
    feed(look, (struct tg_event){.kind = TG_EVENT_STACK,
                                 .pid = pid,
                                 .tid = pid + 1000 * thread,
                                 .stack = {.reason = TG_STACK_LOOK,
                                           .end = TG_STACK_WHOLE,
                                           .frames = {.items = frames, .count = n}}});
}

struct frame {
    const char *module, *function;
    uint64_t line; /* 0: of a library */
};

/* COUNT frames, the innermost first. */
static inline void add_thread_frames(struct tg_where_look *look, int rank, int thread, const struct frame *of,
                                     size_t count)
{
    struct tg_stack_frame frames[8];
    for (size_t i = 0; i < count; i++) {
        bool is_signal = of[i].module == NULL;
        const char *module = is_signal ? LIBC : of[i].module;
        uint64_t at = of[i].line != 0 ? of[i].line : 0x2000 + i;
        frames[i] = (struct tg_stack_frame){.kind = is_signal ? TG_FRAME_SIGNAL : TG_FRAME_CODE,
                                            .module = module,
                                            .build_id = "",
                                            .function = "",
                                            .file = "",
                                            .address = at,
                                            .pc = at};
        name(look, module, at, of[i].function, of[i].line);
    }
    feed(look, (struct tg_event){.kind = TG_EVENT_STACK,
                                 .pid = 100 + rank,
                                 .tid = 100 + rank + 1000 * thread,
                                 .stack = {.reason = TG_STACK_LOOK,
                                           .end = TG_STACK_WHOLE,
                                           .frames = {.items = frames, .count = count}}});
}

static inline void add_frames(struct tg_where_look *look, int rank, const struct frame *of, size_t count)
{
    add_thread_frames(look, rank, 0, of, count);
}

/* What is said of the job, with BEFORE as an earlier look where it is not NULL; to be freed. */
static inline char *said(const struct tg_where_look *look, const struct tg_where_look *before,
                         enum tg_where_kind kind)
{
    struct tg_where_threads threads;
    struct tg_where_verdict verdict;
    char *text = NULL;
    size_t size;
    assert_null(tg_where_threads_make(look, before, &threads));
    assert_null(tg_where_verdict_make(&threads, &verdict));
    assert_int_equal(verdict.kind, kind);
    FILE *stream = open_memstream(&text, &size);
    tg_where_verdict_write(stream, &threads, &verdict);
    fclose(stream);
    tg_where_verdict_deinit(&verdict);
    tg_where_threads_deinit(&threads);
    return text;
}

static inline void expect(const struct tg_where_look *look, const struct tg_where_look *before,
                          enum tg_where_kind kind, const char *wanted)
{
    char *text = said(look, before, kind);
    assert_string_equal(text, wanted);
    free(text);
}

static inline void add_world(struct tg_where_look *look, int rank)
{
    struct tg_where_values values = {.pid = 100 + rank, .tid = 100 + rank, .count = 1};
    values.items[0] = (struct tg_where_value){.name = "comm", .text = "MPI_COMM_WORLD"};
    look->values = realloc(look->values, (look->n_values + 1) * sizeof values);
    look->values[look->n_values++] = values;
}

static inline void make_look(struct tg_where_look *look, uint64_t pc_of_last, const char *const calls[3])
{
    assert_null(tg_where_look_create(look));
    for (int rank = 0; rank < 3; rank++) {
        add_rank(look, rank, 3);
        add_stack(look, rank, 0, MPI, calls[rank], rank == 2 ? 20 : 10, rank == 2 ? pc_of_last : 5);
    }
}

/* Rank 0 is in a barrier of two ranks; where rank 1 is, is to be added. */
static inline void make_team(struct tg_where_look *look)
{
    assert_null(tg_where_look_create(look));
    for (int rank = 0; rank < 2; rank++)
        add_rank(look, rank, 2);
    add_world(look, 0);
    add_stack(look, 0, 0, MPI, "MPI_Barrier", 10, 5);
}

#endif
