/* Functions of every kind that an image must be able to find. Built in many ways by the image tests. */
#include <stdio.h>

int tgm_exported(int x);
int tgm_alias(int x) __attribute__((alias("tgm_exported")));
int tgm_weak(int x) __attribute__((weak));
int tgm_line(int x);
int tgm_ifunc(int x);

volatile int tgm_data = 42; /* no function */

static int __attribute__((noinline)) tgm_static(int x)
{
    return x * 3 + tgm_data;
}

__attribute__((noinline)) int tgm_exported(int x)
{
    return tgm_static(x) + 1;
}

int tgm_weak(int x)
{
    return x - 1;
}

static inline int __attribute__((always_inline)) tgm_inlined(int x)
{
    return x * tgm_data + 7; /* LINE inlined */
}

int tgm_line(int x)
{
    int sum = 0;                  /* LINE first */
    for (int i = 0; i < x; i++) { /* LINE loop */
        sum += tgm_inlined(i);    /* LINE call one */
    }
    /* LINE without code */
    /* nothing here either */
    puts("tgm_line"); /* LINE after */
    return sum;
}

int tgm_other(int x);
int tgm_other(int x)
{
    return tgm_inlined(x + 1); /* LINE call two */
}

static int one(int x)
{
    return x + 1;
}

#if !defined(NO_IFUNC)
static int (*resolve(void))(int)
{
    return one;
}
int tgm_ifunc(int x) __attribute__((ifunc("resolve")));
#else
int tgm_ifunc(int x)
{
    return one(x);
}
#endif

/* compilers' name of a copy of a function that they changed */
int tgm_clone(int x) __asm__("tgm_clone.isra.0.constprop.12");
int tgm_clone(int x)
{
    return x - 3;
}
int tgm_cold(int x) __asm__("tgm_clone.cold");
int tgm_cold(int x)
{
    return x - 4;
}

/* labels of hand-written assembly have no type */
__asm__(".text\n.globl tgm_assembly\ntgm_assembly:\n ret\n");

int main(int argc, char **argv)
{
    (void)argv;
    return tgm_exported(argc) == 0;
}
