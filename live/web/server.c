#include "live/web/server.h"

#include "analyzer/html/asset.h"
#include "live/web/failure.h"
#include "live/web/gate.h"
#include "live/web/line.h"
#include "live/web/streams.h"

#include <errno.h>
#include <microhttpd.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    MAX_CONNECTIONS = 128,
    MAX_REQUESTS = 32,   /* requests that wait for the session */
    MAX_BODY = 64 << 10, /* of a request */
    MAX_QUERY = 4096,
    CONNECTION_MEMORY = 32 << 10,
    IDLE_S = 4,  /* a connection without a request ends then, however slowly one comes */
    DATA_S = 10, /* so long a document may take */
    SIGN_S = 15,
    FAREWELL_MS = 1000,
};

/* A request that has passed the gate, from its first line to the end of its answer. */
struct visit {
    struct server *server;
    struct MHD_Connection *connection;
    uint64_t id;      /* of the frame that it waits for, 0 none */
    double until;     /* when it has waited long enough, 0 never */
    const char *word; /* of the frame; NULL: nothing is asked of the session */
    char *query;      /* of the frame where there is no body */
    char *body;       /* of the request, then of the answer */
    size_t size;
    unsigned status; /* of the answer, 0 none yet */
    bool is_post, sets_cookie, is_suspended, is_too_large;
};

/* A connection, as long as it lasts. */
struct guest {
    struct MHD_Connection *connection;
    double idle_since; /* 0: a request is being answered */
};

struct server {
    struct tg_web_gate gate;
    struct tg_web_line line;
    struct MHD_Daemon *daemon;
    struct tg_web_streams *streams;
    struct visit *waiting[MAX_REQUESTS];
    size_t n_waiting;
    struct guest guests[MAX_CONNECTIONS];
    uint64_t last_id;
    double next_sign;
};

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* ---- answers */

static void add_headers(struct MHD_Response *response, const char *type)
{
    static const char *const headers[][2] = {
        {"Content-Security-Policy",
         "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
         "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
        {"X-Content-Type-Options", "nosniff"},
        {"X-Frame-Options", "DENY"},
        {"Referrer-Policy", "no-referrer"},
        {"Cross-Origin-Resource-Policy", "same-origin"},
        {"Cross-Origin-Opener-Policy", "same-origin"},
        {"Cache-Control", "no-store"},
    };
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++)
        MHD_add_response_header(response, headers[i][0], headers[i][1]);
    MHD_add_response_header(response, "Content-Type", type);
}

static enum MHD_Result send_response(struct MHD_Connection *connection, unsigned status, const char *type,
                                     struct MHD_Response *response)
{
    if (response == NULL)
        return MHD_NO;
    add_headers(response, type);
    enum MHD_Result result = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result send_text(struct MHD_Connection *connection, unsigned status, const char *type,
                                 const char *text)
{
    return send_response(
        connection, status, type,
        MHD_create_response_from_buffer(strlen(text), (void *)(uintptr_t)text, MHD_RESPMEM_MUST_COPY));
}

/* A failure as the session tells one: {"error": {"code", "message"}}. */
static char *error_text(const char *code, const char *message)
{
    char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    if (stream == NULL)
        return NULL;
    tg_web_failure_write(stream, code, message);
    fclose(stream);
    return text;
}

static enum MHD_Result refuse(struct MHD_Connection *connection, unsigned status, const char *code,
                              const char *why)
{
    char *text = error_text(code, why);
    enum MHD_Result result = text == NULL ? MHD_NO : send_text(connection, status, "application/json", text);
    free(text);
    return result;
}

/* ---- requests that wait for the session */

static void stop_waiting(struct visit *visit)
{
    struct server *server = visit->server;
    for (size_t i = 0; i < server->n_waiting; i++)
        if (server->waiting[i] == visit)
            server->waiting[i] = server->waiting[--server->n_waiting];
    visit->id = 0;
}

/* BODY is taken. */
static void answer(struct visit *visit, unsigned status, char *body, size_t size)
{
    stop_waiting(visit);
    free(visit->body);
    visit->body = body;
    visit->size = size;
    visit->status = body == NULL ? 500 : status;
    if (visit->is_suspended) {
        visit->is_suspended = false;
        MHD_resume_connection(visit->connection);
    }
}

static void answer_failure(struct visit *visit, unsigned status, const char *code, const char *why)
{
    char *text = error_text(code, why);
    answer(visit, status, text, text == NULL ? 0 : strlen(text));
}

static enum MHD_Result ask_session(struct visit *visit)
{
    struct server *server = visit->server;
    if (server->n_waiting == MAX_REQUESTS)
        return refuse(visit->connection, 503, "LIMIT", "too many requests wait for an answer");
    visit->id = ++server->last_id;
    visit->until = strcmp(visit->word, "data") == 0 ? now_s() + DATA_S : 0;
    server->waiting[server->n_waiting++] = visit;
    if (visit->query != NULL)
        tg_web_line_send(&server->line, visit->id, visit->word, visit->query, strlen(visit->query));
    else
        tg_web_line_send(&server->line, visit->id, visit->word, visit->body, visit->size);
    visit->is_suspended = true;
    MHD_suspend_connection(visit->connection);
    return MHD_YES;
}

static enum MHD_Result give_answer(struct visit *visit)
{
    char *body = visit->body;
    if (body == NULL)
        return refuse(visit->connection, visit->status, "NO_MEMORY", "out of memory");
    visit->body = NULL;
    struct MHD_Response *response = MHD_create_response_from_buffer(visit->size, body, MHD_RESPMEM_MUST_FREE);
    if (response == NULL)
        free(body);
    return send_response(visit->connection, visit->status, "application/json", response);
}

static void take_frame(struct server *server, struct tg_web_frame *frame)
{
    if (frame->id == 0) {
        if (strcmp(frame->word, "news") == 0)
            tg_web_streams_tell(server->streams, frame->body, frame->size);
        free(frame->body);
        return;
    }
    for (size_t i = 0; i < server->n_waiting; i++)
        if (server->waiting[i]->id == frame->id) {
            unsigned long status = strtoul(frame->word, NULL, 10);
            answer(server->waiting[i], status >= 200 && status < 600 ? (unsigned)status : 500, frame->body,
                   frame->size);
            return;
        }
    free(frame->body); /* the request has waited long enough */
}

/* ---- requests */

struct headers {
    struct tg_web_request *request;
    struct {
        const char *name;
        const char **value;
    } known[7];
};

static enum MHD_Result take_header(void *context, enum MHD_ValueKind kind, const char *name,
                                   const char *value)
{
    struct headers *headers = context;
    (void)kind;
    for (size_t i = 0; i < sizeof headers->known / sizeof headers->known[0]; i++) {
        if (strcasecmp(name, headers->known[i].name) != 0)
            continue;
        headers->request->is_ambiguous |= *headers->known[i].value != NULL;
        *headers->known[i].value = value == NULL ? "" : value;
    }
    return MHD_YES;
}

static void read_request(struct MHD_Connection *connection, const char *method, const char *path,
                         struct tg_web_request *request)
{
    *request = (struct tg_web_request){.method = method, .path = path};
    struct headers headers = {
        .request = request,
        .known = {{"Host", &request->host},
                  {"Origin", &request->origin},
                  {"Sec-Fetch-Site", &request->site},
                  {"Sec-Fetch-Mode", &request->mode},
                  {"Sec-Fetch-Dest", &request->destination},
                  {"Cookie", &request->cookies},
                  {"Content-Type", &request->type}},
    };
    MHD_get_connection_values(connection, MHD_HEADER_KIND, take_header, &headers);
    request->token = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "token");
}

static enum MHD_Result send_file(struct server *server, struct MHD_Connection *connection, const char *path,
                                 bool sets_cookie)
{
    const struct tg_asset *file = *path == '/' ? tg_asset_find(path + 1) : NULL;
    if (file == NULL)
        return refuse(connection, 404, "NOT_FOUND", "no such file");
    struct MHD_Response *response =
        MHD_create_response_from_buffer(file->size, (void *)(uintptr_t)file->data, MHD_RESPMEM_PERSISTENT);
    char cookie[128];
    snprintf(cookie, sizeof cookie, "%s=%s; Path=/; HttpOnly; SameSite=Strict", server->gate.cookie,
             server->gate.secret);
    if (response != NULL && sets_cookie)
        MHD_add_response_header(response, "Set-Cookie", cookie);
    return send_response(connection, 200, file->type, response);
}

static enum MHD_Result open_stream(struct server *server, struct MHD_Connection *connection)
{
    struct MHD_Response *response = tg_web_streams_open(server->streams, connection);
    return response == NULL ? refuse(connection, 503, "LIMIT", "too many pages are open")
                            : send_response(connection, 200, "text/event-stream", response);
}

/* What the session is asked for PATH, NULL nothing. */
static const char *word_of(const char *path, bool is_post)
{
    static const char *const posts[] = {"command", "complete", "interrupt"};
    if (!is_post)
        return strncmp(path, "/data/", 6) == 0 ? "data" : NULL;
    for (size_t i = 0; i < sizeof posts / sizeof posts[0]; i++)
        if (strcmp(path + 1, posts[i]) == 0)
            return posts[i];
    return NULL;
}

struct query {
    FILE *stream;
    bool has_begun;
};

static void put_escaped(FILE *stream, const char *text)
{
    for (; *text != '\0'; text++)
        if (strchr("%&=+# ", *text) != NULL || (unsigned char)*text <= ' ' || *text == 0x7f)
            fprintf(stream, "%%%02X", (unsigned char)*text);
        else
            fputc(*text, stream);
}

static enum MHD_Result put_argument(void *context, enum MHD_ValueKind kind, const char *name,
                                    const char *value)
{
    struct query *query = context;
    (void)kind;
    fputc(query->has_begun ? '&' : '?', query->stream);
    query->has_begun = true;
    put_escaped(query->stream, name);
    fputc('=', query->stream);
    put_escaped(query->stream, value == NULL ? "" : value);
    return MHD_YES;
}

/* "NAME?QUERY" of a document; NULL: no memory. */
static char *read_query(struct MHD_Connection *connection, const char *path)
{
    char *text = NULL;
    size_t size;
    struct query query = {.stream = open_memstream(&text, &size)};
    if (query.stream == NULL)
        return NULL;
    fputs(path + 6, query.stream);
    MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, put_argument, &query);
    fclose(query.stream);
    return text;
}

static struct guest *guest_of(struct server *server, const struct MHD_Connection *connection)
{
    for (size_t i = 0; i < MAX_CONNECTIONS; i++)
        if (server->guests[i].connection == connection)
            return &server->guests[i];
    return NULL;
}

/* The headers are there. */
static enum MHD_Result begin_visit(struct server *server, struct visit *visit, const char *path,
                                   const char *method)
{
    struct tg_web_request request;
    bool sets_cookie;
    const char *why;
    read_request(visit->connection, method, path, &request);
    unsigned status = tg_web_gate_check(&server->gate, &request, &sets_cookie, &why);
    if (status != 0)
        return refuse(visit->connection, status, "REFUSED", why);
    visit->sets_cookie = sets_cookie;
    visit->is_post = strcmp(method, "POST") == 0;
    visit->word = word_of(path, visit->is_post);
    if (visit->is_post && visit->word == NULL)
        return refuse(visit->connection, 404, "NOT_FOUND", "there is no such page");
    return MHD_YES; /* an answer now would close the connection */
}

/* A GET that has passed. */
static enum MHD_Result answer_get(struct visit *visit, const char *path)
{
    if (strcmp(path, "/events") == 0)
        return open_stream(visit->server, visit->connection);
    if (visit->word == NULL)
        return send_file(visit->server, visit->connection, path, visit->sets_cookie);
    visit->query = read_query(visit->connection, path);
    if (visit->query == NULL || strlen(visit->query) > MAX_QUERY)
        return refuse(visit->connection, 414, "LIMIT", "the request is too long");
    return ask_session(visit);
}

static void take_body(struct visit *visit, const char *bytes, size_t size)
{
    char *larger = visit->size + size > MAX_BODY ? NULL : realloc(visit->body, visit->size + size);
    visit->is_too_large |= larger == NULL;
    if (larger == NULL)
        return;
    memcpy(larger + visit->size, bytes, size);
    visit->body = larger;
    visit->size += size;
}

static enum MHD_Result handle(void *context, struct MHD_Connection *connection, const char *path,
                              const char *method, const char *version, const char *bytes, size_t *size,
                              void **memory)
{
    struct server *server = context;
    struct visit *visit = *memory;
    (void)version;
    if (visit == NULL) {
        *memory = visit = calloc(1, sizeof *visit);
        if (visit == NULL)
            return MHD_NO;
        visit->server = server;
        visit->connection = connection;
        return begin_visit(server, visit, path, method);
    }
    if (*size > 0) {
        take_body(visit, bytes, *size);
        *size = 0;
        return MHD_YES;
    }
    struct guest *guest = guest_of(server, connection);
    if (guest != NULL)
        guest->idle_since = 0;
    if (visit->status != 0)
        return give_answer(visit);
    if (visit->is_too_large)
        return refuse(connection, 413, "LIMIT", "a request may have at most 64 KiB");
    return visit->is_post ? ask_session(visit) : answer_get(visit, path);
}

static void complete(void *context, struct MHD_Connection *connection, void **memory,
                     enum MHD_RequestTerminationCode why)
{
    struct server *server = context;
    struct visit *visit = *memory;
    struct guest *guest = guest_of(server, connection);
    (void)why;
    if (guest != NULL)
        guest->idle_since = now_s();
    if (visit == NULL)
        return;
    stop_waiting(visit);
    free(visit->query);
    free(visit->body);
    free(visit);
    *memory = NULL;
}

static void notify(void *context, struct MHD_Connection *connection, void **memory,
                   enum MHD_ConnectionNotificationCode what)
{
    struct server *server = context;
    struct guest *guest = guest_of(server, what == MHD_CONNECTION_NOTIFY_STARTED ? NULL : connection);
    (void)memory;
    if (guest != NULL)
        *guest =
            what == MHD_CONNECTION_NOTIFY_STARTED ? (struct guest){connection, now_s()} : (struct guest){0};
}

/* ---- time */

/* Ends connections on which a request is not there in time: each byte of it may come just before the last one is
 * forgotten. */
static void end_idle(struct server *server, double now)
{
    for (size_t i = 0; i < MAX_CONNECTIONS; i++) {
        struct guest *guest = &server->guests[i];
        if (guest->connection == NULL || guest->idle_since == 0 || now - guest->idle_since < IDLE_S)
            continue;
        const union MHD_ConnectionInfo *info =
            MHD_get_connection_info(guest->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
        if (info != NULL)
            shutdown(info->connect_fd, SHUT_RDWR);
        guest->idle_since = now;
    }
}

static void watch_time(struct server *server)
{
    double now = now_s();
    for (size_t i = server->n_waiting; i-- > 0;)
        if (server->waiting[i]->until > 0 && now > server->waiting[i]->until)
            answer_failure(server->waiting[i], 503, "BUSY", "the session does not answer: it is busy");
    end_idle(server, now);
    if (now >= server->next_sign) {
        tg_web_streams_sign(server->streams);
        server->next_sign = now + SIGN_S;
    }
}

static void run_daemon(struct server *server, int most_ms)
{
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    MHD_UNSIGNED_LONG_LONG wanted;
    struct pollfd fds[] = {
        {.fd = info == NULL ? -1 : info->epoll_fd, .events = POLLIN},
        {.fd = server->line.is_broken ? -1 : server->line.fd, .events = tg_web_line_events(&server->line)}};
    if (MHD_get_timeout(server->daemon, &wanted) == MHD_YES && wanted < (unsigned)most_ms)
        most_ms = (int)wanted;
    poll(fds, 2, most_ms);
    if (fds[1].revents != 0)
        tg_web_line_attend(&server->line);
    struct tg_web_frame frame;
    while (tg_web_line_take(&server->line, &frame))
        take_frame(server, &frame);
    MHD_run(server->daemon);
}

/* ---- life */

static bool begin(struct server *server)
{
    struct tg_web_frame frame;
    while (!tg_web_line_take(&server->line, &frame)) {
        struct pollfd fd = {.fd = server->line.fd, .events = POLLIN};
        if (server->line.is_broken || (poll(&fd, 1, -1) < 0 && errno != EINTR))
            return false;
        tg_web_line_attend(&server->line);
    }
    bool is_well = strcmp(frame.word, "begin") == 0 && frame.size == sizeof server->gate;
    if (is_well)
        memcpy(&server->gate, frame.body, sizeof server->gate);
    free(frame.body);
    server->streams = tg_web_streams_create();
    if (!is_well || server->streams == NULL)
        return false;
    server->daemon = MHD_start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, handle, server,
                                      MHD_OPTION_LISTEN_SOCKET, TG_WEB_LISTEN_FD, MHD_OPTION_CONNECTION_LIMIT,
                                      (unsigned)MAX_CONNECTIONS, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
                                      (size_t)CONNECTION_MEMORY, MHD_OPTION_NOTIFY_COMPLETED, complete,
                                      server, MHD_OPTION_NOTIFY_CONNECTION, notify, server,
                                      MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
    const char *why = "libmicrohttpd cannot serve the socket";
    tg_web_line_send(&server->line, 0, server->daemon == NULL ? "failed" : "ready", why,
                     server->daemon == NULL ? strlen(why) : 0);
    return server->daemon != NULL;
}

/* The session has ended: pages are told, and what waits for an answer gets one. The daemon itself must not be stopped
 * while a connection is suspended: it would abort. */
static void take_leave(struct server *server)
{
    double until = now_s() + FAREWELL_MS / 1000.0;
    MHD_quiesce_daemon(server->daemon);
    tg_web_streams_end(server->streams);
    while (server->n_waiting > 0)
        answer_failure(server->waiting[0], 503, "ENDED", "the session has ended");
    do
        run_daemon(server, 20);
    while (tg_web_streams_count(server->streams) > 0 && now_s() < until);
}

int tg_web_server_run(void)
{
    static struct server server;
    enum { TICK_MS = 500 };
    tg_web_line_init(&server.line, TG_WEB_LINE_FD);
    if (!begin(&server))
        return 1;
    server.next_sign = now_s() + SIGN_S;
    while (!server.line.is_broken) {
        run_daemon(&server, TICK_MS);
        watch_time(&server);
    }
    take_leave(&server);
    return 0; /* the process ends, and all of its connections */
}
