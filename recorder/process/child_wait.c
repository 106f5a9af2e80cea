#include "recorder/process/child_wait.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>

bool tg_child_wait_find(pid_t pid, pid_t tid, pid_t *child)
{
    char path[64];
    long number;
    uint64_t first, second, third;
    snprintf(path, sizeof path, "/proc/%d/task/%d/syscall", (int)pid, (int)tid);
    FILE *file = fopen(path, "re");
    int n = file == NULL
                ? 0
                : fscanf(file, "%ld %" SCNx64 " %" SCNx64 " %" SCNx64, &number, &first, &second, &third);
    if (file != NULL)
        fclose(file);
    if (n != 4 || (number != SYS_wait4 && number != SYS_waitid))
        return false;
    if (number == SYS_waitid)
        *child = first == P_PID ? (pid_t)second : 0;
    else
        *child = (pid_t)first > 0 ? (pid_t)first : 0;
    return true;
}
