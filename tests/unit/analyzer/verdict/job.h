/* A job of MPI ranks for tests of the verdict: events in, the models that a verdict is made from. */
#ifndef TG_TESTS_UNIT_ANALYZER_VERDICT_JOB_H
#define TG_TESTS_UNIT_ANALYZER_VERDICT_JOB_H

#include "analyzer/finding/finding.h"

#include <signal.h>

enum { LAUNCHER = 99, FIRST_PID = 100, WORLD = 1, MS = 1000000 };

struct job {
    struct tg_process_model *processes;
    struct tg_mpi_model *mpi;
    struct tg_openmp_model *openmp;
    uint64_t now_ns;
};
static struct job job;

static void feed(int32_t pid, struct tg_event event)
{
    struct tg_process_entry *entry;
    event.pid = pid;
    event.tid = event.tid == 0 ? pid : event.tid;
    event.time_ns = job.now_ns += 10;
    assert_null(tg_process_model_feed(job.processes, &event, &entry));
    if (tg_mpi_model_needs(event.kind))
        assert_null(tg_mpi_model_feed(job.mpi, &event, entry->index));
    if (tg_openmp_model_needs(event.kind))
        assert_null(tg_openmp_model_feed(job.openmp, &event, entry->index));
}

#define FEED(pid, symbol, member, ...)                                                                       \
    feed(pid, (struct tg_event){.kind = TG_EVENT_##symbol, .member = {__VA_ARGS__}})
/* Rank RANK enters NAME, with one other rank, or all together; it leaves it. */
#define POINT(rank, name, peer_, tag_)                                                                       \
    FEED(FIRST_PID + (rank), MPI_ENTER, mpi_enter, .call = (name), .comm = WORLD, .peer = (peer_),           \
         .tag = (tag_), .root = -3)
#define TOGETHER(rank, name, nth, code_)                                                                     \
    FEED(FIRST_PID + (rank), MPI_ENTER, mpi_enter, .call = (name), .comm = (nth) == 0 ? 0 : WORLD,           \
         .instance = (nth), .peer = -3, .tag = -3, .root = -3, .code = (code_))
#define LEAVE_WITH(rank, name, request_)                                                                     \
    FEED(FIRST_PID + (rank), MPI_LEAVE, mpi_leave, .call = (name), .request = (request_), .peer = -3,        \
         .tag = -3)
#define LEAVE(rank, name) LEAVE_WITH(rank, name, 0)

/* The first RANKS of SIZE are in the trace. */
static void begin_part_of_job(int ranks, int size)
{
    job = (struct job){0};
    assert_null(tg_process_model_create(&job.processes));
    assert_null(tg_mpi_model_create(NULL, &job.mpi));
    assert_null(tg_openmp_model_create(NULL, &job.openmp));
    FEED(LAUNCHER, PROCESS_START, process_start, .origin = TG_ORIGIN_FORK);
    for (int rank = 0; rank < ranks; rank++) {
        FEED(FIRST_PID + rank, PROCESS_START, process_start, .origin = TG_ORIGIN_FORK,
             .parent_pid = LAUNCHER);
        FEED(FIRST_PID + rank, IDENTITY, identity, .host = "h", .job = "j", .source = "R", .rank = rank,
             .size = size);
        FEED(FIRST_PID + rank, MPI_COMM, mpi_comm, .comm = WORLD, .origin = TG_MPI_COMM_WORLD, .rank = rank,
             .size = size);
    }
}

static inline void begin_job(int ranks)
{
    begin_part_of_job(ranks, ranks);
}

static void end_job(void)
{
    tg_openmp_model_destroy(job.openmp);
    tg_mpi_model_destroy(job.mpi);
    tg_process_model_destroy(job.processes);
}

static struct tg_verdict_input input_of_job(void)
{
    return (struct tg_verdict_input){.processes = job.processes, .mpi = job.mpi, .openmp = job.openmp};
}

#endif
