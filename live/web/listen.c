#include "live/web/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BACKLOG = 64 };

static struct tg_error *open_socket(const struct addrinfo *address, const char *host, uint16_t port, int *fd)
{
    const int yes = 1;
    int made = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (made >= 0 && setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0 &&
        bind(made, address->ai_addr, address->ai_addrlen) == 0 && listen(made, BACKLOG) == 0) {
        *fd = made;
        return NULL;
    }
    struct tg_error *error =
        tg_error_create_errno(errno, "cannot listen on port %" PRIu16 " of %s", port, host);
    if (made >= 0)
        close(made);
    return error;
}

static uint16_t port_of(const struct sockaddr_storage *address)
{
    return ntohs(address->ss_family == AF_INET6 ? ((const struct sockaddr_in6 *)address)->sin6_port
                                                : ((const struct sockaddr_in *)address)->sin_port);
}

static bool is_everywhere(const struct sockaddr_storage *address)
{
    if (address->ss_family == AF_INET6)
        return memcmp(&((const struct sockaddr_in6 *)address)->sin6_addr, &in6addr_any, sizeof in6addr_any) ==
               0;
    return ((const struct sockaddr_in *)address)->sin_addr.s_addr == htonl(INADDR_ANY);
}

static bool is_loopback(const struct sockaddr_storage *address)
{
    if (address->ss_family == AF_INET6)
        return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)address)->sin6_addr);
    return ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr) >> 24 == 127;
}

/* NAME as in a link: an IPv6 address has brackets there. */
static void put_name(char out[TG_WEB_NAME_SIZE], const char *name)
{
    snprintf(out, TG_WEB_NAME_SIZE, strchr(name, ':') != NULL ? "[%s]" : "%s", name);
}

/* The names that browsers may use; the best one for a link comes into BEST. */
static void add_names(struct tg_web_gate *gate, const char *host, const struct sockaddr_storage *address,
                      socklen_t size, char best[TG_WEB_NAME_SIZE])
{
    char name[TG_WEB_NAME_SIZE], number[NI_MAXHOST];
    bool has_number = getnameinfo((const struct sockaddr *)address, size, number, sizeof number, NULL, 0,
                                  NI_NUMERICHOST) == 0;
    put_name(best, host);
    tg_web_gate_add_name(gate, best);
    tg_web_gate_add_name(gate, "127.0.0.1"); /* also the ends of tunnels */
    tg_web_gate_add_name(gate, "localhost");
    tg_web_gate_add_name(gate, "[::1]");
    if (has_number) {
        put_name(name, number);
        tg_web_gate_add_name(gate, name);
    }
    gate->takes_addresses = is_everywhere(address);
    if (is_loopback(address) || gethostname(name, sizeof name) != 0)
        return;
    name[sizeof name - 1] = '\0';
    tg_web_gate_add_name(gate, name);
    if (gate->takes_addresses)
        memcpy(best, name, TG_WEB_NAME_SIZE);
}

struct tg_error *tg_web_listen(const char *host, uint16_t port, struct tg_web_gate *gate,
                               char link[TG_WEB_LINK_SIZE], int *fd)
{
    const struct addrinfo hints = {.ai_flags = AI_PASSIVE, .ai_socktype = SOCK_STREAM};
    struct addrinfo *addresses = NULL;
    struct sockaddr_storage bound = {0};
    socklen_t size = sizeof bound;
    char service[8], best[TG_WEB_NAME_SIZE];
    int made = -1;
    host = host == NULL ? "127.0.0.1" : host;
    snprintf(service, sizeof service, "%" PRIu16, port);
    int why = getaddrinfo(host, service, &hints, &addresses);
    if (why != 0)
        return tg_error_create(TG_ERROR_NOT_FOUND, "cannot listen at %s: %s", host, gai_strerror(why));
    struct tg_error *error = open_socket(addresses, host, port, &made);
    freeaddrinfo(addresses);
    if (error == NULL && getsockname(made, (struct sockaddr *)&bound, &size) != 0)
        error = tg_error_create_errno(errno, "cannot find the port of a socket");
    if (error == NULL && !tg_web_gate_init(gate, port_of(&bound)))
        error = tg_error_create_errno(errno, "cannot make a token");
    if (error != NULL) {
        if (made >= 0)
            close(made);
        return error;
    }
    add_names(gate, host, &bound, size, best);
    snprintf(link, TG_WEB_LINK_SIZE, "http://%s:%" PRIu16 "/?token=%s", best, port_of(&bound), gate->token);
    *fd = made;
    return NULL;
}
