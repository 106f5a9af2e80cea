/* Uses its heap in steps, between calls of step(): what it prints shows whether blocks are painted and kept. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LARGE = 50000 }; /* from memory that nobody has used before */

static void *volatile kept; /* the compiler must not know what becomes of a block */
static char *block, *tagged;

__attribute__((noinline)) static char *make(size_t size)
{
    kept = malloc(size);
    return (char *)kept;
}

__attribute__((noinline)) static void drop(void *old)
{
    free(old);
    kept = NULL;
}

__attribute__((noinline)) static char *change(void *old, size_t size)
{
    kept = realloc(old, size);
    return (char *)kept;
}

__attribute__((noinline)) static void step(int number)
{
    __asm__ volatile("" : : "r"(number) : "memory");
}

/* Writes behind a block, and looks at what it got. */
__attribute__((noinline)) static void use(void)
{
    char *small = make(100), *large = make(LARGE);
    printf("%s, ", (unsigned char)large[LARGE / 2] == 0xa1 ? "painted" : "not painted");
    small[100] = 1;
    drop(small);
    small = make(5000);
    drop(small);
    printf("%s\n", make(5000) == small ? "given out again" : "kept");
    fflush(stdout);
}

int main(void)
{
    block = make(200);
    tagged = make(300);
    step(1);
    use();
    step(2);
    use();
    step(3);
    tagged = change(tagged, 100000);
    drop(block);
    step(4);
    return 0;
}
