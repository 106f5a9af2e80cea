/* Loads and unloads libraries as its arguments say, one after the other, and prints one line for each:
 *
 *   open PATH        dlopen; handles are numbered from 0 in order of success
 *   close N          dlclose of handle N
 *   namespace PATH   dlmopen into a new namespace
 *   thread PATH      dlopen in a thread of its own, which is then joined
 *   threads N PATH   dlopen and dlclose of PATH+"0".so ... in N threads at the same time
 *   fork PATH        dlopen in a forked child, which is then waited for
 *   elsewhere        children are in another pid namespace from now on
 *   call N NAME      calls the function NAME of handle N
 *   raise            a handled signal: a stop for another reason
 *   iconv CHARSET    a conversion from CHARSET, whose module libc loads by itself
 *   names            name-service look-ups, whose modules libc loads by itself
 *   cancel           cancels a thread, for which libc loads an unwinder by itself
 *   storm N PATH...  N times dlopen of every PATH, then dlclose
 *   unceasing PATH...  the same until standard input ends, and a hundred times more
 *   await            prints "ready" and waits for a line on standard input
 *   exec ARG...      replaces the program */
#include <dlfcn.h>
#include <iconv.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <pwd.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_HANDLES = 4096, MAX_THREADS = 64 };

static void *handles[MAX_HANDLES];
static int n_handles;

static void *keep(void *handle)
{
    puts(handle != NULL ? "loaded" : "not loaded");
    if (handle != NULL && n_handles < MAX_HANDLES)
        handles[n_handles++] = handle;
    return handle;
}

static void *open_in_thread(void *path)
{
    return dlopen(path, RTLD_NOW);
}

static void *open_and_close_in_thread(void *path)
{
    void *handle = dlopen(path, RTLD_NOW);
    if (handle != NULL)
        dlclose(handle);
    return handle;
}

static void run_threads(int count, const char *path)
{
    static char paths[MAX_THREADS][4096];
    pthread_t threads[MAX_THREADS];
    int loaded = 0;
    for (int i = 0; i < count && i < MAX_THREADS; i++) {
        snprintf(paths[i], sizeof paths[i], "%s%d.so", path, i);
        if (pthread_create(&threads[i], NULL, open_and_close_in_thread, paths[i]) != 0)
            abort();
    }
    for (int i = 0; i < count && i < MAX_THREADS; i++) {
        void *handle;
        pthread_join(threads[i], &handle);
        loaded += handle != NULL;
    }
    printf("%d threads loaded\n", loaded);
}

static void run_thread(char *path)
{
    pthread_t thread;
    void *handle = NULL;
    if (pthread_create(&thread, NULL, open_in_thread, path) == 0)
        pthread_join(thread, &handle);
    keep(handle);
}

static void run_fork(const char *path)
{
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0)
        _exit(dlopen(path, RTLD_NOW) != NULL ? 0 : 1);
    int status = 0;
    waitpid(pid, &status, 0);
    printf("child exited with %d\n", WEXITSTATUS(status));
}

static void call(int n, const char *name)
{
    void *symbol = dlsym(handles[n], name);
    int (*function)(void);
    memcpy(&function, &symbol, sizeof function);
    printf("%s = %d\n", name, symbol != NULL ? function() : -1);
}

static void on_signal(int signal)
{
    (void)signal;
}

static void open_and_close(char **paths)
{
    for (char **path = paths; *path != NULL; path++) {
        void *handle = dlopen(*path, RTLD_NOW);
        if (handle != NULL)
            dlclose(handle);
    }
}

static void storm(int rounds, char **paths)
{
    for (int i = 0; i < rounds; i++)
        open_and_close(paths);
    puts("storm over");
}

static void storm_until_input_ends(char **paths)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    while (poll(&input, 1, 0) == 0)
        open_and_close(paths);
    storm(100, paths);
}

static void convert(const char *charset)
{
    iconv_t converter = iconv_open("UTF-8", charset);
    puts(converter != (iconv_t)-1 ? "converts" : "does not convert");
    if (converter != (iconv_t)-1)
        iconv_close(converter);
}

static void look_up_names(void)
{
    struct addrinfo *found = NULL;
    getpwnam("root");
    getaddrinfo("localhost", NULL, NULL, &found);
    freeaddrinfo(found);
    puts("looked up");
}

static void *wait_for_ever(void *context)
{
    sem_post(context);
    pause();
    return context;
}

static void cancel_thread(void)
{
    pthread_t thread;
    sem_t running;
    void *result = NULL;
    sem_init(&running, 0, 0);
    if (pthread_create(&thread, NULL, wait_for_ever, &running) == 0 && sem_wait(&running) == 0 &&
        pthread_cancel(thread) == 0)
        pthread_join(thread, &result);
    puts(result == PTHREAD_CANCELED ? "cancelled" : "not cancelled");
}

/* Does the command at ARG, returns the next one. */
static char **run(char **arg)
{
    if (strcmp(*arg, "open") == 0 && arg[1] != NULL)
        return keep(dlopen(arg[1], RTLD_NOW)), arg + 2;
    if (strcmp(*arg, "close") == 0 && arg[1] != NULL)
        return printf("closed: %d\n", dlclose(handles[atoi(arg[1])])), arg + 2;
    if (strcmp(*arg, "namespace") == 0 && arg[1] != NULL)
        return keep(dlmopen(LM_ID_NEWLM, arg[1], RTLD_NOW)), arg + 2;
    if (strcmp(*arg, "thread") == 0 && arg[1] != NULL)
        return run_thread(arg[1]), arg + 2;
    if (strcmp(*arg, "threads") == 0 && arg[1] != NULL && arg[2] != NULL)
        return run_threads(atoi(arg[1]), arg[2]), arg + 3;
    if (strcmp(*arg, "fork") == 0 && arg[1] != NULL)
        return run_fork(arg[1]), arg + 2;
    if (strcmp(*arg, "elsewhere") == 0)
        return puts(unshare(CLONE_NEWPID) == 0 ? "elsewhere" : "still here"), arg + 1;
    if (strcmp(*arg, "call") == 0 && arg[1] != NULL && arg[2] != NULL)
        return call(atoi(arg[1]), arg[2]), arg + 3;
    if (strcmp(*arg, "raise") == 0)
        return raise(SIGUSR1), arg + 1;
    if (strcmp(*arg, "iconv") == 0 && arg[1] != NULL)
        return convert(arg[1]), arg + 2;
    if (strcmp(*arg, "names") == 0)
        return look_up_names(), arg + 1;
    if (strcmp(*arg, "cancel") == 0)
        return cancel_thread(), arg + 1;
    fprintf(stderr, "loads: what is %s?\n", *arg);
    exit(2);
}

int main(int argc, char **argv)
{
    (void)argc;
    signal(SIGUSR1, on_signal);
    for (char **arg = argv + 1; *arg != NULL;) {
        if (strcmp(*arg, "await") == 0) {
            char line[16];
            puts("ready");
            fflush(stdout);
            if (fgets(line, sizeof line, stdin) == NULL)
                return 3;
            arg++;
        } else if (strcmp(*arg, "storm") == 0 && arg[1] != NULL) {
            storm(atoi(arg[1]), arg + 2); /* the rest is paths */
            break;
        } else if (strcmp(*arg, "unceasing") == 0) {
            storm_until_input_ends(arg + 1);
            break;
        } else if (strcmp(*arg, "exec") == 0) {
            fflush(stdout);
            execvp(arg[1], arg + 1);
            return 127;
        } else {
            arg = run(arg);
        }
    }
    return 0;
}
