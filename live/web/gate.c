#include "live/web/gate.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

static bool make_secret(char text[TG_WEB_TOKEN_SIZE])
{
    unsigned char bytes[(TG_WEB_TOKEN_SIZE - 1) / 2];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return false;
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    return true;
}

bool tg_web_gate_init(struct tg_web_gate *gate, uint16_t port)
{
    *gate = (struct tg_web_gate){0};
    snprintf(gate->cookie, sizeof gate->cookie, "tollgate-%" PRIu16, port);
    return make_secret(gate->token) && make_secret(gate->secret);
}

void tg_web_gate_add_name(struct tg_web_gate *gate, const char *name)
{
    if (gate->n_names < TG_WEB_MAX_NAMES && strlen(name) < TG_WEB_NAME_SIZE)
        strcpy(gate->names[gate->n_names++], name);
}

/* In a time that says nothing of where they differ. */
static bool is_same_secret(const char *wanted, const char *given, size_t given_size)
{
    unsigned differences = given_size != strlen(wanted);
    for (size_t i = 0; wanted[i] != '\0'; i++)
        differences |= (unsigned char)wanted[i] ^ (unsigned char)(i < given_size ? given[i] : 0);
    return differences == 0;
}

static bool is_address(const char *name, size_t size)
{
    bool is_v6 = size > 2 && name[0] == '[' && name[size - 1] == ']';
    const char *first = name + (is_v6 ? 1 : 0);
    size_t length = size - (is_v6 ? 2 : 0);
    return length > 0 && strspn(first, is_v6 ? "0123456789abcdefABCDEF:." : "0123456789.") >= length;
}

/* Host: a name, and perhaps a port, which a tunnel may have changed. */
static bool is_our_host(const struct tg_web_gate *gate, const char *host)
{
    size_t size = *host == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":");
    if (size > strlen(host))
        return false;
    const char *port = host + size;
    if (*port != '\0' && (*port != ':' || strspn(port + 1, "0123456789") != strlen(port + 1)))
        return false;
    for (size_t i = 0; i < gate->n_names; i++)
        if (strlen(gate->names[i]) == size && strncasecmp(gate->names[i], host, size) == 0)
            return true;
    return gate->takes_addresses && is_address(host, size);
}

static bool is_own_origin(const char *origin, const char *host)
{
    static const char scheme[] = "http://";
    return strncmp(origin, scheme, sizeof scheme - 1) == 0 &&
           strcasecmp(origin + sizeof scheme - 1, host) == 0;
}

static bool has_cookie(const struct tg_web_gate *gate, const char *cookies)
{
    size_t name_size = strlen(gate->cookie);
    for (const char *at = cookies; at != NULL && *at != '\0';) {
        at += strspn(at, "; ");
        size_t size = strcspn(at, ";");
        if (size > name_size && strncmp(at, gate->cookie, name_size) == 0 && at[name_size] == '=' &&
            is_same_secret(gate->secret, at + name_size + 1, size - name_size - 1))
            return true;
        at += size;
    }
    return false;
}

static bool is(const char *text, const char *wanted)
{
    return text != NULL && strcmp(text, wanted) == 0;
}

/* Asked by this page, or by nobody's page: typed, a bookmark, a link in a letter. */
static bool is_from_elsewhere(const struct tg_web_request *request, bool is_first)
{
    if (request->origin != NULL && !is_own_origin(request->origin, request->host))
        return true;
    if (request->site == NULL || is(request->site, "same-origin") || is(request->site, "none"))
        return false;
    bool is_link = is_first && is(request->mode, "navigate") && is(request->destination, "document");
    return !is_link;
}

static bool is_json(const char *type)
{
    static const char json[] = "application/json";
    return type != NULL && strncasecmp(type, json, sizeof json - 1) == 0 &&
           strchr("; ", type[sizeof json - 1]) != NULL; /* "" is in it: its end */
}

unsigned tg_web_gate_check(const struct tg_web_gate *gate, const struct tg_web_request *request,
                           bool *sets_cookie, const char **why)
{
    bool is_post = is(request->method, "POST"), is_first = is(request->path, "/") && !is_post;
    bool has_token = is_first && request->token != NULL &&
                     is_same_secret(gate->token, request->token, strlen(request->token));
    *sets_cookie = has_token;
    *why = NULL;
    if (request->is_ambiguous || request->host == NULL)
        return *why = "a header is missing or repeated", 400;
    if (!is_our_host(gate, request->host))
        return *why = "this server has another name", 421;
    if (is_from_elsewhere(request, is_first))
        return *why = "the request comes from another page", 403;
    if (!is_post && !is(request->method, "GET"))
        return *why = "only GET and POST are supported", 405;
    if (!has_token && !has_cookie(gate, request->cookies))
        return *why = "open the link that tollgate printed: it has the token", 401;
    if (is_post && !is_json(request->type))
        return *why = "the body must be application/json", 415;
    return 0;
}
