#include "live/source/moment.h"

#include <stdlib.h>

struct tg_error *tg_moment_create(struct tg_moment **moment)
{
    struct tg_moment *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    struct tg_error *error = tg_process_model_create(&made->processes);
    if (error == NULL)
        error = tg_library_model_create(&made->libraries);
    if (error == NULL)
        error = tg_dlopen_model_create(&made->dlopens);
    if (error == NULL)
        error = tg_totals_create(&made->session);
    if (error == NULL)
        error = tg_openmp_model_create(NULL, &made->openmp);
    if (error == NULL)
        error = tg_mpi_model_create(NULL, &made->mpi);
    if (error == NULL)
        error = tg_mpir_model_create(&made->mpir);
    if (error == NULL)
        error = tg_addresses_create(&made->addresses);
    if (error == NULL)
        error = tg_stack_model_create(&made->stacks);
    if (error == NULL)
        error = tg_zone_counter_create(&made->zones);
    if (error == NULL)
        error = tg_control_numbers_create(&made->numbers);
    if (error == NULL)
        error = tg_barrier_trace_create(&made->barriers);
    if (error != NULL) {
        tg_moment_destroy(made);
        return error;
    }
    *moment = made;
    return NULL;
}

void tg_moment_destroy(struct tg_moment *moment)
{
    if (moment == NULL)
        return;
    tg_process_model_destroy(moment->processes);
    tg_library_model_destroy(moment->libraries);
    tg_dlopen_model_destroy(moment->dlopens);
    tg_totals_destroy(moment->session);
    tg_openmp_model_destroy(moment->openmp);
    tg_mpi_model_destroy(moment->mpi);
    tg_mpir_model_destroy(moment->mpir);
    tg_addresses_destroy(moment->addresses);
    tg_stack_model_destroy(moment->stacks);
    tg_zone_counter_destroy(moment->zones);
    tg_control_numbers_destroy(moment->numbers);
    tg_barrier_trace_destroy(moment->barriers);
    free(moment);
}

void tg_moment_drop_numbers(struct tg_moment *moment)
{
    tg_control_numbers_destroy(moment->numbers);
    moment->numbers = NULL;
}

struct tg_error *tg_moment_copy(const struct tg_moment *moment, struct tg_moment **copy)
{
    struct tg_moment *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    struct tg_error *error = tg_process_model_copy(moment->processes, &made->processes);
    if (error == NULL)
        error = tg_library_model_copy(moment->libraries, &made->libraries);
    if (error == NULL)
        error = tg_dlopen_model_copy(moment->dlopens, &made->dlopens);
    if (error == NULL)
        error = tg_totals_copy(moment->session, &made->session);
    if (error == NULL)
        error = tg_openmp_model_copy(moment->openmp, &made->openmp);
    if (error == NULL)
        error = tg_mpi_model_copy(moment->mpi, &made->mpi);
    if (error == NULL)
        error = tg_mpir_model_copy(moment->mpir, &made->mpir);
    if (error == NULL)
        error = tg_addresses_copy(moment->addresses, &made->addresses);
    if (error == NULL)
        error = tg_stack_model_copy(moment->stacks, &made->stacks);
    if (error == NULL)
        error = tg_zone_counter_copy(moment->zones, &made->zones);
    if (error == NULL && moment->numbers != NULL)
        error = tg_control_numbers_copy(moment->numbers, &made->numbers);
    if (error == NULL)
        error = tg_barrier_trace_copy(moment->barriers, &made->barriers);
    if (error != NULL) {
        tg_moment_destroy(made);
        return error;
    }
    if (moment->entry != NULL)
        made->entry = tg_process_model_at(made->processes, moment->entry->index);
    *copy = made;
    return NULL;
}

struct tg_error *tg_moment_feed(struct tg_moment *moment, const struct tg_event *event)
{
    struct tg_process_entry *entry = NULL;
    struct tg_error *error = tg_process_model_feed(moment->processes, event, &entry);
    moment->entry = entry;
    if (error == NULL)
        error = tg_totals_feed(moment->session, event);
    /* The place where a process died is asked after its end. */
    if (error == NULL && event->kind != TG_EVENT_PROCESS_EXIT)
        error = tg_addresses_feed(moment->addresses, event);
    if (error == NULL)
        error = tg_barrier_trace_feed(moment->barriers, event);
    if (error == NULL)
        error = tg_stack_model_feed(moment->stacks, event, entry == NULL ? SIZE_MAX : entry->index);
    if (error != NULL || entry == NULL)
        return error;
    error = tg_library_model_feed(moment->libraries, event, entry->index);
    if (error == NULL)
        error = tg_dlopen_model_feed(moment->dlopens, event, entry->index,
                                     entry->parent == NULL ? SIZE_MAX : entry->parent->index);
    if (error == NULL)
        error = tg_openmp_model_feed(moment->openmp, event, entry->index);
    if (error == NULL)
        error = tg_mpi_model_feed(moment->mpi, event, entry->index);
    if (error == NULL)
        error = tg_mpir_model_feed(moment->mpir, event, entry->index);
    if (error == NULL)
        error = tg_zone_counter_feed(moment->zones, event, entry->index);
    if (error == NULL && moment->numbers != NULL)
        error = tg_control_numbers_feed(moment->numbers, event, entry->index);
    return error;
}

size_t tg_moment_find_pid(const struct tg_moment *moment, int64_t pid)
{
    for (size_t i = tg_process_model_count(moment->processes); i-- > 0;)
        if (tg_process_model_at(moment->processes, i)->pid == pid)
            return i;
    return SIZE_MAX;
}

const struct tg_process_entry *tg_moment_process(const struct tg_moment *moment, uint32_t dpid)
{
    const struct tg_process_model *processes = moment->processes;
    return dpid >= 1 && dpid <= tg_process_model_count(processes) ? tg_process_model_at(processes, dpid - 1)
                                                                  : NULL;
}
