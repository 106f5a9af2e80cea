/* The processes and threads that call MPI. Internal to the MPI model. */
#ifndef TG_ANALYZER_MODELS_MPI_CALLERS_H
#define TG_ANALYZER_MODELS_MPI_CALLERS_H

#include "analyzer/models/mpi/state.h"
#include "format/base/error.h"
#include "format/base/hash.h"
#include "format/base/string_pool.h"

#include <stddef.h>
#include <stdint.h>

struct tg_mpi_thread_key {
    size_t process;
    int64_t tid;
};

struct tg_mpi_thread_entry {
    struct tg_mpi_thread public;
    struct tg_mpi_thread_key key;
    struct tg_mpi_call_traits traits; /* of the call that it is in */
    uint64_t *requests;               /* public.requests */
    size_t capacity;
    UT_hash_handle hh; /* among the live ones */
};

struct tg_mpi_process_entry {
    struct tg_mpi_process public;
    UT_hash_handle hh;
};

/* In order of first appearance; entries keep their addresses. All zero is an empty one. */
struct tg_mpi_callers {
    struct tg_mpi_thread_entry **threads;
    size_t n_threads, thread_capacity;
    struct tg_mpi_thread_entry *live;
    struct tg_mpi_process_entry **processes;
    size_t n_processes, process_capacity;
    struct tg_mpi_process_entry *by_process;
    struct tg_mpi_thread_entry *recent_threads[64]; /* live ones got lately, by process and thread id */
    struct tg_mpi_process_entry *recent_processes[64];
};

void tg_mpi_callers_deinit(struct tg_mpi_callers *callers);
/* Adds those of FROM to TO, which is empty. NAMES has their strings too. Only error: NO_MEMORY. */
struct tg_error *tg_mpi_callers_copy(const struct tg_mpi_callers *from, struct tg_string_pool *names,
                                     struct tg_mpi_callers *to);

/* NULL where PROCESS never called MPI. */
struct tg_mpi_process_entry *tg_mpi_callers_find_process(const struct tg_mpi_callers *callers,
                                                         size_t process);
/* The same, made where there is none, of the job "" in NAMES. Only error: NO_MEMORY. */
struct tg_error *tg_mpi_callers_get_process(struct tg_mpi_callers *callers, struct tg_string_pool *names,
                                            size_t index, struct tg_mpi_process_entry **process);

/* The live thread TID of PROCESS; NULL where there is none. */
struct tg_mpi_thread_entry *tg_mpi_callers_find_thread(const struct tg_mpi_callers *callers, size_t process,
                                                       int32_t tid);
/* The same, made where there is none. Only error: NO_MEMORY. */
struct tg_error *tg_mpi_callers_get_thread(struct tg_mpi_callers *callers, size_t process, int32_t tid,
                                           struct tg_mpi_thread_entry **thread);
void tg_mpi_callers_kill_thread(struct tg_mpi_callers *callers, struct tg_mpi_thread_entry *thread,
                                uint64_t time_ns);
void tg_mpi_callers_kill_threads(struct tg_mpi_callers *callers, size_t process, uint64_t time_ns);

/* The COUNT requests that THREAD's call waits for; they are copied. Only error: NO_MEMORY. */
struct tg_error *tg_mpi_thread_set_requests(struct tg_mpi_thread_entry *thread, const uint64_t *requests,
                                            size_t count);

#endif
