#include "analyzer/models/mpi/types.h"

#include <stddef.h>
#include <string.h>

/* What an element is: integers, real numbers (complex ones are two), and pairs of a number and an index. */
static const struct {
    const char *name; /* without MPI_ */
    const char *kind;
} kinds[] = {
    {"CHAR", "1"},
    {"SIGNED_CHAR", "1"},
    {"UNSIGNED_CHAR", "1"},
    {"CHARACTER", "1"},
    {"INT8_T", "1"},
    {"UINT8_T", "1"},
    {"INTEGER1", "1"},
    {"C_BOOL", "1"},
    {"CXX_BOOL", "1"},
    {"SHORT", "2"},
    {"UNSIGNED_SHORT", "2"},
    {"INT16_T", "2"},
    {"UINT16_T", "2"},
    {"INTEGER2", "2"},
    {"INT", "4"},
    {"UNSIGNED", "4"},
    {"INT32_T", "4"},
    {"UINT32_T", "4"},
    {"INTEGER4", "4"},
    {"INTEGER", "4"},
    {"LOGICAL", "4"},
    {"WCHAR", "4"},
    {"2INT", "4"},
    {"2INTEGER", "4"},
    {"LONG", "8"},
    {"UNSIGNED_LONG", "8"},
    {"LONG_LONG", "8"},
    {"LONG_LONG_INT", "8"},
    {"UNSIGNED_LONG_LONG", "8"},
    {"INT64_T", "8"},
    {"UINT64_T", "8"},
    {"INTEGER8", "8"},
    {"AINT", "8"},
    {"COUNT", "8"},
    {"OFFSET", "8"},
    {"INTEGER16", "16"},
    {"REAL2", "real 2"},
    {"FLOAT", "real 4"},
    {"REAL", "real 4"},
    {"REAL4", "real 4"},
    {"2REAL", "real 4"},
    {"COMPLEX", "real 4"},
    {"COMPLEX8", "real 4"},
    {"C_COMPLEX", "real 4"},
    {"C_FLOAT_COMPLEX", "real 4"},
    {"CXX_FLOAT_COMPLEX", "real 4"},
    {"DOUBLE", "real 8"},
    {"DOUBLE_PRECISION", "real 8"},
    {"REAL8", "real 8"},
    {"2DOUBLE_PRECISION", "real 8"},
    {"DOUBLE_COMPLEX", "real 8"},
    {"COMPLEX16", "real 8"},
    {"C_DOUBLE_COMPLEX", "real 8"},
    {"CXX_DOUBLE_COMPLEX", "real 8"},
    {"LONG_DOUBLE", "real 16"},
    {"C_LONG_DOUBLE_COMPLEX", "real 16"},
    {"CXX_LONG_DOUBLE_COMPLEX", "real 16"},
    {"FLOAT_INT", "real 4 and 4"},
    {"DOUBLE_INT", "real 8 and 4"},
    {"LONG_DOUBLE_INT", "real 16 and 4"},
    {"LONG_INT", "8 and 4"},
    {"SHORT_INT", "2 and 4"},
};

/* NULL: anything, or not known. REAL16 is not there: what it is depends on the compiler. */
static const char *kind_of(const char *type)
{
    if (type == NULL || strncmp(type, "MPI_", 4) != 0)
        return NULL;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(kinds[i].name, type + 4) == 0)
            return kinds[i].kind;
    return NULL;
}

bool tg_mpi_types_match(const char *x, const char *y)
{
    if (x == y)
        return true;
    const char *of_x = kind_of(x), *of_y = kind_of(y);
    return of_x == NULL || of_y == NULL || strcmp(of_x, of_y) == 0;
}
