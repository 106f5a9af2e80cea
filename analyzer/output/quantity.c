#include "analyzer/output/quantity.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

char *tg_quantity_count(uint64_t count, char *buffer)
{
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%" PRIu64, count);
    size_t used = 0;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            buffer[used++] = ',';
        buffer[used++] = digits[i];
    }
    buffer[used] = '\0';
    return buffer;
}

char *tg_quantity_duration(uint64_t duration_ns, char *buffer)
{
    static const struct {
        uint64_t ns;
        const char *name;
    } units[] = {{1000000000, "s"}, {1000000, "ms"}, {1000, "us"}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (duration_ns < units[i].ns)
            continue;
        uint64_t whole = duration_ns / units[i].ns;
        unsigned thousandths = (unsigned)(duration_ns % units[i].ns / (units[i].ns / 1000));
        if (whole < 10)
            snprintf(buffer, TG_QUANTITY_SIZE, "%" PRIu64 ".%03u %s", whole, thousandths, units[i].name);
        else if (whole < 100)
            snprintf(buffer, TG_QUANTITY_SIZE, "%" PRIu64 ".%02u %s", whole, thousandths / 10, units[i].name);
        else
            snprintf(buffer, TG_QUANTITY_SIZE, "%" PRIu64 ".%u %s", whole, thousandths / 100, units[i].name);
        return buffer;
    }
    snprintf(buffer, TG_QUANTITY_SIZE, duration_ns == 0 ? "0" : "%" PRIu64 " ns", duration_ns);
    return buffer;
}

char *tg_quantity_moment(uint64_t time_ns, uint64_t start_ns, int decimals, char *buffer)
{
    const char *sign = time_ns < start_ns ? "-" : "";
    uint64_t distance = time_ns < start_ns ? start_ns - time_ns : time_ns - start_ns;
    uint64_t fraction = distance % 1000000000;
    for (int i = decimals; i < 9; i++)
        fraction /= 10;
    if (decimals == 0)
        snprintf(buffer, TG_QUANTITY_SIZE, "%s%" PRIu64, sign, distance / 1000000000);
    else
        snprintf(buffer, TG_QUANTITY_SIZE, "%s%" PRIu64 ".%0*" PRIu64, sign, distance / 1000000000, decimals,
                 fraction);
    return buffer;
}
