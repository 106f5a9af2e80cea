/* Words for processes, moments, and what a thread or rank was doing: for the verdict, reports and the
 * console. */
#ifndef TG_ANALYZER_FINDING_WORDS_H
#define TG_ANALYZER_FINDING_WORDS_H

#include "analyzer/finding/finding.h"

#include <stdio.h>

/* Each prints to STREAM, without a full stop. */

/* "rank 3", or "process 1234 (app)" */
void tg_words_process(FILE *stream, const struct tg_verdict_input *input, size_t process);
/* "thread 1236", "thread 1236 \"io\"" */
void tg_words_thread(FILE *stream, const struct tg_verdict_input *input, size_t process, int32_t tid);
/* " at 1.234567 s" */
void tg_words_moment(FILE *stream, const struct tg_verdict_input *input, uint64_t time_ns);
/* " since 1.234567 s" */
void tg_words_since(FILE *stream, const struct tg_verdict_input *input, uint64_t time_ns);
/* Whether several jobs have ranks, each from 0: MPI_Comm_spawn, or several launchers. */
bool tg_words_has_several_jobs(const struct tg_process_model *processes);
/* " of job 7.0"; nothing where there is only one */
void tg_words_job(FILE *stream, const struct tg_verdict_input *input, const char *job);
/* " in solve() at solver.c:120"; nothing where CODE is 0 */
void tg_words_code(FILE *stream, const struct tg_verdict_input *input, size_t process, uint64_t code);
/* The same of a call of MPI that PROCESS entered at SINCE_NS: in Python code by its own file and line, where a stack of the
 * thread that is still in that call has them. */
void tg_words_call_code(FILE *stream, const struct tg_verdict_input *input, size_t process, uint64_t code,
                        uint64_t since_ns);
/* "critical section update", "lock queue_lock", "lock 0x55d0": what mutex LOCK, or PLACE, of PROCESS is called;
 * MUTEX is enum tg_omp_mutex */
void tg_words_mutex(FILE *stream, const struct tg_verdict_input *input, size_t process, uint64_t mutex,
                    uint64_t lock);
void tg_words_lock(FILE *stream, const struct tg_verdict_input *input, size_t process,
                   const struct tg_openmp_place *place);
/* Whether a script made the call of MPI that a thread of PROCESS has been in since SINCE_NS, by CODE: a library's, which
 * is the same for all of its lines. */
bool tg_words_is_python_call(const struct tg_verdict_input *input, size_t process, uint64_t code,
                             uint64_t since_ns);
/* Whether an address of PROCESS and one of OTHER_PROCESS are of one source line, as far as their names tell. */
bool tg_words_is_same_line(const struct tg_verdict_input *input, size_t process, uint64_t code,
                           size_t other_process, uint64_t other);
/* The place of the thread, by its MPI calls, by OpenMP, or by its last event: "in a critical section since
 * 1.2 s in ...", "in MPI_Recv from rank 2 (tag 5) since ..., until it was killed by SIGSEGV at ..." */
void tg_words_worker_state(FILE *stream, const struct tg_verdict_input *input,
                           const struct tg_openmp_worker *worker);
/* The place of thread TID of PROCESS, in MPI or OpenMP (WORKER may be NULL), without how the process ended.
 * False, with nothing printed, where that is not known. */
bool tg_words_thread_state(FILE *stream, const struct tg_verdict_input *input, size_t process, int32_t tid,
                           const struct tg_openmp_worker *worker);
/* "in MPI_Recv from rank 2 since ...", or "outside MPI since ..., last call MPI_Send ...". */
void tg_words_mpi_thread(FILE *stream, const struct tg_verdict_input *input,
                         const struct tg_mpi_thread *thread);
/* The state of PROCESS's main thread, in the words of a worker's state. */
void tg_words_process_state(FILE *stream, const struct tg_verdict_input *input, size_t process);
/* "MPI_COMM_WORLD", "communicator 'rows'", "communicator 0x... of ranks 0,2, made by MPI_Comm_split in main (a.c:7)" */
void tg_words_comm(FILE *stream, const struct tg_verdict_input *input, const char *job, uint64_t comm);
/* "number 17 on MPI_COMM_WORLD" */
void tg_words_collective(FILE *stream, const struct tg_verdict_input *input,
                         const struct tg_mpi_collective *collective);
/* "MPI_Recv from rank 2 (tag 5)", "MPI_Sendrecv to rank 3 and from rank 1 (tag 5)" */
void tg_words_call(FILE *stream, const struct tg_mpi_call *call);
/* The same of that half of a call which MESSAGE is: "MPI_Sendrecv from rank 1 (tag 5)" */
void tg_words_half(FILE *stream, const struct tg_mpi_message *message);

/* "from rank 0 to rank 1, tag 6 on MPI_COMM_WORLD, 8 bytes: MPI_Isend in solve (solver.c:120), since 1.2
 * s" */
void tg_words_message(FILE *stream, const struct tg_verdict_input *input,
                      const struct tg_mpi_message *message);

#endif
