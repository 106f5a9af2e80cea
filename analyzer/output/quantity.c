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

char *tg_quantity_bytes(uint64_t bytes, char *buffer)
{
    static const char *const names[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    if (bytes < 1024) {
        snprintf(buffer, TG_QUANTITY_SIZE, "%" PRIu64 " B", bytes);
        return buffer;
    }
    size_t unit = 0;
    while (unit + 1 < sizeof names / sizeof *names && bytes >> (10 * (unit + 2)) != 0)
        unit++;
    unsigned shift = 10 * ((unsigned)unit + 1);
    uint64_t whole = bytes >> shift, rest = bytes & ((UINT64_C(1) << shift) - 1);
    unsigned hundredths = (unsigned)((rest >> (shift - 10)) * 100 >> 10);
    if (whole < 10)
        snprintf(buffer, TG_QUANTITY_SIZE, "%" PRIu64 ".%02u %s", whole, hundredths, names[unit]);
    else if (whole < 100)
        snprintf(buffer, TG_QUANTITY_SIZE, "%" PRIu64 ".%u %s", whole, hundredths / 10, names[unit]);
    else
        snprintf(buffer, TG_QUANTITY_SIZE, "%" PRIu64 " %s", whole, names[unit]);
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
