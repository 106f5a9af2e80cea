#include "recorder/agent/ompt/words.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

enum {
    CELL_BYTES = 64,
    SLAB_BYTES = 1 << 16,
    MAX_GIVEN_CELLS = 512, /* so many that one thread was given go to all */
};

/* A cell that is nobody's. */
struct free_cell {
    struct free_cell *next;
};

_Static_assert(sizeof(struct tg_ompt_region) <= CELL_BYTES, "a region fits into a cell");
_Static_assert(sizeof(struct tg_ompt_task) <= CELL_BYTES, "a task fits into a cell");
_Static_assert(sizeof(struct tg_ompt_place) <= CELL_BYTES, "a place fits into a cell");
_Static_assert(sizeof(struct tg_ompt_held) <= CELL_BYTES, "what is held fits into a cell");
_Static_assert(sizeof(struct tg_ompt_loops) <= CELL_BYTES, "a doacross loop fits into a cell");

__thread struct tg_ompt_thread tg_ompt_thread __attribute__((tls_model("initial-exec")));
bool tg_ompt_chained;

/* Cells that threads had too many of. Taken all at once: so nobody sees one twice. */
static struct free_cell *shared_cells;

static bool refill(struct tg_ompt_thread *thread)
{
    if (__atomic_load_n(&shared_cells, __ATOMIC_RELAXED) != NULL) {
        struct free_cell *cells = __atomic_exchange_n(&shared_cells, NULL, __ATOMIC_ACQUIRE);
        if (cells != NULL) {
            thread->free_cells = cells;
            return true;
        }
    }
    if (tg_agent.no_calls)
        return false;
    int saved = errno;
    void *slab = mmap(NULL, SLAB_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    errno = saved;
    if (slab == MAP_FAILED)
        return false;
    thread->slab = slab;
    thread->slab_end = thread->slab + SLAB_BYTES;
    return true;
}

void *tg_ompt_take(void)
{
    struct tg_ompt_thread *thread = &tg_ompt_thread;
    if (thread->free_cells == NULL) {
        thread->free_cells = thread->given_cells;
        thread->given_cells = NULL;
        thread->n_given_cells = 0;
    }
    if (thread->free_cells == NULL && thread->slab == thread->slab_end && !refill(thread))
        return NULL;
    struct free_cell *cell = thread->free_cells;
    if (cell != NULL) {
        thread->free_cells = cell->next;
        return memset(cell, 0, CELL_BYTES);
    }
    void *new_cell = thread->slab;
    thread->slab += CELL_BYTES;
    return new_cell;
}

/* The chain of cells from FIRST to LAST is for every thread. */
static void share(struct free_cell *first, struct free_cell *last)
{
    struct free_cell *head = __atomic_load_n(&shared_cells, __ATOMIC_RELAXED);
    do
        last->next = head;
    while (
        !__atomic_compare_exchange_n(&shared_cells, &head, first, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

void tg_ompt_give(void *cell)
{
    if (cell == NULL)
        return;
    struct tg_ompt_thread *thread = &tg_ompt_thread;
    struct free_cell *given = cell;
    given->next = thread->given_cells;
    if (given->next == NULL)
        thread->given_last = given;
    thread->given_cells = given;
    if (++thread->n_given_cells < MAX_GIVEN_CELLS)
        return;
    share(thread->given_cells, thread->given_last);
    thread->given_cells = NULL;
    thread->n_given_cells = 0;
}

void tg_ompt_give_all(void)
{
    struct tg_ompt_thread *thread = &tg_ompt_thread;
    if (thread->given_cells != NULL)
        share(thread->given_cells, thread->given_last);
    struct free_cell *last = thread->free_cells;
    while (last != NULL && last->next != NULL)
        last = last->next;
    if (last != NULL)
        share(thread->free_cells, last);
    thread->free_cells = NULL;
    thread->given_cells = NULL;
    thread->n_given_cells = 0;
}

bool tg_ompt_leave_loop(void)
{
    struct tg_ompt_loops *left = tg_ompt_thread.loops;
    if (left == NULL)
        return false;
    tg_ompt_thread.loops = left->outer;
    tg_ompt_give(left);
    return true;
}

struct tg_ompt_task *tg_ompt_task_of(union tg_ompt_data *task)
{
    void *known = __atomic_load_n(&task->ptr, __ATOMIC_ACQUIRE);
    if (known != NULL)
        return known;
    struct tg_ompt_task *made = tg_ompt_take();
    if (made == NULL)
        return NULL;
    made->references = 1;
    if (__atomic_compare_exchange_n(&task->ptr, &known, made, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return made;
    tg_ompt_give(made);
    return known;
}

void tg_ompt_task_made(union tg_ompt_data *task, union tg_ompt_data *parent, uint64_t id)
{
    if (task == NULL)
        return;
    task->value = id;
    if (!tg_ompt_chained)
        return;
    task->ptr = NULL;
    struct tg_ompt_task *made = tg_ompt_task_of(task);
    if (made == NULL)
        return;
    made->id = id;
    made->parent = parent == NULL ? NULL : tg_ompt_task_of(parent);
    if (made->parent != NULL)
        __atomic_fetch_add(&made->parent->references, 1, __ATOMIC_RELAXED);
}

void tg_ompt_task_done(union tg_ompt_data *task)
{
    if (!tg_ompt_chained || task == NULL)
        return;
    for (struct tg_ompt_task *known = task->ptr; known != NULL;) {
        if (__atomic_sub_fetch(&known->references, 1, __ATOMIC_ACQ_REL) != 0)
            return;
        struct tg_ompt_task *parent = known->parent;
        tg_ompt_give(known);
        known = parent;
    }
}
