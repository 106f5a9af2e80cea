/* The mapped objects of a live job's processes, looked at where somebody asks. The tracer thread's. */
#ifndef TG_LIVE_CONTROL_MODULES_H
#define TG_LIVE_CONTROL_MODULES_H

#include "live/inspect/dwarf/module_scene.h"
#include "recorder/dwarf/modules.h"
#include "recorder/engine/engine.h"

struct tg_job_modules;

struct tg_error *tg_job_modules_create(struct tg_image_cache *images, struct tg_job_modules **modules);
void tg_job_modules_destroy(struct tg_job_modules *modules); /* NULL is accepted */

/* The objects of PROCESS, of which a thread is stopped, as they are mapped now. NULL without memory. Valid
 * until it is forgotten. */
struct tg_modules *tg_job_modules_of(struct tg_job_modules *modules, const struct tg_process *process);

/* The names of variables of these objects; the same lifetime. */
struct tg_module_scene *tg_job_modules_scene(struct tg_job_modules *modules,
                                             const struct tg_process *process);

/* Notes that the mappings of PROCESS have changed. */
void tg_job_modules_change(struct tg_job_modules *modules, const struct tg_process *process);
/* Forgets PROCESS, which has ended. */
void tg_job_modules_forget(struct tg_job_modules *modules, const struct tg_process *process);

#endif
