/* The socket that a page's server listens on, and its link. */
#ifndef TG_LIVE_WEB_LISTEN_H
#define TG_LIVE_WEB_LISTEN_H

#include "format/base/error.h"
#include "live/web/gate.h"

#include <stdint.h>

enum { TG_WEB_LINK_SIZE = 384 };

/* Listens at HOST (NULL: the loopback address alone) and PORT (0: one that is free); fills GATE, and LINK with the address
 * that a browser opens. *FD is the caller's. Errors: NOT_FOUND, no such host; OS. */
struct tg_error *tg_web_listen(const char *host, uint16_t port, struct tg_web_gate *gate,
                               char link[TG_WEB_LINK_SIZE], int *fd);

#endif
