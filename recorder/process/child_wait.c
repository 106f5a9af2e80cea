#include "recorder/process/child_wait.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
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

static bool each_child_of_thread(pid_t pid, pid_t tid, bool (*take)(void *context, pid_t child),
                                 void *context)
{
    char path[64];
    int child;
    bool do_more = true;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)tid);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return false;
    while (do_more && fscanf(file, "%d", &child) == 1)
        do_more = take(context, child);
    do_more = do_more && !ferror(file);
    fclose(file);
    return do_more;
}

bool tg_child_wait_each_child(pid_t pid, bool (*take)(void *context, pid_t child), void *context)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *tasks = opendir(path);
    bool do_more = tasks != NULL;
    struct dirent *entry;
    while (do_more && (entry = readdir(tasks)) != NULL) {
        long tid = strtol(entry->d_name, NULL, 10);
        if (tid > 0)
            do_more = each_child_of_thread(pid, (pid_t)tid, take, context);
    }
    if (tasks != NULL)
        closedir(tasks);
    return do_more;
}
