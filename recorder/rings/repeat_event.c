#include "recorder/rings/repeat_event.h"

/* The member of EVENT that comes from the counted word of its record; NULL where none does. */
static uint64_t *counted_member(struct tg_event *event)
{
    return event->kind == TG_EVENT_MPI_ENTER            ? &event->mpi_enter.instance
           : event->kind == TG_EVENT_OMP_PARALLEL_BEGIN ? &event->omp_parallel_begin.new_team
           : event->kind == TG_EVENT_OMP_PARALLEL_END   ? &event->omp_parallel_end.ended_team
           : event->kind == TG_EVENT_OMP_SYNC_BEGIN     ? &event->omp_sync_begin.instance
           : event->kind == TG_EVENT_OMP_SYNC_END       ? &event->omp_sync_end.instance
           : event->kind == TG_EVENT_OMP_TASK_CREATE    ? &event->omp_task_create.task
           : event->kind == TG_EVENT_OMP_TASK_BEGIN     ? &event->omp_task_begin.task
           : event->kind == TG_EVENT_OMP_TASK_END       ? &event->omp_task_end.task
                                                        : NULL;
}

/* The bit of MEMBER among the fields of EVENT's payload. */
static uint32_t field_of(const struct tg_event *event, const uint64_t *member)
{
    const struct tg_record_schema *schema = tg_event_schema(event->kind);
    const char *payload = TG_EVENT_PAYLOAD((struct tg_event *)(uintptr_t)event);
    for (size_t f = 0; f < schema->n_fields; f++)
        if (payload + schema->fields[f].offset == (const char *)member)
            return UINT32_C(1) << f;
    return TG_EVENT_ALL_FIELDS;
}

/* By how much the record with NUMBER has its counted word larger than the repeat. */
static uint64_t counted_of(unsigned kind, uint64_t number)
{
    return tg_agent_moves_team(kind, number) ? 0 : number;
}

/* As in struct tg_ring_repeat. */
static uint8_t moving_field(const struct tg_ring_repeat *repeat)
{
    enum tg_agent_moves moves = tg_agent_moves(repeat->kind);
    uint32_t field = repeat->counted_field;
    if (tg_repeat_event_is_apart(repeat->kind) ||
        (moves != TG_AGENT_MOVES_COUNT && moves != TG_AGENT_MOVES_EITHER) || field == 0 ||
        field == TG_EVENT_ALL_FIELDS)
        return TG_RING_NO_FIELD;
    uint8_t f = (uint8_t)__builtin_ctz(field);
    return tg_event_schema(repeat->event.kind)->fields[f].type == TG_FIELD_SIGNED ? TG_RING_NO_FIELD : f;
}

void tg_repeat_event_find_fields(struct tg_ring_repeat *repeat, bool has_place)
{
    const uint64_t *counted = counted_member(&repeat->event);
    const struct tg_omp_place *place = TG_EVENT_PAYLOAD(&repeat->event);
    repeat->counted = counted == NULL ? 0 : *counted - counted_of(repeat->kind, repeat->number);
    repeat->counted_field = counted == NULL ? 0 : field_of(&repeat->event, counted);
    repeat->moving = moving_field(repeat);
    repeat->own_field = tg_agent_own_word(repeat->kind) == 0
                            ? 0
                            : field_of(&repeat->event, &repeat->event.omp_task_create.parent_task);
    repeat->team_field = has_place ? field_of(&repeat->event, &place->team) : 0;
    repeat->level_field = has_place ? field_of(&repeat->event, &place->level) : 0;
}

void tg_repeat_event_put_number(struct tg_ring_repeat *repeat)
{
    uint64_t *counted = counted_member(&repeat->event);
    if (counted != NULL)
        *counted = repeat->counted + counted_of(repeat->kind, repeat->number);
}

void tg_repeat_event_put_words(struct tg_ring_repeat *repeat, uint64_t number, uint64_t own)
{
    if (counted_of(repeat->kind, number) != counted_of(repeat->kind, repeat->number))
        repeat->place.changed |= repeat->counted_field;
    if (tg_agent_own_word(repeat->kind) != 0 && repeat->event.omp_task_create.parent_task != own) {
        repeat->event.omp_task_create.parent_task = own;
        repeat->place.changed |= repeat->own_field;
    }
    repeat->number = number;
    tg_repeat_event_put_number(repeat);
}

void tg_repeat_event_put_team(struct tg_ring_repeat *repeat, struct tg_team team)
{
    struct tg_omp_place *place = TG_EVENT_PAYLOAD(&repeat->event);
    if (team.id == repeat->team.id && team.level == repeat->team.level)
        return;
    repeat->place.changed |= place->team != team.id ? repeat->team_field : 0;
    repeat->place.changed |= place->level != team.level ? repeat->level_field : 0;
    place->team = team.id;
    place->level = team.level;
    repeat->team = team;
}
