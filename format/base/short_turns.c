#include "format/base/short_turns.h"

#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { TURN_NS = 100 * 1000 }; /* the shortest that Linux grants */

/* Linux's struct sched_attr, whose header older C libraries cannot have beside their own. */
struct attributes {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime_ns, deadline_ns, period_ns;
};

static __thread bool has_begun;
static __thread uint64_t former_ns;

/* Returns whether it is set; *BEFORE_NS is what was. */
static bool set_turn(pid_t tid, uint64_t turn_ns, uint64_t *before_ns)
{
    int former_errno = errno;
    struct attributes attributes = {.size = sizeof attributes};
    bool is_set = syscall(SYS_sched_getattr, tid, &attributes, sizeof attributes, 0) == 0 &&
                  attributes.policy == SCHED_OTHER;
    if (is_set) {
        *before_ns = attributes.runtime_ns;
        attributes.runtime_ns = turn_ns;
        is_set = syscall(SYS_sched_setattr, tid, &attributes, 0) == 0;
    }
    errno = former_errno;
    return is_set;
}

void tg_short_turns_begin(void)
{
    if (!has_begun)
        has_begun = set_turn(0, TURN_NS, &former_ns);
}

void tg_short_turns_end_of(pid_t tid)
{
    uint64_t before_ns;
    if (has_begun)
        (void)set_turn(tid, former_ns, &before_ns);
}
