#include "recorder/agent/mpi/handlers.h"

#include "recorder/agent/mpi/error.h"
#include "recorder/agent/mpi/raise.h"
#include "recorder/agent/next.h"

#include <stddef.h>
#include <stdint.h>

/* As the library calls it: the object that the error is of, its code, and what the library says of it. */
typedef void handler(void *object, int *code, const char *message, void *end);

/* __atomic */
static handler *nexts[11];

static void handle(size_t i, void *object, int *code, const char *message, void *end)
{
    if (code != NULL && !tg_mpi_failure.is_handed_on)
        tg_mpi_raised(*code, message);
    __atomic_load_n(&nexts[i], __ATOMIC_ACQUIRE)(object, code, message, end);
}

#define HANDLER(i)                                                                                           \
    static void handle_##i(void *object, int *code, const char *message, void *end)                          \
    {                                                                                                        \
        handle(i, object, code, message, end);                                                               \
    }
HANDLER(0)
HANDLER(1)
HANDLER(2)
HANDLER(3)
HANDLER(4)
HANDLER(5)
HANDLER(6)
HANDLER(7)
HANDLER(8)
HANDLER(9)
HANDLER(10)

/* Handlers, by the variable of the library that has the address of each: a program may have a copy that stands for it. */
static const struct {
    const char *pointer, *function;
    handler *handler;
} handlers[] = {
    {"ompi_mpi_errors_are_fatal_addr", "ompi_mpi_errors_are_fatal_comm_handler", handle_0},
    {"ompi_mpi_errors_are_fatal_addr", "ompi_mpi_errors_are_fatal_win_handler", handle_1},
    {"ompi_mpi_errors_are_fatal_addr", "ompi_mpi_errors_are_fatal_file_handler", handle_2},
    {"ompi_mpi_errors_return_addr", "ompi_mpi_errors_return_comm_handler", handle_3},
    {"ompi_mpi_errors_return_addr", "ompi_mpi_errors_return_win_handler", handle_4},
    {"ompi_mpi_errors_return_addr", "ompi_mpi_errors_return_file_handler", handle_5},
    /* from release 5 on */
    {"ompi_mpi_errors_are_fatal_addr", "ompi_mpi_errors_are_fatal_instance_handler", handle_6},
    {"ompi_mpi_errors_return_addr", "ompi_mpi_errors_return_instance_handler", handle_7},
    {"ompi_mpi_errors_abort_addr", "ompi_mpi_errors_abort_comm_handler", handle_8},
    {"ompi_mpi_errors_abort_addr", "ompi_mpi_errors_abort_win_handler", handle_9},
    {"ompi_mpi_errors_abort_addr", "ompi_mpi_errors_abort_file_handler", handle_10},
};
_Static_assert(sizeof handlers / sizeof *handlers == sizeof nexts / sizeof *nexts, "one each");

void tg_mpi_handlers_watch(const void *function)
{
    enum {
        WORDS = 64
    }; /* the objects are of 1,024 bytes, so that programs do not depend on what is in them */
    for (size_t i = 0; i < sizeof handlers / sizeof *handlers; i++) {
        uintptr_t *const *pointer = tg_agent_beside(function, handlers[i].pointer);
        uintptr_t *words = pointer != NULL ? *pointer : NULL;
        uintptr_t next = (uintptr_t)tg_agent_beside(function, handlers[i].function);
        for (size_t k = 0; words != NULL && next != 0 && k < WORDS; k++)
            if (__atomic_load_n(&words[k], __ATOMIC_RELAXED) == next) {
                __atomic_store_n(&nexts[i], (handler *)next, __ATOMIC_RELEASE);
                __atomic_store_n(&words[k], (uintptr_t)handlers[i].handler, __ATOMIC_RELEASE);
            }
    }
}
