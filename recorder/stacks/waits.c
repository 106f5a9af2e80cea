#include "recorder/stacks/waits.h"

#include "format/base/search.h"
#include "recorder/process/futex.h"
#include "recorder/process/mappings.h"
#include "recorder/process/proc_status.h"
#include "recorder/process/socket_peer.h"
#include "recorder/stacks/streams.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { RESTART_SYS = 512, RESTART_NO_INTERRUPT, RESTART_NO_HANDLER, RESTART_BLOCK = 516 };

/* What rax holds where a system call was interrupted that will be made anew: the kernel's own numbers, which programs never
 * see. */
static bool is_interrupted(uint64_t rax)
{
    int64_t result = -(int64_t)rax;
    return result == RESTART_SYS || result == RESTART_NO_INTERRUPT || result == RESTART_NO_HANDLER ||
           result == RESTART_BLOCK;
}

/* ---- threads that were stopped together */

static int by_key(const void *a, const void *b)
{
    const struct tg_halted_key *first = a, *second = b;
    return (first->key > second->key) - (first->key < second->key);
}

struct tg_error *tg_halted_threads_init(const struct tg_halted_thread *items, size_t count,
                                        struct tg_halted_threads *threads)
{
    struct tg_halted_key *by_tid = calloc(count + 1, sizeof *by_tid);
    struct tg_halted_key *by_control_block = calloc(count + 1, sizeof *by_control_block);
    *threads = (struct tg_halted_threads){0};
    if (by_tid == NULL || by_control_block == NULL) {
        free(by_tid);
        free(by_control_block);
        return tg_error_no_memory();
    }
    *threads = (struct tg_halted_threads){
        .items = items, .count = count, .by_tid = by_tid, .by_control_block = by_control_block};
    for (size_t i = 0; i < count; i++) {
        by_tid[i] = (struct tg_halted_key){(uint64_t)items[i].tid, i};
        if (items[i].is_stopped)
            by_control_block[threads->n_stopped++] = (struct tg_halted_key){items[i].registers.fs_base, i};
    }
    qsort(by_tid, count, sizeof *by_tid, by_key);
    qsort(by_control_block, threads->n_stopped, sizeof *by_control_block, by_key);
    return NULL;
}

void tg_halted_threads_deinit(struct tg_halted_threads *threads)
{
    free(threads->by_tid);
    free(threads->by_control_block);
    free(threads->by_settings);
    free(threads->by_number);
    *threads = (struct tg_halted_threads){0};
}

static bool read_memory(const struct tg_elf_memory *memory, uint64_t address, void *buffer, size_t size)
{
    return memory->read(memory->context, address, buffer, size) == size;
}

/* The key of the stopped thread whose control block is at FS_BASE, as a runtime has it; false: none. */
typedef bool key_reader(const void *runtime, const struct tg_elf_memory *memory, uint64_t fs_base,
                        uint64_t *key);

static bool read_settings(const void *runtime, const struct tg_elf_memory *memory, uint64_t fs_base,
                          uint64_t *key)
{
    const struct tg_nest_locks *locks = runtime;
    uint64_t task;
    if (!read_memory(memory, fs_base + locks->task_offset, &task, sizeof task) || task == 0)
        return false;
    *key = task + locks->settings_offset;
    return true;
}

static bool read_number(const void *runtime, const struct tg_elf_memory *memory, uint64_t fs_base,
                        uint64_t *key)
{
    int32_t number;
    if (!tg_kmp_number_of(runtime, memory, fs_base, &number))
        return false;
    *key = (uint64_t)number;
    return true;
}

/* Keys of stopped threads in order; none without memory. Returns their number. */
static size_t find_keys(const struct tg_halted_threads *threads, key_reader *read, const void *runtime,
                        const struct tg_elf_memory *memory, struct tg_halted_key **keys)
{
    size_t count = 0;
    *keys = calloc(threads->count + 1, sizeof **keys);
    for (size_t i = 0; i < threads->count && *keys != NULL; i++) {
        const struct tg_halted_thread *thread = &threads->items[i];
        uint64_t key;
        if (thread->is_stopped && read(runtime, memory, thread->registers.fs_base, &key))
            (*keys)[count++] = (struct tg_halted_key){key, i};
    }
    if (count > 0)
        qsort(*keys, count, sizeof **keys, by_key);
    return count;
}

void tg_halted_threads_find_settings(struct tg_halted_threads *threads, const struct tg_nest_locks *locks,
                                     const struct tg_elf_memory *memory)
{
    if (locks->is_known)
        threads->n_settings = find_keys(threads, read_settings, locks, memory, &threads->by_settings);
}

void tg_halted_threads_find_numbers(struct tg_halted_threads *threads, const struct tg_kmp_numbers *numbers,
                                    const struct tg_elf_memory *memory)
{
    if (numbers->is_known)
        threads->n_numbers = find_keys(threads, read_number, numbers, memory, &threads->by_number);
}

/* The one thread that has KEY among COUNT KEYS, SIZE_MAX none or several. */
static size_t find_only(const struct tg_halted_key *keys, size_t count, uint64_t key)
{
    size_t at = count > 0 ? TG_LOWER_BOUND(keys, count, key, key) : 0;
    bool is_one = at < count && keys[at].key == key && (at + 1 == count || keys[at + 1].key != key);
    return is_one ? keys[at].index : SIZE_MAX;
}

/* ---- futexes */

static const struct tg_halted_thread *find_thread(const struct tg_halted_threads *threads, pid_t tid)
{
    uint64_t key = (uint64_t)tid;
    size_t at = TG_LOWER_BOUND(threads->by_tid, threads->count, key, key);
    return at < threads->count && threads->by_tid[at].key == key ? &threads->items[threads->by_tid[at].index]
                                                                 : NULL;
}

/* Whether TID is a thread of THREADS. */
static bool has_thread(const struct tg_halted_threads *threads, pid_t tid)
{
    const struct tg_halted_thread *thread = find_thread(threads, tid);
    return thread != NULL && !thread->is_gone;
}

/* The thread of THREADS whose thread control block is at POINTER, 0 none. */
static pid_t thread_at(const struct tg_halted_threads *threads, uint64_t pointer)
{
    const struct tg_halted_key *keys = threads->by_control_block;
    size_t at = TG_LOWER_BOUND(keys, threads->n_stopped, key, pointer);
    return at < threads->n_stopped && keys[at].key == pointer ? threads->items[keys[at].index].tid : 0;
}

/* pthread_join waits at the id that the kernel clears in the control block of the thread. */
static pid_t find_joined(const struct tg_halted_threads *threads, const struct tg_elf_memory *memory,
                         uint64_t address)
{
    enum { MAX_CONTROL_BLOCK = 0x1000 };
    int32_t tid;
    if (!read_memory(memory, address, &tid, sizeof tid))
        return 0;
    const struct tg_halted_thread *thread = find_thread(threads, tid);
    uint64_t start = thread != NULL ? thread->registers.fs_base : 0;
    return thread != NULL && thread->is_stopped && address > start && address - start < MAX_CONTROL_BLOCK
               ? tid
               : 0;
}

/* The lock of a FILE (glibc's _IO_lock_t) has its owner's control block. How often the owner has it is counted from 1, in newer
 * releases (2.41) from 0: such a lock is told from other words alone by its stream. */
static pid_t find_stream_owner(const struct tg_halted_threads *threads, const struct tg_elf_memory *memory,
                               uint64_t address)
{
    struct {
        uint32_t lock, count;
        uint64_t owner;
    } stream;
    enum { CONTENDED = 2 };
    if (!read_memory(memory, address, &stream, sizeof stream) || stream.lock != CONTENDED ||
        stream.owner == 0)
        return 0;
    pid_t owner = thread_at(threads, stream.owner);
    bool is_one =
        owner != 0 && (stream.count != 0 || tg_streams_have_lock(threads->streams, memory, address));
    return is_one ? owner : 0;
}

/* The thread that has libgomp's nest lock at whose word ADDRESS a thread waits; 0: it is none, or its owner runs another
 * task now. */
static pid_t find_nest_owner(const struct tg_halted_threads *threads, const struct tg_elf_memory *memory,
                             uint64_t address)
{
    struct {
        int32_t lock, count;
        uint64_t owner;
    } nest;
    if (threads->n_settings == 0 || !read_memory(memory, address, &nest, sizeof nest) || nest.lock == 0 ||
        nest.count <= 0 || nest.owner == 0)
        return 0;
    size_t at = find_only(threads->by_settings, threads->n_settings, nest.owner);
    return at != SIZE_MAX ? threads->items[at].tid : 0;
}

/* Whether process OTHER has mapped the shared memory that process PID has at ADDRESS. */
static bool shares_memory(pid_t pid, uint64_t address, pid_t other)
{
    struct tg_mapping own, mapping;
    struct tg_mappings mappings;
    bool found = false;
    if (!tg_mapping_find(pid, address, &own) || !own.shared || own.inode == 0)
        return false;
    uint64_t offset = own.offset + (address - own.start);
    tg_mappings_open(&mappings, other);
    while (!found && tg_mappings_next(&mappings, &mapping))
        found = mapping.shared && mapping.inode == own.inode && mapping.major == own.major &&
                mapping.minor == own.minor && offset >= mapping.offset &&
                offset - mapping.offset < mapping.end - mapping.start;
    tg_mappings_close(&mappings);
    return found;
}

/* Whether TID, which the mutex names, can have it: a thread of THREADS, or of another process where IS_SHARED. */
static bool can_own(const struct tg_wait *wait, const struct tg_halted_threads *threads, bool is_shared,
                    pid_t tid)
{
    struct tg_proc_status status;
    if (has_thread(threads, tid))
        return true;
    return tid > 0 && is_shared && tg_proc_status_read(tid, &status) && !tg_proc_status_is_dead(&status) &&
           shares_memory(wait->pid, wait->is.address, status.tgid);
}

/* Whether TID, which the private mutex names that WAIT is for, was a thread that has ended with it: nobody has that id now. Of
 * what only looks like a mutex, the rest does not fit; in a pid namespace of its own, a process has other ids; in memory that a
 * fork has copied, the one that has it lives under another id. */
static bool has_left(const struct tg_wait *wait, const struct tg_halted_threads *threads,
                     const struct tg_elf_memory *memory, pid_t tid)
{
    struct {
        uint32_t lock, count;
        int32_t owner;
        uint32_t n_users;
        int32_t kind;
        uint32_t spins;
        uint64_t list[2]; /* of robust ones */
    } mutex;
    enum { MAX_TID = 1 << 22, CONTENDED = 2, RECURSIVE = 1, MAX_KIND = 3 };
    char path[40];
    if (tid <= 0 || tid > MAX_TID || find_thread(threads, tid) != NULL ||
        !read_memory(memory, wait->is.address, &mutex, sizeof mutex) || mutex.lock != CONTENDED ||
        mutex.owner != tid || mutex.n_users == 0 || mutex.n_users > threads->count + 1 || mutex.kind < 0 ||
        mutex.kind > MAX_KIND || (mutex.count != 0) != (mutex.kind == RECURSIVE) || mutex.list[0] != 0 ||
        mutex.list[1] != 0 || tg_proc_status_own_pid(wait->pid) != wait->pid ||
        tg_proc_status_is_copy(wait->pid))
        return false;
    snprintf(path, sizeof path, "/proc/%d", (int)tid); /* also of a thread: this one is no other process's */
    return access(path, F_OK) != 0 && errno == ENOENT;
}

/* The thread that has glibc's read-write lock for writing, of which a thread waits at one of its two futexes; 0: it is none, or
 * readers have it. Programs are compiled with its form: it does not change. */
static pid_t find_writer(const struct tg_halted_threads *threads, const struct tg_elf_memory *memory,
                         uint64_t address)
{
    struct {
        uint32_t readers, writers, phase_futex, writers_futex, zero[2];
        int32_t writer, shared;
    } lock;
    enum { WRITE_PHASE = 1, WRITE_LOCKED = 2, USED = 2, PHASE_OFFSET = 8, WRITERS_OFFSET = 12 };
    for (unsigned offset = PHASE_OFFSET; offset <= WRITERS_OFFSET; offset += 4) {
        uint64_t start = address - offset;
        if (start % 8 != 0 || !read_memory(memory, start, &lock, sizeof lock))
            continue;
        uint32_t futex = offset == PHASE_OFFSET ? lock.phase_futex : lock.writers_futex;
        if ((lock.readers & (WRITE_PHASE | WRITE_LOCKED)) == (WRITE_PHASE | WRITE_LOCKED) &&
            (futex & USED) != 0 && lock.phase_futex <= 3 && lock.writers_futex <= 3 && lock.zero[0] == 0 &&
            lock.zero[1] == 0 && (lock.shared == 0 || lock.shared == 1) && has_thread(threads, lock.writer))
            return lock.writer;
    }
    return 0;
}

/* A wait with a time limit is none for ever: it stays a futex. */
static void judge_futex(const struct tg_elf_memory *memory, bool is_there,
                        const struct tg_halted_threads *threads, const struct user_regs_struct *registers,
                        struct tg_wait *wait)
{
    bool is_shared = is_there && (registers->rsi & FUTEX_PRIVATE_FLAG) == 0;
    const struct tg_futex_call call = {
        .address = registers->rdi, .operation = registers->rsi, .value = registers->rdx};
    bool is_timed = registers->r10 != 0;
    wait->is.what = TG_WAIT_FUTEX;
    wait->is.address = registers->rdi;
    pid_t owner = find_stream_owner(threads, memory, registers->rdi), named = 0;
    enum tg_wait_what what = TG_WAIT_STREAM;
    if (owner == 0) {
        named = tg_futex_owner(memory, &call);
        owner = can_own(wait, threads, is_shared, named) ? named : 0;
        what = TG_WAIT_MUTEX;
    }
    if (owner == 0)
        owner = find_writer(threads, memory, registers->rdi);
    if (owner == 0)
        owner = find_nest_owner(threads, memory, registers->rdi);
    if (owner == 0) {
        owner = find_joined(threads, memory, registers->rdi);
        what = TG_WAIT_THREAD;
    }
    if (owner == 0 && is_there && !is_shared && !is_timed && has_left(wait, threads, memory, named)) {
        owner = named;
        what = TG_WAIT_LEFT_MUTEX;
    }
    wait->is.owner = owner;
    if (owner != 0 && !is_timed)
        wait->is.what = what;
}

/* ---- files */

static bool is_reading(uint64_t call)
{
    return call == SYS_read || call == SYS_readv || call == SYS_recvfrom || call == SYS_recvmsg ||
           call == SYS_accept || call == SYS_accept4;
}

static bool is_writing(uint64_t call)
{
    return call == SYS_write || call == SYS_writev || call == SYS_sendto || call == SYS_sendmsg ||
           call == SYS_connect;
}

/* "pipe:[123]", "socket:[123]". */
static bool read_file(pid_t pid, const char *fd, uint64_t *inode, enum tg_wait_what *what)
{
    char path[64], target[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%.16s", (int)pid, fd);
    ssize_t size = readlink(path, target, sizeof target - 1);
    if (size <= 0)
        return false;
    target[size] = '\0';
    *what = strncmp(target, "pipe:", 5) == 0 ? TG_WAIT_PIPE : TG_WAIT_SOCKET;
    return sscanf(target, "pipe:[%" SCNu64 "]", inode) == 1 ||
           sscanf(target, "socket:[%" SCNu64 "]", inode) == 1;
}

/* The one file that is waited for, in poll without a time limit; false: several, or for something else. */
static bool find_polled(const struct tg_elf_memory *memory, const struct user_regs_struct *registers,
                        struct pollfd *polled)
{
    bool is_poll = registers->orig_rax == SYS_poll && (int)registers->rdx < 0;
    bool is_ppoll = registers->orig_rax == SYS_ppoll && registers->rdx == 0;
    return (is_poll || is_ppoll) && registers->rsi == 1 &&
           read_memory(memory, registers->rdi, polled, sizeof *polled) &&
           (polled->events & (POLLIN | POLLOUT)) != (POLLIN | POLLOUT);
}

static bool judge_file(pid_t pid, const struct tg_elf_memory *memory,
                       const struct user_regs_struct *registers, struct tg_wait *wait)
{
    char fd[24];
    enum tg_wait_what what;
    struct pollfd polled = {.fd = (int)registers->rdi};
    bool is_polled = find_polled(memory, registers, &polled);
    wait->is.writes = is_polled ? (polled.events & POLLOUT) != 0 : is_writing(registers->orig_rax);
    if (!is_polled && !wait->is.writes && !is_reading(registers->orig_rax))
        return false;
    snprintf(fd, sizeof fd, "%d", polled.fd);
    if (!read_file(pid, fd, &wait->inode, &what))
        return false;
    wait->is.what = what;
    return true;
}

bool tg_wait_is_asleep(const struct tg_halted_thread *thread)
{
    const struct user_regs_struct *registers = &thread->registers;
    return thread->is_stopped && (int64_t)registers->orig_rax >= 0 &&
           (is_interrupted(registers->rax) || registers->rax == (uint64_t)-EINTR);
}

bool tg_wait_restarts(const struct tg_halted_thread *thread)
{
    return tg_wait_is_asleep(thread) && (int64_t)thread->registers.rax == -RESTART_BLOCK;
}

bool tg_wait_is_restart(const struct tg_halted_thread *thread)
{
    return tg_wait_is_asleep(thread) && thread->registers.orig_rax == SYS_restart_syscall;
}

bool tg_wait_is_copying(const struct tg_halted_thread *thread)
{
    enum { MANY_BYTES = 1024 }; /* more than what wakes a thread */
    static const uint64_t calls[] = {SYS_read,  SYS_readv,  SYS_recvfrom, SYS_recvmsg, SYS_preadv,
                                     SYS_write, SYS_writev, SYS_sendto,   SYS_sendmsg, SYS_pwritev};
    uint64_t call = thread->registers.orig_rax;
    int64_t result = (int64_t)thread->registers.rax;
    bool moves = call == SYS_process_vm_readv || call == SYS_process_vm_writev;
    for (size_t i = 0; !moves && i < sizeof calls / sizeof *calls; i++)
        moves = call == calls[i] && result >= MANY_BYTES;
    return thread->is_stopped && moves;
}

bool tg_wait_find(pid_t pid, const struct tg_elf_memory *memory, bool is_there,
                  const struct tg_halted_threads *threads, size_t index, struct tg_wait *wait)
{
    const struct tg_halted_thread *thread = &threads->items[index];
    const struct user_regs_struct *registers = &thread->registers;
    *wait = (struct tg_wait){.pid = pid, .tid = thread->tid};
    if (!thread->is_stopped || !is_interrupted(registers->rax))
        return false;
    if (registers->orig_rax == SYS_futex) {
        judge_futex(memory, is_there, threads, registers, wait);
        return true;
    }
    if (registers->orig_rax == SYS_wait4 && (pid_t)registers->rdi > 0) {
        wait->is.what = TG_WAIT_PROCESS;
        wait->child = (pid_t)registers->rdi;
        return true;
    }
    if (registers->orig_rax == SYS_flock || registers->orig_rax == SYS_fcntl) {
        wait->is.what = TG_WAIT_FILE_LOCK;
        return true;
    }
    return is_there && judge_file(pid, memory, registers, wait);
}

/* The number of the thread itself is asked for twice, by its stack and by its storage: where they differ, one of them was
 * misread. */
bool tg_wait_find_kmp(pid_t pid, const struct tg_halted_threads *threads, size_t index,
                      const struct tg_kmp_wait *lock, struct tg_wait *wait)
{
    size_t owner = find_only(threads->by_number, threads->n_numbers, (uint64_t)lock->owner);
    bool is_own = lock->waiter < 0 ||
                  find_only(threads->by_number, threads->n_numbers, (uint64_t)lock->waiter) == index;
    if (owner == SIZE_MAX || !is_own)
        return false;
    *wait = (struct tg_wait){.pid = pid, .tid = threads->items[index].tid};
    wait->is.what = TG_WAIT_MUTEX;
    wait->is.address = lock->address;
    wait->is.owner = threads->items[owner].tid;
    return true;
}

/* ---- the other end */

/* Whether process PID has the socket INODE. */
static bool has_socket(pid_t pid, uint64_t inode)
{
    char path[40];
    uint64_t found;
    enum tg_wait_what what;
    bool has = false;
    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    DIR *directory = opendir(path);
    for (struct dirent *entry; directory != NULL && !has && (entry = readdir(directory)) != NULL;)
        has = *entry->d_name != '.' && read_file(pid, entry->d_name, &found, &what) &&
              what == TG_WAIT_SOCKET && found == inode;
    if (directory != NULL)
        closedir(directory);
    return has;
}

/* Whether file FD of process PID is open for what WAIT waits for somebody to do. */
static bool is_other_end(pid_t pid, const char *fd, const struct tg_wait *wait)
{
    char path[64], line[64];
    unsigned flags = 0;
    bool found = false;
    snprintf(path, sizeof path, "/proc/%d/fdinfo/%.16s", (int)pid, fd);
    FILE *file = fopen(path, "re");
    while (file != NULL && !found && fgets(line, sizeof line, file) != NULL)
        found = sscanf(line, "flags: %o", &flags) == 1;
    if (file != NULL)
        fclose(file);
    unsigned access = flags & O_ACCMODE;
    return found && (access == O_RDWR || access == (wait->is.writes ? O_RDONLY : O_WRONLY));
}

static bool has_other_end(pid_t pid, const struct tg_wait *wait)
{
    char path[40];
    uint64_t inode;
    enum tg_wait_what what;
    bool found = false;
    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    DIR *directory = opendir(path);
    for (struct dirent *entry; directory != NULL && !found && (entry = readdir(directory)) != NULL;)
        found = *entry->d_name != '.' && read_file(pid, entry->d_name, &inode, &what) &&
                what == wait->is.what && inode == wait->inode && is_other_end(pid, entry->d_name, wait);
    if (directory != NULL)
        closedir(directory);
    return found;
}

/* Processes of COUNT that have the other end of what WAIT is for, at most MAX; returns how many. */
static size_t find_partners(const struct tg_wait *wait, const pid_t *pids, size_t count,
                            struct tg_wait_partner *partners, size_t max)
{
    size_t n = 0;
    uint64_t peer = wait->is.what == TG_WAIT_SOCKET ? tg_socket_peer(wait->pid, wait->inode) : 0;
    for (size_t i = 0; i < count && n < max; i++) {
        bool is_one = wait->is.what == TG_WAIT_PIPE     ? has_other_end(pids[i], wait)
                      : wait->is.what == TG_WAIT_SOCKET ? peer != 0 && has_socket(pids[i], peer)
                                                        : wait->child != 0 && wait->child == pids[i];
        if (is_one)
            partners[n++] = (struct tg_wait_partner){.pid = pids[i]};
    }
    return n;
}

void tg_wait_tell(const struct tg_wait *wait, const pid_t *pids, size_t count,
                  void (*emit)(void *context, pid_t pid, pid_t tid, const struct tg_event *event),
                  void *context)
{
    enum { MAX_PARTNERS = 16 };
    struct tg_wait_partner partners[MAX_PARTNERS];
    struct tg_event event = {.kind = TG_EVENT_THREAD_WAIT, .thread_wait = wait->is};
    event.thread_wait.partners.count = find_partners(wait, pids, count, partners, MAX_PARTNERS);
    event.thread_wait.partners.items = partners;
    emit(context, wait->pid, wait->tid, &event);
}
