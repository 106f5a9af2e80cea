#include "live/source/visitor.h"

#include <assert.h>
#include <stddef.h>

enum { MOST = 4 };

int tg_visitor_poll(const struct tg_visitor *visitor, struct pollfd *fds, nfds_t count, int timeout_ms)
{
    struct pollfd all[MOST + 1];
    assert(count <= MOST);
    if (visitor == NULL)
        return poll(fds, count, timeout_ms);
    for (nfds_t i = 0; i < count; i++)
        all[i] = fds[i];
    all[count] = (struct pollfd){.fd = visitor->asked_fd, .events = POLLIN};
    int ready = poll(all, count + 1, timeout_ms);
    if (ready < 0)
        return ready;
    for (nfds_t i = 0; i < count; i++)
        fds[i].revents = all[i].revents;
    if (all[count].revents != 0) {
        visitor->serve(visitor->context, false);
        ready--;
    }
    return ready;
}
