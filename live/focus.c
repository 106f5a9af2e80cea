#include "live/focus.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void tg_focus_init(struct tg_focus *focus)
{
    *focus = (struct tg_focus){.process = SIZE_MAX, .worker = SIZE_MAX};
}

bool tg_focus_has(const struct tg_focus *focus, size_t process)
{
    return focus->process == SIZE_MAX || focus->process == process;
}

/* The worker that the last event is of, and else the first of a focused process that lives. */
const struct tg_openmp_worker *tg_focus_worker(const struct tg_focus *focus, const struct tg_source *source)
{
    const struct tg_openmp_model *model = source->moment->openmp;
    const struct tg_process_entry *entry = source->moment->entry;
    if (focus->worker != SIZE_MAX)
        return focus->worker < tg_openmp_model_worker_count(model)
                   ? tg_openmp_model_worker_at(model, focus->worker)
                   : NULL;
    if (source->event != NULL && entry != NULL && tg_focus_has(focus, entry->index)) {
        const struct tg_openmp_worker *worker =
            tg_openmp_model_worker(model, entry->index, source->event->tid);
        if (worker != NULL)
            return worker;
    }
    for (size_t i = 0; focus->process != SIZE_MAX && i < tg_openmp_model_worker_count(model); i++) {
        const struct tg_openmp_worker *worker = tg_openmp_model_worker_at(model, i);
        if (worker->process == focus->process && worker->alive)
            return worker;
    }
    return NULL;
}

/* How much speaks for PROCESS being what the rank is. */
static int weight_of(const struct tg_moment *moment, size_t process)
{
    if (tg_mpi_model_process(moment->mpi, process) != NULL)
        return 2;
    for (size_t i = 0; i < tg_openmp_model_worker_count(moment->openmp); i++)
        if (tg_openmp_model_worker_at(moment->openmp, i)->process == process)
            return 1;
    return 0;
}

struct tg_error *tg_focus_find_rank(const struct tg_source *source, int64_t rank, size_t *process)
{
    const struct tg_process_model *model = source->moment->processes;
    int best = -1;
    size_t found = SIZE_MAX;
    for (size_t i = 0; i < tg_process_model_count(model); i++) {
        if (tg_process_model_at(model, i)->rank != rank)
            continue;
        int weight = weight_of(source->moment, i);
        if (weight > best) {
            best = weight;
            found = i;
        }
    }
    if (found == SIZE_MAX)
        return tg_error_create(TG_ERROR_NOT_FOUND,
                               "no process is rank %" PRId64 " at this moment; `info processes` lists them",
                               rank);
    *process = found;
    return NULL;
}

struct tg_error *tg_focus_find_pid(const struct tg_source *source, int64_t pid, size_t *process)
{
    const struct tg_process_model *model = source->moment->processes;
    for (size_t i = tg_process_model_count(model); i-- > 0;) {
        if (tg_process_model_at(model, i)->pid == pid) {
            *process = i;
            return NULL;
        }
    }
    return tg_error_create(TG_ERROR_NOT_FOUND,
                           "there is no process %" PRId64 " at this moment; `info processes` lists them",
                           pid);
}

struct tg_error *tg_focus_find_worker(const struct tg_source *source, size_t process, uint64_t number,
                                      size_t *worker)
{
    const struct tg_openmp_model *model = source->moment->openmp;
    for (size_t i = tg_openmp_model_worker_count(model); i-- > 0;) {
        const struct tg_openmp_worker *candidate = tg_openmp_model_worker_at(model, i);
        if (candidate->process == process && candidate->number == number) {
            *worker = i;
            return NULL;
        }
    }
    return tg_error_create(TG_ERROR_NOT_FOUND,
                           "there is no worker %" PRIu64 " at this moment; `info workers` lists them",
                           number);
}

static struct tg_error *bad_focus(const char *text)
{
    return tg_error_create(TG_ERROR_USAGE,
                           "'%s' is no focus; give RANK.WORKER, RANK, .WORKER (`<` for the lowest) or all",
                           text);
}

/* Digits at *TEXT, which is moved behind them. */
static bool take_number(const char **text, int64_t *number)
{
    char *end;
    if (**text < '0' || **text > '9')
        return false;
    errno = 0;
    *number = strtoll(*text, &end, 10);
    *text = end;
    return errno == 0;
}

struct tg_error *tg_focus_parse(const struct tg_focus *now, const struct tg_source *source, const char *text,
                                struct tg_focus *focus)
{
    struct tg_focus found = {.process = now->process, .worker = SIZE_MAX};
    const char *at = text;
    int64_t number;
    struct tg_error *error = NULL;
    if (strcmp(text, "all") == 0) {
        tg_focus_init(focus);
        return NULL;
    }
    if (take_number(&at, &number))
        error = tg_focus_find_rank(source, number, &found.process);
    if (error == NULL && at[0] == '.' && found.process == SIZE_MAX)
        error = tg_error_create(TG_ERROR_USAGE, "'%s': all processes are in focus; say of which rank", text);
    if (error != NULL)
        return error;
    if (strcmp(at, ".<") == 0) {
        error = tg_focus_find_worker(source, found.process, 1, &found.worker);
    } else if (at[0] == '.' && at[1] != '\0') {
        at++;
        if (!take_number(&at, &number) || *at != '\0')
            return bad_focus(text);
        error = tg_focus_find_worker(source, found.process, (uint64_t)number, &found.worker);
    } else if (at == text || (*at != '\0' && strcmp(at, ".") != 0)) {
        return bad_focus(text);
    }
    if (error == NULL)
        *focus = found;
    return error;
}

char *tg_focus_print(const struct tg_focus *focus, const struct tg_source *source, char *buffer)
{
    enum { SIZE = 64 };
    const struct tg_moment *moment = source->moment;
    char worker[32] = "";
    if (focus->process == SIZE_MAX) {
        snprintf(buffer, SIZE, "all");
        return buffer;
    }
    if (focus->worker < tg_openmp_model_worker_count(moment->openmp))
        snprintf(worker, sizeof worker, ".%" PRIu64,
                 tg_openmp_model_worker_at(moment->openmp, focus->worker)->number);
    if (focus->process >= tg_process_model_count(moment->processes)) {
        snprintf(buffer, SIZE, "(not begun)");
        return buffer;
    }
    const struct tg_process_entry *entry = tg_process_model_at(moment->processes, focus->process);
    if (entry->rank >= 0)
        snprintf(buffer, SIZE, "%" PRId64 "%s", entry->rank, worker);
    else
        snprintf(buffer, SIZE, "pid %" PRId32 "%s", entry->pid, worker);
    return buffer;
}
