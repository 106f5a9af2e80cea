#include "analyzer/models/mpi_name.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static void drop_end(char *name, const char *end)
{
    size_t length = strlen(name), n = strlen(end);
    if (length > n + 4 && strcmp(name + length - n, end) == 0)
        name[length - n] = '\0';
}

bool tg_mpi_name(const char *function, char *name, size_t size)
{
    bool is_profiling = (*function == 'P' || *function == 'p') && strncasecmp(function + 1, "mpi_", 4) == 0;
    const char *from = is_profiling ? function + 1 : function;
    *name = '\0';
    if (strncasecmp(from, "mpi_", 4) != 0 || from[4] == '\0')
        return false;
    snprintf(name, size, "MPI_%s", from + 4);
    for (char *c = name + 4; *c != '\0'; c++)
        *c = (char)(c == name + 4 ? toupper((unsigned char)*c) : tolower((unsigned char)*c));
    drop_end(name, "_");
    drop_end(name, "_");
    drop_end(name, "_f08ts");
    drop_end(name, "_f08");
    drop_end(name, "_f");
    drop_end(name, "_c");
    return true;
}
