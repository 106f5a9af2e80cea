#include "live/inspect/step/jumps.h"

#include <string.h>

enum {
    MAX_STEPS = 20000, /* from the call of longjmp to where it lands */
    MAX_BYTES = 64,    /* from setting the stack pointer to the jump */
};

/* Of the program itself (it may be static), and of the libraries whose file names begin so. */
static bool may_have(const struct tg_module *module, bool is_first, const char *const *libraries)
{
    const char *slash = strrchr(module->path, '/'), *name = slash != NULL ? slash + 1 : module->path;
    for (; !is_first && *libraries != NULL; libraries++)
        if (strncmp(name, *libraries, strlen(*libraries)) == 0)
            return true;
    return is_first;
}

static size_t find(struct tg_modules *modules, const char *const *libraries,
                   size_t (*find_in)(struct tg_debug_info *info, uint64_t *addresses, size_t max),
                   uint64_t *addresses, size_t max)
{
    size_t count = 0;
    for (size_t i = 0; i < tg_modules_count(modules); i++) {
        const struct tg_module *module = tg_modules_at(modules, i);
        uint64_t bias;
        struct tg_debug_info *info =
            may_have(module, i == 0, libraries) ? tg_modules_debug_info(modules, module, &bias) : NULL;
        if (info == NULL)
            continue;
        size_t found = find_in(info, addresses + count, max - count);
        for (size_t k = 0; k < found; k++)
            addresses[count++] += bias;
    }
    return count;
}

void tg_step_jumps_find(struct tg_step_jumps *jumps, struct tg_modules *modules)
{
    static const char *const of_c[] = {"libc.so", "libc-", NULL}, *const of_cxx[] = {"libstdc++.so",
                                                                                     "libc++abi.so", NULL};
    jumps->n_longjmps = find(modules, of_c, tg_debug_info_longjmps, jumps->longjmps, TG_STEP_MAX_LONGJMPS);
    jumps->n_catches = find(modules, of_cxx, tg_debug_info_catches, jumps->catches, TG_STEP_MAX_CATCHES);
}

static bool is_among(const uint64_t *addresses, size_t count, uint64_t pc)
{
    for (size_t i = 0; i < count; i++)
        if (addresses[i] == pc)
            return true;
    return false;
}

bool tg_step_jumps_is_longjmp(const struct tg_step_jumps *jumps, uint64_t pc)
{
    return is_among(jumps->longjmps, jumps->n_longjmps, pc);
}

bool tg_step_jumps_is_catch(const struct tg_step_jumps *jumps, uint64_t pc)
{
    return is_among(jumps->catches, jumps->n_catches, pc);
}

void tg_step_jumps_begin(struct tg_step_jumps *jumps)
{
    jumps->is_jumping = true;
    jumps->n_steps = 0;
    jumps->set_at = 0;
}

enum tg_step_jump tg_step_jumps_follow(struct tg_step_jumps *jumps, uint64_t pc, uint64_t rsp)
{
    if (jumps->n_steps++ == 0)
        jumps->rsp = rsp;
    if (jumps->set_at == 0 && rsp > jumps->rsp)
        jumps->set_at = pc;
    bool has_landed = jumps->set_at != 0 && pc - jumps->set_at + MAX_BYTES > 2 * MAX_BYTES;
    if (!has_landed && jumps->n_steps < MAX_STEPS)
        return TG_STEP_JUMP_ON;
    jumps->is_jumping = false;
    return has_landed ? TG_STEP_JUMP_LANDED : TG_STEP_JUMP_LOST;
}
