/* Makes one mistake with its heap. usage: heap_mistakes MISTAKE */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void *volatile kept; /* the compiler must not know what becomes of a block */
static volatile int zero;
static char in_program[64] __attribute__((aligned(16)));

__attribute__((noinline)) static char *make(size_t size)
{
    char *block = malloc(size);
    kept = block;
    return (char *)kept;
}

__attribute__((noinline)) static void drop(void *block)
{
    free(block);
    kept = NULL;
}

__attribute__((noinline)) static void *change(void *block, size_t size)
{
    void *changed = realloc(block, size);
    kept = changed;
    return kept;
}

static void write_to_freed(char *block)
{
    drop(block);
    block[5 + zero] = 1;
    for (int i = 0; i < 20000; i++)
        drop(make(1000));
}

/* A child whose stacks have numbers of their own frees its parent's block twice. */
static void fork_and_drop(char *block)
{
    if (fork() == 0) {
        for (size_t i = 0; i < 10; i++)
            drop(change(make(i), 50));
        drop(block);
        drop(block);
        _exit(0);
    }
    wait(NULL);
}

/* A child frees what its parent freed before. */
static void drop_and_fork(char *block)
{
    drop(block);
    if (fork() == 0) {
        drop(block);
        _exit(0);
    }
    wait(NULL);
}

/* A child that ends without looking at its heap, in which there is its parent's mistake. */
static void spoil_and_fork(char *block)
{
    block[100 + zero] = 1;
    if (fork() == 0)
        _exit(0);
    wait(NULL);
}

/* Children that execute another program while they have their parent's memory, or a copy of it, in which there is its mistake; then the
 * program itself, which cannot find what it wants to execute. */
static void spoil_and_execute(char *block)
{
    char *const arguments[] = {"true", NULL};
    block[100 + zero] = 1;
    if (vfork() == 0) {
        execv("/bin/true", arguments);
        _exit(1);
    }
    wait(NULL);
    if (fork() == 0) {
        drop(make(50));
        execlp("true", "true", (char *)NULL);
        _exit(1);
    }
    wait(NULL);
    execl("/nothing/there", "nothing", "at", "all", (char *)NULL);
    block[101 + zero] = 1;
    drop(block);
}

/* A child makes a mistake with a block that its parent never had. */
static void fork_and_make(void)
{
    if (fork() == 0) {
        char *own = make(70);
        drop(own);
        drop(own);
        _exit(0);
    }
    wait(NULL);
}

/* Everything that is right. */
static void do_right(char *block)
{
    for (size_t i = 0; i < 300; i++) {
        char *other = change(make(i * 10), i * 20 + 1);
        memset(other, 1, i * 20 + 1);
        drop(other);
    }
    drop(block);
}

int main(int argc, char **argv)
{
    char on_stack[64]
        __attribute__((aligned(16))) = {0}; /* what the allocator would read of a block's head */
    char *block = make(100);
    const char *mistake = argc > 1 ? argv[1] : "";
    kept = on_stack;
    char *of_stack = (char *)kept + 16;
    kept = in_program;
    char *of_program = (char *)kept + 16;
    if (strcmp(mistake, "behind") == 0)
        block[100 + zero] = 1, drop(block);
    else if (strcmp(mistake, "before") == 0)
        block[-1 + zero] = 1, drop(block);
    else if (strcmp(mistake, "never_freed") == 0)
        block[101 + zero] = 1;
    else if (strcmp(mistake, "twice") == 0)
        drop(block), drop(block);
    else if (strcmp(mistake, "inside") == 0)
        drop(block + 16);
    else if (strcmp(mistake, "realloc_inside") == 0)
        change(block + 32, 10);
    else if (strcmp(mistake, "inside_freed") == 0)
        drop(block), drop(block + 32); /* at 8 libc has a random key, which 16 has for its size */
    else if (strcmp(mistake, "stack") == 0)
        drop(of_stack);
    else if (strcmp(mistake, "program") == 0)
        drop(of_program);
    else if (strcmp(mistake, "realloc") == 0)
        change(of_stack, 10);
    else if (strcmp(mistake, "freed") == 0)
        write_to_freed(block);
    else if (strcmp(mistake, "freed_at_end") == 0)
        drop(block), block[5 + zero] = 1;
    else if (strcmp(mistake, "in_front") == 0)
        drop(block - 16);
    else if (strcmp(mistake, "at_end") == 0)
        drop(make(64) + 64);
    else if (strcmp(mistake, "realloc_in_front") == 0)
        change(block - 16, 10);
    else if (strcmp(mistake, "realloc_freed") == 0)
        drop(block), change(block, 100);
    else if (strcmp(mistake, "forked") == 0)
        fork_and_drop(block);
    else if (strcmp(mistake, "freed_by_parent") == 0)
        drop_and_fork(block);
    else if (strcmp(mistake, "large_twice") == 0)
        drop(block = make(4 << 20)), drop(block);
    else if (strcmp(mistake, "crashes") == 0)
        block[102 + zero] = 1, *(volatile char *)(zero + 0x10000L) = 1;
    else if (strcmp(mistake, "leaves") == 0)
        drop(block), block[7 + zero] = 1, _exit(5);
    else if (strcmp(mistake, "child_leaves") == 0)
        spoil_and_fork(block);
    else if (strcmp(mistake, "executes") == 0)
        spoil_and_execute(block);
    else if (strcmp(mistake, "child_twice") == 0)
        fork_and_make();
    else if (strcmp(mistake, "no_memory") == 0)
        drop((void *)(zero + 0x10000L));
    else
        do_right(block);
    puts("end");
    return 4;
}
