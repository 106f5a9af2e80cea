#include "recorder/agent/gomp.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

const struct tg_gomp *tg_gomp_only;

void *tg_gomp_memory(size_t n_bytes)
{
    int saved = errno;
    void *memory = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    errno = saved;
    return memory == MAP_FAILED ? NULL : memory;
}

void tg_gomp_memory_free(void *memory, size_t n_bytes)
{
    if (memory != NULL)
        munmap(memory, n_bytes);
}

/* ---- what is not there */

static void say(const char *text)
{
    ssize_t ignored = write(STDERR_FILENO, text, strlen(text));
    (void)ignored;
}

/* As the dynamic loader does when it binds a call to a symbol that nobody defines. */
static _Noreturn void die_of_undefined(const char *name, const char *version)
{
    const char *program = program_invocation_name;
    const char *const parts[] = {
        program, ": symbol lookup error: ", program, ": undefined symbol: ", name, ", version ", version,
        "\n"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        say(parts[i]);
    _exit(127);
}

#define TG_GOMP_ENTRY(result, name, parameters, version)                                                     \
    static _Noreturn void missing_##name(void)                                                               \
    {                                                                                                        \
        die_of_undefined(#name, version);                                                                    \
    }
TG_GOMP_ENTRIES
#undef TG_GOMP_ENTRY

static int no_thread_num(void)
{
    return 0;
}

static int one_thread(void)
{
    return 1;
}

/* ---- the real functions */

typedef void any_function(void);

/* What PLACE, a pointer to a function, is to point to. */
static void resolve(void *place, const char *name, any_function *otherwise)
{
    void *found = tg_agent_next(name);
    memcpy(place, found != NULL ? (const void *)&found : (const void *)&otherwise, sizeof found);
}

static void resolve_all(struct tg_gomp *gomp)
{
#define TG_GOMP_ENTRY(result, name, parameters, version)                                                     \
    resolve(&gomp->name, #name, (any_function *)missing_##name);
    TG_GOMP_ENTRIES
#undef TG_GOMP_ENTRY
    resolve(&gomp->omp_get_thread_num, "omp_get_thread_num", (any_function *)no_thread_num);
    resolve(&gomp->omp_get_num_threads, "omp_get_num_threads", (any_function *)one_thread);
}

static bool is_there(const struct tg_gomp *gomp)
{
    return (any_function *)gomp->GOMP_parallel != (any_function *)missing_GOMP_parallel ||
           (any_function *)gomp->GOMP_parallel_start != (any_function *)missing_GOMP_parallel_start;
}

const struct tg_gomp *tg_gomp_find(const void *code)
{
    (void)code;
    bool observes = tg_agent_observes(TG_AGENT_OPENMP);
    struct tg_gomp *gomp = tg_gomp_memory(sizeof *gomp);
    resolve_all(gomp);
    const void *object = (const void *)(uintptr_t)gomp->GOMP_parallel;
    gomp->is_ours = is_there(gomp) && tg_openmp_owner(object) == &tg_gomp_backend;
    const struct tg_gomp *expected = NULL;
    if (!__atomic_compare_exchange_n(&tg_gomp_only, &expected, gomp, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE)) {
        tg_gomp_memory_free(gomp, sizeof *gomp);
        return expected;
    }
    if (observes && gomp->is_ours)
        tg_openmp_runtime(TG_OMP_WRAPPED, "libgomp", "");
    return gomp;
}

/* ---- constructs whose end is not seen */

void tg_gomp_close_unseen_slowly(void)
{
    struct tg_openmp_frame *frame = &tg_openmp_frame;
    if (frame->single == TG_GOMP_SINGLE_EXECUTES)
        tg_openmp_zone_end(NULL, TG_OMP_INFERRED, TG_OMP_ZONE_SINGLE);
    frame->single = TG_GOMP_SINGLE_NONE;
    if (frame->workshare != 0)
        tg_openmp_zone_end(NULL, TG_OMP_INFERRED, frame->workshare - 1);
    frame->workshare = 0;
}

/* ---- the back end */

static bool covers(const void *object)
{
    (void)object; /* whoever exports libgomp's entry points, and is no other back end's */
    return true;
}

const struct tg_openmp_backend tg_gomp_backend = {
    .name = "libgomp",
    .help = "GCC's libgomp, and what has its entry points: by standing between it and the program",
    .covers = covers,
};
