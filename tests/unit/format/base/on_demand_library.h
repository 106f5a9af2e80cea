#ifndef TG_TESTS_ON_DEMAND_LIBRARY_H
#define TG_TESTS_ON_DEMAND_LIBRARY_H

#include <stddef.h>

struct tg_test_large {
    long values[4];
};

double tg_test_many(int a, double b, int c, double d, int e, double f, int g, double h, int i, double j,
                    int k, double l, int m, double n, int o, double p, double q);
int tg_test_print(char *text, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
struct tg_test_large tg_test_return(long first, long last);
int tg_test_errno(void);
void tg_test_absent(void); /* the library does not have it */

void tg_test_elsewhere(void); /* of a library that there is not */

#endif
