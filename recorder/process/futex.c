#include "recorder/process/futex.h"

#include "recorder/process/current_call.h"
#include "recorder/process/memory.h"

#include <inttypes.h>
#include <linux/futex.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The beginning of glibc's pthread_mutex_t, which programs are compiled with: it does not change. */
struct mutex {
    uint32_t lock, count;
    int32_t owner;
    uint32_t n_users;
    int32_t kind;
};

enum {
    CONTENDED = 2, /* lock of a usual mutex that somebody waits for */
    KIND_MASK = 127,
    MAX_USUAL_KIND = 3,
    ROBUST = 16,
    PRIORITY_INHERITS = 32,
};

static bool is_thread_of(pid_t pid, int64_t tid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task/%" PRId64, (int)pid, tid);
    return tid > 0 && access(path, F_OK) == 0;
}

pid_t tg_futex_owner(const struct tg_elf_memory *memory, const struct tg_futex_call *call)
{
    struct mutex mutex;
    uint64_t what = call->operation & FUTEX_CMD_MASK, value = call->value & UINT32_MAX;
    if (memory->read(memory->context, call->address, &mutex, sizeof mutex) != sizeof mutex ||
        (mutex.lock & FUTEX_TID_MASK) == 0)
        return 0;
    int kind = mutex.kind & KIND_MASK;
    pid_t in_lock = (pid_t)(mutex.lock & FUTEX_TID_MASK);
    bool is_robust = (kind & ~MAX_USUAL_KIND & ~PRIORITY_INHERITS) == ROBUST;
    if (what == FUTEX_LOCK_PI || what == FUTEX_LOCK_PI2 || (is_robust && in_lock == mutex.owner))
        return in_lock;
    if ((what != FUTEX_WAIT && what != FUTEX_WAIT_BITSET) || value != CONTENDED || mutex.lock != CONTENDED ||
        kind > MAX_USUAL_KIND || mutex.n_users == 0)
        return 0;
    return mutex.owner > 0 ? mutex.owner : 0;
}

static size_t read_memory(void *context, uint64_t address, void *buffer, size_t size)
{
    return tg_memory_read_some(*(const pid_t *)context, address, buffer, size);
}

bool tg_futex_find_wait(pid_t pid, pid_t tid, struct tg_futex_wait *wait)
{
    struct tg_current_call call;
    if (!tg_current_call_read(tid, &call) || call.number != SYS_futex)
        return false;
    uint64_t address = call.arguments[0], operation = call.arguments[1], value = call.arguments[2],
             what = operation & FUTEX_CMD_MASK;
    if (what != FUTEX_WAIT && what != FUTEX_WAIT_BITSET && what != FUTEX_LOCK_PI && what != FUTEX_LOCK_PI2)
        return false;
    const struct tg_elf_memory memory = {read_memory, &pid};
    pid_t owner = tg_futex_owner(&memory, &(struct tg_futex_call){address, operation, value});
    *wait = (struct tg_futex_wait){address, is_thread_of(pid, owner) ? owner : 0};
    return true;
}
