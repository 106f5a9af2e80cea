/* Access to the page's server: the checks that a request has to pass before anything is done for it. A login node has
 * other users, and a browser has other pages: neither may look at a job, or command it. */
#ifndef TG_LIVE_WEB_GATE_H
#define TG_LIVE_WEB_GATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TG_WEB_TOKEN_SIZE = 33, TG_WEB_MAX_NAMES = 8, TG_WEB_NAME_SIZE = 256 };

struct tg_web_gate {
    char names[TG_WEB_MAX_NAMES]
              [TG_WEB_NAME_SIZE]; /* names that Host may have, without a port: "localhost", "[::1]" */
    size_t n_names;
    bool takes_addresses;           /* Host may also be any address: who listens everywhere has many */
    char token[TG_WEB_TOKEN_SIZE];  /* in the link */
    char secret[TG_WEB_TOKEN_SIZE]; /* in the cookie */
    char cookie[32];                /* name of the cookie */
};

/* What counts of a request; NULL: it is not there. */
struct tg_web_request {
    const char *method, *path;
    const char *host, *origin, *site, *mode, *destination; /* Host, Origin, Sec-Fetch-Site, -Mode and -Dest */
    const char *cookies, *type;                            /* Cookie, Content-Type */
    const char *token;                                     /* of the query */
    bool is_ambiguous;                                     /* one of these headers is there more than once */
};

/* Makes token and secret, and the cookie's name of PORT: cookies of all ports of a host are sent to all of them. False:
 * the system has no random bytes. */
bool tg_web_gate_init(struct tg_web_gate *gate, uint16_t port);

/* NAME is one that Host may have. */
void tg_web_gate_add_name(struct tg_web_gate *gate, const char *name);

/* The HTTP status that refuses REQUEST, and *WHY in words; 0: it may pass. *SETS_COOKIE: it came with the token, its
 * answer is to bring the cookie. */
unsigned tg_web_gate_check(const struct tg_web_gate *gate, const struct tg_web_request *request,
                           bool *sets_cookie, const char **why);

#endif
