#include "analyzer/filter/model_internal.h"

#include <stdlib.h>

static struct tg_error *reserve_timelines(struct tg_filter_model *model)
{
    if (model->n_timelines < model->timelines_capacity)
        return NULL;
    size_t capacity = model->timelines_capacity == 0 ? 16 : model->timelines_capacity * 2;
    for (size_t index = 0; index < model->options.n_filters; index++) {
        struct tg_lane *lane = &model->lanes[index];
        struct tg_timeline *timelines = reallocarray(lane->timelines, capacity, sizeof *timelines);
        if (timelines == NULL)
            return tg_error_no_memory();
        lane->timelines = timelines;
    }
    model->timelines_capacity = capacity;
    return NULL;
}

struct tg_error *tg_filter_keep_timelines(struct tg_filter_model *model, struct tg_filter_process *process)
{
    bool rank = process->rank >= 0;
    if (!process->has_dlopens || (model->timelines_of_ranks && !rank))
        return NULL;
    if (rank && !model->timelines_of_ranks) { /* the first rank: launchers before it do not count */
        for (size_t index = 0; index < model->options.n_filters; index++)
            for (size_t i = 0; i < model->n_timelines; i++)
                tg_timeline_deinit(&model->lanes[index].timelines[i]);
        model->n_timelines = 0;
        model->timelines_of_ranks = true;
    }
    struct tg_error *error = reserve_timelines(model);
    if (error != NULL)
        return error;
    uint64_t run_ns = tg_filter_process_run_ns(process, process->last_ns);
    for (size_t index = 0; index < model->options.n_filters; index++) {
        struct tg_lane_wait *wait = &process->waits[index];
        wait->timeline.tail_run_ns = run_ns > wait->run_until_ns ? run_ns - wait->run_until_ns : 0;
        wait->timeline.tail_overhead_ns = wait->overhead_ns;
        model->lanes[index].timelines[model->n_timelines] = wait->timeline;
        wait->timeline = (struct tg_timeline){0};
    }
    model->n_timelines++;
    return NULL;
}

const struct tg_timeline *tg_filter_model_timelines(const struct tg_filter_model *model, size_t lane,
                                                    size_t *count)
{
    *count = model->n_timelines;
    return model->lanes[lane].timelines;
}
