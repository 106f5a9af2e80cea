/* Needs most of the memory that it may have: 48 MiB, and 100,000 small blocks. Prints how much it got. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *volatile kept;

static int get(int count, size_t size)
{
    int got = 0;
    for (int i = 0; i < count; i++) {
        char *block = malloc(size);
        if (block == NULL)
            continue;
        memset(block, 1, size);
        *(void **)block = kept;
        kept = block;
        got++;
    }
    return got;
}

int main(void)
{
    printf("%d", get(48, 1 << 20));
    printf(" %d\n", get(100000, 40));
    return 0;
}
