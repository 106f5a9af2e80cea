#include "recorder/process/current_call.h"

#include <inttypes.h>
#include <stdio.h>

bool tg_current_call_read(pid_t tid, struct tg_current_call *call)
{
    char path[40];
    snprintf(path, sizeof path, "/proc/%d/syscall", (int)tid);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return false;
    int n = fscanf(file, "%ld %" SCNx64 " %" SCNx64 " %" SCNx64, &call->number, &call->arguments[0],
                   &call->arguments[1], &call->arguments[2]);
    fclose(file);
    return n == 4;
}
