/* A signal handler on a small stack of its own allocates: says whether that took more than the stack has. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM_BYTES = 1 << 16, ENOUGH_BYTES = 4096, PAINT = 0x5a };

static unsigned char room[ROOM_BYTES];
static unsigned char *volatile handlers;

static void handle(int signal)
{
    unsigned char here;
    (void)signal;
    handlers = &here;
    void *block = malloc(100);
    free(realloc(block, 5000));
}

int main(void)
{
    const stack_t stack = {.ss_sp = room, .ss_size = sizeof room};
    const struct sigaction action = {.sa_handler = handle, .sa_flags = SA_ONSTACK};
    memset(room, PAINT, sizeof room);
    sigaltstack(&stack, NULL);
    sigaction(SIGUSR1, &action, NULL);
    for (int i = 0; i < 3; i++)
        raise(SIGUSR1);
    unsigned char *used = room;
    while (*used == PAINT)
        used++;
    puts(handlers - used <= ENOUGH_BYTES ? "small" : "large");
    return 0;
}
