/* A library to set breakpoints in. */
#include <stdio.h>

int plugin_run(int times);

static __attribute__((noinline)) int plugin_static(int x)
{
    __asm__ volatile("");
    return x + 1; /* LINE in static */
}

static __attribute__((noinline)) void plugin_local_constructor(void)
{
    __asm__ volatile("");
}

__attribute__((constructor)) static void plugin_constructor(void)
{
    plugin_local_constructor();
}

int plugin_run(int times)
{
    int sum = 0;
    for (int i = 0; i < times; i++)
        sum = plugin_static(sum);
    return sum;
}
