/* Threads that wait for others for ever. usage: owners WAY; says "ready" when all of them wait. */
#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t locks[2];
static pthread_barrier_t both;
static pthread_t first;

static void make_locks(int protocol, int robustness)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setprotocol(&attributes, protocol);
    pthread_mutexattr_setrobust(&attributes, robustness);
    for (int i = 0; i < 2; i++)
        pthread_mutex_init(&locks[i], &attributes);
}

static void *lock_both(void *argument)
{
    long own = (long)argument;
    pthread_mutex_lock(&locks[own]);
    pthread_barrier_wait(&both);
    usleep((useconds_t)own *
           100000); /* of two that come at once the kernel refuses both where priority is inherited */
    pthread_mutex_lock(&locks[!own]); /* culprit of crosswise */
    return NULL;
}

static void *sleep_with_lock(void *unused)
{
    pthread_mutex_lock(&locks[0]);
    pthread_barrier_wait(&both);
    pause(); /* culprit of held */
    return unused;
}

static void *end_with_lock(void *unused)
{
    pthread_mutex_lock(&locks[0]);
    return unused;
}

static void *print_for_ever(void *unused)
{
    flockfile(stderr);
    pthread_barrier_wait(&both);
    pause(); /* culprit of stream */
    return unused;
}

static void *join_first(void *unused)
{
    pthread_join(first, NULL); /* culprit of join */
    return unused;
}

static pthread_rwlock_t shelves[2] = {PTHREAD_RWLOCK_INITIALIZER, PTHREAD_RWLOCK_INITIALIZER};

static void *write_both(void *argument)
{
    long own = (long)argument;
    pthread_rwlock_wrlock(&shelves[own]);
    pthread_barrier_wait(&both);
    if (own == 0)
        pthread_rwlock_rdlock(&shelves[1]); /* culprit of shelves */
    else
        pthread_rwlock_wrlock(&shelves[0]);
    return NULL;
}

static void *read_for_ever(void *unused)
{
    pthread_rwlock_rdlock(&shelves[0]);
    pthread_barrier_wait(&both);
    for (;;)
        pause();
    return unused;
}

static pthread_mutex_t of_condition = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

static void *wait_for_signal(void *unused)
{
    pthread_mutex_lock(&of_condition);
    for (;;)
        pthread_cond_wait(&condition, &of_condition); /* culprit of condition */
    return unused;
}

static pthread_barrier_t of_three;

static void *meet(void *unused)
{
    pthread_barrier_wait(&of_three); /* culprit of meeting */
    return unused;
}

static void start(void *(*run)(void *), long argument)
{
    pthread_t thread;
    pthread_create(&thread, NULL, run, (void *)argument);
}

static void read_from_child(void)
{
    int ends[2];
    char byte;
    if (pipe(ends) != 0 || fork() == 0) {
        for (;;)
            pause();
    }
    close(ends[1]);
    if (read(ends[0], &byte, 1) != 1) /* culprit of pipe */
        exit(1);
}

/* Two connected sockets: of this machine's network, or none. */
static void connect_both(int ends[2], int is_network)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    if (!is_network && socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
        exit(1);
    if (!is_network)
        return;
    int door = socket(AF_INET, SOCK_STREAM, 0);
    ends[1] = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(door, (struct sockaddr *)&address, size) != 0 || listen(door, 1) != 0 ||
        getsockname(door, (struct sockaddr *)&address, &size) != 0 ||
        connect(ends[1], (struct sockaddr *)&address, size) != 0)
        exit(1);
    ends[0] = accept(door, NULL, NULL);
    close(door);
}

static void read_from_socket(int is_network, int polls)
{
    int ends[2];
    char byte;
    connect_both(ends, is_network);
    if (fork() == 0) {
        close(ends[0]);
        for (;;)
            pause();
    }
    close(ends[1]);
    struct pollfd polled = {.fd = ends[0], .events = POLLIN};
    if ((polls ? poll(&polled, 1, -1) : read(ends[0], &byte, 1)) != 1) /* culprit of socket */
        exit(1);
}

/* In memory of two processes. */
struct shared {
    pthread_mutex_t locks[2];
    pthread_barrier_t both;
};

static struct shared *make_shared(void)
{
    struct shared *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_mutexattr_t attributes;
    pthread_barrierattr_t barrier;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_barrierattr_init(&barrier);
    pthread_barrierattr_setpshared(&barrier, PTHREAD_PROCESS_SHARED);
    for (int i = 0; i < 2; i++)
        pthread_mutex_init(&shared->locks[i], &attributes);
    pthread_barrier_init(&shared->both, &barrier, 2);
    return shared;
}

static void lock_shared(struct shared *shared, int own)
{
    pthread_mutex_lock(&shared->locks[own]);
    pthread_barrier_wait(&shared->both);
    pthread_mutex_lock(&shared->locks[!own]); /* culprit of crossed */
}

static void pause_with_shared(struct shared *shared)
{
    pthread_mutex_lock(&shared->locks[0]);
    pthread_barrier_wait(&shared->both);
    for (;;)
        pause(); /* culprit of processes */
}

/* Says that all wait when they do, as far as one can. */
static void *say_ready(void *unused)
{
    usleep(200000);
    puts("ready");
    fflush(stdout);
    return unused;
}

static void *wait_for_first(void *unused)
{
    pthread_mutex_lock(&locks[0]);
    return unused;
}

/* A process goes on in its child: the thread that has the mutex there lives, and the mutex has the id that it had before. */
static void go_on_in_child(void)
{
    pid_t parent = getpid();
    pthread_mutex_lock(&locks[0]);
    if (fork() != 0)
        _exit(0);
    while (getppid() == parent)
        usleep(1000);
    start(wait_for_first, 0);
    start(say_ready, 0);
    for (;;)
        pause();
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "";
    first = pthread_self();
    pthread_barrier_init(&both, NULL, 2);
    make_locks(strcmp(way, "inherits") == 0 ? PTHREAD_PRIO_INHERIT : PTHREAD_PRIO_NONE,
               strcmp(way, "robust") == 0 ? PTHREAD_MUTEX_ROBUST : PTHREAD_MUTEX_STALLED);
    if (strcmp(way, "goes_on") == 0)
        go_on_in_child();
    start(say_ready, 0);
    if (strcmp(way, "held") == 0) {
        start(sleep_with_lock, 0);
        pthread_barrier_wait(&both);
        pthread_mutex_lock(&locks[0]);
    } else if (strcmp(way, "ended") == 0) {
        pthread_t thread;
        pthread_create(&thread, NULL, end_with_lock, NULL);
        pthread_join(thread, NULL);
        pthread_mutex_lock(&locks[0]);
    } else if (strcmp(way, "stream") == 0) {
        start(print_for_ever, 0);
        pthread_barrier_wait(&both);
        fputs("never\n", stderr);
    } else if (strcmp(way, "shelves") == 0) {
        start(write_both, 1);
        write_both(0);
    } else if (strcmp(way, "readers") == 0) { /* nobody is known who has it */
        start(read_for_ever, 0);
        pthread_barrier_wait(&both);
        pthread_rwlock_wrlock(&shelves[0]);
    } else if (strcmp(way, "condition") == 0) {
        start(wait_for_signal, 0);
        wait_for_signal(NULL);
    } else if (strcmp(way, "meeting") == 0) {
        pthread_barrier_init(&of_three, NULL, 3);
        start(meet, 0);
        meet(NULL);
    } else if (strcmp(way, "socket") == 0 || strcmp(way, "network") == 0 || strcmp(way, "polled") == 0) {
        read_from_socket(strcmp(way, "network") == 0, strcmp(way, "polled") == 0);
    } else if (strcmp(way, "join") == 0) { /* the other one waits for this one's end */
        pthread_mutex_lock(&locks[0]);
        start(join_first, 0);
        pthread_mutex_lock(&locks[0]);
    } else if (strcmp(way, "processes") == 0) {
        struct shared *shared = make_shared();
        if (fork() == 0)
            pause_with_shared(shared);
        pthread_barrier_wait(&shared->both);
        pthread_mutex_lock(&shared->locks[0]);
    } else if (strcmp(way, "crossed") == 0) {
        struct shared *shared = make_shared();
        lock_shared(shared, fork() == 0);
    } else if (strcmp(way, "copied") == 0) { /* the child's own copy says who has its parent's */
        pthread_mutexattr_t attributes;
        pthread_mutexattr_init(&attributes);
        pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
        pthread_mutex_init(&locks[0], &attributes);
        pthread_mutex_lock(&locks[0]);
        if (fork() == 0)
            pthread_mutex_lock(&locks[0]);
        for (;;)
            pause();
    } else if (strcmp(way, "pipe") == 0) {
        read_from_child();
    } else {
        start(lock_both, 1);
        lock_both(NULL);
    }
    return 0;
}
