#include "recorder/engine/address_space.h"
#include "format/base/hash.h"
#include "recorder/engine/process_table.h"
#include "recorder/engine/tracee.h"
#include "recorder/process/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    INT3 = 0xcc,
    RET = 0xc3,
    CODE_ALIGNMENT = 16,
    MAX_MEMORIES = 256, /* a process may often have 1,024 files open */
};

struct tg_address_space *tg_address_space_create(void)
{
    struct tg_address_space *space = calloc(1, sizeof *space);
    if (space == NULL)
        return NULL;
    space->references = 1;
    space->memory = -1;
    return space;
}

static void drop_memory(struct tg_address_space *space)
{
    if (space->memory < 0)
        return;
    close(space->memory);
    space->memory = -1;
    --*space->n_memories;
}

void tg_address_space_keep_memory(struct tg_address_space *space, pid_t tid, unsigned *count)
{
    drop_memory(space);
    if (*count >= MAX_MEMORIES)
        return;
    space->memory = tg_memory_open(tid);
    space->n_memories = count;
    *count += space->memory >= 0;
}

struct tg_address_space *tg_address_space_ref(struct tg_address_space *space)
{
    space->references++;
    return space;
}

static void free_breakpoints(struct tg_breakpoint *breakpoint)
{
    while (breakpoint != NULL) {
        struct tg_breakpoint *next = breakpoint->next;
        free(breakpoint);
        breakpoint = next;
    }
}

static void remove_site(struct tg_address_space *space, struct tg_site *site)
{
    HASH_DEL(space->sites, site);
    if (site->dispatching > 0) {
        site->forgotten = true;
        return;
    }
    free_breakpoints(site->breakpoints);
    free(site);
}

void tg_address_space_clear(struct tg_address_space *space)
{
    struct tg_site *site, *next;
    HASH_ITER (hh, space->sites, site, next)
        remove_site(space, site);
    drop_memory(space);
    space->has_doubled = false;
    space->scratch_searched = false;
    space->n_slots = 0;
    space->slots_used = 0;
    space->slots_dirty = 0;
    space->slots_filled = 0;
    memset(space->watches, 0, sizeof space->watches);
    space->watch_version = 0;
}

void tg_address_space_unref(struct tg_address_space *space)
{
    if (space == NULL || --space->references > 0)
        return;
    tg_address_space_clear(space);
    free(space);
}

static struct tg_site *add_site(struct tg_address_space *space, uint64_t address)
{
    struct tg_site *site;
    (void)TG_HASH_CREATE(hh, space->sites, address, &address, site);
    return site;
}

static struct tg_breakpoint *add_breakpoint(struct tg_site *site, enum tg_breakpoint_use use,
                                            tg_breakpoint_handler *handler, void *context)
{
    struct tg_breakpoint *breakpoint = malloc(sizeof *breakpoint);
    if (breakpoint == NULL)
        return NULL;
    *breakpoint = (struct tg_breakpoint){
        .site = site,
        .handler = handler,
        .context = context,
        .use = use,
        .fresh = site->dispatching > 0,
    };
    struct tg_breakpoint **end = &site->breakpoints;
    while (*end != NULL)
        end = &(*end)->next;
    *end = breakpoint;
    return breakpoint;
}

static bool copy_site(struct tg_address_space *copy, const struct tg_site *site)
{
    struct tg_site *twin = add_site(copy, site->address);
    if (twin == NULL)
        return false;
    twin->insn = site->insn;
    twin->planted = site->planted;
    twin->planting = site->planting;
    twin->lonely_ret = site->lonely_ret;
    twin->doubled = site->doubled;
    twin->under_double = site->under_double;
    for (const struct tg_breakpoint *b = site->breakpoints; b != NULL; b = b->next)
        if (!b->removed && add_breakpoint(twin, b->use, b->handler, b->context) == NULL)
            return false;
    return true;
}

struct tg_address_space *tg_address_space_copy(const struct tg_address_space *space)
{
    struct tg_address_space *copy = tg_address_space_create();
    if (copy == NULL)
        return NULL;
    copy->scratch = space->scratch;
    copy->n_slots = space->n_slots;
    copy->scratch_searched = space->scratch_searched;
    copy->has_doubled = space->has_doubled;
    copy->n_plantings = space->n_plantings;
    copy->slots_dirty = space->slots_dirty; /* not slots_used: threads that step are not copied by fork */
    memcpy(copy->slot_bytes, space->slot_bytes, sizeof copy->slot_bytes);
    memcpy(copy->watches, space->watches, sizeof copy->watches);
    copy->watch_version = space->watch_version;
    for (const struct tg_site *site = space->sites; site != NULL; site = site->hh.next)
        if (!copy_site(copy, site)) {
            tg_address_space_unref(copy);
            return NULL;
        }
    return copy;
}

struct tg_site *tg_address_space_site(struct tg_address_space *space, uint64_t address)
{
    struct tg_site *site;
    HASH_FIND(hh, space->sites, &address, sizeof address, site);
    return site;
}

/* Memory of SPACE, through TID where no file of it is kept. */
static size_t read_space(const struct tg_address_space *space, pid_t tid, uint64_t address, void *bytes,
                         size_t size)
{
    if (space->memory >= 0)
        return tg_memory_file_read(space->memory, address, bytes, size);
    return tid == 0 ? 0 : tg_memory_read_some(tid, address, bytes, size);
}

static bool write_space(const struct tg_address_space *space, pid_t tid, uint64_t address, const void *bytes,
                        size_t size)
{
    uint8_t byte;
    if (space->memory >= 0 && tg_memory_file_write(space->memory, address, bytes, size))
        return true;
    /* A kernel may refuse to write to code so, and permit it to the tracer. */
    if (space->memory >= 0 && tg_memory_file_read(space->memory, address, &byte, 1) != 1)
        return false;
    return tid != 0 && tg_memory_write(tid, address, bytes, size);
}

/* The program may have mapped something else there without our knowledge: only an int3 is replaced. */
static void restore_site(const struct tg_site *site, pid_t tid)
{
    uint8_t byte;
    if (site->planted && tid != 0 && tg_memory_read(tid, site->address, &byte, 1) && byte == INT3)
        tg_memory_write(tid, site->address, &site->insn.bytes[0], 1);
}

/* Only where no thread is on its way out of the site. */
static void restore_double(const struct tg_site *site, pid_t tid)
{
    uint8_t byte;
    if (site->doubled && tid != 0 && tg_memory_read(tid, site->address + 1, &byte, 1) && byte == RET)
        tg_memory_write(tid, site->address + 1, &site->under_double, 1);
}

/* A `ret` behind the int3 stays: threads may be about to run it, and nothing else ever does. */
static void lift_site(const struct tg_address_space *space, struct tg_site *site, pid_t tid)
{
    uint8_t byte;
    if (site->planted && read_space(space, tid, site->address, &byte, 1) == 1 && byte == INT3)
        write_space(space, tid, site->address, &site->insn.bytes[0], 1);
    site->planted = false;
}

void tg_address_space_restore(const struct tg_address_space *space, pid_t tid)
{
    for (const struct tg_site *site = space->sites; site != NULL; site = site->hh.next) {
        restore_site(site, tid);
        restore_double(site, tid);
    }
    for (unsigned slot = 0; slot < space->n_slots; slot++)
        if (space->slots_dirty & (UINT32_C(1) << slot))
            tg_memory_write(tid, space->scratch + (uint64_t)slot * TG_INSN_SCRATCH_BYTES,
                            space->slot_bytes[slot], TG_INSN_SCRATCH_BYTES);
}

/* A planted site whose memory was copied before it was planted, or the other way round. */
static void align_site(const struct tg_site *site, pid_t tid)
{
    uint8_t bytes[2];
    uint8_t original = site->insn.bytes[0];
    if (original == INT3 || tg_memory_read_some(tid, site->address, bytes, sizeof bytes) == 0)
        return;
    const uint8_t code[] = {INT3, RET};
    if (site->planted && bytes[0] == original)
        tg_memory_write(tid, site->address, code, site->doubled ? 2 : 1);
    else if (!site->planted && bytes[0] == INT3)
        tg_memory_write(tid, site->address, &original, 1);
}

void tg_address_space_align(const struct tg_address_space *space, pid_t tid)
{
    for (const struct tg_site *site = space->sites; site != NULL; site = site->hh.next)
        align_site(site, tid);
}

void tg_address_space_lift(struct tg_address_space *space, pid_t tid)
{
    tg_address_space_restore(space, tid);
    for (struct tg_site *site = space->sites; site != NULL; site = site->hh.next) {
        site->planted = false;
        site->doubled = false;
    }
    space->slots_dirty = 0;
    space->slots_filled = 0;
}

/* The byte that the program has at ADDRESS, where BYTE is. */
static uint8_t original_byte(struct tg_address_space *space, uint64_t address, uint8_t byte)
{
    const struct tg_site *site = tg_address_space_site(space, address);
    if (site != NULL && site->planted)
        return site->insn.bytes[0];
    site = tg_address_space_site(space, address - 1);
    return site != NULL && site->doubled && byte == RET ? site->under_double : byte;
}

static void put_originals(struct tg_address_space *space, uint64_t address, uint8_t *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        bytes[i] = original_byte(space, address + i, bytes[i]);
}

/* Memory at ADDRESS as it is without our int3s; returns how many bytes. */
static size_t read_original(struct tg_address_space *space, pid_t tid, uint64_t address, uint8_t *bytes,
                            size_t size)
{
    size_t n = tg_memory_read_some(tid, address, bytes, size);
    put_originals(space, address, bytes, n);
    return n;
}

/* A long range is asked for the few sites that there are, a short one byte by byte. */
bool tg_thread_read_memory(const struct tg_thread *thread, uint64_t address, void *buffer, size_t size)
{
    struct tg_address_space *space = thread->process->space;
    uint8_t *bytes = buffer;
    if (size <= HASH_COUNT(space->sites))
        return read_original(space, thread->tid, address, bytes, size) == size;
    if (!tg_memory_read(thread->tid, address, bytes, size))
        return false;
    for (const struct tg_site *site = space->sites; site != NULL; site = site->hh.next) {
        for (uint64_t at = site->address; at <= site->address + 1; at++)
            if (at - address < size)
                bytes[at - address] = original_byte(space, at, bytes[at - address]);
    }
    return true;
}

bool tg_thread_write_memory(const struct tg_thread *thread, uint64_t address, const void *buffer, size_t size)
{
    const struct tg_address_space *space = thread->process->space;
    for (const struct tg_site *site = space->sites; site != NULL; site = site->hh.next)
        if ((site->planted && site->address - address < size) ||
            (site->doubled && site->address + 1 - address < size))
            return false;
    return tg_memory_write(thread->tid, address, buffer, size);
}

/* Is INSN a one-byte `ret` with nothing behind it but what assemblers fill gaps with? BYTES: N from it on. */
static bool is_lonely_ret(const struct tg_insn *insn, const uint8_t *bytes, size_t n)
{
    if (insn->length != 1 || bytes[0] != 0xc3 || n < 3)
        return false;
    size_t at = 1;
    while (at < n && (bytes[at] == 0x66 || bytes[at] == 0x2e))
        at++;
    bool long_nop = n - at >= 2 && bytes[at] == 0x0f && bytes[at + 1] == 0x1f;
    return long_nop || (bytes[1] == bytes[2] && (bytes[1] == 0x90 || bytes[1] == INT3 || bytes[1] == 0));
}

/* Length of the instruction without effect at BYTES (N of them), by which assemblers fill gaps; 0 for any
 * other. */
static size_t fill_length(const uint8_t *bytes, size_t n)
{
    size_t at = 0;
    while (at < n && (bytes[at] == 0x66 || bytes[at] == 0x2e))
        at++;
    if (at < n && bytes[at] == 0x90)
        return at + 1;
    if (n - at < 3 || bytes[at] != 0x0f || bytes[at + 1] != 0x1f)
        return 0;
    unsigned mod = bytes[at + 2] >> 6, rm = bytes[at + 2] & 7;
    if (mod == 3 || (mod == 0 && rm == 5))
        return 0;
    size_t length = at + 3 + (rm == 4) + (mod == 1 ? 1 : mod == 2 ? 4 : 0);
    return length <= n ? length : 0;
}

/* Is the `ret` at ADDRESS a function of its own, with nothing but filling up to the next place where one
 * begins? Then nobody ever comes to what is behind it. BYTES: N of them, from it on. */
static bool is_whole_function(uint64_t address, const uint8_t *bytes, size_t n)
{
    if (address % CODE_ALIGNMENT != 0 || n < CODE_ALIGNMENT)
        return false;
    size_t at = 1, length;
    while (at < CODE_ALIGNMENT && (length = fill_length(bytes + at, CODE_ALIGNMENT - at)) > 0)
        at += length;
    return at == CODE_ALIGNMENT;
}

static bool has_internal_users(const struct tg_site *site)
{
    for (const struct tg_breakpoint *b = site->breakpoints; b != NULL; b = b->next)
        if (!b->removed && b->use == TG_BREAKPOINT_INTERNAL)
            return true;
    return false;
}

static struct tg_error *no_memory_there(const struct tg_process *process, uint64_t address)
{
    return tg_error_create(TG_ERROR_NOT_FOUND, "process %d has no memory at 0x%llx", (int)process->pid,
                           (unsigned long long)address);
}

static struct tg_error *plant_site(struct tg_process *process, struct tg_site *site)
{
    pid_t tid = tg_process_memory_tid(process);
    uint8_t bytes[CODE_ALIGNMENT];
    size_t n = read_space(process->space, tid, site->address, bytes, sizeof bytes);
    put_originals(process->space, site->address, bytes, n);
    if (n == 0)
        return no_memory_there(process, site->address);
    struct tg_insn insn;
    struct tg_error *error =
        tg_insn_decode(process->engine->decoder, process->bits == 32 ? 32 : 64, site->address, bytes,
                       n < TG_INSN_MAX_BYTES ? n : TG_INSN_MAX_BYTES, &insn);
    if (error != NULL)
        return tg_error_prefix(error, "cannot set a breakpoint at 0x%llx in process %d",
                               (unsigned long long)site->address, (int)process->pid);
    const struct tg_site *before = tg_address_space_site(process->space, site->address - 1);
    if (before != NULL && before->doubled)
        return tg_error_create(TG_ERROR_UNSUPPORTED,
                               "cannot set a breakpoint at 0x%llx in process %d: no code there",
                               (unsigned long long)site->address, (int)process->pid);
    bool lonely_ret = is_lonely_ret(&insn, bytes, n);
    bool doubled = lonely_ret && has_internal_users(site) && is_whole_function(site->address, bytes, n) &&
                   tg_address_space_site(process->space, site->address + 1) == NULL;
    const uint8_t code[] = {INT3, RET};
    if (!write_space(process->space, tid, site->address, code, doubled ? 2 : 1)) {
        if (read_space(process->space, tid, site->address, bytes, 1) == 0) /* the memory has gone since */
            return no_memory_there(process, site->address);
        return tg_error_create(TG_ERROR_TARGET, "cannot write a breakpoint at 0x%llx in process %d",
                               (unsigned long long)site->address, (int)process->pid);
    }
    site->insn = insn;
    site->lonely_ret = lonely_ret;
    site->doubled |= doubled;
    site->under_double = bytes[1];
    process->space->has_doubled |= doubled;
    site->planted = true;
    site->planting = ++process->space->n_plantings;
    return NULL;
}

struct tg_error *tg_breakpoint_plant(struct tg_process *process, uint64_t address, enum tg_breakpoint_use use,
                                     tg_breakpoint_handler *handler, void *context,
                                     struct tg_breakpoint **breakpoint)
{
    struct tg_site *site = tg_address_space_site(process->space, address);
    if (site == NULL)
        site = add_site(process->space, address);
    if (site == NULL)
        return tg_error_no_memory();
    struct tg_breakpoint *added = add_breakpoint(site, use, handler, context);
    struct tg_error *error = added == NULL ? tg_error_no_memory() : NULL;
    if (error == NULL && !site->planted)
        error = plant_site(process, site);
    if (error != NULL) {
        if (added != NULL)
            tg_breakpoint_remove(process, added);
        if (site->breakpoints == NULL && !site->planted && site->insn.length == 0)
            remove_site(process->space, site); /* never planted: no tombstone */
        return error;
    }
    if (breakpoint != NULL)
        *breakpoint = added;
    return NULL;
}

static bool has_users(const struct tg_site *site)
{
    for (const struct tg_breakpoint *b = site->breakpoints; b != NULL; b = b->next)
        if (!b->removed)
            return true;
    return false;
}

/* Unlinks and frees breakpoints that were marked as removed. */
static void sweep(struct tg_site *site)
{
    struct tg_breakpoint **link = &site->breakpoints;
    while (*link != NULL) {
        struct tg_breakpoint *breakpoint = *link;
        breakpoint->fresh = false;
        if (breakpoint->removed) {
            *link = breakpoint->next;
            free(breakpoint);
        } else {
            link = &breakpoint->next;
        }
    }
}

void tg_breakpoint_remove(struct tg_process *process, struct tg_breakpoint *breakpoint)
{
    struct tg_site *site = breakpoint->site;
    assert(!breakpoint->removed);
    breakpoint->removed = true;
    if (!has_users(site) && !site->forgotten)
        lift_site(process->space, site, tg_process_memory_tid(process));
    if (site->dispatching == 0)
        sweep(site);
}

struct tg_breakpoint *tg_breakpoint_find(struct tg_process *process, uint64_t address,
                                         tg_breakpoint_handler *handler, const void *context)
{
    struct tg_site *site = tg_address_space_site(process->space, address);
    for (struct tg_breakpoint *b = site == NULL ? NULL : site->breakpoints; b != NULL; b = b->next)
        if (!b->removed && b->handler == handler && b->context == context)
            return b;
    return NULL;
}

uint64_t tg_breakpoint_address(const struct tg_breakpoint *breakpoint)
{
    return breakpoint->site->address;
}

void tg_breakpoint_forget_range(struct tg_process *process, uint64_t start, uint64_t end)
{
    struct tg_site *site, *next;
    HASH_ITER (hh, process->space->sites, site, next)
        if (site->address >= start && site->address < end)
            remove_site(process->space, site);
}

bool tg_site_run_handlers(struct tg_tracee *tracee, struct tg_site *site)
{
    bool user = false;
    site->dispatching++;
    for (struct tg_breakpoint *b = site->breakpoints; b != NULL; b = b->next) {
        if (b->removed || b->fresh)
            continue;
        user |= b->use == TG_BREAKPOINT_USER;
        b->handler(b->context, &tracee->thread, b);
    }
    site->dispatching--;
    if (site->forgotten) {
        free_breakpoints(site->breakpoints);
        free(site);
    } else {
        sweep(site);
    }
    return user;
}
