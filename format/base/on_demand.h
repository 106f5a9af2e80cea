/* Libraries that are opened when one of their functions is called first, not when the program starts: most commands need
 * none of them, and loading and relocating all of them takes longer than a short recording. cmake/on_demand.cmake makes a
 * stub of each function's name, which the linker takes for the function itself, and this file fills the address in. */
#ifndef TG_FORMAT_BASE_ON_DEMAND_H
#define TG_FORMAT_BASE_ON_DEMAND_H

/* One library, as the generated assembly lays it out (cmake/on_demand/stubs.S.in). */
struct tg_on_demand_library {
    const char *file; /* what dlopen is told */
    const char *const *names;
    void **addresses; /* what the stubs jump to: at first to code that finds the function */
    void *handle;     /* __atomic; NULL: not opened yet */
};

/* The address of function I of LIBRARY, which is opened if it isn't yet, and stays open; the function's stub jumps there
 * from now on. Keeps errno. From any thread; not from a signal handler. Where there is no such library or function it
 * says so on standard error and ends the process with status 127, as the dynamic loader does where a library is missing:
 * the caller is a function of the library to be, whose failure has no form of its own. */
void *tg_on_demand_find(struct tg_on_demand_library *library, unsigned long i)
    __attribute__((returns_nonnull));

#endif
