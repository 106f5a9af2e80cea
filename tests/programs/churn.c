/* Threads and processes come and go all the time: `churn END` works in lanes until the file END is there,
 * each lane in turns that begin and end threads, forked children with threads of their own, vforked and
 * executed ones, and children that are killed. It prints "churned" and ends with 5, or says what went wrong
 * and ends with 1. `churn END ready FILE` creates FILE when all lanes have had a turn. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LANES = 4, THREADS = 3, WORTH = 5 };

static const char *end;
static atomic_int n_wrong;

static void complain(const char *what, long value)
{
    fprintf(stderr, "churn: %s: %ld\n", what, value);
    atomic_fetch_add(&n_wrong, 1);
}

/* Breakpoints and barriers are planted in these. */
__attribute__((noinline)) long add_up(long count)
{
    volatile long sum = 0;
    for (long i = 0; i < count; i++)
        sum += i;
    return sum;
}

__attribute__((noinline)) void begin_turn(int lane, unsigned turn)
{
    (void)lane;
    (void)turn;
}

__attribute__((noinline)) void end_turn(int lane, unsigned turn)
{
    (void)lane;
    (void)turn;
}

static void *in_thread(void *argument)
{
    return (void *)(intptr_t)(add_up(WORTH) + (intptr_t)argument);
}

static void begin_and_end_threads(void)
{
    pthread_t threads[THREADS];
    for (intptr_t i = 0; i < THREADS; i++) {
        int why = pthread_create(&threads[i], NULL, in_thread, (void *)i);
        if (why != 0) {
            complain("pthread_create", why);
            exit(1);
        }
    }
    for (intptr_t i = 0; i < THREADS; i++) {
        void *result = NULL;
        pthread_join(threads[i], &result);
        if ((intptr_t)result != WORTH * (WORTH - 1) / 2 + i)
            complain("a thread's result", (long)(intptr_t)result);
    }
}

/* Waits for CHILD, which is to end with STATUS. */
static void expect(pid_t child, int status)
{
    int found = 0;
    while (waitpid(child, &found, 0) < 0)
        if (errno != EINTR) {
            complain("waitpid", errno);
            return;
        }
    if (found != status)
        complain("a child's wait status", found);
}

static void fork_child(bool is_killed)
{
    pid_t child = fork();
    if (child == 0) {
        while (is_killed)
            add_up(WORTH);
        begin_and_end_threads();
        _exit(3);
    }
    if (child > 0 && is_killed)
        kill(child, SIGKILL);
    expect(child, is_killed ? SIGKILL : 3 << 8);
}

static void execute_child(void)
{
    pid_t child = vfork();
    if (child == 0) {
        execl("/proc/self/exe", "churn", "leaf", (char *)NULL);
        _exit(1);
    }
    expect(child, 4 << 8);
}

static atomic_uint lanes_begun;

static void *run_lane(void *argument)
{
    int lane = (int)(intptr_t)argument;
    for (unsigned turn = 0; access(end, F_OK) != 0 && n_wrong == 0; turn++) {
        begin_turn(lane, turn);
        switch ((turn + (unsigned)lane) % 4) {
        case 0:
            begin_and_end_threads();
            break;
        case 1:
            fork_child(false);
            break;
        case 2:
            execute_child();
            break;
        default:
            fork_child(true);
        }
        end_turn(lane, turn);
        if (turn == 0)
            atomic_fetch_add(&lanes_begun, 1);
        usleep(500);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t lanes[LANES];
    if (argc == 2 && strcmp(argv[1], "leaf") == 0)
        return add_up(WORTH) == WORTH * (WORTH - 1) / 2 ? 4 : 1;
    if (argc != 2 && argc != 4)
        return 2;
    end = argv[1];
    for (intptr_t i = 0; i < LANES; i++)
        if (pthread_create(&lanes[i], NULL, run_lane, (void *)i) != 0)
            return 1;
    while (argc == 4 && lanes_begun < LANES)
        usleep(1000);
    if (argc == 4)
        close(open(argv[3], O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    for (int i = 0; i < LANES; i++)
        pthread_join(lanes[i], NULL);
    puts(n_wrong == 0 ? "churned" : "went wrong");
    return n_wrong == 0 ? 5 : 1;
}
