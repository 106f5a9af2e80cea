/* Calls of dlopen and its relatives whose outcome depends on who calls, how, and from where; prints what came
 * of each. Argument: a scenario; the libraries that it needs are in the current directory.
 *
 *   -DAS_LIBRARY   the same code as a library, whose begin(scenario) the program `through` calls */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <link.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef void *open_function(const char *path, int flags);

jmp_buf program_jump;

static const char *last_component(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* Prints the result of a dlopen, and then of dlerror, twice. */
static void *show(const char *what, void *handle)
{
    const char *error = dlerror();
    printf("%s: %s, error %s", what, handle != NULL ? "loaded" : "not loaded",
           error != NULL ? error : "none");
    error = dlerror();
    printf(", then %s", error != NULL ? error : "none");
    struct link_map *map = NULL;
    Lmid_t id = 0;
    if (handle != NULL && dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 &&
        dlinfo(handle, RTLD_DI_LMID, &id) == 0)
        printf(", is %s%s", last_component(map->l_name),
               id == LM_ID_BASE ? "" : " in a namespace of its own");
    putchar('\n');
    return handle;
}

static void call(void *handle, const char *name)
{
    int (*function)(void);
    *(void **)&function = dlsym(handle, name);
    printf("%s = %d\n", name, function != NULL ? function() : -1);
}

static void flags(void)
{
    show("not there yet", dlopen("./libplain.so", RTLD_NOW | RTLD_NOLOAD));
    void *plain = show("now", dlopen("./libplain.so", RTLD_NOW));
    show("there", dlopen("./libplain.so", RTLD_NOW | RTLD_NOLOAD));
    show("global", dlopen("./libplain.so", RTLD_NOW | RTLD_GLOBAL));
    show("whole program", dlopen(NULL, RTLD_NOW));
    show("empty", dlopen("", RTLD_LAZY));
    show("deep", dlopen("./libdeep.so", RTLD_NOW | RTLD_DEEPBIND));
    show("kept", dlopen("./libkept.so", RTLD_NOW | RTLD_NODELETE));
    show("no mode", dlopen("./libplain.so", 0));
    show("nonsense", dlopen("./libplain.so", 0x40000000));
    printf("closed: %d\n", dlclose(plain));
    printf("closed: %d\n", dlclose(plain));
}

/* By the caller's RUNPATH, and relative to where the caller's file is. */
static void search(void)
{
    show("runpath", dlopen("libhidden.so", RTLD_NOW));
    show("origin", dlopen("$ORIGIN/away/libhidden.so", RTLD_NOW));
    show("nowhere", dlopen("libnowhere.so", RTLD_NOW));
}

static void errors(void)
{
    FILE *text = fopen("text.so", "w");
    for (int i = 0; i < 1000 && text != NULL; i++)
        fputs("no library\n", text);
    if (text != NULL)
        fclose(text);
    show("missing", dlopen("/no/such/library.so", RTLD_NOW));
    show("no library", dlopen("./text.so", RTLD_NOW));
    show("missing dependency", dlopen("./libbroken.so", RTLD_NOW));
    show("undefined symbol", dlopen("./libundefined.so", RTLD_NOW));
    dlopen("/no/such/library.so", RTLD_NOW); /* an error that nobody reads, and a success that clears it */
    show("program", dlopen(NULL, RTLD_NOW));
    dlopen("/no/such/library.so", RTLD_NOW);
    printf("found: %d\n", dlsym(RTLD_DEFAULT, "printf") != NULL);
    show("after dlsym", NULL);
    dlopen("/no/such/library.so", RTLD_NOW);
    dlsym(RTLD_DEFAULT, "no_such_symbol");
    show("after a failing dlsym", NULL);
    dlsym(RTLD_DEFAULT, "no_such_symbol");
    show("cleared", dlopen("./libplain.so", RTLD_NOW));
    char *first = dlopen("/no/such/first.so", RTLD_NOW) == NULL ? dlerror() : NULL;
    dlopen("/no/such/second.so", RTLD_NOW);
    printf("%s\n", dlerror());
    (void)first;
    errno = 77;
    dlopen(NULL, RTLD_NOW);
    printf("errno %d\n", errno);
}

static void *error_in_thread(void *context)
{
    (void)context;
    show("thread: before", NULL);
    show("thread: missing", dlopen("/no/such/thread.so", RTLD_NOW));
    return NULL;
}

/* Each thread has an error of its own. */
static void threads(void)
{
    pthread_t thread;
    dlopen("/no/such/main.so", RTLD_NOW);
    if (pthread_create(&thread, NULL, error_in_thread, NULL) == 0)
        pthread_join(thread, NULL);
    show("main", NULL);
}

static void spaces(void)
{
    show("own", dlmopen(LM_ID_NEWLM, "./libplain.so", RTLD_NOW));
    show("base", dlmopen(LM_ID_BASE, "./libplain.so", RTLD_NOW));
    show("global elsewhere", dlmopen(LM_ID_NEWLM, "./libplain.so", RTLD_NOW | RTLD_GLOBAL));
    show("no namespace", dlmopen(12345, "./libplain.so", RTLD_NOW));
    show("by runpath", dlmopen(LM_ID_BASE, "libhidden.so", RTLD_NOW));
    void *opener = show("opener", dlmopen(LM_ID_NEWLM, "./libopener.so", RTLD_NOW));
    call(opener, "open_here");
}

static void pointers(void)
{
    open_function *opens[2];
    *(void **)&opens[0] = dlsym(RTLD_NEXT, "dlopen");
    *(void **)&opens[1] = dlsym(RTLD_DEFAULT, "dlopen");
    for (int i = 0; i < 2; i++)
        show(i == 0 ? "next" : "default", opens[i]("libhidden.so", RTLD_NOW));
}

static void recursion(void)
{
    void *outer = show("outer", dlopen("./libouter.so", RTLD_NOW));
    call(outer, "what_was_opened");
    show("outer again", dlopen("./libouter.so", RTLD_NOW));
    show("failing inside", dlopen("./libfailing_inside.so", RTLD_NOW));
    dlopen("/no/such/library.so", RTLD_NOW);
    show("error before", dlopen("./libfailing_again.so", RTLD_NOW));
}

/* A constructor that does not return: leaves by longjmp into here. */
static void jump(void)
{
    volatile int count = 0;
    if (setjmp(program_jump) == 0) {
        count++;
        dlopen("./libjumping.so", RTLD_NOW);
        puts("not reached");
    }
    printf("jumped back %d\n", count);
}

static void trace(void)
{
    show("tracing", dlopen("./libtracing.so", RTLD_NOW));
}

static void at_cleanup(void *context)
{
    printf("cleaned up %s\n", (const char *)context);
}

static void *cancelled(void *context)
{
    (void)context;
    pthread_cleanup_push(at_cleanup, "the caller of dlopen");
    dlopen("./libcancelling.so", RTLD_NOW);
    pthread_cleanup_pop(0);
    return NULL;
}

static void cancel(void)
{
    pthread_t thread;
    void *result = NULL;
    if (pthread_create(&thread, NULL, cancelled, NULL) == 0)
        pthread_join(thread, &result);
    puts(result == PTHREAD_CANCELED ? "cancelled" : "not cancelled");
    _exit(0); /* the thread took the loader's lock with it */
}

static const struct {
    const char *name;
    void (*run)(void);
} scenarios[] = {
    {"flags", flags},         {"search", search},     {"errors", errors}, {"threads", threads},
    {"spaces", spaces},       {"pointers", pointers}, {"jump", jump},     {"trace", trace},
    {"recursion", recursion}, {"cancel", cancel},
};

int begin(const char *scenario);

int begin(const char *scenario)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (size_t i = 0; i < sizeof scenarios / sizeof scenarios[0]; i++)
        if (strcmp(scenario, scenarios[i].name) == 0)
            return scenarios[i].run(), 0;
    return 2;
}

#ifndef AS_LIBRARY
int main(int argc, char **argv)
{
    return argc == 2 ? begin(argv[1]) : 2;
}
#endif
