#include "recorder/rings/gate_bell.h"

#include "format/base/short_turns.h"
#include "format/base/thread.h"

#include <pthread.h>
#include <stdlib.h>

struct tg_gate_bell {
    const struct tg_agent_directory *directory;
    void (*called)(void *context);
    void *context;
    pthread_t thread;
    bool over; /* __atomic */
};

static void *run(void *argument)
{
    const struct tg_gate_bell *bell = argument;
    uint32_t told = 0; /* as a new directory has it */
    tg_short_turns_begin();
    while (!__atomic_load_n(&bell->over, __ATOMIC_ACQUIRE)) {
        uint32_t calls = tg_agent_directory_gate_calls(bell->directory);
        if (calls != told)
            bell->called(bell->context);
        else
            tg_agent_directory_wait_gates(bell->directory, calls);
        told = calls;
    }
    return NULL;
}

struct tg_error *tg_gate_bell_create(const struct tg_agent_directory *directory,
                                     void (*called)(void *context), void *context, struct tg_gate_bell **bell)
{
    struct tg_gate_bell *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    *made = (struct tg_gate_bell){.directory = directory, .called = called, .context = context};
    struct tg_error *error =
        tg_thread_start(run, made, "the thread that tells of workers at gates", &made->thread);
    if (error != NULL) {
        free(made);
        return error;
    }
    *bell = made;
    return NULL;
}

void tg_gate_bell_destroy(struct tg_gate_bell *bell)
{
    if (bell == NULL)
        return;
    __atomic_store_n(&bell->over, true, __ATOMIC_RELEASE);
    tg_agent_directory_call_gates(bell->directory);
    pthread_join(bell->thread, NULL);
    free(bell);
}
