/* Libraries that are loaded at the first call of one of their functions, not at program start. Most commands need none of
 * them, and loading them all takes longer than a short recording. For each function, cmake/on_demand.cmake generates a stub
 * with the function's name, to which the linker binds the calls; the stub jumps to an address that is looked up here at the
 * first call. */
#ifndef TG_FORMAT_BASE_ON_DEMAND_H
#define TG_FORMAT_BASE_ON_DEMAND_H

/* One library. The generated assembly (cmake/on_demand/stubs.S.in) depends on this layout. */
struct tg_on_demand_library {
    const char *file; /* the argument of dlopen */
    const char *const *names;
    void **addresses; /* of the functions; at first, of code that looks the function up */
    void *handle;     /* NULL: not loaded yet; access it by __atomic */
};

/* Returns the address of function I of LIBRARY, and makes its stub jump there from now on. Loads LIBRARY if necessary; it
 * is never unloaded. errno is unchanged. Any thread may call this, a signal handler may not. If the library or the function
 * is missing, an error message goes to standard error and the process exits with status 127, as the dynamic loader would
 * do: the caller expects the library's own function, which has no way to report this. */
void *tg_on_demand_find(struct tg_on_demand_library *library, unsigned long i)
    __attribute__((returns_nonnull));

#endif
