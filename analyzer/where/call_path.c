#include "analyzer/where/call_path.h"

#include "analyzer/models/mpi_name.h"
#include "analyzer/output/stack_words.h"
#include "format/base/array.h"
#include "format/base/printable.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct making {
    struct tg_call_path *path;
    struct tg_error *error;
    bool has_openmp, has_interpreter;
    char mpi[80];       /* the function of MPI that called what was taken last of the program, "" none */
    const char *before; /* the function called by the one that is taken, "" not known */
    const char *entry;  /* the function that an OpenMP region's code called, NULL: no sign of such code */
};

/* A call of the same place as the one before it makes no step of its own. */
static struct tg_error *add(struct tg_call_path *path, const char *text)
{
    if (path->count > 0 && strcmp(path->steps[path->count - 1], text) == 0)
        return NULL;
    char *copy = strdup(text);
    struct tg_error *error =
        copy == NULL ? tg_error_no_memory() : TG_ARRAY_APPEND(path->steps, path->count, path->capacity, copy);
    if (error != NULL)
        free(copy);
    return error;
}

static bool is_openmp(const char *module)
{
    static const char *const names[] = {"libgomp.", "libomp.", "libiomp5."};
    const char *slash = strrchr(module, '/');
    for (size_t i = 0; slash != NULL && slash[1] == 'l' && i < sizeof names / sizeof *names; i++)
        if (strncmp(slash + 1, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

/* Whether CALL is one of an OpenMP runtime: of its library, or of one that is linked into the program. */
static bool is_of_openmp(const struct tg_stack_call *call)
{
    static const char *const names[] = {"GOMP_", "gomp_", "__kmp"};
    bool is_linked = false;
    for (size_t i = 0; call->is_runtime && i < sizeof names / sizeof *names; i++)
        is_linked |= strncmp(call->function, names[i], strlen(names[i])) == 0;
    return is_linked || is_openmp(call->module);
}

/* Functions that programs call, by the beginnings of their names. Workers without work are in none of them. */
static bool is_entry(const char *function)
{
    static const char *const names[] = {"GOMP_", "omp_", "__kmpc_"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (*function == *names[i] && strncmp(function, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

/* Where a region's code ends with a call, compilers jump instead, and no frame of it is left: what it called is, and in LLVM's
 * runtime the function that began it. */
static void find_entry(struct making *making, const struct tg_stack_call *call)
{
    if (making->entry == NULL && is_entry(call->function))
        making->entry = call->function;
    if (making->entry == NULL && strcmp(call->function, "__kmp_invoke_microtask") == 0)
        making->entry = making->before;
    making->before = call->function;
}

/* What MPI called of the program stands below MPI's function. */
static void pass_mpi(struct making *making, const struct tg_stack_call *call)
{
    char name[80];
    bool is_lower = *call->function == 'm' || *call->function == 'p'; /* Fortran's, which calls that of C */
    if (call->is_signal)
        *making->mpi = '\0';
    else if (call->is_runtime && making->path->count > 0 && tg_stack_is_mpi_entry(call) &&
             tg_mpi_name(tg_stack_public_name(call->function), name, sizeof name) &&
             !(*making->mpi != '\0' && is_lower))
        snprintf(making->mpi, sizeof making->mpi, "%s", name);
    if (call->is_signal || call->is_runtime || *making->mpi == '\0')
        return;
    making->error = add(making->path, tg_printable(making->mpi, name, sizeof name));
    *making->mpi = '\0';
}

/* Calls come innermost first. */
static bool take_call(void *context, const struct tg_stack_call *call)
{
    struct making *making = context;
    char text[400];
    making->has_openmp |= is_of_openmp(call);
    making->has_interpreter |= tg_stack_is_interpreter(call->module);
    find_entry(making, call);
    pass_mpi(making, call);
    if (making->error != NULL)
        return false;
    if (call->is_signal)
        making->error = add(making->path, "(signal handler)");
    else if (!call->is_runtime)
        making->error = add(making->path, tg_stack_words_call(call, text, sizeof text));
    return making->error == NULL;
}

static bool take_every_call(void *context, const struct tg_stack_call *call)
{
    struct making *making = context;
    char text[400];
    making->error = add(making->path,
                        call->is_signal ? "(signal handler)" : tg_stack_words_call(call, text, sizeof text));
    return making->error == NULL;
}

/* Whether a thread without any code of the program, or sign of it, on its stack may be the program's all the same. */
static bool may_be_of_program(const struct making *making, const struct tg_last_stack *stack)
{
    bool is_cut = stack->end != TG_STACK_WHOLE && (stack->end != TG_STACK_NO_RULE || stack->count == 1);
    return stack->tid == stack->pid || making->has_interpreter || is_cut;
}

/* Whether a thread is in the first function of an OpenMP worker, which has no work: in a program without shared libraries the C
 * library's, which called that, is not told from the program's own. */
static bool is_start_of_worker(const struct tg_stack_place *place)
{
    return strncmp(place->inside, "gomp_thread_start", strlen("gomp_thread_start")) == 0 ||
           strncmp(place->inside, "kmp_launch_", strlen("kmp_launch_")) == 0;
}

static void reverse(struct tg_call_path *path)
{
    for (size_t i = 0; i < path->count / 2; i++) {
        char *step = path->steps[i];
        path->steps[i] = path->steps[path->count - 1 - i];
        path->steps[path->count - 1 - i] = step;
    }
}

struct tg_error *tg_call_path_make(const struct tg_stack_model *model, const struct tg_last_stack *stack,
                                   struct tg_call_path *path)
{
    struct making making = {.path = path, .before = ""};
    char name[80], inside[200];
    const struct tg_stack_place place = tg_stack_place_find(model, stack);
    *path = (struct tg_call_path){0};
    tg_stack_each_call(model, stack, take_call, &making);
    bool is_without_own = !place.is_known && !making.has_openmp && may_be_of_program(&making, stack);
    if (making.error == NULL && is_without_own) {
        tg_call_path_deinit(path);
        tg_stack_each_call(model, stack, take_every_call, &making);
    }
    if (making.error == NULL && stack->end != TG_STACK_WHOLE && stack->end != TG_STACK_NO_RULE)
        making.error = add(path, "...");
    reverse(path);
    path->place = place;
    path->has_openmp = making.has_openmp;
    bool is_in_region = !path->place.is_known && making.has_openmp && making.entry != NULL;
    bool is_of_program =
        (path->place.is_known && !is_start_of_worker(&path->place)) || is_in_region || is_without_own;
    path->task = is_of_program       ? TG_THREAD_OF_PROGRAM
                 : making.has_openmp ? TG_THREAD_OF_OPENMP
                                     : TG_THREAD_OF_LIBRARY;
    if (making.error == NULL && is_in_region)
        making.error = add(path, "(an OpenMP region, without a frame of its own)");
    if (making.error == NULL && is_in_region && *making.entry != '\0')
        making.error = add(path, tg_printable(tg_stack_public_name(making.entry), inside, sizeof inside));
    if (making.error == NULL && path->place.is_known && *path->place.inside != '\0') {
        bool is_mpi = tg_mpi_name(path->place.inside, name, sizeof name);
        making.error = add(path, tg_printable(is_mpi ? name : path->place.inside, inside, sizeof inside));
    }
    if (making.error != NULL)
        tg_call_path_deinit(path);
    return making.error;
}

void tg_call_path_deinit(struct tg_call_path *path)
{
    for (size_t i = 0; i < path->count; i++)
        free(path->steps[i]);
    free(path->steps);
    *path = (struct tg_call_path){0};
}
