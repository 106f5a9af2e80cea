/* A heap that is known by arithmetic: N temporary blocks of 64 bytes; a list of N nodes of 48 bytes, which is dropped while a
 * block of 4 MiB grows to 8 MiB; 777 bytes that nobody keeps. The optimiser may not know what the functions do. */
#include <stdint.h>
#include <stdlib.h>

enum { N = 1000 };

struct node {
    struct node *next;
    char data[40];
};

static void *volatile kept;

__attribute__((noinline)) static void temporary(void)
{
    kept = malloc(64);
    free(kept);
}

__attribute__((noinline)) static struct node *build(void)
{
    struct node *list = NULL;
    for (int i = 0; i < N; i++) {
        struct node *node = malloc(sizeof *node);
        if (node == NULL)
            abort();
        node->next = list;
        kept = list = node;
    }
    return list;
}

__attribute__((noinline)) static void drop(struct node *list)
{
    for (struct node *next; list != NULL; list = next) {
        next = list->next;
        free(list);
    }
}

__attribute__((noinline)) static void leak(void)
{
    kept = malloc(777);
    kept = NULL;
}

int main(void)
{
    for (int i = 0; i < N; i++)
        temporary();
    struct node *list = build();
    void *large = malloc(4 << 20);
    kept = large;
    large = realloc(large, 8 << 20);
    kept = large;
    drop(list);
    leak();
    free(large);
    return 0;
}
