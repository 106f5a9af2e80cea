#include "recorder/look/visits.h"

#include "format/base/array.h"
#include "format/base/hash.h"
#include "recorder/engine/engine.h"
#include "recorder/look/halt.h"
#include "recorder/look/reading.h"
#include "recorder/look/reading_events.h"
#include "recorder/process/proc_status.h"
#include "recorder/record/process_facts.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MAX_BATCH = 64, AHEAD_OF_ALL = 16, AHEAD = 2, SPINS = 64, SLEEP_NS = 50 * 1000 };
static const uint64_t STOP_NS = 500000000, REHEARSAL_NS = 300000000, PATIENCE_NS = 100000000;

/* A process whose turn has come. What is mapped is read before it is stopped. Where that is something else afterwards, the
 * stacks may have been read by the wrong objects: once more then, at last with the process waiting for all of it. */
struct visit {
    struct tg_look_shared *look;
    pid_t pid;
    uint64_t snapshot;
    unsigned bits, tries;
    bool is_late; /* what is mapped is read when it is stopped */
    uint64_t asked_ns, rehearsed_ns;
    struct tg_halt halt;
    struct tg_reading reading;
    bool is_asked, is_over, is_taken;
};

/* Reads what is mapped, if it can be read of a process that runs. */
static void ready_visit(struct visit *visit)
{
    enum { TRIES = 3 };
    struct tg_reading *reading = &visit->reading;
    *reading = (struct tg_reading){.count = 0};
    visit->is_late = ++visit->tries == TRIES || visit->bits == 32;
    if (!visit->is_late)
        tg_reading_prepare(visit->look, visit->pid, visit->bits, reading);
    visit->is_late |= reading->process.modules == NULL || tg_modules_count(reading->process.modules) == 0;
    if (visit->is_late)
        tg_stack_process_close(&reading->process);
}

/* Asks the process to stop; where it may not be, the visit is over. Only error: NO_MEMORY. */
static struct tg_error *ask(struct visit *visit)
{
    visit->is_asked = true;
    visit->asked_ns = tg_engine_now_ns();
    struct tg_error *error = tg_halt_begin(visit->pid, TG_READING_MAX_THREADS, &visit->halt);
    if (error == NULL)
        return NULL;
    visit->is_over = true;
    if (tg_error_code(error) == TG_ERROR_NO_MEMORY)
        return error;
    const struct tg_look_sink *sink = visit->look->sink;
    sink->refuse(sink->context, visit->pid,
                 kill(visit->pid, 0) != 0 && errno == ESRCH ? "it ended before its turn came"
                                                            : tg_error_message(error));
    tg_error_destroy(error);
    return NULL;
}

static pid_t first_stopped(const struct tg_halt *halt)
{
    for (size_t i = 0; i < halt->count; i++)
        if (halt->threads[i].is_stopped)
            return halt->threads[i].tid;
    return 0;
}

/* Reads the process, which stands still, and lets it go on. */
static struct tg_error *take(struct visit *visit)
{
    struct tg_reading *reading = &visit->reading;
    if (visit->is_late)
        tg_reading_prepare(visit->look, first_stopped(&visit->halt), visit->bits, reading);
    bool ok = tg_reading_take(visit->look, &visit->halt, visit->snapshot, reading);
    reading->snapshot.took_ns = tg_halt_end(&visit->halt) + visit->rehearsed_ns;
    visit->is_over = true;
    visit->is_taken = ok;
    if (!ok)
        return tg_error_no_memory();
    tg_reading_count_bytes(visit->look, visit->pid, reading);
    return NULL;
}

/* Whether what was mapped is what it was when that was read; asked when nobody stands still. Where it is not, the process
 * is to be visited once more. */
static bool is_settled(struct visit *visit)
{
    struct tg_reading *reading = &visit->reading;
    if (!visit->is_taken || visit->is_late || tg_modules_is_current(reading->process.modules))
        return true;
    tg_reading_deinit(reading);
    tg_reading_drop_waits(visit->look, visit->pid);
    ready_visit(visit);
    visit->is_asked = visit->is_over = visit->is_taken = false;
    return false;
}

/* Without yielding: the kernel takes a yield for a whole turn, of which each other thread that runs has one first. */
static void wait_a_little(unsigned n)
{
    static const struct timespec pause = {.tv_nsec = SLEEP_NS};
    if (n > SPINS)
        nanosleep(&pause, NULL);
}

/* The first thread of the process that runs, or waits for a processor; 0 none. */
static pid_t find_running(pid_t pid)
{
    enum { MAX_ASKED = 64 };
    char path[40];
    struct tg_proc_status status;
    pid_t found = 0;
    int n = 0;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *directory = opendir(path);
    for (struct dirent *entry;
         directory != NULL && found == 0 && n < MAX_ASKED && (entry = readdir(directory)) != NULL; n++) {
        pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
        found = tid > 0 && tg_proc_status_read(tid, &status) && status.state == 'R' ? tid : 0;
    }
    if (directory != NULL)
        closedir(directory);
    return found;
}

/* Whether the program of VISIT is met for the first time in this look. */
static bool is_new_program(const struct visit *visit)
{
    struct tg_look_shared *look = visit->look;
    const struct tg_module *program = tg_modules_at(visit->reading.process.modules, 0);
    const uint64_t hash = tg_hash_bytes(program->path, strlen(program->path)) ^
                          tg_hash_bytes(program->build_id, strlen(program->build_id));
    for (size_t i = 0; i < look->n_rehearsed; i++)
        if (look->rehearsed[i] == hash)
            return false;
    tg_error_destroy(TG_ARRAY_APPEND(look->rehearsed, look->n_rehearsed, look->rehearsed_capacity, hash));
    return true;
}

/* The thread of HALT, once it has stopped; false where it does not in time. */
static bool await_stop(struct tg_halt *halt)
{
    uint64_t until_ns = tg_engine_now_ns() + REHEARSAL_NS;
    for (unsigned n = 0; !tg_halt_poll(halt); n++) {
        if (tg_engine_now_ns() > until_ns)
            return false;
        wait_a_little(n);
    }
    return halt->count == 1 && halt->threads[0].is_stopped;
}

/* Reading code for the first time takes longer than all else: rules of frames, symbols, where arguments are. So of the first
 * process of a program that runs, a thread says where it is, and goes on at once; from there its calls are followed as if it
 * still stood there, which need not be so, and nobody is told what comes out of it. */
static void rehearse(struct visit *visit)
{
    struct tg_halt halt;
    pid_t tid = visit->is_late || !is_new_program(visit) ? 0 : find_running(visit->pid);
    if (tid == 0)
        return;
    struct tg_error *error = tg_halt_begin_thread(visit->pid, tid, &halt);
    if (error != NULL) {
        tg_error_destroy(error);
        return;
    }
    bool is_stopped = await_stop(&halt);
    struct tg_halted_thread thread = {0};
    if (is_stopped)
        thread = halt.threads[0];
    visit->rehearsed_ns = tg_halt_end(&halt);
    const struct tg_halt alone = {.pid = visit->pid, .threads = &thread, .count = 1};
    if (is_stopped)
        tg_reading_rehearse(visit->look, &alone, &visit->reading);
}

/* Takes those of VISITS that stand still, or do not come to it. */
static struct tg_error *take_stopped(struct visit *visits, size_t count, bool *is_any)
{
    struct tg_error *error = NULL;
    *is_any = false;
    for (size_t i = 0; error == NULL && i < count; i++) {
        struct visit *visit = &visits[i];
        if (!visit->is_asked || visit->is_over ||
            !(tg_halt_poll(&visit->halt) || tg_engine_now_ns() > visit->asked_ns + STOP_NS))
            continue;
        *is_any = true;
        error = take(visit);
    }
    return error;
}

static bool is_over(const struct visit *visits, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!visits[i].is_over)
            return false;
    return true;
}

/* How many threads of this machine run or wait for a processor; 0 unknown. */
static unsigned count_running(void)
{
    unsigned running;
    FILE *file = fopen("/proc/loadavg", "re");
    bool is_known = file != NULL && fscanf(file, "%*s %*s %*s %u", &running) == 1;
    if (file != NULL)
        fclose(file);
    return is_known ? running : 0;
}

/* How many may be asked before they have stopped. Processes are stopped one after the other. But one that has no processor
 * stops when it gets one: where many wait for processors, as ranks do that poll, that would take all the time, and the next
 * ones are asked meanwhile, which costs them nothing. Where tollgate itself waits for a processor, those that have stopped
 * stand still meanwhile: so only few are asked unless it comes first. */
static size_t choose_width(const struct tg_look_shared *look)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    bool is_crowded = processors > 0 && count_running() > (unsigned long)processors;
    return !is_crowded ? 1 : look->is_first ? AHEAD_OF_ALL : AHEAD;
}

/* Processes that do not come to it, as they sleep in the kernel, are not counted after a while. */
static size_t count_asked(const struct visit *visits, size_t count)
{
    uint64_t now_ns = tg_engine_now_ns();
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        n += visits[i].is_asked && !visits[i].is_over && now_ns < visits[i].asked_ns + PATIENCE_NS;
    return n;
}

static struct tg_error *ask_next(struct visit *visits, size_t count, size_t width)
{
    struct tg_error *error = NULL;
    size_t n = count_asked(visits, count);
    for (size_t i = 0; error == NULL && i < count && n < width; i++)
        if (!visits[i].is_asked && !visits[i].is_over) {
            error = ask(&visits[i]);
            n += !visits[i].is_over;
        }
    return error;
}

/* Asks those of VISITS that are not over, and takes them in the order in which they stop. */
static struct tg_error *visit_once(struct visit *visits, size_t count, size_t width)
{
    struct tg_error *error = NULL;
    for (unsigned n = 0; error == NULL && !is_over(visits, count); n++) {
        bool is_any = false;
        error = ask_next(visits, count, width);
        if (error == NULL)
            error = take_stopped(visits, count, &is_any);
        if (is_any)
            n = 0;
        else
            wait_a_little(n);
    }
    return error;
}

/* All that can be read before is read before the first of VISITS is asked. */
static struct tg_error *visit_some(struct visit *visits, size_t count)
{
    struct tg_error *error = NULL;
    bool are_settled = false;
    for (size_t i = 0; i < count; i++)
        ready_visit(&visits[i]);
    for (size_t i = 0; i < count; i++)
        rehearse(&visits[i]);
    while (error == NULL && !are_settled) {
        error = visit_once(visits, count, choose_width(visits->look));
        are_settled = true;
        for (size_t i = 0; error == NULL && i < count; i++)
            are_settled &= is_settled(&visits[i]);
    }
    for (size_t i = 0; i < count; i++) {
        if (error == NULL && visits[i].is_taken)
            tg_reading_find_criticals(visits[i].look, visits[i].pid, &visits[i].reading);
        if (error == NULL && visits[i].is_taken)
            tg_reading_tell(visits[i].look, visits[i].pid, visits[i].bits, visits[i].tries == 1,
                            &visits[i].reading);
        tg_halt_end(&visits[i].halt); /* without memory */
        tg_reading_deinit(&visits[i].reading);
    }
    return error;
}

static struct tg_error *visit_all(struct visit *visits, size_t count)
{
    struct tg_error *error = NULL;
    for (size_t i = 0, n; error == NULL && i < count; i += n) {
        n = count - i < MAX_BATCH ? count - i : MAX_BATCH;
        error = visit_some(visits + i, n);
    }
    return error;
}

struct tg_error *tg_visits_make(struct tg_look_shared *look, const pid_t *pids, size_t count)
{
    struct visit *visits = calloc(count + 1, sizeof *visits);
    if (visits == NULL)
        return tg_error_no_memory();
    for (size_t i = 0; i < count; i++)
        visits[i] = (struct visit){.look = look,
                                   .pid = pids[i],
                                   .snapshot = ++look->n_processes,
                                   .bits = tg_process_facts_look(pids[i]).bits};
    struct tg_error *error = visit_all(visits, count);
    free(visits);
    return error;
}
