#include "recorder/agent/process.h"

#include "recorder/agent/directory.h"
#include "recorder/agent/environment.h"

#include <errno.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <sys/mman.h>

enum setup_state {
    SETUP_NOT_YET,
    SETUP_RUNNING,
    SETUP_DONE,
};

static uint64_t no_generation; /* of a thread that never recorded, in a process that never will */

static const uint32_t no_gates;

struct tg_agent tg_agent = {.generation = &no_generation, .n_gates = &no_gates};
TG_AGENT_SHARE(tg_agent);

static struct {
    int state;        /* enum setup_state, __atomic */
    uint64_t unloads; /* __atomic */
} setup;

static void forked(void)
{
    *tg_agent.generation = 0;
}

/* A count that every kind of fork turns to zero in the child, also those that run no handlers. */
static bool watch_forks(void)
{
    enum { BYTES = 4096 };
    void *page = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return false;
    if (madvise(page, BYTES, MADV_WIPEONFORK) != 0 && pthread_atfork(NULL, NULL, forked) != 0) {
        munmap(page, BYTES);
        return false;
    }
    tg_agent.generation = page;
    *tg_agent.generation = 1;
    return true;
}

/* Without a recorder's variable nobody asked for anything, and there is nobody to tell. */
static void set_up(void)
{
    const char *path = tg_agent_environment_get(TG_AGENT_VARIABLE);
    if (path == NULL || getauxval(AT_SECURE) != 0)
        return;
    struct tg_agent_control *control = tg_agent_directory_open(path);
    if (control == NULL || !watch_forks())
        return;
    tg_agent.clock = control->clock;
    tg_agent.flags = control->flags;
    tg_agent.next_team = 1;
    tg_agent.next_task = 1;
    tg_agent.n_gates = &control->n_gates;
    __atomic_store_n(&tg_agent.control, control, __ATOMIC_RELEASE);
}

bool tg_agent_is_set_up(void)
{
    if (TG_AGENT_LIKELY(__atomic_load_n(&setup.state, __ATOMIC_ACQUIRE) == SETUP_DONE))
        return tg_agent.control != NULL;
    int expected = SETUP_NOT_YET;
    if (!tg_agent_environment_is_there() ||
        !__atomic_compare_exchange_n(&setup.state, &expected, SETUP_RUNNING, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE))
        return false; /* too early, or in the middle of it (another thread, a handler) */
    int saved = errno;
    set_up();
    errno = saved;
    __atomic_store_n(&setup.state, SETUP_DONE, __ATOMIC_RELEASE);
    return tg_agent.control != NULL;
}

bool tg_agent_observes(uint32_t flags)
{
    return tg_agent_is_set_up() && (tg_agent.flags & flags) == flags;
}

uint64_t tg_agent_unloads(void)
{
    return __atomic_load_n(&setup.unloads, __ATOMIC_ACQUIRE);
}

void tg_agent_count_unload(void)
{
    __atomic_fetch_add(&setup.unloads, 1, __ATOMIC_RELEASE);
}

TG_AGENT_SHARE(tg_agent_is_set_up);
TG_AGENT_SHARE(tg_agent_unloads);
