#include "live/inspect/step/stepper.h"

#include "live/inspect/step/jumps.h"
#include "live/inspect/step/place.h"

#include <stdlib.h>
#include <string.h>

enum {
    MAX_ADDRESSES = 8,
    MAX_TRAMPOLINE_STEPS = 5000, /* in procedure linkage and the dynamic linker, for one call */
};

struct tg_stepper {
    struct tg_modules *modules;
    struct tg_inspect_memory memory;
    enum tg_step_kind kind;
    uint64_t addresses[MAX_ADDRESSES];
    size_t n_addresses;
    /* the frame that steps */
    uint64_t cfa;
    uint64_t function;
    size_t n_calls;
    const void *calls[TG_CODE_PLACE_MAX_CALLS];
    /* the line that is left; 0: none is known */
    uint64_t start, end;
    uint64_t file; /* hash of its name, which may be unmapped meanwhile */
    int line;
    /* the step under way */
    uint64_t last_pc;
    uint64_t final;           /* of a run: being there is all, 0 none */
    uint64_t region;          /* of a run: the body of a parallel region, 0 none */
    struct tg_step_order run; /* the last run ordered */
    bool is_running;
    bool in_trampoline;
    uint64_t trampoline_cfa;
    unsigned n_trampoline_steps;
    struct tg_step_jumps jumps;
};

/* ---- looking around */

/* FNV-1a. */
static uint64_t hash_of(const char *text)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (; *text != '\0'; text++)
        hash = (hash ^ (uint8_t)*text) * UINT64_C(0x100000001b3);
    return hash;
}

static void take_line(struct tg_stepper *stepper, const struct tg_step_place *here)
{
    stepper->start = here->has_row ? here->row.start : 0;
    stepper->end = here->has_row ? here->row.end : 0;
    stepper->file = here->has_row ? hash_of(here->row.file) : 0;
    stepper->line = here->has_row ? here->row.line : 0;
    if (stepper->kind == TG_STEP_UNTIL && here->has_row && here->function != 0 &&
        here->function < stepper->start)
        stepper->start = here->function; /* lines further up are no new lines */
}

static void take_frame(struct tg_stepper *stepper, const struct tg_step_place *here)
{
    stepper->cfa = here->frame.cfa;
    stepper->function = here->function;
    stepper->n_calls = here->n_calls;
    memcpy(stepper->calls, here->calls, sizeof stepper->calls);
}

static bool is_other_line(const struct tg_stepper *stepper, const struct tg_step_place *here)
{
    return stepper->line == 0 || here->row.line != stepper->line || hash_of(here->row.file) != stepper->file;
}

/* The inlined copies that the pc is in: the same as those of the frame that steps, more, or others? */
enum nesting { NESTING_SAME, NESTING_DEEPER, NESTING_OTHER };

static enum nesting nesting_of(const struct tg_stepper *stepper, const struct tg_step_place *here)
{
    if (here->n_calls < stepper->n_calls)
        return NESTING_OTHER;
    size_t more = here->n_calls - stepper->n_calls;
    for (size_t i = 0; i < stepper->n_calls; i++)
        if (here->calls[more + i] != stepper->calls[i])
            return NESTING_OTHER;
    return more == 0 ? NESTING_SAME : NESTING_DEEPER;
}

/* ---- orders */

static struct tg_step_order one(void)
{
    return (struct tg_step_order){.kind = TG_STEP_ORDER_ONE};
}

static struct tg_step_order done(void)
{
    return (struct tg_step_order){.kind = TG_STEP_ORDER_DONE};
}

static struct tg_step_order impossible(const char *why)
{
    return (struct tg_step_order){.kind = TG_STEP_ORDER_IMPOSSIBLE, .why = why};
}

static void add_target(struct tg_step_order *order, uint64_t address, uint64_t rsp_at_least)
{
    if (order->n_targets < TG_STEP_MAX_TARGETS)
        order->targets[order->n_targets++] = (struct tg_step_target){address, rsp_at_least};
}

static struct tg_step_order run(struct tg_stepper *stepper, uint64_t address, uint64_t rsp_at_least)
{
    struct tg_step_order order = {.kind = TG_STEP_ORDER_RUN};
    add_target(&order, address, rsp_at_least);
    stepper->final = stepper->region = 0;
    stepper->is_running = true;
    stepper->run = order;
    return order;
}

/* Through a call to its return, unless it is left otherwise. */
static struct tg_step_order run_to_return(struct tg_stepper *stepper, uint64_t address, uint64_t rsp)
{
    (void)run(stepper, address, rsp);
    for (size_t i = 0; i < stepper->jumps.n_longjmps; i++)
        add_target(&stepper->run, stepper->jumps.longjmps[i], 0);
    for (size_t i = 0; i < stepper->jumps.n_catches; i++)
        add_target(&stepper->run, stepper->jumps.catches[i], 0);
    return stepper->run;
}

/* ---- left otherwise */

/* After longjmp the step ends if that is as far out as what was waited for; else the run goes
 * on. */
static struct tg_step_order pass_longjmp(struct tg_stepper *stepper, const struct tg_step_place *here)
{
    uint64_t rsp = here->frame.registers.value[TG_RSP];
    enum tg_step_jump jump = tg_step_jumps_follow(&stepper->jumps, here->pc, rsp);
    if (jump == TG_STEP_JUMP_ON)
        return one();
    return jump == TG_STEP_JUMP_LANDED && rsp >= stepper->run.targets[0].rsp_at_least ? done() : stepper->run;
}

/* An exception is caught: its handler is where the step ends, if that is as far out as what was waited
 * for. */
static struct tg_step_order pass_catch(struct tg_stepper *stepper, const struct tg_step_place *here)
{
    const struct tg_registers *handler = &here->caller.registers;
    if (!here->has_caller || !tg_registers_has(handler, TG_RSP) ||
        handler->value[TG_RSP] < stepper->run.targets[0].rsp_at_least)
        return stepper->run;
    (void)run(stepper, handler->value[TG_RIP], handler->value[TG_RSP]);
    stepper->final = handler->value[TG_RIP];
    return stepper->run;
}

/* ---- entering functions */

static struct tg_step_order enter(struct tg_stepper *stepper, const struct tg_step_place *here)
{
    uint64_t behind = tg_step_place_behind_prologue(stepper->modules, &stepper->memory, here);
    if (behind == here->pc)
        return done();
    struct tg_step_order order = run(stepper, behind, 0);
    stepper->final = behind;
    return order;
}

/* Out of code without lines, or of a call that is not to be entered. */
static struct tg_step_order leave(struct tg_stepper *stepper, const struct tg_step_place *here)
{
    uint64_t code;
    if (here->has_caller)
        return run_to_return(stepper, here->caller.registers.value[TG_RIP], here->frame.cfa);
    /* no unwind information: what a call has pushed just now */
    uint64_t rsp = here->frame.registers.value[TG_RSP];
    if (stepper->memory.read(stepper->memory.context, rsp, &code, sizeof code) && code > stepper->last_pc &&
        code - stepper->last_pc <= 15)
        return run_to_return(stepper, code, rsp + 8);
    return impossible("cannot find where this function returns: it has no unwind information");
}

/* In procedure linkage, or in the dynamic linker that it has called: true, with an ORDER. */
static bool pass_trampoline(struct tg_stepper *stepper, const struct tg_step_place *here,
                            struct tg_step_order *order)
{
    if (!stepper->in_trampoline) {
        if (!tg_step_place_is_plt(here))
            return false;
        stepper->in_trampoline = true;
        stepper->trampoline_cfa = here->frame.cfa;
        stepper->n_trampoline_steps = 0;
    }
    bool inside = tg_step_place_is_plt(here) || tg_step_place_is_linker(stepper->modules, here->pc);
    if (!inside || ++stepper->n_trampoline_steps > MAX_TRAMPOLINE_STEPS) {
        stepper->in_trampoline = false;
        return false;
    }
    /* calls of the linker are no part of the way; its own frame and that of the function meant are one */
    *order = here->frame.cfa < stepper->trampoline_cfa ? leave(stepper, here) : one();
    return true;
}

/* In a function that was called (or jumped to) by the frame that steps. */
static struct tg_step_order called(struct tg_stepper *stepper, const struct tg_step_place *here)
{
    struct tg_step_order order;
    if (stepper->kind != TG_STEP_LINE)
        return leave(stepper, here);
    if (pass_trampoline(stepper, here, &order))
        return order;
    if (here->has_row)
        return enter(stepper, here);
    uint64_t body = tg_step_place_region(stepper->modules, here);
    order = leave(stepper, here);
    if (body != 0 && order.kind == TG_STEP_ORDER_RUN) {
        add_target(&order, body, 0);
        stepper->region = body;
        stepper->run = order;
    }
    return order;
}

/* ---- lines */

/* In the middle of a repeated instruction: run behind it instead. */
static bool skip_repetition(struct tg_stepper *stepper, const struct tg_step_place *here,
                            struct tg_step_order *order)
{
    uint64_t behind =
        here->pc == stepper->last_pc ? tg_step_place_behind_repetition(&stepper->memory, here->pc) : 0;
    if (behind != 0)
        *order = run(stepper, behind, here->frame.registers.value[TG_RSP]);
    return behind != 0;
}

/* In a handler that a signal has just started: through it, back to what it interrupted. */
static bool pass_handler(struct tg_stepper *stepper, struct tg_step_place *here, struct tg_step_order *order)
{
    struct tg_frame interrupted;
    struct tg_unwind_note note;
    if (!here->has_caller || here->frame.cfa == stepper->cfa ||
        tg_unwind_caller(stepper->modules, &stepper->memory, &here->caller, &interrupted, &note) !=
            TG_UNWIND_CALLER ||
        !note.is_signal)
        return false;
    /* the handler of a frame further out is where a return has led */
    uint64_t pc = interrupted.registers.value[TG_RIP];
    if (pc < stepper->last_pc || pc - stepper->last_pc > 15)
        return false;
    *order = run_to_return(stepper, pc, interrupted.registers.value[TG_RSP]);
    return true;
}

/* In the frame that steps, or, after a return, in one that does so from now on. */
static struct tg_step_order at_line(struct tg_stepper *stepper, const struct tg_step_place *here)
{
    if (!here->has_row)
        return done(); /* a thread that steps there is out of lines */
    enum nesting nesting = nesting_of(stepper, here);
    bool begins = here->pc == here->row.start && here->row.is_stmt;
    if (nesting == NESTING_DEEPER && stepper->kind == TG_STEP_LINE && begins)
        return done();
    if (nesting == NESTING_DEEPER)
        return one();
    if (nesting == NESTING_OTHER)
        take_frame(stepper, here);
    if (here->pc == here->row.start && is_other_line(stepper, here)) {
        if (begins && (stepper->kind != TG_STEP_UNTIL || here->pc >= stepper->end ||
                       here->pc < stepper->start || here->function == 0))
            return done();
        if (!begins && nesting == NESTING_SAME)
            return one(); /* no place to stop at; the line that is left stays the same */
    }
    if (stepper->kind == TG_STEP_UNTIL && here->pc >= stepper->start && here->pc < stepper->end)
        return one();
    take_line(stepper, here);
    return one();
}

static struct tg_step_order step_line(struct tg_stepper *stepper, struct tg_step_place *here)
{
    struct tg_step_order order;
    if (here->note.is_signal)
        return one(); /* on its way out of a handler */
    if (skip_repetition(stepper, here, &order) || pass_handler(stepper, here, &order))
        return order;
    if (stepper->in_trampoline)
        return called(stepper, here);
    if (here->frame.cfa == 0)
        return leave(stepper, here);
    if (here->frame.cfa < stepper->cfa)
        return called(stepper, here);
    if (here->frame.cfa == stepper->cfa) {
        if (here->pc >= stepper->start && here->pc < stepper->end &&
            nesting_of(stepper, here) == NESTING_SAME)
            return one();
        bool is_jump = here->function != 0 && stepper->function != 0 && here->function != stepper->function;
        if (tg_step_place_is_plt(here) ||
            (is_jump && here->pc == here->function)) /* a call at the function's end */
            return called(stepper, here);
        return at_line(stepper, here);
    }
    take_frame(stepper, here); /* returned */
    stepper->line = 0;
    stepper->start = stepper->end = 0;
    return at_line(stepper, here);
}

/* ---- the other kinds */

static struct tg_step_order step_over_instruction(struct tg_stepper *stepper, struct tg_step_place *here)
{
    struct tg_step_order order;
    uint64_t rsp = here->frame.registers.value[TG_RSP], code;
    if (pass_handler(stepper, here, &order))
        return order;
    bool is_call = stepper->memory.read(stepper->memory.context, rsp, &code, sizeof code) &&
                   code - stepper->last_pc >= 2 && code - stepper->last_pc <= 15 && code != here->pc &&
                   (here->pc < stepper->last_pc || here->pc - stepper->last_pc > 15) &&
                   rsp + 8 == stepper->cfa;
    return is_call ? run_to_return(stepper, code, rsp + 8) : done();
}

/* Levels are those that people see: without those of the agent. */
static bool is_hidden(const struct tg_stepper *stepper, const struct tg_frame *frame)
{
    return tg_module_is_agent(tg_modules_find(stepper->modules, tg_frame_place(frame)));
}

static struct tg_step_order step_out(struct tg_stepper *stepper, const struct tg_step_place *here,
                                     unsigned level)
{
    struct tg_frame frame = here->frame, caller;
    struct tg_unwind_note note;
    for (unsigned i = 0;; i++) {
        enum tg_unwind_result result =
            tg_unwind_caller(stepper->modules, &stepper->memory, &frame, &caller, &note);
        if (result == TG_UNWIND_END)
            return impossible("no caller: this is the outermost frame");
        if (result != TG_UNWIND_CALLER)
            return impossible("cannot find the caller of this function");
        if (is_hidden(stepper, &frame) || (note.is_signal && i == level)) /* meant for its handler */
            level++;
        else if (i == level)
            break;
        frame = caller;
    }
    struct tg_unwind_note beyond;
    struct tg_frame trampoline = caller, interrupted;
    if (tg_unwind_caller(stepper->modules, &stepper->memory, &trampoline, &interrupted, &beyond) ==
            TG_UNWIND_CALLER &&
        beyond.is_signal) /* a handler: to what it interrupted */
        (void)run_to_return(stepper, interrupted.registers.value[TG_RIP],
                            interrupted.registers.value[TG_RSP]);
    else
        (void)run_to_return(stepper, caller.registers.value[TG_RIP], frame.cfa);
    stepper->final = stepper->run.targets[0].address;
    return stepper->run;
}

/* Out of an inlined copy: there is no return to wait for. */
static struct tg_step_order step_out_of_copy(struct tg_stepper *stepper, struct tg_step_place *here)
{
    struct tg_step_order order;
    if (skip_repetition(stepper, here, &order) || pass_handler(stepper, here, &order))
        return order;
    if (here->frame.cfa != 0 && here->frame.cfa < stepper->cfa)
        return leave(stepper, here);
    return here->frame.cfa == stepper->cfa && nesting_of(stepper, here) != NESTING_OTHER ? one() : done();
}

static bool is_wanted(const struct tg_stepper *stepper, uint64_t pc)
{
    for (size_t i = 0; i < stepper->n_addresses; i++)
        if (stepper->addresses[i] == pc)
            return true;
    return false;
}

/* To one of the addresses; who is at one goes on first. */
static struct tg_step_order step_to(struct tg_stepper *stepper, const struct tg_step_place *here)
{
    if (stepper->is_running && is_wanted(stepper, here->pc))
        return done();
    stepper->run = (struct tg_step_order){.kind = TG_STEP_ORDER_RUN};
    for (size_t i = 0; i < stepper->n_addresses; i++)
        add_target(&stepper->run, stepper->addresses[i], 0);
    return stepper->run;
}

/* To one of the addresses, in this frame or one further out, or in any other function; or out of this one. */
static struct tg_step_order step_until(struct tg_stepper *stepper, const struct tg_step_place *here)
{
    struct tg_step_order order;
    bool is_start = here->pc == stepper->last_pc && !stepper->is_running;
    bool is_inner_copy = here->function == stepper->function && here->frame.cfa < stepper->cfa;
    if (!is_start && is_wanted(stepper, here->pc) && !is_inner_copy)
        return done();
    if (!is_start && !is_wanted(stepper, here->pc))
        return done(); /* the return */
    order = stepper->run;
    if (is_start) {
        order = (struct tg_step_order){.kind = TG_STEP_ORDER_RUN};
        if (here->has_caller)
            order = run_to_return(stepper, here->caller.registers.value[TG_RIP], here->frame.cfa);
        for (size_t i = 0; i < stepper->n_addresses; i++)
            add_target(&order, stepper->addresses[i], 0);
        stepper->run = order;
        stepper->is_running = true;
    }
    return order;
}

/* ---- orders, one after the other */

static struct tg_step_order go_on(struct tg_stepper *stepper, struct tg_step_place *here)
{
    switch (stepper->kind) {
    case TG_STEP_OVER_INSTRUCTION:
        return step_over_instruction(stepper, here);
    case TG_STEP_LINE:
    case TG_STEP_OVER_LINE:
        return step_line(stepper, here);
    case TG_STEP_OUT:
        return step_out_of_copy(stepper, here);
    case TG_STEP_UNTIL:
        return stepper->n_addresses > 0 ? step_until(stepper, here) : step_line(stepper, here);
    case TG_STEP_TO:
        return step_to(stepper, here);
    case TG_STEP_INSTRUCTION:
        break;
    }
    return done();
}

/* At a target of the run that was ordered: true, with an ORDER, where that decides. */
static bool arrive(struct tg_stepper *stepper, struct tg_step_place *here, struct tg_step_order *order)
{
    if (tg_step_jumps_is_longjmp(&stepper->jumps, here->pc)) {
        tg_step_jumps_begin(&stepper->jumps);
        *order = pass_longjmp(stepper, here);
        return true;
    }
    if (tg_step_jumps_is_catch(&stepper->jumps, here->pc)) {
        *order = pass_catch(stepper, here);
        return true;
    }
    if (here->pc == stepper->final) {
        *order = done();
        return true;
    }
    if (here->pc == stepper->region && stepper->region != 0) {
        *order = enter(stepper, here);
        return true;
    }
    if (stepper->kind == TG_STEP_OVER_INSTRUCTION) {
        *order = done();
        return true;
    }
    return false;
}

void tg_stepper_advance(struct tg_stepper *stepper, const struct tg_registers *registers,
                        struct tg_step_order *order)
{
    struct tg_step_place here;
    tg_step_place_look(stepper->modules, &stepper->memory, registers, &here);
    if (stepper->jumps.is_jumping) {
        *order = pass_longjmp(stepper, &here);
    } else if (!stepper->is_running || !arrive(stepper, &here, order)) {
        bool until = stepper->n_addresses > 0; /* of TG_STEP_UNTIL and TG_STEP_TO */
        stepper->is_running = stepper->is_running && until;
        *order = go_on(stepper, &here);
    }
    stepper->last_pc = here.pc;
    stepper->is_running = order->kind == TG_STEP_ORDER_RUN;
}

static struct tg_step_order first_order(struct tg_stepper *stepper, const struct tg_step_request *request,
                                        struct tg_step_place *here)
{
    switch (stepper->kind) {
    case TG_STEP_INSTRUCTION:
        return one();
    case TG_STEP_OVER_INSTRUCTION:
        stepper->cfa = here->frame.registers.value[TG_RSP]; /* a call pushes onto that */
        return one();
    case TG_STEP_OUT:
        return request->level == 0 && here->n_calls > 1 && !is_hidden(stepper, &here->frame)
                   ? one()
                   : step_out(stepper, here, request->level);
    case TG_STEP_UNTIL:
        if (stepper->n_addresses > 0)
            return step_until(stepper, here);
        break;
    case TG_STEP_TO:
        return step_to(stepper, here);
    case TG_STEP_LINE:
    case TG_STEP_OVER_LINE:
        break;
    }
    if (here->frame.cfa == 0)
        return impossible("cannot find the frame here: the code has no unwind information; resume it "
                          "and halt it elsewhere (dgo, dhalt), run to a breakpoint, or use dstepi");
    return here->has_row ? one() : leave(stepper, here);
}

struct tg_error *tg_stepper_begin(struct tg_modules *modules, const struct tg_inspect_memory *memory,
                                  const struct tg_step_request *request, const struct tg_registers *registers,
                                  struct tg_stepper **result, struct tg_step_order *order)
{
    struct tg_stepper *stepper = calloc(1, sizeof *stepper);
    if (stepper == NULL)
        return tg_error_no_memory();
    stepper->modules = modules;
    stepper->memory = *memory;
    stepper->kind = request->kind;
    while (stepper->n_addresses < request->n_addresses && stepper->n_addresses < MAX_ADDRESSES) {
        stepper->addresses[stepper->n_addresses] = request->addresses[stepper->n_addresses];
        stepper->n_addresses++;
    }
    tg_step_jumps_find(&stepper->jumps, modules);
    struct tg_step_place here;
    tg_step_place_look(stepper->modules, &stepper->memory, registers, &here);
    take_frame(stepper, &here);
    take_line(stepper, &here);
    stepper->last_pc = here.pc;
    *order = first_order(stepper, request, &here);
    stepper->is_running = order->kind == TG_STEP_ORDER_RUN;
    *result = stepper;
    return NULL;
}

void tg_stepper_destroy(struct tg_stepper *stepper)
{
    free(stepper);
}
