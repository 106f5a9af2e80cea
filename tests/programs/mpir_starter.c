/* A starter as no real one behaves. Its arguments are what it does, in order:
 *   start N PROGRAM        N ranks, told their numbers; in the table under this host's name
 *   entry HOST NAME PID    one more entry; "-" for a NULL name, "?" for a pointer to nowhere
 *   size N                 the table is said to have N entries
 *   nowhere                the table is said to be where nothing is
 *   spawned | null | state N   the state that the next call tells
 *   call | call-in-thread  MPIR_Breakpoint
 *   abort TEXT             what the program has to say about its end, and a call
 *   say                    prints MPIR_being_debugged
 *   wait                   for the ranks
 *   pause                  for SIGTERM, after saying so
 *   stuck                  for ever, after saying so, whatever becomes of it and of the ranks
 *   exit N | exec PROGRAM ARGUMENT... */
#include "mpir_variables.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_ENTRIES = 4096 };

static char *host;
static int n_started;

static char *name_of(char *word)
{
    if (strcmp(word, "-") == 0)
        return NULL;
    return strcmp(word, "?") == 0 ? (char *)(unsigned long)0x10 : word;
}

static void add(char *host_name, char *executable, int pid)
{
    if (MPIR_proctable == NULL)
        MPIR_proctable = calloc(MAX_ENTRIES, sizeof *MPIR_proctable);
    MPIR_PROCDESC *entry = &MPIR_proctable[MPIR_proctable_size++];
    entry->host_name = host_name;
    entry->executable_name = executable;
    entry->pid = pid;
}

static void start(int count, char *program)
{
    for (int i = 0; i < count; i++) {
        char number[16];
        snprintf(number, sizeof number, "%d", n_started++);
        pid_t pid = fork();
        if (pid == 0) {
            execl(program, program, number, (char *)NULL);
            _exit(127);
        }
        add(host, program, pid);
    }
}

static void *call(void *unused)
{
    MPIR_Breakpoint();
    return unused;
}

static void call_in_thread(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, call, NULL) == 0)
        pthread_join(thread, NULL);
}

static void nothing(int number)
{
    (void)number;
}

static void wait_for_signal(void)
{
    sigset_t set;
    int number;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    signal(SIGTERM, nothing);
    sigprocmask(SIG_BLOCK, &set, NULL);
    printf("waiting\n");
    fflush(stdout);
    sigwait(&set, &number);
}

static void get_stuck(void)
{
    signal(SIGTERM, SIG_IGN);
    printf("waiting\n");
    fflush(stdout);
    for (;;)
        pause();
}

/* Does what WORDS begin with; returns how many words that were, 0: what it does not know. */
static int act(char **words)
{
    const char *word = words[0];
    if (strcmp(word, "start") == 0)
        return start(atoi(words[1]), words[2]), 3;
    if (strcmp(word, "entry") == 0)
        return add(name_of(words[1]), name_of(words[2]), atoi(words[3])), 4;
    if (strcmp(word, "size") == 0)
        return MPIR_proctable_size = atoi(words[1]), 2;
    if (strcmp(word, "nowhere") == 0)
        return MPIR_proctable = (MPIR_PROCDESC *)(unsigned long)0x10, 1;
    if (strcmp(word, "spawned") == 0 || strcmp(word, "null") == 0)
        return MPIR_debug_state = word[0] == 's', 1;
    if (strcmp(word, "state") == 0)
        return MPIR_debug_state = atoi(words[1]), 2;
    if (strcmp(word, "call") == 0)
        return MPIR_Breakpoint(), 1;
    if (strcmp(word, "call-in-thread") == 0)
        return call_in_thread(), 1;
    if (strcmp(word, "abort") == 0)
        return MPIR_debug_abort_string = words[1], MPIR_debug_state = 2, MPIR_Breakpoint(), 2;
    if (strcmp(word, "say") == 0)
        return printf("being debugged: %d\n", is_being_debugged()), fflush(stdout), 1;
    if (strcmp(word, "pause") == 0)
        return wait_for_signal(), 1;
    if (strcmp(word, "stuck") == 0)
        return get_stuck(), 1;
    if (strcmp(word, "wait") == 0) {
        while (wait(NULL) > 0)
            continue;
        return 1;
    }
    if (strcmp(word, "exit") == 0)
        _exit(atoi(words[1]));
    if (strcmp(word, "exec") == 0)
        execvp(words[1], words + 1);
    return 0;
}

int main(int argc, char **argv)
{
    static char name[256];
    gethostname(name, sizeof name - 1);
    host = name;
    for (int i = 1, done; i < argc; i += done) {
        done = act(argv + i);
        if (done == 0) {
            fprintf(stderr, "%s?\n", argv[i]);
            return 2;
        }
    }
    return 0;
}
