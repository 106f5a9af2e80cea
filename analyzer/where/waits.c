#include "analyzer/where/waits.h"

#include "analyzer/output/stack_words.h"
#include "format/base/printable.h"

#include <inttypes.h>
#include <string.h>

enum { SHOWN = 8 };

const char *tg_where_wait_name(enum tg_wait_what what)
{
    const char *name = tg_event_value_name(TG_EVENT_THREAD_WAIT, "what", what);
    return name != NULL ? name : "";
}

/* ---- cycles */

/* The thread that INDEX waits for without limit, SIZE_MAX unknown or none. */
static size_t next_of(const struct tg_where_threads *threads, size_t index)
{
    const struct tg_where_thread *thread = &threads->threads[index];
    if (thread->wait == NULL ||
        (thread->wait->is.what != TG_WAIT_MUTEX && thread->wait->is.what != TG_WAIT_STREAM &&
         thread->wait->is.what != TG_WAIT_THREAD))
        return SIZE_MAX;
    return thread->owner;
}

bool tg_where_waits_for_itself(const struct tg_where_threads *threads, size_t index)
{
    size_t at = index;
    for (size_t n = 0; n < threads->count && (at = next_of(threads, at)) != SIZE_MAX; n++)
        if (at == index)
            return true;
    return false;
}

bool tg_where_waits_for_deadlock(const struct tg_where_threads *threads, size_t index)
{
    for (size_t n = 0; n <= threads->count && index != SIZE_MAX; n++, index = next_of(threads, index))
        if (tg_where_waits_for_itself(threads, index))
            return true;
    return false;
}

static bool is_shown(const struct tg_where_threads *threads, size_t index)
{
    return threads->threads[index].is_rank || threads->n_ranks == 0;
}

bool tg_where_waits_are_deadlock(const struct tg_where_threads *threads)
{
    for (size_t i = 0; i < threads->count; i++)
        if (is_shown(threads, i) && tg_where_waits_for_itself(threads, i))
            return true;
    return false;
}

/* ---- words */

static void write_process(FILE *stream, const struct tg_where_thread *thread)
{
    char name[64];
    if (thread->is_rank)
        fprintf(stream, "rank %" PRId64, thread->process->rank);
    else
        fprintf(stream, "%s (process %" PRId32 ")",
                tg_printable(tg_process_entry_name(thread->process), name, sizeof name), thread->stack->pid);
}

static const char *object_words(const struct tg_where_thread *thread)
{
    const char *inside = thread->path.place.inside;
    switch (thread->wait->is.what) {
    case TG_WAIT_MUTEX:
        return strstr(inside, "rwlock") != NULL || strstr(inside, "shared_") != NULL ? "a read-write lock"
               : strstr(inside, "nest_lock") != NULL                                 ? "a nest lock"
               : strncmp(inside, "omp_set_lock", 12) == 0                            ? "a lock"
               : strstr(inside, "critical") != NULL                                  ? "a critical section"
               : strstr(inside, "atomic_start") != NULL ? "the lock of atomic operations"
                                                        : "a mutex";
    case TG_WAIT_STREAM:
        return "the lock of a stream";
    case TG_WAIT_LEFT_MUTEX:
        return "a mutex";
    case TG_WAIT_FUTEX:
    case TG_WAIT_THREAD:
    case TG_WAIT_PROCESS:
    case TG_WAIT_PIPE:
    case TG_WAIT_SOCKET:
    case TG_WAIT_FILE_LOCK:
        break;
    }
    return "a lock";
}

/* "waits for a mutex that thread 12 holds", "... that thread 12 of rank 3 holds", "... that thread 12 held when it ended". */
static void write_edge(FILE *stream, const struct tg_where_threads *threads,
                       const struct tg_where_thread *thread)
{
    const struct tg_where_wait *wait = thread->wait;
    const struct tg_where_thread *owner =
        thread->owner != SIZE_MAX ? &threads->threads[thread->owner] : thread;
    if (wait->is.what == TG_WAIT_THREAD)
        fprintf(stream, "waits for the end of thread %" PRId32, wait->is.owner);
    else if (wait->is.what == TG_WAIT_LEFT_MUTEX)
        fprintf(stream, "waits for %s that thread %" PRId32 " held when it ended", object_words(thread),
                wait->is.owner);
    else if (wait->is.owner == wait->tid)
        fprintf(stream, "waits for %s that it holds itself", object_words(thread));
    else {
        fprintf(stream, "waits for %s that thread %" PRId32, object_words(thread), wait->is.owner);
        if (owner->stack->pid != thread->stack->pid) {
            fputs(" of ", stream);
            write_process(stream, owner);
        }
        fputs(" holds", stream);
    }
}

/* Whether the cycle that INDEX is in goes over processes. */
static bool is_between_processes(const struct tg_where_threads *threads, size_t index)
{
    for (size_t at = next_of(threads, index); at != index; at = next_of(threads, at))
        if (threads->threads[at].stack->pid != threads->threads[index].stack->pid)
            return true;
    return false;
}

/* The cycle that INDEX is in, once: told of its first thread. */
static bool write_cycle(FILE *stream, const struct tg_where_threads *threads, size_t index)
{
    for (size_t at = next_of(threads, index); at != index; at = next_of(threads, at))
        if (at < index)
            return false;
    bool is_between = is_between_processes(threads, index);
    fputs(is_between ? "Deadlock between processes" : "Deadlock in ", stream);
    if (!is_between)
        write_process(stream, &threads->threads[index]);
    fputs(":\n", stream);
    size_t at = index;
    do {
        const struct tg_where_thread *thread = &threads->threads[at];
        fprintf(stream, "  thread %" PRId32 " ", thread->stack->tid);
        if (is_between) {
            fputs("of ", stream);
            write_process(stream, thread);
            fputc(' ', stream);
        }
        write_edge(stream, threads, thread);
        fputs("; it is ", stream);
        tg_stack_words_place(stream, &thread->path.place);
        fputc('\n', stream);
        at = next_of(threads, at);
    } while (at != index);
    return true;
}

/* How many threads of the process wait at the same futex. */
static size_t count_waiting(const struct tg_where_threads *threads, const struct tg_where_wait *wait)
{
    size_t n = 0;
    for (size_t i = 0; i < threads->count; i++) {
        const struct tg_where_wait *other = threads->threads[i].wait;
        n += other != NULL && other->pid == wait->pid && other->is.address == wait->is.address &&
             wait->is.address != 0;
    }
    return n;
}

static bool is_first_there(const struct tg_where_threads *threads, size_t index)
{
    const struct tg_where_wait *wait = threads->threads[index].wait;
    for (size_t i = 0; i < index; i++) {
        const struct tg_where_wait *other = threads->threads[i].wait;
        if (other != NULL && other->pid == wait->pid && other->is.address == wait->is.address &&
            !tg_where_waits_for_itself(threads, i))
            return false;
    }
    return true;
}

/* "Rank 2: thread 7 and 2 more wait for a mutex that thread 9 holds, which is in fgets, called from read (io.c:7)." */
static bool write_owned(FILE *stream, const struct tg_where_threads *threads, size_t index)
{
    const struct tg_where_thread *thread = &threads->threads[index];
    const struct tg_where_wait *wait = thread->wait;
    if (wait->is.owner == 0 || !is_first_there(threads, index))
        return false;
    size_t n = count_waiting(threads, wait);
    fputs("In ", stream);
    write_process(stream, thread);
    fprintf(stream, ", thread %" PRId32 " ", thread->stack->tid);
    write_edge(stream, threads, thread);
    if (thread->owner != SIZE_MAX && thread->owner != index) {
        fputs(", which is ", stream);
        tg_stack_words_place(stream, &threads->threads[thread->owner].path.place);
    }
    fputc('.', stream);
    if (n > 1)
        fprintf(stream, " %zu more thread%s wait%s there.", n - 1, n == 2 ? "" : "s", n == 2 ? "s" : "");
    fputc('\n', stream);
    return true;
}

static const struct tg_where_thread *thread_of(const struct tg_where_threads *threads, int32_t pid)
{
    for (size_t i = 0; i < threads->count; i++)
        if (threads->threads[i].stack->pid == pid)
            return &threads->threads[i];
    return NULL;
}

static bool write_outer(FILE *stream, const struct tg_where_threads *threads, size_t index)
{
    const struct tg_where_thread *thread = &threads->threads[index];
    const struct tg_where_wait *wait = thread->wait;
    bool is_file = wait->is.what == TG_WAIT_PIPE || wait->is.what == TG_WAIT_SOCKET;
    const char *file = wait->is.what == TG_WAIT_PIPE ? "pipe" : "socket";
    if (wait->is.partner == 0 || (!is_file && wait->is.what != TG_WAIT_PROCESS))
        return false;
    const struct tg_where_thread *partner = thread_of(threads, wait->is.partner);
    if (partner == NULL)
        return false;
    fputs("In ", stream);
    write_process(stream, thread);
    fprintf(stream, ", thread %" PRId32 " waits ", thread->stack->tid);
    if (wait->is.what == TG_WAIT_PROCESS)
        fputs("for the end of its child ", stream);
    else if (wait->is.partner == wait->pid)
        fprintf(stream, wait->is.writes ? "to write to a %s that " : "for data from a %s that ", file);
    else
        fprintf(stream, wait->is.writes ? "for room in the %s to " : "for data from the %s of ", file);
    write_process(stream, partner);
    if (is_file && wait->is.partner == wait->pid)
        fprintf(stream, " can %s itself, and no other process that was looked at",
                wait->is.writes ? "read" : "write to");
    fputs(".\n", stream);
    return true;
}

/* "In rank 2, threads 7 and 2 more wait at the same futex, in pthread_barrier_wait, called from work (a.c:7)": of barriers,
 * condition variables and semaphores nobody is the owner. */
static bool write_shared(FILE *stream, const struct tg_where_threads *threads, size_t index)
{
    const struct tg_where_thread *thread = &threads->threads[index];
    size_t n = count_waiting(threads, thread->wait);
    if (thread->wait->is.what != TG_WAIT_FUTEX || thread->wait->is.owner != 0 || n < 2 ||
        !is_first_there(threads, index))
        return false;
    fputs("In ", stream);
    write_process(stream, thread);
    fprintf(stream, ", thread %" PRId32 " and %zu more wait at the same futex, ", thread->stack->tid, n - 1);
    tg_stack_words_place(stream, &thread->path.place);
    bool is_lock = tg_where_waits_for_openmp_lock(thread);
    fputs(is_lock ? "; who has that lock is not known.\n" : "; who wakes them is not known.\n", stream);
    return true;
}

static size_t write_cycles(FILE *stream, const struct tg_where_threads *threads)
{
    size_t n = 0;
    for (size_t i = 0; i < threads->count; i++)
        if (is_shown(threads, i) && n < SHOWN && tg_where_waits_for_itself(threads, i))
            n += write_cycle(stream, threads, i);
    return n;
}

bool tg_where_deadlocks_write(FILE *stream, const struct tg_where_threads *threads)
{
    return write_cycles(stream, threads) > 0;
}

void tg_where_locks_write(FILE *stream, const struct tg_where_threads *threads)
{
    char call[64];
    size_t n = 0;
    for (size_t i = 0; i < threads->count && n < SHOWN; i++) {
        const struct tg_where_thread *thread = &threads->threads[i];
        bool is_lock = thread->wait != NULL &&
                       (thread->wait->is.what == TG_WAIT_MUTEX || thread->wait->is.what == TG_WAIT_STREAM ||
                        thread->wait->is.what == TG_WAIT_LEFT_MUTEX);
        if (is_lock && is_shown(threads, i) && thread->path.task == TG_THREAD_OF_PROGRAM &&
            *tg_where_call_of(thread, call, sizeof call) == '\0' && !tg_where_waits_for_itself(threads, i))
            n += write_owned(stream, threads, i);
    }
}

bool tg_where_waits_write(FILE *stream, const struct tg_where_threads *threads, bool with_shared,
                          tg_where_is_told *is_told, const void *context)
{
    size_t n = write_cycles(stream, threads);
    for (size_t i = 0; i < threads->count && n < SHOWN; i++) {
        const struct tg_where_thread *thread = &threads->threads[i];
        if (thread->wait == NULL || !is_shown(threads, i) || thread->path.task != TG_THREAD_OF_PROGRAM ||
            tg_where_waits_for_itself(threads, i))
            continue;
        n += write_owned(stream, threads, i) || write_outer(stream, threads, i) ||
             (with_shared && !is_told(context, threads, thread) && write_shared(stream, threads, i));
    }
    if (n == SHOWN)
        fputs("There may be more such waits; --json has all of them.\n", stream);
    return n > 0;
}
