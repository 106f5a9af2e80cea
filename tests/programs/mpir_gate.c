/* A rank that waits at its gate, if it has one:  mpir_gate NUMBER
 *   GATE     it has one
 *   STAYS    it waits for SIGTERM before it ends */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#ifdef GATE
volatile int MPIR_debug_gate;
#endif

static void nothing(int number)
{
    (void)number;
}

int main(int argc, char **argv)
{
    sigset_t set;
    int number;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    signal(SIGTERM, nothing);
    sigprocmask(SIG_BLOCK, &set, NULL);
#ifdef GATE
    while (MPIR_debug_gate == 0)
        usleep(1000);
#endif
    printf("rank %s\n", argc > 1 ? argv[1] : "?");
    fflush(stdout);
#ifdef STAYS
    sigwait(&set, &number);
#else
    (void)number;
#endif
    return 0;
}
