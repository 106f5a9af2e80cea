/* What code of a live job is called, and where it is. */
#include "live/control/adapter_state.h"
#include "live/control/thread_scene.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tg_modules *tg_engine_adapter_modules(struct tg_engine_adapter *live, const struct tg_process *process)
{
    return tg_job_modules_of(live->modules, process);
}

struct tg_modules *tg_engine_adapter_modules_of(struct tg_engine_adapter *live, int32_t pid)
{
    const struct tg_process *process = tg_engine_find_process(live->parts.engine, pid);
    return process == NULL ? NULL : tg_engine_adapter_modules(live, process);
}

struct tg_modules *tg_engine_adapter_look(struct tg_engine_adapter *live, struct tg_thread *thread,
                                          uint64_t *pc, uint64_t *code)
{
    struct tg_registers registers;
    struct tg_modules *modules = tg_engine_adapter_modules(live, thread->process);
    *code = *pc;
    if (modules == NULL || !tg_module_is_agent(tg_modules_find(modules, *pc)) ||
        !tg_thread_scene_registers(thread, &registers))
        return modules;
    const struct tg_inspect_memory memory = tg_thread_scene_memory(thread);
    const struct tg_frame frame = tg_frames_innermost(modules, &memory, &registers);
    *pc = frame.registers.value[TG_RIP];
    *code = tg_frame_place(&frame);
    return modules;
}

size_t tg_engine_adapter_places(const struct tg_engine_adapter *live, int32_t pid, uint32_t id,
                                uint64_t *addresses, size_t max)
{
    const struct tg_process *process = tg_engine_find_process(live->parts.engine, pid);
    return process == NULL ? 0 : tg_job_points_addresses(live->points, process, id, addresses, max);
}

void tg_engine_adapter_place(struct tg_engine_adapter *live, int32_t pid, uint64_t pc, char *place)
{
    struct tg_modules *modules = tg_engine_adapter_modules_of(live, pid);
    struct tg_debug_row row;
    uint64_t offset;
    *place = '\0';
    if (modules == NULL)
        return;
    char *name = tg_modules_innermost_at(modules, pc, &offset);
    if (name == NULL) {
        const struct tg_module *module = tg_modules_find(modules, pc);
        const char *last = module == NULL ? NULL : strrchr(module->path, '/');
        if (module != NULL)
            snprintf(place, TG_PLACE_SIZE, "%s+0x%" PRIx64, last == NULL ? module->path : last + 1,
                     pc - module->start);
        return;
    }
    if (tg_modules_row_at(modules, pc, &row)) {
        const char *slash = strrchr(row.file, '/');
        snprintf(place, TG_PLACE_SIZE, "%s (%s#%d)", name, slash == NULL ? row.file : slash + 1, row.line);
    } else if (offset != 0) {
        snprintf(place, TG_PLACE_SIZE, "%s+%" PRIu64, name, offset);
    } else {
        snprintf(place, TG_PLACE_SIZE, "%s", name);
    }
    free(name);
}

struct tg_module_scene *tg_engine_adapter_scene(struct tg_engine_adapter *live,
                                                const struct tg_process *process)
{
    return tg_job_modules_scene(live->modules, process);
}

char *tg_engine_adapter_file_of(struct tg_engine_adapter *live, int32_t pid, const char *spec)
{
    const struct tg_process *process = pid != 0 ? tg_engine_find_process(live->parts.engine, pid)
                                                : tg_engine_first_process(live->parts.engine);
    if (pid != 0)
        return process == NULL ? NULL : tg_job_points_file_of(live->points, process, spec);
    char *file = NULL;
    for (; file == NULL && process != NULL; process = process->hh.next)
        file = tg_job_points_file_of(live->points, process, spec);
    return file;
}

char *tg_engine_adapter_main_file(struct tg_engine_adapter *live, int32_t pid)
{
    struct tg_process *process = tg_engine_find_process(live->parts.engine, pid);
    return process == NULL ? NULL : tg_job_points_file_of(live->points, process, "main");
}
