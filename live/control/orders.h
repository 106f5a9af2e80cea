/* Orders of the controller: what an engine must be able to do. Only planting can fail: everything else is
 * about threads and processes that may have ended meanwhile, which is no error. */
#ifndef TG_LIVE_CONTROL_ORDERS_H
#define TG_LIVE_CONTROL_ORDERS_H

#include "format/base/error.h"
#include "format/event/event.h"
#include "live/source/news.h"

#include <stdbool.h>
#include <stdint.h>

/* Each call begins what it says and returns; ENGINE is the one that the controller was created with. */
struct tg_controller_orders {
    /* Makes a thread stop, others keep running; tg_controller_stopped or tg_controller_hit follows once it
     * has stopped. Again while it is stopping: no effect. */
    void (*stop)(void *engine, int32_t pid, int32_t tid);
    /* Resumes a stopped thread, over whatever is planted there. Where its stop is under way, it runs on after
     * that without being reported. */
    void (*resume)(void *engine, int32_t pid, int32_t tid);
    /* Plants action point ID at LOCATION (as it was given) in process PID. *ADDRESS 0: no such place yet.
     * *PLACE: FILE#LINE, "" not known; lives until the next call. Errors: INPUT for an invalid location,
     * LIMIT where too many are at that place, NO_MEMORY. An error ends the controller's call that led to
     * it; the controller stays usable. */
    struct tg_error *(*plant)(void *engine, int32_t pid, uint32_t id, const char *location, uint64_t *address,
                              const char **place);
    /* Action point ID, which is planted next, is a watchpoint as WATCH says, which is the caller's of
     * tg_controller_watch and the engine's alone to understand. WATCH NULL: it is none after all, and planted
     * nowhere. NULL: not supported. */
    struct tg_error *(*define_watch)(void *engine, uint32_t id, const void *watch);
    /* Whether action point ID is planted at ADDRESS in process PID. NULL: nowhere. */
    bool (*is_planted)(void *engine, int32_t pid, uint32_t id, uint64_t address);
    /* Whether the names in CONDITION are known where action point ID is planted, in one of the programs at least, as far as
     * that can be told: NOT_FOUND errors. NULL: not supported. */
    struct tg_error *(*check_condition)(void *engine, uint32_t id, const char *condition);
    /* Whether LOCATION is in process PID. NULL: not supported. */
    bool (*has)(void *engine, int32_t pid, const char *location);
    /* Takes action point ID out of process PID, which may never have had it. */
    void (*unplant)(void *engine, int32_t pid, uint32_t id);
    /* The last line with code of the file of LOCATION, a FILE:LINE, in process PID; 0: it has none. NULL: not
     * supported. */
    uint64_t (*last_line)(void *engine, int32_t pid, const char *location);
    /* Whether a thread is a library's own, no worker: *IS_MANAGER. False: not known yet; asked again when the
     * thread stops. */
    bool (*ask_manager)(void *engine, int32_t pid, int32_t tid, bool *is_manager);
    /* Writes EVENT, whose time the engine fills in, to the trace. */
    void (*record)(void *engine, const struct tg_event *event);
    /* Passes on NEWS: of barriers and action points. */
    void (*tell)(void *engine, const struct tg_news *news);
};

#endif
