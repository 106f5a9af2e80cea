/* The scene in which variables of a live job's thread are asked for. The tracer thread's. */
#ifndef TG_LIVE_CONTROL_THREAD_SCENE_H
#define TG_LIVE_CONTROL_THREAD_SCENE_H

#include "live/inspect/dwarf/module_scene.h"
#include "live/inspect/expression/assignment.h"
#include "recorder/engine/engine.h"
#include "recorder/unwind/frames.h"

/* The caller's storage; nothing in it is to be freed. Valid while THREAD is stopped and no other is made of
 * its process. */
struct tg_thread_scene {
    struct tg_frame frame, caller;
    struct tg_inspect_memory memory; /* as the program has it */
    struct tg_scene *scene;          /* of the two frames */
};

/* The registers of THREAD, which is in a stop. False where it was killed meanwhile. */
bool tg_thread_scene_registers(struct tg_thread *thread, struct tg_registers *registers);

/* The memory of THREAD as the program has it. Valid as long as THREAD. */
struct tg_inspect_memory tg_thread_scene_memory(struct tg_thread *thread);

enum tg_thread_scene_depth {
    TG_SCENE_REGISTERS, /* registers and globals */
    TG_SCENE_FRAME,     /* and the frame's variables */
};

/* The scene of the innermost frame of THREAD, which is in a stop, over OBJECTS, those of its process. Errors:
 * TARGET, the thread was killed meanwhile. */
struct tg_error *tg_thread_scene_innermost(struct tg_thread *thread, struct tg_modules *modules,
                                           struct tg_module_scene *objects, enum tg_thread_scene_depth depth,
                                           struct tg_thread_scene *found);

/* The same of call LEVEL of its stack, as recorder/unwind/frames.h counts them: 0 the innermost,
 * inlined ones too. Errors: also NOT_FOUND, there are not so many. */
struct tg_error *tg_thread_scene_at(struct tg_thread *thread, struct tg_modules *modules,
                                    struct tg_module_scene *objects, unsigned level,
                                    struct tg_thread_scene *found);

/* The same of call LEVEL of FRAMES, which were read of THREAD in this stop. It is there. */
void tg_thread_scene_of_call(struct tg_thread *thread, struct tg_module_scene *objects,
                             const struct tg_frames *frames, size_t level, struct tg_thread_scene *found);

/* Carries out PLAN, made in FOUND, on THREAD, which is kept. Errors: TARGET (memory that cannot be written,
 * or the thread was killed meanwhile); UNSUPPORTED: a register of another frame than the innermost, which
 * inner calls keep. */
struct tg_error *tg_thread_scene_assign(struct tg_thread *thread, const struct tg_thread_scene *found,
                                        const struct tg_assignment *plan);

#endif
