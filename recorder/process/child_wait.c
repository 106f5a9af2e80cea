#include "recorder/process/child_wait.h"

#include "recorder/process/current_call.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>

bool tg_child_wait_find(pid_t tid, pid_t *child)
{
    struct tg_current_call call;
    if (!tg_current_call_read(tid, &call) || (call.number != SYS_wait4 && call.number != SYS_waitid))
        return false;
    pid_t first = (pid_t)call.arguments[0];
    if (call.number == SYS_waitid)
        *child = first == P_PID ? (pid_t)call.arguments[1] : 0;
    else
        *child = first > 0 ? first : 0;
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
