/* Planning of watchpoints: which bytes an expression means, and for how long. */
#ifndef TG_LIVE_CONTROL_WATCH_PLAN_H
#define TG_LIVE_CONTROL_WATCH_PLAN_H

#include "live/control/thread_scene.h"
#include "live/inspect/expression/expression.h"

enum {
    TG_WATCH_MAX_BYTES = 32, /* of one watchpoint: all that four debug registers can watch */
    TG_WATCH_NAME_SIZE = 128,
};

/* Plain data, the caller's. */
struct tg_watch_plan {
    uint64_t address, size_bytes;
    bool is_part;   /* a bit-field: its neighbours in these bytes are not meant */
    bool is_static; /* at one place for as long as the program runs, and in each process of it */
    bool has_basic; /* a number or pointer like BASIC, which can be shown without debug information */
    struct tg_type basic;
    uint64_t cfa;     /* of the frame that it belongs to, 0 none; it is gone where that has been left */
    uint64_t left_at; /* where the frame's caller goes on */
    char function[TG_WATCH_NAME_SIZE]; /* the frame's, "" not known */
};

/* Where VALUE is, as PLAN's address, size, is_part and basic. LENGTH: this many bytes from there on, 0 all of it.
 * Errors: USAGE, it is not in memory, or too large. */
struct tg_error *tg_watch_plan_place(const struct tg_scene *scene, const struct tg_value *value,
                                     uint64_t length, struct tg_watch_plan *plan);

/* What EXPRESSION means in FRAME's scene of THREAD, which is stopped in MODULES with OBJECTS. The scene is void
 * afterwards. Errors: those of evaluating it and of tg_watch_plan_place. */
struct tg_error *tg_watch_plan_make(struct tg_thread *thread, struct tg_modules *modules,
                                    struct tg_module_scene *objects, struct tg_expression *expression,
                                    struct tg_thread_scene *frame, uint64_t length, size_t *position,
                                    struct tg_watch_plan *plan);

/* The same without any thread's frame, in a process through whose THREAD memory can be read: for what is static.
 * Errors: NOT_FOUND also where it is not. */
struct tg_error *tg_watch_plan_static(struct tg_thread *thread, struct tg_modules *modules,
                                      struct tg_module_scene *objects, struct tg_expression *expression,
                                      uint64_t length, struct tg_watch_plan *plan);

/* Whether a frame of PLAN's is still on the stack of THREAD, in a stop. */
bool tg_watch_plan_has_frame(const struct tg_watch_plan *plan, struct tg_thread *thread,
                             struct tg_modules *modules);

#endif
