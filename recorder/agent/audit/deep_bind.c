#include "recorder/agent/audit/deep_bind.h"

#include "recorder/agent/audit/object.h"
#include "recorder/agent/audit/raw_system.h"
#include "recorder/agent/audit/ring.h"
#include "recorder/agent/deep_bind.h"
#include "recorder/agent/scope.h"
#include "recorder/agent/symbols.h"

#include <elf.h>

enum {
    PAGE_BYTES = 4096,
    MAX_NEEDED = 512, /* DT_NEEDED of one object */
    MAX_CHANGES = 4096,
    MAX_FRAMES_BYTES = 1 << 16, /* of dlopen, from its return address to the auditor */
};

/* The libraries that are brought in; each in front of others. */
enum which {
    AGENT, /* of the runtimes that it wraps, and of libc */
    HEAP,  /* of libc */
    N_LIBRARIES,
};

/* Beginnings of the names of libraries that have none of the heap's functions but by way of libc, or are libc. */
static const char system_names[][20] = {
    "libm.so.",      "libgcc_s.so.",  "libstdc++.so.",   "libpthread.so.",  "libdl.so.",     "librt.so.",
    "libutil.so.",   "libresolv.so.", "libmvec.so.",     "ld-linux",        "libatomic.so.", "libc++.so.",
    "libc++abi.so.", "libgomp",       "libgfortran.so.", "libquadmath.so.",
};
static const char libc_name[] = "libc.so.6";

/* Libraries of the runtimes whose calls the agent wraps. */
static const char mpi_names[][16] = {"libmpi", "libfmpi", "libpmpi", "libompi", "libmpich"};
static const char openmp_names[][16] = {"libgomp", "libomp", "libiomp"};

static struct {
    const bool *heap_is_libcs;                   /* NULL: it does not say */
    struct tg_deep_bind_link *link;              /* NULL: no agent */
    const struct link_map *library[N_LIBRARIES]; /* NULL: not there */
    const struct link_map *last_at_start;        /* NULL: the program has not started */
    struct tg_deep_bind_request *request;        /* NULL: no such library is being opened */
    const struct link_map *root;                 /* library being opened */
    bool is_missing[N_LIBRARIES];                /* still to come in front of libc, somewhere */
    const char *problem;
    size_t n_changes;
    struct change {
        ElfW(Dyn) * place;
        ElfW(Dyn) was;
        uintptr_t base; /* of its object */
    } changes[MAX_CHANGES];
    struct tg_agent_scope scope;
} bind;

/* ---- names */

static bool begins_with(const char *text, const char *beginning)
{
    while (*beginning != '\0' && *text == *beginning)
        text++, beginning++;
    return *beginning == '\0';
}

static bool is_same(const char *one, const char *other)
{
    return begins_with(one, other) && begins_with(other, one);
}

static const char *last_component(const char *path)
{
    const char *last = path;
    for (; *path != '\0'; path++)
        if (*path == '/')
            last = path + 1;
    return last;
}

#define IS_ONE_OF(names, name)                                                                               \
    is_one_of(&(names)[0][0], sizeof(names) / sizeof(names)[0], sizeof(names)[0], name)

static bool is_one_of(const char *names, size_t count, size_t size, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (begins_with(name, names + i * size))
            return true;
    return false;
}

/* ---- writing to a dynamic section */

/* The segment of the object at BASE that PLACE is in; NULL: not known. */
static const Elf64_Phdr *segment_of(uintptr_t base, uintptr_t place)
{
    size_t count;
    const Elf64_Phdr *segments = tg_audit_object_segments(base, &count);
    for (size_t i = 0; i < count; i++)
        if (segments[i].p_type == PT_LOAD && place - (base + segments[i].p_vaddr) < segments[i].p_memsz)
            return &segments[i];
    return NULL;
}

/* The kernel writes to it, or refuses; what is there is overwritten. */
static bool is_writable(ElfW(Dyn) * place)
{
    return tg_raw_call(SYS_rt_sigprocmask, 0, 0, (long)place, 8, 0, 0) == 0;
}

static bool write_entry(uintptr_t base, ElfW(Dyn) * place, ElfW(Dyn) value)
{
    bool was_writable = is_writable(place);
    uintptr_t start = (uintptr_t)place & ~(uintptr_t)(PAGE_BYTES - 1);
    size_t size = (((uintptr_t)(place + 1) + PAGE_BYTES - 1) & ~(uintptr_t)(PAGE_BYTES - 1)) - start;
    if (!was_writable && tg_raw_protect(start, size, PROT_READ | PROT_WRITE) != 0)
        return false;
    *place = value;
    if (!was_writable) {
        const Elf64_Phdr *segment = segment_of(base, (uintptr_t)place);
        bool runs = segment != NULL && (segment->p_flags & PF_X) != 0;
        (void)tg_raw_protect(start, size, PROT_READ | (runs ? PROT_EXEC : 0));
    }
    return true;
}

static bool change(uintptr_t base, ElfW(Dyn) * place, ElfW(Dyn) value)
{
    if (bind.n_changes == MAX_CHANGES)
        return false;
    struct change made = {.place = place, .was = *place, .base = base};
    if (!write_entry(base, place, value))
        return false;
    bind.changes[bind.n_changes++] = made;
    return true;
}

static void restore(void)
{
    while (bind.n_changes > 0) {
        const struct change *made = &bind.changes[--bind.n_changes];
        (void)write_entry(made->base, made->place, made->was);
    }
}

/* ---- places in a dynamic section */

/* Entries of an object that say, or can be made say, what it needs: in their order. */
struct entries {
    uintptr_t base;
    const char *names;
    size_t n_needed;
    uint64_t needed[MAX_NEEDED]; /* values of DT_NEEDED */
    size_t n_places;
    ElfW(Dyn) * places[MAX_NEEDED + N_LIBRARIES];
};

/* How many entries the dynamic section has room for, 0 unknown. */
static size_t room_of(const struct link_map *map)
{
    size_t count;
    const Elf64_Phdr *segments = tg_audit_object_segments(map->l_addr, &count);
    for (size_t i = 0; i < count; i++)
        if (segments[i].p_type == PT_DYNAMIC && map->l_addr + segments[i].p_vaddr == (uintptr_t)map->l_ld)
            return segments[i].p_memsz / sizeof(ElfW(Dyn));
    return 0;
}

static void add_place(struct entries *entries, ElfW(Dyn) * place)
{
    size_t at = entries->n_places++;
    for (; at > 0 && entries->places[at - 1] > place; at--)
        entries->places[at] = entries->places[at - 1];
    entries->places[at] = place;
}

/* What the loader has no more use for, once it has read the section. */
static bool is_spent(int64_t tag)
{
    return tag == DT_SYMENT || tag == DT_STRSZ || tag == DT_RELAENT;
}

/* Finds EXTRA more entries: unused ones at the end, in front of the last one; else spent ones. */
static bool add_extra(const struct link_map *map, size_t extra, struct entries *entries)
{
    size_t end = 0, room = room_of(map);
    while (map->l_ld[end].d_tag != DT_NULL)
        end++;
    for (; extra > 0 && end + 1 < room && map->l_ld[end + 1].d_tag == DT_NULL; extra--)
        add_place(entries, &map->l_ld[end++]);
    for (size_t i = 0; extra > 0 && map->l_ld[i].d_tag != DT_NULL; i++)
        if (is_spent(map->l_ld[i].d_tag)) {
            add_place(entries, &map->l_ld[i]);
            extra--;
        }
    return extra == 0;
}

static bool read_entries(const struct link_map *map, struct entries *entries)
{
    struct tg_agent_symbols symbols;
    (void)tg_agent_symbols_read(map->l_addr, map->l_ld, &symbols);
    entries->base = map->l_addr;
    entries->names = symbols.names;
    entries->n_needed = entries->n_places = 0;
    if (symbols.names == NULL)
        return false;
    for (ElfW(Dyn) *entry = map->l_ld; entry->d_tag != DT_NULL; entry++) {
        if (entry->d_tag != DT_NEEDED)
            continue;
        if (entries->n_needed == MAX_NEEDED)
            return false;
        entries->needed[entries->n_needed++] = entry->d_un.d_val;
        add_place(entries, entry);
    }
    return entries->n_needed > 0;
}

/* ---- in front of what */

static const char *needed_name(const struct entries *entries, size_t i)
{
    return last_component(entries->names + entries->needed[i]);
}

/* The number of the first of libc and what of the system comes right in front of it; the count where there is no
 * libc. */
static size_t heap_position(const struct entries *entries)
{
    size_t position = 0;
    while (position < entries->n_needed && !is_same(needed_name(entries, position), libc_name))
        position++;
    if (position == entries->n_needed)
        return position;
    while (position > 0 && IS_ONE_OF(system_names, needed_name(entries, position - 1)))
        position--;
    return position;
}

static size_t agent_position(const struct entries *entries)
{
    size_t heap = heap_position(entries);
    for (size_t i = 0; i < heap; i++)
        if (IS_ONE_OF(mpi_names, needed_name(entries, i)) || IS_ONE_OF(openmp_names, needed_name(entries, i)))
            return i;
    return heap;
}

static bool insert(const struct link_map *map, const struct entries *entries,
                   const size_t position[N_LIBRARIES])
{
    size_t to = 0;
    for (size_t i = 0; i <= entries->n_needed; i++) {
        for (size_t k = 0; k < N_LIBRARIES; k++) {
            const ElfW(Dyn) entry = {
                .d_tag = DT_NEEDED,
                .d_un.d_val =
                    position[k] == i ? (uintptr_t)bind.library[k]->l_name - (uintptr_t)entries->names : 0,
            };
            if (position[k] == i && !change(map->l_addr, entries->places[to++], entry))
                return false;
        }
        const ElfW(Dyn)
            entry = {.d_tag = DT_NEEDED, .d_un.d_val = i < entries->n_needed ? entries->needed[i] : 0};
        if (i < entries->n_needed && !change(map->l_addr, entries->places[to++], entry))
            return false;
    }
    return true;
}

/* Brings what is missing into what MAP needs, where that is the place for it. */
static void bring_into(const struct link_map *map)
{
    static struct entries entries;
    if (!read_entries(map, &entries))
        return;
    size_t position[N_LIBRARIES], extra = 0;
    for (size_t k = 0; k < N_LIBRARIES; k++) {
        position[k] = SIZE_MAX;
        if (!bind.is_missing[k])
            continue;
        size_t at = k == AGENT ? agent_position(&entries) : heap_position(&entries);
        if (at < entries.n_needed) {
            position[k] = at;
            extra++;
        }
    }
    if (extra == 0)
        return;
    size_t before = bind.n_changes;
    if (!add_extra(map, extra, &entries) || !insert(map, &entries, position)) {
        bind.problem = "its dynamic section cannot be changed";
        while (bind.n_changes > before) {
            const struct change *made = &bind.changes[--bind.n_changes];
            (void)write_entry(made->base, made->place, made->was);
        }
        return;
    }
    for (size_t k = 0; k < N_LIBRARIES && map == bind.root; k++)
        bind.is_missing[k] = bind.is_missing[k] && position[k] == SIZE_MAX;
}

/* ---- runtimes of which there is one already */

/* Whether the library, MAP, needs another runtime of those called NAMES than the one whose functions the agent
 * calls: the first one that has SIGN, of those up to LAST. */
static bool needs_other(const struct link_map *map, bool (*is_runtime)(const char *name), const char *sign,
                        const struct link_map *last)
{
    static struct entries entries;
    const struct link_map *first = map, *used = NULL;
    while (first->l_prev != NULL)
        first = first->l_prev;
    for (const struct link_map *at = first; at != NULL && used == NULL; at = at == last ? NULL : at->l_next) {
        struct tg_agent_symbols symbols;
        if (at != map && at != bind.library[AGENT] && tg_agent_symbols_read(at->l_addr, at->l_ld, &symbols) &&
            tg_agent_symbols_index(&symbols, sign, tg_agent_symbols_hash(sign)) != 0)
            used = at;
    }
    if (used == NULL || !read_entries(map, &entries))
        return false;
    for (size_t i = 0; i < entries.n_needed; i++)
        if (is_runtime(needed_name(&entries, i)) &&
            tg_agent_scope_named(map, entries.names + entries.needed[i]) == NULL)
            return true;
    return false;
}

static bool is_mpi(const char *name)
{
    return IS_ONE_OF(mpi_names, name);
}

static bool is_openmp(const char *name)
{
    return IS_ONE_OF(openmp_names, name);
}

/* ---- loads */

static struct tg_deep_bind_request *current_request(void)
{
    if (bind.link == NULL || bind.link->request_offset == 0)
        return NULL;
    return (struct tg_deep_bind_request *)(void *)((char *)__builtin_thread_pointer() +
                                                   bind.link->request_offset);
}

unsigned tg_audit_deep_bind_forbidden(void)
{
    return bind.link == NULL ? 0 : (unsigned)__atomic_load_n(&bind.link->forbidden, __ATOMIC_ACQUIRE);
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = 0, end_length = 0;
    while (text[length] != '\0')
        length++;
    while (end[end_length] != '\0')
        end_length++;
    return length >= end_length && is_same(text + length - end_length, end);
}

/* The kernel reads a set of signals from it, or refuses; there is nothing that could be done with one. By a call that is there
 * for whoever may load libraries, where a filter of calls would kill for process_vm_readv. */
static bool is_readable(const uint64_t *place)
{
    return tg_raw_call(SYS_rt_sigprocmask, -1, (long)place, 0, sizeof *place, 0, 0) != -EFAULT;
}

/* Whether the dlopen of REQUEST is what the calling thread is in. If it is not seen to return, whatever of another load's objects
 * comes next would else be taken for its library. Its stack may be unmapped then: a coroutine's. */
static bool is_in_call(const struct tg_deep_bind_request *request)
{
    uintptr_t here = (uintptr_t)__builtin_frame_address(0), frame = (uintptr_t)request->frame;
    return (tg_audit_deep_bind_forbidden() & TG_DEEP_BIND_NO_CALLS) == 0 && here < frame &&
           frame - here < MAX_FRAMES_BYTES && is_readable(request->frame) &&
           *request->frame == request->caller;
}

/* Address of what MAP defines as NAME; NULL: nothing. */
static void *find_symbol(const struct link_map *map, const char *name)
{
    struct tg_agent_symbols symbols;
    if (!tg_agent_symbols_read(map->l_addr, map->l_ld, &symbols))
        return NULL;
    uint32_t index = tg_agent_symbols_index(&symbols, name, tg_agent_symbols_hash(name));
    return index == 0 ? NULL : (void *)(map->l_addr + symbols.table[index].st_value); // NOLINT: an address
}

static void meet(const struct link_map *map)
{
    if (map->l_name == NULL)
        return;
    if (bind.library[AGENT] == NULL && ends_with(map->l_name, "/" TG_AGENT_LIBRARY)) {
        bind.library[AGENT] = map;
        bind.link = find_symbol(map, TG_DEEP_BIND_LINK);
        if (bind.link != NULL)
            bind.link->is_audited = 1;
    } else if (bind.library[HEAP] == NULL && ends_with(map->l_name, "/" TG_AGENT_HEAP_LIBRARY)) {
        bind.library[HEAP] = map;
        bind.heap_is_libcs = find_symbol(map, TG_DEEP_BIND_IS_LIBCS);
    }
}

/* All objects that are there: what needs libc shows where it comes in a library that does not say so itself. */
static void bring_into_all(const struct link_map *map)
{
    while (map->l_prev != NULL)
        map = map->l_prev;
    for (map = map->l_next; map != NULL; map = map->l_next) /* behind the program */
        if (map != bind.root && map != bind.library[AGENT] && map != bind.library[HEAP] && map->l_ld != NULL)
            bring_into(map);
}

static bool is_anything_missing(void)
{
    return bind.is_missing[AGENT] || bind.is_missing[HEAP];
}

static void begin(struct link_map *map, struct tg_deep_bind_request *request)
{
    bind.request = request;
    bind.root = map;
    bind.problem = NULL;
    for (size_t k = 0; k < N_LIBRARIES; k++)
        bind.is_missing[k] = bind.library[k] != NULL;
    if (bind.heap_is_libcs != NULL && !*bind.heap_is_libcs) { /* the calls would go on to the wrong heap */
        bind.is_missing[HEAP] = false;
        bind.problem = TG_DEEP_BIND_NOT_LIBCS;
    }
    if (needs_other(map, is_mpi, "PMPI_Init", NULL) ||
        needs_other(map, is_openmp, "GOMP_parallel", bind.last_at_start)) {
        bind.is_missing[AGENT] = false;
        bind.problem = "it needs another MPI or OpenMP library than the program, whose calls are observed";
    }
    bring_into(map);
    if (is_anything_missing())
        bring_into_all(map);
}

void tg_audit_deep_bind_opened(struct link_map *map)
{
    struct tg_deep_bind_request *request = current_request();
    meet(map);
    if (request == NULL || request->state == TG_DEEP_BIND_NOTHING || request->state == TG_DEEP_BIND_LEFT)
        return;
    if (request->state == TG_DEEP_BIND_ASKED && !is_in_call(request)) {
        request->state = TG_DEEP_BIND_NOTHING;
    } else if (request->state == TG_DEEP_BIND_ASKED) {
        request->state = TG_DEEP_BIND_OPENED;
        begin(map, request);
    } else if (bind.request != NULL && is_anything_missing()) {
        bring_into(map);
    }
}

static void record(int32_t tid, const char *before, const char *after)
{
    const char *texts[] = {bind.request->path, "", "", before, after};
    enum { N_TEXTS = sizeof texts / sizeof texts[0], HEAD = 4 };
    const char *problem = bind.problem;
    if (problem == NULL && bind.request->has_problem)
        problem = bind.link->problem;
    size_t n_words[N_TEXTS], all = HEAD;
    texts[2] = problem != NULL ? problem : "";
    for (size_t i = 0; i < N_TEXTS; i++)
        all += n_words[i] = tg_audit_ring_string_words(texts[i]);
    uint64_t *arguments = tg_audit_ring_begin(TG_RECORD_DEEP_BIND, all);
    if (arguments == NULL)
        return;
    arguments[0] = (uint64_t)tid;
    arguments[1] = bind.problem == NULL ? TG_DEEP_BIND_BY_AUDIT : TG_DEEP_BIND_NOT_DONE;
    arguments[2] = bind.request->caller;
    arguments[3] = 0;
    arguments += HEAD;
    for (size_t i = 0; i < N_TEXTS; i++) {
        tg_audit_ring_put_string(arguments, texts[i], n_words[i]);
        arguments += n_words[i];
    }
    tg_audit_ring_commit();
}

/* At the end of the program threads come by here without the loader's lock. */
static bool is_in_load(void)
{
    return bind.request != NULL && bind.request == current_request();
}

void tg_audit_deep_bind_mapped(bool records, int32_t tid)
{
    static char before[TG_SCOPE_TEXT_BYTES], after[TG_SCOPE_TEXT_BYTES];
    if (!is_in_load())
        return;
    if (records) {
        tg_agent_scope_find(bind.root, &bind.scope);
        tg_agent_scope_write(&bind.scope, NULL, 0, after);
        tg_agent_scope_write(&bind.scope, bind.library, N_LIBRARIES, before);
        record(tid, before, after);
    }
    restore();
    bind.request->state = TG_DEEP_BIND_NOTHING;
    bind.request = NULL;
}

void tg_audit_deep_bind_failed(void)
{
    if (!is_in_load())
        return;
    restore();
    bind.request->state = TG_DEEP_BIND_NOTHING;
    bind.request = NULL;
}

void tg_audit_deep_bind_started(const struct link_map *map)
{
    while (map->l_next != NULL)
        map = map->l_next;
    bind.last_at_start = map;
}
