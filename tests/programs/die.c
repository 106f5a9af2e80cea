/* Ends by the signal whose number is its argument; `die exit N` exits; `die list` prints the signals to
 * try. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "exit") == 0)
        return atoi(argv[2]);
    int number = argc > 1 ? atoi(argv[1]) : 0;
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    signal(number, SIG_DFL);
    kill(getpid(), number);
    return 99; /* ignored by default, or stopped and continued */
}
