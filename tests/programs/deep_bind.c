/* Opens libraries as its arguments say, and prints what of it a program can see. Arguments: commands, each with its own
 *
 *     open PATH FLAGS   FLAGS: letters d RTLD_DEEPBIND, l RTLD_LAZY, n RTLD_NOW, g RTLD_GLOBAL, k RTLD_NODELETE, o RTLD_NOLOAD;
 *                       handles are numbered in the order of these calls
 *     call I NAME       calls const char *NAME(void) of handle I
 *     close I
 *     info I            what dlinfo, dladdr and dlsym say of it
 *     objects           what dl_iterate_phdr lists, without the agent's
 *     threads A B       opens both, deeply bound, in two threads at once
 *     fork              the rest is the child's
 *     encode            libc itself opens a library
 *     coroutines        opens what is not there, deeply bound, on a stack that is unmapped then, and encodes on one right below
 *     stop              raises SIGSTOP
 *
 *   -DOWN_MALLOC        the program has an allocator of its own */
#include <dlfcn.h>
#include <iconv.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

enum { MAX_HANDLES = 64 };

typedef const char *text_function(void);

const char *shared(void);
const char *late(void);
const char *lately(void);
long random(void);

const char *shared(void)
{
    return "program";
}

const char *late(void)
{
    return "program";
}

const char *lately(void)
{
    return "program";
}

long random(void)
{
    return 1;
}

static void *handles[MAX_HANDLES];
static int n_handles;

#ifdef OWN_MALLOC
#include <stdint.h>

static char arena[1 << 22];
static size_t used;
int program_mallocs;

void *malloc(size_t size)
{
    size_t at = __atomic_fetch_add(&used, (size + 31) & ~(size_t)15, __ATOMIC_RELAXED);
    program_mallocs += size == 12345;
    *(size_t *)(void *)(arena + at) = size;
    return at + size + 16 < sizeof arena ? arena + at + 16 : NULL;
}

void free(void *block)
{
    (void)block;
}

void *calloc(size_t count, size_t size)
{
    return malloc(count * size);
}

void *realloc(void *block, size_t size)
{
    void *moved = malloc(size);
    size_t old = block != NULL ? ((size_t *)block)[-2] : 0;
    return moved == NULL || block == NULL ? moved : memcpy(moved, block, old < size ? old : size);
}
#endif

static const char *last_component(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static int flags_of(const char *letters)
{
    static const struct {
        char letter;
        int flag;
    } flags[] = {{'d', RTLD_DEEPBIND}, {'l', RTLD_LAZY},     {'n', RTLD_NOW},
                 {'g', RTLD_GLOBAL},   {'k', RTLD_NODELETE}, {'o', RTLD_NOLOAD}};
    int result = 0;
    for (; *letters != '\0'; letters++)
        for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
            result |= *letters == flags[i].letter ? flags[i].flag : 0;
    return result;
}

static void open_one(const char *path, const char *letters)
{
    void *handle = dlopen(path, flags_of(letters));
    const char *error = dlerror();
    int same = -1;
    for (int i = 0; i < n_handles && same < 0; i++)
        if (handle != NULL && handles[i] == handle)
            same = i;
    printf("open %s %s: %s%s", path, letters, handle != NULL ? "loaded" : "not loaded, ",
           handle != NULL  ? ""
           : error != NULL ? error
                           : "no error");
    if (same >= 0)
        printf(", the same as %d", same);
    printf("\n");
    handles[n_handles++] = handle;
}

static void call(int i, const char *name)
{
    text_function *function;
    *(void **)&function = dlsym(handles[i], name);
    printf("%d %s: %s\n", i, name, function != NULL ? function() : dlerror());
}

static void info(int i)
{
    struct link_map *map = NULL;
    Lmid_t id = -1;
    char origin[4096] = "";
    Dl_serinfo size;
    dlinfo(handles[i], RTLD_DI_LINKMAP, &map);
    dlinfo(handles[i], RTLD_DI_LMID, &id);
    dlinfo(handles[i], RTLD_DI_ORIGIN, origin);
    printf("%d is %s of %ld, origin %s\n", i, map != NULL ? map->l_name : "?", (long)id, origin);
    if (dlinfo(handles[i], RTLD_DI_SERINFOSIZE, &size) == 0) {
        Dl_serinfo *folders = malloc(size.dls_size);
        dlinfo(handles[i], RTLD_DI_SERINFOSIZE, folders);
        dlinfo(handles[i], RTLD_DI_SERINFO, folders);
        for (unsigned k = 0; k < folders->dls_cnt; k++)
            printf("  looks in %s\n", folders->dls_serpath[k].dls_name);
        free(folders);
    }
    Dl_info where;
    void *symbol = dlsym(handles[i], "name");
    if (symbol != NULL && dladdr(symbol, &where) != 0)
        printf("  name is %s in %s\n", where.dli_sname, where.dli_fname);
    for (const ElfW(Dyn) *entry = map->l_ld; entry->d_tag != DT_NULL; entry++)
        if (entry->d_tag == DT_NEEDED)
            printf("  needs");
    printf("\n");
}

static int list_object(struct dl_phdr_info *object, size_t size, void *context)
{
    (void)size;
    (void)context;
    const char *name = last_component(object->dlpi_name);
    if (strncmp(name, "tollgate-", 9) != 0 && strncmp(object->dlpi_name, "/proc/", 6) != 0)
        printf("  %s\n", name);
    return 0;
}

static pthread_barrier_t barrier;

static void *open_in_thread(void *path)
{
    pthread_barrier_wait(&barrier);
    return dlopen(path, RTLD_NOW | RTLD_DEEPBIND);
}

static void threads(char *one, char *other)
{
    char *paths[] = {one, other};
    pthread_t ids[2];
    pthread_barrier_init(&barrier, NULL, 2);
    for (int i = 0; i < 2; i++)
        if (pthread_create(&ids[i], NULL, open_in_thread, paths[i]) != 0)
            exit(2);
    for (int i = 0; i < 2; i++) {
        pthread_join(ids[i], &handles[n_handles]);
        printf("thread: %s\n", handles[n_handles++] != NULL ? "loaded" : "not loaded");
    }
}

static void encode(void)
{
    iconv_t into = iconv_open("UTF-16", "UTF-8");
    printf("encode: %d\n", into != (iconv_t)-1);
    if (into != (iconv_t)-1)
        iconv_close(into);
}

static void open_nothing(void)
{
    open_one("./libnothing.so", "nd");
}

static void run_on(char *stack, size_t size, void (*function)(void))
{
    static ucontext_t back, there;
    getcontext(&there);
    there.uc_stack.ss_sp = stack;
    there.uc_stack.ss_size = size;
    there.uc_link = &back;
    makecontext(&there, function, 0);
    swapcontext(&back, &there);
}

static void coroutines(void)
{
    enum { UPPER = 48 << 10, LOWER = 256 << 10 };
    char *stacks = mmap(NULL, LOWER + UPPER, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stacks == MAP_FAILED)
        exit(2);
    run_on(stacks + LOWER, UPPER, open_nothing);
    munmap(stacks + LOWER, UPPER);
    run_on(stacks, LOWER, encode);
}

static void go_on_in_child(void)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0)
        return;
    waitpid(child, &status, 0);
    printf("child: %d\n", status);
    exit(status != 0);
}

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "open") == 0 && i + 2 < argc) {
            open_one(argv[i + 1], argv[i + 2]);
            i += 2;
        } else if (strcmp(argv[i], "call") == 0 && i + 2 < argc) {
            call(atoi(argv[i + 1]), argv[i + 2]);
            i += 2;
        } else if (strcmp(argv[i], "threads") == 0 && i + 2 < argc) {
            threads(argv[i + 1], argv[i + 2]);
            i += 2;
        } else if (strcmp(argv[i], "close") == 0 && i + 1 < argc) {
            printf("close: %d\n", dlclose(handles[atoi(argv[++i])]));
        } else if (strcmp(argv[i], "info") == 0 && i + 1 < argc) {
            info(atoi(argv[++i]));
        } else if (strcmp(argv[i], "objects") == 0) {
            puts("objects:");
            dl_iterate_phdr(list_object, NULL);
        } else if (strcmp(argv[i], "fork") == 0) {
            go_on_in_child();
        } else if (strcmp(argv[i], "encode") == 0) {
            encode();
        } else if (strcmp(argv[i], "coroutines") == 0) {
            coroutines();
        } else if (strcmp(argv[i], "stop") == 0) {
            raise(SIGSTOP);
        } else {
            return 2;
        }
    }
#ifdef OWN_MALLOC
    printf("the program's malloc was called %d times\n", program_mallocs);
#endif
    return 0;
}
