#include "recorder/process/memory_kills.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- counters */

int64_t tg_memory_kills_number(const char *text, const char *name)
{
    size_t length = strlen(name);
    for (const char *line = text; line != NULL && *line != '\0';) {
        if (strncmp(line, name, length) == 0 && line[length] == ' ') {
            char *end;
            errno = 0;
            long long value = strtoll(line + length + 1, &end, 10);
            return errno == 0 && end != line + length + 1 && value >= 0 ? value : -1;
        }
        line = strchr(line, '\n');
        line = line == NULL ? NULL : line + 1;
    }
    return -1;
}

/* The whole of a file of the kernel, cut at SIZE - 1 bytes; "" where it cannot be read. */
static void read_file(const char *path, char *text, size_t size)
{
    size_t length = 0;
    ssize_t n = 1;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    while (file >= 0 && n > 0 && length + 1 < size) {
        n = read(file, text + length, size - 1 - length);
        length += n > 0 ? (size_t)n : 0;
    }
    if (file >= 0)
        close(file);
    text[length] = '\0';
}

static int64_t read_number(const char *path, const char *name)
{
    char text[16384];
    read_file(path, text, sizeof text);
    return tg_memory_kills_number(text, name);
}

/* The file that counts for the memory control group of this process; "" none is known. */
static void find_group(char *file, size_t size)
{
    char text[4096], *rest = text;
    *file = '\0';
    read_file("/proc/self/cgroup", text, sizeof text);
    for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
        char *controllers = strchr(line, ':'),
             *path = controllers == NULL ? NULL : strchr(controllers + 1, ':');
        if (path == NULL || path[1] != '/')
            continue;
        *path++ = '\0';
        if (strcmp(controllers + 1, "memory") == 0)
            snprintf(file, size, "/sys/fs/cgroup/memory%s/memory.oom_control", path);
        else if (controllers[1] == '\0' && *file == '\0')
            snprintf(file, size, "/sys/fs/cgroup%s/memory.events", path);
    }
}

static int64_t machine_now(void)
{
    return read_number("/proc/vmstat", "oom_kill");
}

static int64_t group_now(const struct tg_memory_kills *kills)
{
    return *kills->group_file == '\0' ? -1 : read_number(kills->group_file, "oom_kill");
}

static int64_t difference(int64_t before, int64_t now)
{
    return before < 0 || now < before ? -1 : now - before;
}

struct tg_memory_kill_counts tg_memory_kills_count(const struct tg_memory_kills *kills)
{
    return (struct tg_memory_kill_counts){.machine = difference(kills->machine_before, machine_now()),
                                          .group = difference(kills->group_before, group_now(kills))};
}

/* ---- the log */

pid_t tg_memory_kills_victim(const char *record)
{
    static const char killed[] = "Killed process ", task[] = ",pid=";
    const char *text = strchr(record, ';'), *number = NULL; /* behind priority, number and time */
    if (text == NULL)
        return 0;
    text++;
    if (strncmp(text, "oom-kill:", strlen("oom-kill:")) == 0) {
        for (const char *at = text; (at = strstr(at, task)) != NULL; at += strlen(task))
            number = at + strlen(task); /* the last one: a name before it is the program's */
    } else if (strncmp(text, "Out of memory", strlen("Out of memory")) == 0 ||
               strncmp(text, "Memory cgroup out of memory", strlen("Memory cgroup out of memory")) == 0) {
        number = strstr(text, killed);
        number = number == NULL ? NULL : number + strlen(killed);
    }
    long pid = number == NULL ? 0 : strtol(number, NULL, 10);
    return pid > 0 && pid <= INT32_MAX ? (pid_t)pid : 0;
}

/* The log has the numbers of the first namespace of processes. */
static bool has_same_numbers(void)
{
    static const char first[] = "pid:[4026531836]";
    char name[64];
    ssize_t length = readlink("/proc/self/ns/pid", name, sizeof name - 1);
    if (length <= 0)
        return false;
    name[length] = '\0';
    return strcmp(name, first) == 0;
}

static bool is_victim(const struct tg_memory_kills *kills, pid_t pid)
{
    for (unsigned i = 0; i < kills->n_victims && i < TG_MEMORY_KILLS_VICTIMS; i++)
        if (kills->victims[i] == pid)
            return true;
    return false;
}

static void read_log(struct tg_memory_kills *kills)
{
    enum { MOST_RECORDS = 1 << 16 };
    char record[8193];
    for (int i = 0; i < MOST_RECORDS; i++) {
        ssize_t length = read(kills->log, record, sizeof record - 1);
        if (length < 0 && errno == EPIPE) /* records were overwritten before they were read */
            kills->log_has_gaps = true;
        if (length < 0 && (errno == EPIPE || errno == EINTR))
            continue;
        if (length <= 0)
            return;
        record[length] = '\0';
        pid_t victim = tg_memory_kills_victim(record);
        if (victim != 0 && !is_victim(kills, victim)) /* two lines tell of each */
            kills->victims[kills->n_victims++ % TG_MEMORY_KILLS_VICTIMS] = victim;
    }
    kills->log_has_gaps = true;
}

bool tg_memory_kills_names(struct tg_memory_kills *kills, pid_t pid)
{
    if (!kills->has_log)
        return false;
    read_log(kills);
    return is_victim(kills, pid);
}

bool tg_memory_kills_are_named(const struct tg_memory_kills *kills, struct tg_memory_kill_counts counts)
{
    return kills->has_log && !kills->log_has_gaps && counts.machine >= 0 &&
           kills->n_victims <= TG_MEMORY_KILLS_VICTIMS && (int64_t)kills->n_victims >= counts.machine;
}

/* ---- life */

void tg_memory_kills_begin(struct tg_memory_kills *kills)
{
    *kills = (struct tg_memory_kills){0};
    find_group(kills->group_file, sizeof kills->group_file);
    kills->machine_before = machine_now();
    kills->group_before = group_now(kills);
    kills->log = has_same_numbers() ? open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC) : -1;
    kills->has_log = kills->log >= 0 && lseek(kills->log, 0, SEEK_END) >= 0;
    if (kills->log >= 0 && !kills->has_log)
        close(kills->log);
}

void tg_memory_kills_end(struct tg_memory_kills *kills)
{
    if (kills->has_log)
        close(kills->log);
    kills->has_log = false;
}

struct tg_event tg_memory_kills_evidence(struct tg_memory_kills *kills, const struct tg_event *end)
{
    const struct tg_memory_kill_counts counts = tg_memory_kills_count(kills);
    bool is_named = tg_memory_kills_names(kills, end->pid);
    return (struct tg_event){
        .time_ns = end->time_ns,
        .pid = end->pid,
        .tid = end->tid,
        .kind = TG_EVENT_MEMORY_KILLS,
        .memory_kills = {.named = is_named,
                         .machine = counts.machine,
                         .group = counts.group,
                         .others = !is_named && tg_memory_kills_are_named(kills, counts)}};
}
