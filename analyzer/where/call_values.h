/* Arguments of the functions of MPI that threads are in. */
#ifndef TG_ANALYZER_WHERE_CALL_VALUES_H
#define TG_ANALYZER_WHERE_CALL_VALUES_H

#include "analyzer/models/mpi/call.h"

#include <stddef.h>
#include <stdint.h>

struct tg_where_value {
    char name[16], text[32]; /* untrusted */
    int64_t value;
};

enum { TG_WHERE_MAX_VALUES = 8 };

struct tg_where_values {
    int32_t pid, tid;
    struct tg_where_value items[TG_WHERE_MAX_VALUES];
    size_t count;
};

/* Values of CALL, which was recorded, as a look at a running job names them, in an empty VALUES. */
void tg_where_values_of_call(const struct tg_mpi_call *call, struct tg_where_values *values);

#endif
