/* More blocks at a time than can have red zones; then as much memory as a limit of the address space lets it have. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { BLOCKS = 17000, BLOCK_BYTES = 40, LARGE_BYTES = 1 << 20, LIMIT_BYTES = 512 << 20 };

static char *blocks[BLOCKS];

int main(void)
{
    for (int i = 0; i < BLOCKS; i++)
        blocks[i] = strcpy(malloc(BLOCK_BYTES), "a block");
    for (int i = 0; i < 100; i++)
        blocks[i] = realloc(blocks[i], 2 * BLOCK_BYTES);
    for (int i = 0; i < BLOCKS; i++)
        free(blocks[i]);
    const struct rlimit limit = {LIMIT_BYTES, LIMIT_BYTES};
    setrlimit(RLIMIT_AS, &limit);
    int n = 0;
    errno = 0;
    while (n < BLOCKS && (blocks[n] = malloc(LARGE_BYTES)) != NULL)
        n++;
    int failed = errno;
    for (int i = 0; i < n; i++)
        free(blocks[i]);
    printf("%s, %s\n", n > 10 && n < LIMIT_BYTES / LARGE_BYTES ? "limited" : "not limited",
           failed == ENOMEM ? "ENOMEM" : "no error");
    return 0;
}
