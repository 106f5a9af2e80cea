#include "analyzer/heap/path_owner.h"

#include "analyzer/output/stack_words.h"
#include "format/base/printable.h"

#include <stdio.h>
#include <string.h>

/* Libraries that get blocks for their caller, as strdup does; blocks of other runtimes are their own. */
static bool gives_blocks(const char *file)
{
    static const char *const names[] = {"libc.so",  "libc-",       "libstdc++",     "libc++",
                                        "ld-linux", "libgfortran", "libpthread",    "libgcc_s",
                                        "libflang", "libifcore",   "tollgate-heap", "tollgate-agent"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(file, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

/* Libraries of MPI and its launchers. What they call is theirs, but for what the program had given them to be called. */
static bool is_of_mpi(const char *file)
{
    static const char *const names[] = {"libmpi", "libopen-", "libpmi", "mca_", "libprrte", "libhwloc"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(file, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

struct search {
    const char *place;
    char *words; /* of SIZE: the calls around PLACE, each behind a comma or "<" */
    size_t size;
    unsigned callers, most_callers;
    char first[200]; /* file of the innermost call that is not libc's or the like; "" none yet */
    bool is_past, is_of_library;
};

static void add_caller(struct search *search, const char *caller)
{
    size_t used = strlen(search->words);
    snprintf(search->words + used, search->size - used, "%s%s", search->callers == 0 ? ", called by " : " < ",
             caller);
    search->callers++;
}

static bool take_call(void *context, const struct tg_stack_call *call)
{
    struct search *search = context;
    char words[400];
    const char *slash = strrchr(call->module, '/'), *file = slash != NULL ? slash + 1 : call->module;
    if (call->is_signal)
        return true;
    bool is_of_header =
        !call->is_python && tg_stack_is_standard(call); /* C++'s containers, in whoever has them */
    if (*search->first == '\0' && !(call->is_runtime && (is_of_header || gives_blocks(file)))) {
        search->is_of_library = call->is_runtime;
        tg_printable(*file != '\0' ? file : "?", search->first, sizeof search->first);
    }
    if (is_of_mpi(file) && strstr(search->first, ".so") != NULL)
        search->is_of_library = true;
    tg_stack_words_call(call, words, sizeof words);
    bool is_place = strcmp(words, search->place) == 0;
    if (search->is_past && !call->is_runtime && !is_place && search->callers < search->most_callers)
        add_caller(search, words);
    search->is_past |= is_place;
    return true;
}

struct tg_error *tg_heap_path_owner(const struct tg_heap_path_names *names, const struct tg_heap_path *path,
                                    unsigned callers, char *buffer, size_t size, bool *is_of_library)
{
    char place[400], around[800] = "";
    tg_heap_path_place(names, path, place, sizeof place);
    struct search search = {.place = place, .words = around, .size = sizeof around, .most_callers = callers};
    struct tg_error *error = path->count > 0 ? tg_heap_path_each_call(names, path, take_call, &search) : NULL;
    *is_of_library = search.is_of_library;
    if (search.is_of_library && search.is_past)
        snprintf(buffer, size, "%s, called by %s", search.first, place);
    else
        snprintf(buffer, size, "%s%s", place, around);
    return error;
}

/* ---- main programs in Fortran */

/* The call before, and what was found. */
struct main_search {
    bool was_fortran; /* of a source in Fortran */
    char file[200];
    bool is_found;
};

static bool is_fortran(const char *file)
{
    static const char *const endings[] = {"f", "for", "ftn", "f77", "f90", "f95", "f03", "f08", "f18",
                                          "F", "FOR", "F90", "F95", "F03", "F08", "cuf", "CUF"};
    const char *dot = strrchr(file, '.');
    for (size_t i = 0; dot != NULL && i < sizeof endings / sizeof *endings; i++)
        if (strcmp(dot + 1, endings[i]) == 0)
            return true;
    return false;
}

/* The compiler calls it MAIN__, or has a main in the same source that calls it by its own name. */
static bool look_for_main(void *context, const struct tg_stack_call *call)
{
    struct main_search *search = context;
    const char *name = call->function;
    if (strcmp(name, "MAIN__") == 0 || strcmp(name, "MAIN_") == 0 || strcmp(name, "_QQmain") == 0 ||
        (search->was_fortran && strcmp(name, "main") == 0 && strcmp(search->file, call->file) == 0))
        search->is_found = true;
    search->was_fortran = is_fortran(call->file);
    snprintf(search->file, sizeof search->file, "%s", call->file);
    return !search->is_found;
}

struct tg_error *tg_heap_path_is_of_fortran_main(const struct tg_heap_path_names *names,
                                                 const struct tg_heap_path *path, bool *is_of_fortran_main)
{
    struct main_search search = {.file = ""};
    struct tg_error *error =
        path->count > 0 ? tg_heap_path_each_call(names, path, look_for_main, &search) : NULL;
    *is_of_fortran_main = search.is_found;
    return error;
}
