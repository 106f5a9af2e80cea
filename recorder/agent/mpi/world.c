#include "recorder/agent/mpi/world.h"

#include "recorder/agent/mpi/handlers.h"
#include "recorder/agent/mpi/library.h"
#include "recorder/agent/mpi/objects.h"
#include "recorder/agent/mpi/table.h"
#include "recorder/agent/next.h"
#include "recorder/agent/process.h"
#include "recorder/agent/ring.h"

/* A predefined handle: itself, or what the library's FUNCTION makes of its number. */
static tg_mpi_handle predefined(const char *function, unsigned number)
{
    if (!tg_mpi.abi->pointer_handles)
        return number;
    tg_mpi_handle (*from_number)(int) = (tg_mpi_handle(*)(int))(uintptr_t)tg_agent_next(function);
    return from_number == NULL ? 0 : from_number((int)number);
}

static void introduce_world(void)
{
    struct tg_mpi_members members;
    tg_mpi_members_open(&members, tg_mpi.world, false);
    struct tg_mpi_object world = {.id = TG_MPI_WORLD_ID, .rank = members.rank, .size = members.size};
    tg_mpi_objects_add(TG_MPI_OBJECT_COMM, tg_mpi.world, &world, 0, TG_MPI_ORIGIN_WORLD, &members);
    tg_mpi_members_close(&members);

    tg_mpi_members_open(&members, tg_mpi.self, false);
    struct tg_mpi_object self = {.id = tg_mpi_mix(TG_MPI_WORLD_ID, 0, (uint64_t)tg_mpi.world_rank),
                                 .size = 1};
    tg_mpi_objects_add(TG_MPI_OBJECT_COMM, tg_mpi.self, &self, 0, TG_MPI_ORIGIN_SELF, &members);
    tg_mpi_members_close(&members);
}

static bool begin_start(unsigned from)
{
    return __atomic_compare_exchange_n(&tg_mpi.phase, &from, TG_MPI_STARTING, false, __ATOMIC_ACQ_REL,
                                       __ATOMIC_RELAXED);
}

static void find_handles(void)
{
    const struct tg_mpi_predefined *numbers = &tg_mpi.abi->predefined;
    tg_mpi.world = predefined("PMPI_Comm_f2c", numbers->world);
    tg_mpi.self = predefined("PMPI_Comm_f2c", numbers->self);
    tg_mpi.comm_null = predefined("PMPI_Comm_f2c", numbers->comm_null);
    tg_mpi.request_null = predefined("PMPI_Request_f2c", numbers->request_null);
    tg_mpi.group_null = predefined("PMPI_Group_f2c", numbers->group_null);
    tg_mpi.datatype_null = predefined("PMPI_Type_f2c", numbers->datatype_null);
}

void tg_mpi_world_start(void)
{
    if (!begin_start(TG_MPI_BEFORE) && (tg_mpi.session == 0 || !begin_start(TG_MPI_RUNNING)))
        return;
    tg_mpi.session = 0;
    find_handles();
    tg_pmpi_Comm_rank(tg_mpi.world, &tg_mpi.world_rank);
    tg_pmpi_Comm_size(tg_mpi.world, &tg_mpi.world_size);
    if (tg_mpi.abi->pointer_handles)
        tg_mpi_handlers_watch((const void *)(uintptr_t)tg_mpi_next(TG_MPI_CALL_Init, TG_MPI_NAME_PMPI));
    __atomic_store_n(&tg_mpi.phase, TG_MPI_RUNNING, __ATOMIC_RELEASE);
    tg_agent_set_in_mpi(true);
    introduce_world();
}

void tg_mpi_world_takes_turns(bool takes_turns)
{
    __atomic_store_n(&tg_mpi.takes_turns, takes_turns && tg_mpi.session == 0, __ATOMIC_RELAXED);
}

void tg_mpi_world_session(tg_mpi_handle session)
{
    if (!begin_start(TG_MPI_BEFORE))
        return;
    tg_mpi.session = session;
    find_handles();
    tg_mpi_handle world = tg_mpi_world_group();
    tg_pmpi_Group_rank(world, &tg_mpi.world_rank);
    tg_pmpi_Group_size(world, &tg_mpi.world_size);
    tg_pmpi_Group_free(&world);
    __atomic_store_n(&tg_mpi.phase, TG_MPI_RUNNING, __ATOMIC_RELEASE);
}

/* Another session that is still there is not asked by: what is left is known as before, by MPI_Init or the next
 * session. */
void tg_mpi_world_session_ends(tg_mpi_handle session)
{
    if (tg_mpi.session == 0 || tg_mpi.session != session || !begin_start(TG_MPI_RUNNING))
        return;
    tg_mpi.session = 0;
    __atomic_store_n(&tg_mpi.phase, TG_MPI_BEFORE, __ATOMIC_RELEASE);
}

void tg_mpi_world_stop(void)
{
    __atomic_store_n(&tg_mpi.phase, TG_MPI_OVER, __ATOMIC_RELEASE);
    tg_agent_set_in_mpi(false);
}

bool tg_mpi_world_is_running(void)
{
    unsigned phase = __atomic_load_n(&tg_mpi.phase, __ATOMIC_ACQUIRE);
    if (TG_AGENT_LIKELY(phase != TG_MPI_BEFORE))
        return phase == TG_MPI_RUNNING;
    int initialized = 0, finalized = 0;
    if (tg_pmpi_Initialized(&initialized) != 0 || initialized == 0 || tg_pmpi_Finalized(&finalized) != 0 ||
        finalized != 0)
        return false;
    tg_mpi_world_start();
    return __atomic_load_n(&tg_mpi.phase, __ATOMIC_ACQUIRE) == TG_MPI_RUNNING;
}

/* ---- datatypes and operators */

/* MPICH's handles: the upper two bits say how something is made (0 invalid, 1 builtin), the next four what it is.
 * What is no handle of the kind is not asked about: its user is about to hear of that. */
enum mpich_kind { MPICH_DATATYPE = 3, MPICH_OP = 6 };
enum mpich_how { MPICH_INVALID, MPICH_BUILTIN };

static bool is_mpich(uint32_t handle, enum mpich_kind kind)
{
    enum { KIND_SHIFT = 26, MASK = 15, HOW_SHIFT = 30 };
    return (handle >> KIND_SHIFT & MASK) == kind && handle >> HOW_SHIFT != MPICH_INVALID;
}

static bool is_mpich_builtin(uint32_t handle)
{
    enum { HOW_SHIFT = 30 };
    return handle >> HOW_SHIFT == MPICH_BUILTIN;
}

/* Predefined datatypes, which keep their handles and sizes. */
enum { N_TYPES = 1 << 8, MAX_NAME_BYTES = 512 };
static struct tg_mpi_entry type_entries[N_TYPES];
static struct tg_mpi_table types = {.entries = type_entries, .n_entries = N_TYPES};
enum { WORD_SIZE, WORD_TYPE };

static bool is_named(tg_mpi_handle type)
{
    int n_integers, n_addresses, n_types, combiner = tg_mpi.abi->combiner_named + 1;
    if (!tg_mpi.abi->pointer_handles)
        return is_mpich_builtin((uint32_t)type);
    return tg_pmpi_Type_get_envelope(type, &n_integers, &n_addresses, &n_types, &combiner) == 0 &&
           combiner == tg_mpi.abi->combiner_named;
}

static bool is_equal(const char *a, const char *b)
{
    while (*a != '\0' && *a == *b) {
        a++;
        b++;
    }
    return *a == *b;
}

static __attribute__((noinline)) enum tg_mpi_type number_of(tg_mpi_handle type)
{
    static const char *const names[] = {
#define X(symbol, name) [TG_MPI_TYPE_##symbol] = "MPI_" name,
        TG_MPI_TYPES(X)
#undef X
    };
    char name[MAX_NAME_BYTES] = "";
    int length = 0;
    if (tg_pmpi_Type_get_name(type, name, &length) != 0)
        return TG_MPI_TYPE_UNKNOWN;
    for (int i = 1; i < TG_MPI_TYPE_COUNT_; i++)
        if (is_equal(name, names[i]))
            return (enum tg_mpi_type)i;
    return TG_MPI_TYPE_UNKNOWN;
}

/* One element of TYPE. */
static tg_mpi_amount_t element(tg_mpi_handle type)
{
    const struct tg_mpi_entry *known = tg_mpi_table_find(&types, type);
    if (known != NULL)
        return tg_mpi_amount_make(
            __atomic_load_n(&known->words[WORD_SIZE], __ATOMIC_RELAXED),
            (enum tg_mpi_type)__atomic_load_n(&known->words[WORD_TYPE], __ATOMIC_RELAXED));
    long long size = 0;
    if (tg_pmpi_Type_size_x(type, &size) != 0 || size <= 0)
        return 0;
    if (!is_named(type))
        return tg_mpi_amount_make((uint64_t)size, TG_MPI_TYPE_UNKNOWN);
    const uint64_t words[TG_MPI_TABLE_WORDS] = {[WORD_SIZE] = (uint64_t)size, [WORD_TYPE] = number_of(type)};
    tg_mpi_table_put(&types, type, words, TG_MPI_TABLE_REFUSES);
    return tg_mpi_amount_make((uint64_t)size, (enum tg_mpi_type)words[WORD_TYPE]);
}

tg_mpi_amount_t tg_mpi_amount(int64_t count, tg_mpi_handle type)
{
    if (count <= 0 || !tg_mpi_world_is_running())
        return 0;
    type = tg_mpi_abi_handle(tg_mpi.abi, type);
    if (type == 0 || type == tg_mpi.datatype_null ||
        (!tg_mpi.abi->pointer_handles && !is_mpich((uint32_t)type, MPICH_DATATYPE)))
        return 0;
    tg_mpi_amount_t one = element(type);
    return tg_mpi_amount_make(tg_mpi_amount_bytes(one) * (uint64_t)count,
                              (enum tg_mpi_type)tg_mpi_amount_type(one));
}

tg_mpi_amount_t tg_mpi_reduced(tg_mpi_amount_t amount, tg_mpi_handle op)
{
    op = tg_mpi_abi_handle(tg_mpi.abi, op);
    if (op == 0 || !tg_mpi_world_is_running() ||
        (!tg_mpi.abi->pointer_handles && !is_mpich((uint32_t)op, MPICH_OP)))
        return amount;
    unsigned number = (unsigned)op & 0xff;
    if (tg_mpi.abi->pointer_handles)
        number = (unsigned)tg_pmpi_Op_c2f(op);
    else if (!is_mpich_builtin((uint32_t)op))
        number = TG_MPI_ABI_OPS;
    uint64_t found = number < TG_MPI_ABI_OPS ? tg_mpi.abi->ops[number] : (uint64_t)TG_MPI_OP_OWN;
    return amount | found << TG_MPI_AMOUNT_OP_SHIFT;
}
