/* Makes the mistakes with its heap that it is asked for; tests/e2e/heap/planted.py knows what is to be said of each.
 * usage: heap_planted run FILE: each line of FILE is a case, made in a process of its own; prints their pids and statuses
 *        heap_planted ALLOC SIZE MISTAKE A B RELEASE WHERE END */
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <malloc.h>
#include <new>
#include <pthread.h>
#include <spawn.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#ifdef TG_MPI
#include <mpi.h>
#endif

#define APART __attribute__((noinline))

#ifdef TG_OWN_OPERATORS
static long n_new;
APART void *operator new(size_t n)
{
    n_new++;
    void *p = malloc(n);
    if (p == nullptr)
        throw std::bad_alloc();
    return p;
}
APART void operator delete(void *p) noexcept
{
    free(p);
}
APART void operator delete(void *p, size_t) noexcept
{
    free(p);
}
#endif

static char in_program[256] __attribute__((aligned(64)));
static void *volatile kept[4];
static void *volatile list;
static volatile int sink;
static const char *how_made;
static size_t size;
static const char *mistake, *release_by, *how_ends;
static long a, b;

/* ---- ways to get and release a block; the compiler must not know what becomes of one */

extern "C" APART void *make_block(const char *how, size_t n)
{
    void *p = nullptr;
    if (strcmp(how, "malloc") == 0)
        p = malloc(n);
    else if (strcmp(how, "calloc") == 0)
        p = calloc(1, n);
    else if (strcmp(how, "realloc") == 0)
        p = realloc(nullptr, n);
    else if (strcmp(how, "grown") == 0)
        p = realloc(realloc(nullptr, n / 2 + 1), n);
    else if (strcmp(how, "reallocarray") == 0)
        p = reallocarray(nullptr, n, 1);
    else if (strcmp(how, "aligned_alloc") == 0)
        p = aligned_alloc(64, n);
    else if (strcmp(how, "posix_memalign") == 0)
        sink = posix_memalign(&p, 32, n);
    else if (strcmp(how, "memalign") == 0)
        p = memalign(128, n);
    else if (strcmp(how, "strdup") == 0)
        p = strdup(std::string(n - 1, 'x').c_str());
    else if (strcmp(how, "new") == 0)
        p = operator new(n);
    else if (strcmp(how, "new[]") == 0)
        p = operator new[](n);
    else if (strcmp(how, "new_nothrow") == 0)
        p = operator new(n, std::nothrow);
    else if (strcmp(how, "new_aligned") == 0)
        p = operator new(n, std::align_val_t(64));
    kept[0] = p;
    return kept[0];
}

static void give_back(const char *how, void *p)
{
    if (strcmp(how, "free") == 0)
        free(p);
    else if (strcmp(how, "realloc") == 0)
        kept[3] = realloc(p, size + 100);
    else if (strcmp(how, "realloc0") == 0)
        kept[3] = realloc(p, 0);
    else if (strcmp(how, "delete") == 0)
        operator delete(p);
    else if (strcmp(how, "delete_sized") == 0)
        operator delete(p, size);
    else if (strcmp(how, "delete_wrong_size") == 0)
        operator delete(p, size + 8);
    else if (strcmp(how, "delete[]") == 0)
        operator delete[](p);
    else if (strcmp(how, "delete_aligned") == 0)
        operator delete(p, std::align_val_t(64));
    sink++; /* no call is the last thing that a function does */
}

extern "C" APART void release_block(const char *how, void *p)
{
    give_back(how, p);
    sink++;
}

extern "C" APART void release_again(const char *how, void *p)
{
    give_back(how, p);
    sink++;
}

extern "C" APART void spoil(char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ((volatile char *)p)[i] = 0x55;
}

/* ---- mistakes */

struct node {
    node *next;
    char rest[1];
};

extern "C" APART void lose(long n)
{
    for (long i = 0; i < n; i++)
        memset(make_block(how_made, size), 0, size);
    kept[0] = nullptr;
}

extern "C" APART void lose_chain(long n)
{
    node *first = nullptr;
    for (long i = 0; i < n; i++) {
        node *one = (node *)make_block(how_made, size);
        memset((void *)one, 0, size);
        one->next = first;
        first = one;
    }
    list = first;
    list = nullptr;
    kept[0] = nullptr;
}

/* What others do in the meantime: it overwrites what calls have left on the stack. */
extern "C" APART void forget()
{
    volatile char room[20000];
    for (size_t i = 0; i < sizeof room; i++)
        room[i] = 0;
}

struct other {
    const char *how;
    void *block;
};

static void *release_there(void *x)
{
    other *o = (other *)x;
    release_again(o->how, o->block);
    return nullptr;
}

static void in_thread(void *(*function)(void *), void *x)
{
    pthread_t thread;
    pthread_create(&thread, nullptr, function, x);
    pthread_join(thread, nullptr);
}

static bool is(const char *what)
{
    return strcmp(mistake, what) == 0;
}

APART static void make_mistake()
{
    char on_stack[256] __attribute__((aligned(64)));
    memset(on_stack, 0, sizeof on_stack);
    if (is("leak"))
        return lose(a);
    if (is("chain"))
        return lose_chain(a);
    kept[1] = on_stack;
    bool of_block = !is("stack") && !is("global") && !is("text");
    char *p = of_block ? (char *)make_block(how_made, size) : nullptr;
    if (of_block && strcmp(how_made, "strdup") != 0)
        memset(p, 1, size);
    if (is("over"))
        spoil(p + size + a, b);
    else if (is("under"))
        spoil(p - a, b);
    else if (is("uaf"))
        release_block(release_by, p), spoil(p + a, b);
    else if (is("twice"))
        release_block(release_by, p), release_again(release_by, p);
    else if (is("twice_elsewhere")) {
        other o = {release_by, p};
        release_block(release_by, p);
        in_thread(release_there, &o);
    } else if (is("inside"))
        release_again(release_by, p + a);
    else if (is("stack"))
        release_again(release_by, (char *)kept[1] + a);
    else if (is("global"))
        release_again(release_by, in_program + a);
    else if (is("text"))
        release_again(release_by, (void *)"a constant that is long enough for that");
    else if (is("interior"))
        kept[0] = p + 8, p = nullptr;
    if ((is("over") || is("under") || is("mismatch") || is("right")) && strcmp(release_by, "keep") != 0)
        release_block(release_by, p), kept[0] = nullptr;
}

static void *mistake_there(void *x)
{
    make_mistake();
    return x;
}

/* ---- the end */

static void end_now()
{
    if (strcmp(how_ends, "_exit") == 0)
        _exit(3);
    if (strcmp(how_ends, "kill") == 0)
        kill(getpid(), SIGKILL);
    if (strcmp(how_ends, "term") == 0)
        raise(SIGTERM);
    if (strcmp(how_ends, "abort") == 0)
        abort();
    if (strcmp(how_ends, "segv") == 0)
        *(volatile char *)(uintptr_t)(0x1000 + sink) = 1;
    char program[] = "/bin/true";
    char *const arguments[] = {program, nullptr};
    if (strcmp(how_ends, "execv") == 0)
        execv(program, arguments);
    if (strcmp(how_ends, "execlp") == 0)
        execlp("true", "true", (char *)nullptr);
    if (strcmp(how_ends, "exec_fails") == 0)
        execl("/nothing/there", "nothing", (char *)nullptr);
    exit(3);
}

static void run_case(char **v)
{
    how_made = v[0], size = strtoul(v[1], nullptr, 10), mistake = v[2];
    a = atol(v[3]), b = atol(v[4]), release_by = v[5], how_ends = v[7];
    if (strcmp(v[6], "thread") == 0) {
        in_thread(mistake_there, nullptr);
    } else if (strcmp(v[6], "child") == 0) {
        pid_t child = fork();
        if (child == 0) {
            make_mistake();
            forget();
            end_now();
        }
        waitpid(child, nullptr, 0);
        exit(0);
    } else {
        make_mistake();
    }
    forget();
}

#ifdef TG_MPI
/* Rank 1 makes the mistake; then END is how the job ends. */
static int run_ranks(int argc, char **v)
{
    int rank;
    MPI_Init(&argc, &v);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 1)
        run_case(v + 1);
    MPI_Barrier(MPI_COMM_WORLD);
    if (strcmp(v[8], "abort_self") == 0 && rank == 1)
        MPI_Abort(MPI_COMM_WORLD, 7);
    if (strcmp(v[8], "abort_other") == 0 && rank == 0)
        MPI_Abort(MPI_COMM_WORLD, 7);
    if (strcmp(v[8], "killed") == 0 && rank == 0)
        raise(SIGKILL);
    if (strcmp(v[8], "crash") == 0 && rank == 0)
        *(volatile char *)(uintptr_t)(0x1000 + sink) = 1;
    if (strcmp(v[8], "exit") == 0 && rank == 0)
        exit(5);
    if (strcmp(v[8], "finalize") != 0)
        for (;;)
            pause();
    return MPI_Finalize();
}
#endif

extern char **environ;

static int run_all(const char *program, const char *path)
{
    char line[400];
    FILE *file = fopen(path, "r");
    while (file != nullptr && fgets(line, sizeof line, file) != nullptr) {
        char *v[16] = {(char *)program};
        int n = 1, status = 0;
        for (char *word = strtok(line, " \n"); word != nullptr && n < 15; word = strtok(nullptr, " \n"))
            v[n++] = word;
        pid_t pid;
        if (posix_spawn(&pid, program, nullptr, nullptr, v, environ) != 0)
            return 1;
        waitpid(pid, &status, 0);
        printf("%d %d\n", (int)pid, WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status));
        fflush(stdout);
    }
    if (file == nullptr)
        return 1;
    fclose(file);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "run") == 0)
        return run_all(argv[0], argv[2]);
    if (argc != 9)
        return 2;
#ifdef TG_MPI
    return run_ranks(argc, argv);
#endif
    run_case(argv + 1);
    end_now();
    return 0;
}
