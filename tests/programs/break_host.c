/* Does what its arguments say, in order:
 *   open LIB    dlopen       run N     plugin_run(N) of the last opened one, its sum is checked
 *   close       dlclose the last opened one
 *   fork        a child goes on with the rest; the parent waits for it and exits
 *   vfork       a child that execs `break_host host 1`
 *   exec        executes the rest as arguments of a new break_host
 *   threads N   host_function in N threads at once
 *   host N      calls host_function N times
 *   wait        says "waiting" and waits for a line
 *   forks N LIB N children, one by one, each of which opens and closes LIB
 *   storm DIR N opens and closes DIR/lib0.so to lib(N-1).so in four threads, each its share */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int host_function(int x);

int __attribute__((noinline)) host_function(int x)
{
    __asm__ volatile("");
    return x + 1;
}

static void *call(void *argument)
{
    for (int i = 0; i < 100; i++)
        host_function(i);
    return argument;
}

static void fail(const char *what)
{
    fprintf(stderr, "break_host: %s: %s\n", what, dlerror());
    exit(1);
}

static void wait_for(pid_t child)
{
    int status = 0;
    if (waitpid(child, &status, 0) != child || status != 0)
        fail("child");
}

static void in_threads(int n)
{
    pthread_t threads[64];
    for (int i = 0; i < n && i < 64; i++)
        if (pthread_create(&threads[i], NULL, call, NULL) != 0)
            fail("pthread_create");
    for (int i = 0; i < n && i < 64; i++)
        pthread_join(threads[i], NULL);
}

static void wait_for_line(void)
{
    puts("waiting");
    fflush(stdout);
    for (int c = getchar(); c != '\n' && c != EOF; c = getchar()) {
    }
}

struct share {
    const char *folder;
    int first, last;
};

static void *open_share(void *argument)
{
    const struct share *share = argument;
    for (int i = share->first; i < share->last; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/lib%d.so", share->folder, i);
        void *handle = dlopen(path, RTLD_NOW);
        if (handle == NULL)
            fail(path);
        if (i % 3 == 0)
            dlclose(handle);
    }
    return NULL;
}

static void storm(const char *folder, int n)
{
    struct share shares[4];
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        shares[i] = (struct share){folder, n * i / 4, n * (i + 1) / 4};
        if (pthread_create(&threads[i], NULL, open_share, &shares[i]) != 0)
            fail("pthread_create");
    }
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
}

static void fork_on(int n, const char *library)
{
    for (int i = 0; i < n; i++) {
        pid_t child = fork();
        if (child == 0) {
            void *handle = dlopen(library, RTLD_NOW);
            _exit(handle == NULL || dlclose(handle) != 0);
        }
        wait_for(child);
    }
}

int main(int argc, char **argv)
{
    void *handles[64] = {NULL};
    int n = 0;
    for (int i = 1; i < argc; i++) {
        const char *what = argv[i];
        if (strcmp(what, "open") == 0 && n < 63) {
            handles[++n] = dlopen(argv[++i], RTLD_NOW);
            if (handles[n] == NULL)
                fail(argv[i]);
        } else if (strcmp(what, "run") == 0) {
            int (*run)(int) = (int (*)(int))dlsym(handles[n], "plugin_run");
            int times = atoi(argv[++i]);
            if (run == NULL || run(times) != times)
                fail("plugin_run");
        } else if (strcmp(what, "close") == 0) {
            dlclose(handles[n--]);
        } else if (strcmp(what, "fork") == 0) {
            pid_t child = fork();
            if (child != 0) {
                wait_for(child);
                return 0;
            }
        } else if (strcmp(what, "vfork") == 0) {
            pid_t child = vfork();
            if (child == 0) {
                execl("/proc/self/exe", "break_host", "host", "1", (char *)NULL);
                _exit(127);
            }
            wait_for(child);
        } else if (strcmp(what, "exec") == 0) {
            execv("/proc/self/exe", argv + i);
            fail("exec");
        } else if (strcmp(what, "threads") == 0) {
            in_threads(atoi(argv[++i]));
        } else if (strcmp(what, "host") == 0) {
            for (int k = atoi(argv[++i]); k > 0; k--)
                host_function(k);
        } else if (strcmp(what, "wait") == 0) {
            wait_for_line();
        } else if (strcmp(what, "forks") == 0 && i + 2 < argc) {
            fork_on(atoi(argv[i + 1]), argv[i + 2]);
            i += 2;
        } else if (strcmp(what, "storm") == 0 && i + 2 < argc) {
            storm(argv[i + 1], atoi(argv[i + 2]));
            i += 2;
        } else {
            fail(what);
        }
    }
    return 0;
}
