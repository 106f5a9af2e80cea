/* The OMPT tool that the program brings along: an OpenMP runtime looks for one tool and finds the agent, so
 * the agent does the rest of the search in the order of the specification and of LLVM's runtime, and hands
 * every callback on to what it finds. That tool sees what it would see alone: its own data words, the
 * runtime's return values, the same callbacks in the same order. */
#ifndef TG_RECORDER_AGENT_OMPT_CHAIN_H
#define TG_RECORDER_AGENT_OMPT_CHAIN_H

#include "recorder/agent/ompt/words.h"

/* Looks for the tool that the runtime would have found, and starts it; sets tg_ompt_chained where there is
 * one. NEXT is what the runtime's own search in the address space comes to behind the agent, NULL for
 * none. */
void tg_ompt_chain_start(tg_ompt_start_tool next, unsigned omp_version, const char *runtime_version);

/* The runtime's initialize and finalize, handed on. */
void tg_ompt_chain_initialize(tg_ompt_lookup lookup, int initial_device_num);
void tg_ompt_chain_finalize(void);

/* The runtime's answer when CALLBACK was registered for the agent itself. */
void tg_ompt_chain_registered(enum tg_ompt_callback callback, int result);

/* The chained tool's functions, by enum tg_ompt_callback; NULL: it does not want it. */
extern tg_ompt_function tg_ompt_chain_callbacks[TG_OMPT_CALLBACK_COUNT];

/* The chained tool's words of a region and of a task; NULL for NULL. */
union tg_ompt_data *tg_ompt_their_region(union tg_ompt_data *parallel);
union tg_ompt_data *tg_ompt_their_task(union tg_ompt_data *task);

/* The type of each callback. */
#define X(symbol, number, parameters) typedef void(*tg_ompt_function_##symbol) parameters;
TG_OMPT_CALLBACKS(X)
#undef X

/* Calls the chained tool's SYMBOL, where it has one, with the parenthesised ARGUMENTS. */
#define TG_OMPT_HAND_ON(symbol, arguments)                                                                   \
    do {                                                                                                     \
        tg_ompt_function theirs_ =                                                                           \
            __atomic_load_n(&tg_ompt_chain_callbacks[TG_OMPT_##symbol], __ATOMIC_ACQUIRE);                   \
        if (theirs_ != NULL)                                                                                 \
            ((tg_ompt_function_##symbol)theirs_) arguments;                                                  \
    } while (0)

#endif
