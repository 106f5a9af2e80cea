#include "analyzer/where/call_values.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { WORLD = 1, ANY = -1, NOBODY = -2 }; /* communicator and ranks, as in events */

static void add(struct tg_where_values *values, const char *name, int64_t value, const char *text)
{
    struct tg_where_value *added = &values->items[values->count++];
    snprintf(added->name, sizeof added->name, "%s", name);
    snprintf(added->text, sizeof added->text, "%s", text);
    added->value = value;
}

/* A number below ANY is that of a call without such an argument. */
static void add_number(struct tg_where_values *values, const char *name, int64_t value, const char *any)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRId64, value);
    if (value >= 0 || value == ANY)
        add(values, name, value, value == ANY ? any : text);
}

void tg_where_values_of_call(const struct tg_mpi_call *call, struct tg_where_values *values)
{
    bool receives = strcasestr(call->name, "probe") != NULL ||
                    (strcasestr(call->name, "recv") != NULL && strstr(call->name, "Send") == NULL);
    if (call->peer == NOBODY)
        add(values, receives ? "source" : "dest", call->peer, "MPI_PROC_NULL");
    else
        add_number(values, receives ? "source" : "dest", call->peer, "MPI_ANY_SOURCE");
    add_number(values, "tag", call->tag, "MPI_ANY_TAG");
    if (call->root >= 0)
        add_number(values, "root", call->root, "");
    if (call->comm == WORLD)
        add(values, "comm", WORLD, "MPI_COMM_WORLD");
    else if (call->comm != 0)
        add(values, "comm", (int64_t)call->comm, call->comm_name == NULL ? "" : call->comm_name);
}
