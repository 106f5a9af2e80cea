/* Touches a byte of a block, or beside it. usage: heap_touch WHAT SIZE BYTE
 * WHAT: x, f free it before, F free it afterwards, d free it twice and touch nothing */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *volatile block;

__attribute__((noinline)) static void make(size_t size)
{
    block = malloc(size);
}

__attribute__((noinline)) static void drop(void)
{
    free(block);
}

__attribute__((noinline)) static void touch(long byte)
{
    block[byte] = 1;
}

int main(int argc, char **argv)
{
    size_t size = argc > 3 ? strtoul(argv[2], NULL, 10) : 1;
    char what = argv[1][0];
    for (int i = 0; i < 3000; i++) { /* more than are kept: pages are used again */
        make(size);
        memset(block, 1, size);
        drop();
    }
    make(size);
    if (what == 'f' || what == 'd')
        drop();
    if (what != 'd')
        touch(strtol(argv[3], NULL, 10));
    if (what == 'F' || what == 'd')
        drop();
    puts("end");
    return 3;
}
