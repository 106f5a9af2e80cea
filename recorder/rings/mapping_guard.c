#include "recorder/rings/mapping_guard.h"

#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>

enum { PAGE_BYTES = 4096 };

/* State of a thread for the handler that interrupts it. */
static _Thread_local struct {
    uintptr_t start, end;
    volatile sig_atomic_t hit;
} guarded;

static void on_bus_error(int number, siginfo_t *info, void *context)
{
    (void)context;
    uintptr_t address = (uintptr_t)info->si_addr;
    if (info->si_code > 0 && address >= guarded.start && address < guarded.end) {
        uintptr_t page = address & ~(uintptr_t)(PAGE_BYTES - 1);
        void *zeroes =
            mmap((void *)page, guarded.end - page, PROT_READ | PROT_WRITE, // NOLINT: a place to map
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        guarded.hit = 1;
        if (zeroes != MAP_FAILED)
            return;
    }
    signal(number, SIG_DFL); /* the fault happens again, and ends the process */
    if (info->si_code <= 0)
        raise(number);
}

void tg_mapping_guard_install(void)
{
    struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO};
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, NULL);
}

void tg_mapping_guard_begin(void *start, size_t size)
{
    guarded.hit = 0;
    guarded.start = (uintptr_t)start;
    guarded.end = guarded.start + size;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

bool tg_mapping_guard_end(void)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    guarded.start = guarded.end = 0;
    return guarded.hit == 0;
}
