#include "log.h"

#include <omp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MAX_ENTRIES = 1 << 14, MAX_TEXT = 80 };

struct buffer {
    struct buffer *next;
    long tid;
    int n;
    struct entry {
        unsigned long order;
        char text[MAX_TEXT];
    } entries[MAX_ENTRIES];
};

static struct buffer *buffers;
static unsigned long order;
static long numbers;
static __thread struct buffer *buffer;
static __thread long current_task;

static struct buffer *new_buffer(void)
{
    struct buffer *made = calloc(1, sizeof *made);
    if (made == NULL)
        abort();
    made->tid = syscall(SYS_gettid);
    made->next = __atomic_load_n(&buffers, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&buffers, &made->next, made, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        ;
    return made;
}

void tell(const char *format, ...)
{
    if (buffer == NULL)
        buffer = new_buffer();
    if (buffer->n == MAX_ENTRIES)
        abort();
    struct entry *entry = &buffer->entries[buffer->n++];
    entry->order = __atomic_add_fetch(&order, 1, __ATOMIC_SEQ_CST);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(entry->text, sizeof entry->text, format, arguments);
    va_end(arguments);
}

long log_new(void)
{
    return __atomic_add_fetch(&numbers, 1, __ATOMIC_SEQ_CST);
}

void tell_text(const char *text)
{
    tell("%s", text);
}

#pragma GCC diagnostic ignored "-Wformat-nonliteral"
void tell_number(const char *format, long number)
{
    tell(format, number);
}

void tell_begin(long team, long parent)
{
    tell("begin @%ld of @%ld %d/%d level %d", team, parent, omp_get_thread_num(), omp_get_num_threads(),
         omp_get_level());
}

void tell_barrier(const char *kind, int instance)
{
    tell("arrive %s %d", kind, instance);
    tell("leave %s %d", kind, instance);
}

void tell_wait(const char *mutex, long lock)
{
    tell("wait %s &%ld", mutex, lock);
}

void tell_enter(const char *mutex, long lock)
{
    tell("enter %s &%ld", mutex, lock);
}

void tell_leave(const char *mutex, long lock)
{
    tell("exit %s &%ld", mutex, lock);
}

static __thread long suspended[4096];
static __thread int n_suspended;

void tell_task(long task)
{
    if (current_task != 0)
        tell("end task #%ld suspended", current_task);
    suspended[n_suspended++ % 4096] = current_task;
    current_task = task;
    tell("task #%ld", task);
}

void tell_task_end(long task, const char *how)
{
    tell("end task #%ld %s", task, how);
    current_task = suspended[--n_suspended % 4096];
    if (current_task != 0)
        tell("resume #%ld", current_task);
}

long log_task(void)
{
    return current_task;
}

long log_no_task(void)
{
    long task = current_task;
    current_task = 0;
    return task;
}

void log_restore_task(long task)
{
    current_task = task;
}

static __attribute__((destructor)) void write_log(void)
{
    const char *path = getenv("OPENMP_LOG");
    FILE *file = path == NULL ? NULL : fopen(path, "w");
    if (file == NULL)
        return;
    for (struct buffer *b = buffers; b != NULL; b = b->next)
        for (int i = 0; i < b->n; i++)
            fprintf(file, "%ld %lu %s\n", b->tid, b->entries[i].order, b->entries[i].text);
    fclose(file);
}
