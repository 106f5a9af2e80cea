/* The place of a thread by its stack, as its programmer sees it: frames of libc, of MPI, of OpenMP runtimes and of
 * interpreters are passed over to the one that called them. */
#ifndef TG_ANALYZER_MODELS_STACK_PLACES_H
#define TG_ANALYZER_MODELS_STACK_PLACES_H

#include "analyzer/models/stacks.h"

/* One call on a stack. Strings are the model's; "" where nothing is known. */
struct tg_stack_call {
    const char *function, *file;
    uint64_t line, offset;
    const char *module; /* path; "" in no object, or of Python */
    uint64_t address;   /* in the module; in no object: pc */
    uint64_t pc;        /* in memory, of a caller the return address; 0 of Python */
    bool is_python, is_inlined;
    bool is_signal; /* a signal handler's trampoline */
    bool
        is_runtime; /* of a library that programs run on, not of the program; so is code of the language's own library that
                        was compiled into it, and Python's own modules, where the program has other code on the stack */
};

/* Tells TAKE of the calls of STACK, innermost first, inlined ones too, until it returns false. */
void tg_stack_each_call(const struct tg_stack_model *model, const struct tg_last_stack *stack,
                        bool (*take)(void *context, const struct tg_stack_call *call), void *context);

/* Whether CALL is of a function of MPI that programs call, by its library and its name. */
bool tg_stack_is_mpi_entry(const struct tg_stack_call *call);

/* The name by which programs call FUNCTION, where a library has another one for itself. */
const char *tg_stack_public_name(const char *function);

/* Whether FUNCTION of MODULE, its path, is of what programs run on: is_runtime of a call. */
bool tg_stack_is_of_runtime(const char *module, const char *function);

/* Whether CALL is of the language's own library, of C++'s headers or Python's modules. */
bool tg_stack_is_standard(const struct tg_stack_call *call);

/* Whether MODULE, a path, is an interpreter, whose frames stand for functions that are not known where they are shown. */
bool tg_stack_is_interpreter(const char *module);

struct tg_stack_place {
    bool is_known;           /* there is a frame of the program's own */
    bool is_in_region;       /* there is none, but INSIDE was called from an OpenMP region's code */
    struct tg_stack_call at; /* the innermost frame of the program's own; without one the innermost of all */
    struct tg_stack_call
        caller; /* the nearest one outward that has a line, where AT has none; else no module and
                                    no function */
    bool has_caller;
    const char *
        inside; /* the function of a library that AT has called: "MPI_Barrier", or where it has no name its library; "" none. Where
                   no frame is the program's own, a function of MPI, if there is one */
    /* The function of MPI that called the program's CALLBACK, in which AT is, or that a handler interrupted, in which AT is:
     * "MPI_Reduce"; "" none. */
    const char *callback_of;
    struct tg_stack_call callback; /* AT itself, or what led to it; only with CALLBACK_OF */
    bool is_handler;               /* CALLBACK is a handler of a signal */
    /* The innermost code of the program's own that a signal's handler interrupted, in which the thread is; without CALLBACK_OF. */
    struct tg_stack_call interrupted;
    bool has_interrupted;
    bool is_interrupted; /* AT is that code: the handler is a library's */
};

/* The place in STACK; of a crash, that of the code that the signal interrupted. */
struct tg_stack_place tg_stack_place_find(const struct tg_stack_model *model,
                                          const struct tg_last_stack *stack);

/* The innermost call of the program's own that has a line, outward from the call that returns to CODE. False where that call has
 * a line itself, or none behind it has, or CODE is not in STACK. */
bool tg_stack_find_line_behind(const struct tg_stack_model *model, const struct tg_last_stack *stack,
                               uint64_t code, struct tg_stack_call *call);

/* The same of a call that PROCESS has been in since SINCE_NS, by the last stacks of its threads that are of that time or later.
 * False also where several threads are in calls from CODE, and their lines differ. */
bool tg_stack_find_line_of_call(const struct tg_stack_model *model, size_t process, uint64_t code,
                                uint64_t since_ns, struct tg_stack_call *call);

/* Whether both are at the same place of the program: the same line of the same function in the same call. */
bool tg_stack_place_is_same(const struct tg_stack_place *a, const struct tg_stack_place *b);

#endif
