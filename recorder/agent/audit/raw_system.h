/* The system calls that the audit library needs, and nothing else of a C library: it must not bring a second
 * libc into the program. Results are the kernel's: negative ones are -errno. x86-64 alone. */
#ifndef TG_RECORDER_AGENT_AUDIT_RAW_SYSTEM_H
#define TG_RECORDER_AGENT_AUDIT_RAW_SYSTEM_H

#include "recorder/agent/raw_call.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

static inline int tg_raw_open_at(int directory, const char *path, int flags, unsigned mode)
{
    return (int)tg_raw_call(SYS_openat, directory, (long)path, flags, (long)mode, 0, 0);
}

static inline void tg_raw_close(int fd)
{
    (void)tg_raw_call(SYS_close, fd, 0, 0, 0, 0, 0);
}

static inline long tg_raw_read(int fd, void *buffer, size_t size)
{
    return tg_raw_call(SYS_read, fd, (long)buffer, (long)size, 0, 0, 0);
}

static inline int tg_raw_stat(int fd, struct stat *status)
{
    return (int)tg_raw_call(SYS_fstat, fd, (long)status, 0, 0, 0, 0);
}

static inline int tg_raw_change_mode(int fd, unsigned mode)
{
    return (int)tg_raw_call(SYS_fchmod, fd, (long)mode, 0, 0, 0, 0);
}

/* Memory behind the file's end stays there for when the file gets longer. */
static inline int tg_raw_allocate(int fd, uint64_t from, uint64_t size)
{
    const long keep_size = 1; /* FALLOC_FL_KEEP_SIZE */
    return (int)tg_raw_call(SYS_fallocate, fd, keep_size, (long)from, (long)size, 0, 0);
}

static inline int tg_raw_truncate(int fd, uint64_t size)
{
    return (int)tg_raw_call(SYS_ftruncate, fd, (long)size, 0, 0, 0, 0);
}

static inline int tg_raw_file_size_limit(struct rlimit *limit)
{
    return (int)tg_raw_call(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, (long)limit, 0, 0);
}

static inline void tg_raw_unlink_at(int directory, const char *path)
{
    (void)tg_raw_call(SYS_unlinkat, directory, (long)path, 0, 0, 0, 0);
}

static inline int tg_raw_lock(int fd, int operation)
{
    return (int)tg_raw_call(SYS_flock, fd, operation, 0, 0, 0, 0);
}

/* Maps FD to read and write, shared; NULL on failure. */
static inline void *tg_raw_map(int fd, size_t size)
{
    long result = tg_raw_call(SYS_mmap, 0, (long)size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return result < 0 && result > -4096 ? NULL : (void *)result;
}

/* SIZE bytes of 0; NULL on failure. */
static inline void *tg_raw_map_private(size_t size)
{
    long result =
        tg_raw_call(SYS_mmap, 0, (long)size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return result < 0 && result > -4096 ? NULL : (void *)result;
}

/* -ENOMEM: some of it is not mapped. */
static inline int tg_raw_is_resident(uintptr_t start, size_t size, unsigned char *pages)
{
    return (int)tg_raw_call(SYS_mincore, (long)start, (long)size, (long)pages, 0, 0, 0);
}

static inline int tg_raw_advise(void *address, size_t size, int advice)
{
    return (int)tg_raw_call(SYS_madvise, (long)address, (long)size, advice, 0, 0, 0);
}

static inline void tg_raw_unmap(void *address, size_t size)
{
    (void)tg_raw_call(SYS_munmap, (long)address, (long)size, 0, 0, 0, 0);
}

static inline int tg_raw_protect(uintptr_t address, size_t size, int protection)
{
    return (int)tg_raw_call(SYS_mprotect, (long)address, (long)size, protection, 0, 0, 0);
}

/* Whether the page ADDRESS can be read. The kernel reads the set of signals before it looks at what is to be done with it,
 * which is nothing that it knows; this takes a quarter of the time of mincore. */
static inline int tg_raw_is_readable(uintptr_t address)
{
    const long no_way = -1, set_bytes = 8;
    return tg_raw_call(SYS_rt_sigprocmask, no_way, (long)address, 0, set_bytes, 0, 0) != -EFAULT;
}

/* Sleeps while *WORD is VALUE, at most TIMEOUT (NULL: for ever); OPERATION says whether it is shared. */
static inline long tg_raw_futex_wait(const void *word, int operation, uint32_t value,
                                     const struct timespec *timeout)
{
    return tg_raw_call(SYS_futex, (long)word, operation, value, (long)timeout, 0, 0);
}

static inline void tg_raw_futex_wake(const void *word, int operation)
{
    (void)tg_raw_call(SYS_futex, (long)word, operation, 1, 0, 0, 0);
}

static inline int32_t tg_raw_process_id(void)
{
    return (int32_t)tg_raw_call(SYS_getpid, 0, 0, 0, 0, 0, 0);
}

static inline int32_t tg_raw_thread_id(void)
{
    return (int32_t)tg_raw_call(SYS_gettid, 0, 0, 0, 0, 0, 0);
}

static inline unsigned tg_raw_effective_user(void)
{
    return (unsigned)tg_raw_call(SYS_geteuid, 0, 0, 0, 0, 0, 0);
}

/* Whether the calling thread may read the time stamp counter: prctl(PR_SET_TSC) makes that fatal. */
static inline int tg_raw_may_read_tsc(void)
{
    int mode = PR_TSC_ENABLE;
    (void)tg_raw_call(SYS_prctl, PR_GET_TSC, (long)&mode, 0, 0, 0, 0);
    return mode != PR_TSC_SIGSEGV;
}

/* Whether a filter says which system calls the thread may make: its own, or one that it was started with. */
static inline int tg_raw_is_sealed(void)
{
    return tg_raw_call(SYS_prctl, PR_GET_SECCOMP, 0, 0, 0, 0, 0) != 0;
}

static inline uint64_t tg_raw_monotonic_ns(void)
{
    struct timespec now = {0};
    (void)tg_raw_call(SYS_clock_gettime, CLOCK_MONOTONIC, (long)&now, 0, 0, 0, 0);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

#endif
