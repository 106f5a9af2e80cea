#include "live/commands/control/point_data.h"

static const char *stop_name(enum tg_barrier_stop stop)
{
    return stop == TG_BARRIER_STOP_GROUP ? "group" : stop == TG_BARRIER_STOP_PROCESS ? "process" : "none";
}

static void put_barrier(const struct tg_request *control, const struct tg_action_point *point,
                        struct tg_json *json)
{
    struct tg_barrier_status status;
    tg_json_member_string(json, "stop_when_done", stop_name(point->stop_when_done));
    tg_json_member_bool(json, "of_threads", point->of_threads);
    tg_json_member_string(json, "satisfaction", point->satisfaction);
    if (!tg_barriers_status(tg_controller_runs(control->controller), point->id, &status))
        return;
    tg_json_member_unsigned(json, "members", status.n_members);
    tg_json_member_unsigned(json, "arrived", status.n_arrived);
    tg_json_member_bool(json, "stuck", status.stuck);
}

void tg_point_data(const struct tg_request *control, const struct tg_action_point *point,
                   struct tg_json *json)
{
    tg_json_begin_object(json);
    tg_json_member_unsigned(json, "id", point->id);
    tg_json_member_string(json, "kind",
                          point->kind == TG_ACTION_BARRIER ? "barrier"
                          : point->kind == TG_ACTION_WATCH ? "watch"
                                                           : "break");
    tg_json_member_bool(json, "enabled", point->enabled);
    tg_json_member_bool(json, "pending", point->pending);
    tg_json_member_string(json, "location", point->location);
    tg_json_member_string(json, "place", point->place);
    if (*point->others != '\0')
        tg_json_member_string(json, "other_places", point->others);
    if (!point->pending) {
        tg_json_key(json, "address");
        tg_json_address(json, point->address);
    }
    tg_json_member_string(json, "focus", point->focus);
    tg_json_member_string(json, "stop_when_hit", stop_name(point->stop_when_hit));
    tg_json_member_unsigned(json, "hits", point->hits);
    tg_json_member_unsigned(json, point->shared ? "share_group" : "process",
                            point->shared ? point->group : point->process);
    if (point->n_more_groups > 0) {
        tg_json_key(json, "more_share_groups");
        tg_json_begin_array(json);
        for (size_t i = 0; i < point->n_more_groups; i++)
            tg_json_unsigned(json, point->more_groups[i]);
        tg_json_end_array(json);
    }
    if (*point->condition != '\0')
        tg_json_member_string(json, "condition", point->condition);
    if (*point->script != '\0')
        tg_json_member_string(json, "script", point->script);
    if (point->kind == TG_ACTION_BARRIER)
        put_barrier(control, point, json);
    tg_json_end_object(json);
}
