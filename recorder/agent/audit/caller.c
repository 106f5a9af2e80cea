/* The process's id is kept in a page that the kernel clears in the child of a fork, so that a child asks for its own. The
 * thread's is where glibc keeps it, at TID_OFFSET of the thread's control block (struct pthread, glibc 2.36); whether it
 * is there is tried whenever the process's is asked for. A child of vfork has its parent's memory, and passes for it. */
#include "recorder/agent/audit/caller.h"

#include "recorder/agent/audit/raw_system.h"

#include <stdbool.h>

enum { TID_OFFSET = 720, PAGE_BYTES = 4096 };

static struct {
    int32_t *pid; /* NULL: not there yet, or cannot be had */
    bool has_page_failed;
    bool has_tid; /* at TID_OFFSET */
} known;

static int32_t kept_tid(void)
{
    int32_t tid;
    __asm__ volatile("movl %%fs:%c1, %0" : "=r"(tid) : "i"(TID_OFFSET));
    return tid;
}

static void make_page(void)
{
    known.pid = tg_raw_map_private(PAGE_BYTES);
    if (known.pid != NULL && tg_raw_advise(known.pid, PAGE_BYTES, MADV_WIPEONFORK) != 0) {
        tg_raw_unmap(known.pid, PAGE_BYTES);
        known.pid = NULL;
    }
    known.has_page_failed = known.pid == NULL;
}

static bool is_known(void)
{
    return known.pid != NULL && *known.pid != 0 && known.has_tid;
}

struct tg_audit_caller tg_audit_caller_known(void)
{
    return (struct tg_audit_caller){.pid = is_known() ? *known.pid : TG_AUDIT_PROCESS_UNKNOWN,
                                    .tid = kept_tid()};
}

struct tg_audit_caller tg_audit_caller_now(void)
{
    if (is_known())
        return (struct tg_audit_caller){.pid = *known.pid, .tid = kept_tid()};
    struct tg_audit_caller caller =
        (struct tg_audit_caller){.pid = tg_raw_process_id(), .tid = tg_raw_thread_id()};
    if (known.pid == NULL && !known.has_page_failed)
        make_page();
    known.has_tid = kept_tid() == caller.tid;
    if (known.pid != NULL)
        *known.pid = caller.pid;
    return caller;
}
