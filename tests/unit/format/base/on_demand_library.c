/* The library of on_demand_test.c: functions whose arguments go every way that there is. */
#include "on_demand_library.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

double tg_test_many(int a, double b, int c, double d, int e, double f, int g, double h, int i, double j,
                    int k, double l, int m, double n, int o, double p, double q)
{
    return a + b * 2 + c * 3 + d * 5 + e * 7 + f * 11 + g * 13 + h * 17 + i * 19 + j * 23 + k * 29 + l * 31 +
           m * 37 + n * 41 + o * 43 + p * 47 + q * 53;
}

int tg_test_print(char *text, size_t size, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(text, size, format, arguments);
    va_end(arguments);
    return n;
}

struct tg_test_large tg_test_return(long first, long last)
{
    return (struct tg_test_large){{first, first + 1, last - 1, last}};
}

int tg_test_errno(void)
{
    return errno;
}
