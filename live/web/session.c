#include "live/web/session.h"

#include "format/base/json_writer.h"
#include "format/base/thread.h"
#include "live/web/failure.h"
#include "live/web/line.h"
#include "live/web/server.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { FIRST_FREE_FD = 16, START_MS = 10000, NEWS_MS = 50, END_MS = 2000, BUSY_SIZE = 200 };

/* A request on its way to the console's thread, or an answer from it. */
struct item {
    struct item *next;
    uint64_t id;
    unsigned status; /* of an answer */
    enum { DOCUMENT, COMMAND, COMPLETION } kind;
    char *text; /* of the request, then of the answer */
    size_t size;
};

struct list {
    struct item *first, **last;
};

struct tg_web_session {
    struct tg_web_session_options options;
    struct tg_web_gate gate;
    char link[TG_WEB_LINK_SIZE];
    char *name;
    pid_t server;
    pthread_t thread, console;
    bool has_thread;
    int poke, asked, commanded; /* eventfds: for the thread; for the console's */
    atomic_bool is_alive, takes_commands;
    struct tg_web_line line;        /* of the thread, once there is one */
    uint64_t next_news_ms;          /* of the thread */
    bool has_work;                  /* of the thread */
    uint64_t n_parts, next_part_ms; /* of the work that is done; of the thread */
    pthread_mutex_t lock;           /* of all below */
    struct list asks, commands, answers;
    struct tg_web_state state;
    char busy[BUSY_SIZE];
    bool is_busy, has_interrupted, has_news, is_ending;
    uint64_t n_late; /* documents that came after they were asked for */
};

/* ---- lists, wake-ups */

static void push(struct list *list, struct item *item)
{
    item->next = NULL;
    *list->last = item;
    list->last = &item->next;
}

static struct item *pop(struct list *list)
{
    struct item *item = list->first;
    if (item != NULL && (list->first = item->next) == NULL)
        list->last = &list->first;
    return item;
}

static void free_item(struct item *item)
{
    if (item != NULL)
        free(item->text);
    free(item);
}

static void free_list(struct list *list)
{
    for (struct item *item; (item = pop(list)) != NULL;)
        free_item(item);
}

static void wake(int fd)
{
    const uint64_t one = 1;
    ssize_t written = write(fd, &one, sizeof one);
    (void)written;
}

static void quiet(int fd)
{
    uint64_t count;
    ssize_t got = read(fd, &count, sizeof count);
    (void)got;
}

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* ---- texts */

static unsigned status_of(const struct tg_error *error)
{
    switch (tg_error_code(error)) {
    case TG_ERROR_NOT_FOUND:
        return 404;
    case TG_ERROR_INPUT:
    case TG_ERROR_USAGE:
    case TG_ERROR_LIMIT:
    case TG_ERROR_UNSUPPORTED:
    case TG_ERROR_TARGET:
    case TG_ERROR_EXISTS:
        return 400;
    case TG_ERROR_NO_MEMORY:
    case TG_ERROR_OS:
        break;
    }
    return 500;
}

/* ITEM becomes its answer: what WRITE of CONTEXT writes for the document that it asks for, or its error. */
static void write_document(struct item *item,
                           struct tg_error *(*write)(void *context, const char *name, const char *query,
                                                     FILE *out),
                           void *context)
{
    char *text = NULL, *query = strchr(item->text, '?');
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    if (query != NULL)
        *query++ = '\0';
    TG_AUTO_ERROR struct tg_error *error =
        stream == NULL ? tg_error_no_memory()
                       : write(context, item->text, query == NULL ? "" : query, stream);
    item->status = error == NULL ? 200 : status_of(error);
    if (stream != NULL && error != NULL) {
        rewind(stream); /* nothing of what was written counts */
        fclose(stream);
        free(text);
        text = NULL;
        size = 0;
        stream = open_memstream(&text, &size);
    }
    if (stream != NULL && error != NULL)
        tg_web_failure_write(stream, tg_error_code_name(tg_error_code(error)), tg_error_message(error));
    if (stream != NULL)
        fclose(stream);
    free(item->text);
    item->text = text;
    item->size = text == NULL ? 0 : size;
}

/* {"moment": {...}, "focus", "busy", ...}. Locked. */
static char *state_text(struct tg_web_session *session, bool is_whole, size_t *size)
{
    char *text = NULL;
    const struct tg_web_state *state = &session->state;
    struct tg_json json;
    FILE *stream = open_memstream(&text, size);
    if (stream == NULL)
        return NULL;
    tg_json_init(&json, stream, false);
    tg_json_begin_object(&json);
    if (is_whole) {
        tg_json_member_string(&json, "mode", session->options.mode);
        tg_json_member_string(&json, "name", session->name);
    }
    tg_json_member_bool(&json, "view_only", !atomic_load(&session->takes_commands));
    tg_json_member_unsigned(&json, "version", state->version);
    tg_json_key(&json, "moment");
    tg_json_begin_object(&json);
    tg_json_member_unsigned(&json, "event", state->event);
    tg_json_member_unsigned(&json, "since_start_ns",
                            state->time_ns > state->start_ns ? state->time_ns - state->start_ns : 0);
    tg_json_end_object(&json);
    tg_json_member_unsigned(&json, "parts", session->n_parts);
    tg_json_member_unsigned(&json, "late", session->n_late);
    tg_json_member_string(&json, "focus", state->focus);
    tg_json_key(&json, "busy");
    if (session->is_busy)
        tg_json_string(&json, session->busy);
    else
        tg_json_null(&json);
    tg_json_end_object(&json);
    fclose(stream);
    return text;
}

/* ---- the thread */

static void put_reply(struct tg_web_session *session, uint64_t id, unsigned status, const char *text,
                      size_t size)
{
    char word[TG_WEB_WORD_SIZE];
    snprintf(word, sizeof word, "%u", status);
    tg_web_line_send(&session->line, id, word, text, size);
}

static void reply_error(struct tg_web_session *session, uint64_t id, unsigned status, const char *code,
                        const char *message)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    if (stream != NULL) {
        tg_web_failure_write(stream, code, message);
        fclose(stream);
    }
    put_reply(session, id, text == NULL ? 500 : status, text, text == NULL ? 0 : size);
    free(text);
}

/* An answer that is too large for the line ends the request alone. */
static void reply(struct tg_web_session *session, uint64_t id, unsigned status, const char *text, size_t size)
{
    if (size > TG_WEB_MAX_BODY)
        reply_error(session, id, 400, "LIMIT", "the answer has more than 64 MiB");
    else
        put_reply(session, id, status, text, size);
}

/* The command that runs is interrupted as by the interrupt key; where none runs nothing happens. */
static void interrupt(struct tg_web_session *session, uint64_t id)
{
    static const char interrupted[] = "{\"interrupted\":true}", idle[] = "{\"interrupted\":false}";
    pthread_mutex_lock(&session->lock);
    bool is_busy = session->is_busy;
    if (is_busy)
        pthread_kill(session->console, SIGINT);
    session->has_interrupted |= is_busy;
    pthread_mutex_unlock(&session->lock);
    reply(session, id, 200, is_busy ? interrupted : idle, is_busy ? sizeof interrupted - 1 : sizeof idle - 1);
}

static void take_document(struct tg_web_session *session, struct item *item)
{
    static const char own[] = "session";
    if (strncmp(item->text, own, sizeof own - 1) == 0 && strchr("?", item->text[sizeof own - 1]) != NULL) {
        size_t size = 0;
        pthread_mutex_lock(&session->lock);
        char *text = state_text(session, true, &size);
        pthread_mutex_unlock(&session->lock);
        reply(session, item->id, text == NULL ? 500 : 200, text, size);
        free(text);
        free_item(item);
        return;
    }
    if (session->options.documents.write != NULL &&
        session->options.documents.has(session->options.documents.context, item->text)) {
        write_document(item, session->options.documents.write, session->options.documents.context);
        reply(session, item->id, item->status, item->text, item->size);
        free_item(item);
        return;
    }
    pthread_mutex_lock(&session->lock);
    push(&session->asks, item);
    pthread_mutex_unlock(&session->lock);
    wake(session->asked);
}

static void take_frame(struct tg_web_session *session, struct tg_web_frame *frame)
{
    bool is_command = strcmp(frame->word, "command") == 0,
         is_completion = strcmp(frame->word, "complete") == 0;
    struct item *item = calloc(1, sizeof *item);
    if (item == NULL) {
        free(frame->body);
        session->line.is_broken = true;
        return;
    }
    *item = (struct item){.id = frame->id,
                          .text = frame->body,
                          .size = frame->size,
                          .kind = is_command      ? COMMAND
                                  : is_completion ? COMPLETION
                                                  : DOCUMENT};
    if (strcmp(frame->word, "data") == 0) {
        take_document(session, item);
        return;
    }
    if (!atomic_load(&session->takes_commands)) {
        reply_error(session, frame->id, 403, "REFUSED", "this page is for viewing only");
    } else if (is_command || is_completion) {
        pthread_mutex_lock(&session->lock);
        push(&session->commands, item);
        pthread_mutex_unlock(&session->lock);
        wake(session->commanded);
        return;
    } else if (strcmp(frame->word, "interrupt") == 0) {
        interrupt(session, frame->id);
    }
    free_item(item);
}

/* What the server has not read yet is waited for: there is room for two large answers at a time. */
static void send_answers(struct tg_web_session *session)
{
    while (tg_web_line_has_room(&session->line)) {
        pthread_mutex_lock(&session->lock);
        struct item *item = pop(&session->answers);
        pthread_mutex_unlock(&session->lock);
        if (item == NULL)
            return;
        reply(session, item->id, item->text == NULL ? 500 : item->status, item->text, item->size);
        free_item(item);
    }
}

/* Sends news, but not often; the milliseconds until there are some to send, -1 there are none. */
static int send_news(struct tg_web_session *session)
{
    uint64_t now = now_ms();
    size_t size = 0;
    char *text = NULL;
    pthread_mutex_lock(&session->lock);
    bool has_news = session->has_news, is_due = has_news && now >= session->next_news_ms;
    if (is_due) {
        session->has_news = false;
        text = state_text(session, false, &size);
    }
    pthread_mutex_unlock(&session->lock);
    if (has_news && !is_due)
        return (int)(session->next_news_ms - now);
    if (text != NULL) {
        tg_web_line_send(&session->line, 0, "news", text, size);
        session->next_news_ms = now + NEWS_MS;
    }
    free(text);
    return -1;
}

static bool is_ending(struct tg_web_session *session)
{
    pthread_mutex_lock(&session->lock);
    bool ending = session->is_ending;
    pthread_mutex_unlock(&session->lock);
    return ending;
}

/* Some of the work is done, which browsers are told from time to time, and at the end. */
static void note_part(struct tg_web_session *session)
{
    enum { PART_MS = 500 };
    uint64_t now = now_ms();
    if (session->has_work && now < session->next_part_ms)
        return;
    session->next_part_ms = now + PART_MS;
    pthread_mutex_lock(&session->lock);
    session->n_parts++;
    session->has_news = true;
    pthread_mutex_unlock(&session->lock);
}

static void *run_line(void *context)
{
    struct tg_web_session *session = context;
    struct tg_web_frame frame;
    while (!session->line.is_broken && !is_ending(session)) {
        int most_ms = session->has_work ? 0 : send_news(session);
        struct pollfd fds[] = {{.fd = session->line.fd, .events = tg_web_line_events(&session->line)},
                               {.fd = session->poke, .events = POLLIN}};
        poll(fds, 2, most_ms);
        if (fds[1].revents != 0)
            quiet(session->poke);
        if (fds[0].revents != 0)
            tg_web_line_attend(&session->line);
        send_answers(session);
        while (tg_web_line_has_room(&session->line) && tg_web_line_take(&session->line, &frame))
            take_frame(session, &frame);
        if (session->has_work) {
            session->has_work = session->options.documents.work(session->options.documents.context);
            note_part(session);
            send_news(session);
        }
    }
    send_answers(session);   /* also the one to who asked for the end */
    close(session->line.fd); /* the server ends by that */
    session->line.fd = -1;
    atomic_store(&session->is_alive, false);
    wake(session->asked); /* the console says so */
    return NULL;
}

/* ---- the process */

static struct tg_error *spawn(struct tg_web_session *session, int line, int listener)
{
    static char path[] = "/proc/self/exe", name[] = "tollgate", word[] = "web", option[] = "--serve";
    char *const arguments[] = {name, word, option, NULL};
    char *const environment[] = {NULL}; /* the server needs none */
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    for (int fd = 0; fd < TG_WEB_LINE_FD; fd++)
        posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
    posix_spawn_file_actions_adddup2(&actions, line, TG_WEB_LINE_FD);
    posix_spawn_file_actions_adddup2(&actions, listener, TG_WEB_LISTEN_FD);
    posix_spawn_file_actions_addclosefrom_np(&actions, TG_WEB_LISTEN_FD + 1);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    /* a session of its own: the terminal's keys are not for it */
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
    int why = posix_spawn(&session->server, path, &actions, &attributes, arguments, environment);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    if (why != 0)
        session->server = 0;
    return why == 0 ? NULL : tg_error_create_errno(why, "cannot start the page's server");
}

/* Waits until the server says that it serves. */
static struct tg_error *await_server(struct tg_web_session *session)
{
    struct tg_web_frame frame;
    uint64_t until = now_ms() + START_MS;
    tg_web_line_send(&session->line, 0, "begin", (const char *)&session->gate, sizeof session->gate);
    while (!tg_web_line_take(&session->line, &frame)) {
        uint64_t now = now_ms();
        struct pollfd fd = {.fd = session->line.fd, .events = tg_web_line_events(&session->line)};
        if (session->line.is_broken || now >= until)
            return tg_error_create(TG_ERROR_OS, "the page's server %s",
                                   session->line.is_broken ? "ended at its start" : "does not start");
        if (poll(&fd, 1, (int)(until - now)) > 0)
            tg_web_line_attend(&session->line);
    }
    bool is_ready = strcmp(frame.word, "ready") == 0;
    struct tg_error *error =
        is_ready ? NULL : tg_error_create(TG_ERROR_OS, "the page's server failed: %s", frame.body);
    free(frame.body);
    return error;
}

/* Both ends beyond the numbers that the server has them under. */
static struct tg_error *start_server(struct tg_web_session *session, int listener)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return tg_error_create_errno(errno, "cannot create a pair of sockets");
    tg_web_line_init(&session->line, ends[0]);
    int theirs = fcntl(ends[1], F_DUPFD_CLOEXEC, FIRST_FREE_FD);
    int sockets = fcntl(listener, F_DUPFD_CLOEXEC, FIRST_FREE_FD);
    close(ends[1]);
    struct tg_error *error = theirs < 0 || sockets < 0
                                 ? tg_error_create_errno(errno, "cannot duplicate a socket")
                                 : spawn(session, theirs, sockets);
    if (theirs >= 0)
        close(theirs);
    if (sockets >= 0)
        close(sockets);
    return error != NULL ? error : await_server(session);
}

static struct tg_error *start_thread(struct tg_web_session *session)
{
    struct tg_error *error = tg_thread_start(run_line, session, "the page's thread", &session->thread);
    session->has_thread = error == NULL;
    return error;
}

struct tg_error *tg_web_session_start(const struct tg_web_session_options *options,
                                      struct tg_web_session **session)
{
    int listener = -1;
    struct tg_web_session *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    made->options = *options;
    made->console = pthread_self();
    made->has_work = options->documents.work != NULL;
    made->line.fd = -1;
    made->asks.last = &made->asks.first;
    made->commands.last = &made->commands.first;
    made->answers.last = &made->answers.first;
    pthread_mutex_init(&made->lock, NULL);
    made->poke = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    made->asked = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    made->commanded = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    made->name = strdup(options->name);
    struct tg_error *error = NULL;
    if (made->poke < 0 || made->asked < 0 || made->commanded < 0)
        error = tg_error_create_errno(errno, "cannot create an eventfd");
    else if (made->name == NULL)
        error = tg_error_no_memory();
    if (error == NULL)
        error = tg_web_listen(options->host, options->port, &made->gate, made->link, &listener);
    if (error == NULL)
        error = start_server(made, listener);
    if (listener >= 0)
        close(listener);
    atomic_store(&made->is_alive, error == NULL);
    atomic_store(&made->takes_commands, !options->view_only);
    if (error == NULL)
        error = start_thread(made);
    if (error != NULL) {
        tg_web_session_end(made);
        return error;
    }
    *session = made;
    return NULL;
}

/* The process ends by itself when the line is closed; one that does not is killed. */
static void reap(pid_t server)
{
    uint64_t until = now_ms() + END_MS;
    while (waitpid(server, NULL, WNOHANG) == 0) {
        if (now_ms() >= until)
            kill(server, SIGKILL);
        nanosleep(&(struct timespec){.tv_nsec = 5 * 1000 * 1000}, NULL);
    }
}

void tg_web_session_end(struct tg_web_session *session)
{
    if (session == NULL)
        return;
    pthread_mutex_lock(&session->lock);
    session->is_ending = true;
    pthread_mutex_unlock(&session->lock);
    wake(session->poke);
    if (session->has_thread)
        pthread_join(session->thread, NULL);
    tg_web_line_deinit(&session->line);
    if (session->server > 0)
        reap(session->server);
    const int fds[] = {session->poke, session->asked, session->commanded};
    for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    free_list(&session->asks);
    free_list(&session->commands);
    free_list(&session->answers);
    pthread_mutex_destroy(&session->lock);
    free(session->name);
    free(session);
}

const char *tg_web_session_link(const struct tg_web_session *session)
{
    return session->link;
}

bool tg_web_session_takes_commands(struct tg_web_session *session)
{
    return atomic_load(&session->takes_commands);
}

void tg_web_session_take_commands(struct tg_web_session *session, bool takes)
{
    atomic_store(&session->takes_commands, takes);
    pthread_mutex_lock(&session->lock);
    session->has_news = true;
    pthread_mutex_unlock(&session->lock);
    wake(session->poke);
}

bool tg_web_session_is_alive(struct tg_web_session *session)
{
    return atomic_load(&session->is_alive);
}

int tg_web_session_asked_fd(const struct tg_web_session *session)
{
    return session->asked;
}

int tg_web_session_command_fd(const struct tg_web_session *session)
{
    return session->commanded;
}

/* ---- the console's thread */

static struct item *next_item(struct tg_web_session *session, bool takes_commands)
{
    pthread_mutex_lock(&session->lock);
    struct item *item = pop(&session->asks);
    if (item == NULL && takes_commands)
        item = pop(&session->commands);
    pthread_mutex_unlock(&session->lock);
    return item;
}

/* ITEM becomes its answer. */
static void run_line_of(struct item *item, const struct tg_web_calls *calls)
{
    json_t *object = json_loadb(item->text, item->size, JSON_REJECT_DUPLICATES, NULL);
    const char *line = json_string_value(json_object_get(object, "line"));
    char *text = NULL;
    size_t size = 0;
    if (line != NULL) {
        text = (item->kind == COMMAND ? calls->run : calls->complete)(calls->context, line);
        size = text == NULL ? 0 : strlen(text);
    } else {
        FILE *stream = open_memstream(&text, &size);
        if (stream != NULL) {
            tg_web_failure_write(stream, "INPUT", "the body must be {\"line\": \"...\"}");
            fclose(stream);
        }
    }
    item->status = line == NULL ? 400 : 200;
    json_decref(object);
    free(item->text);
    item->text = text;
    item->size = size;
}

void tg_web_session_serve(struct tg_web_session *session, const struct tg_web_calls *calls,
                          bool takes_commands)
{
    quiet(session->asked);
    if (takes_commands)
        quiet(session->commanded);
    for (struct item *item; (item = next_item(session, takes_commands)) != NULL;) {
        if (item->kind == DOCUMENT)
            write_document(item, calls->write, calls->context);
        else
            run_line_of(item, calls);
        pthread_mutex_lock(&session->lock);
        push(&session->answers, item);
        pthread_mutex_unlock(&session->lock);
        wake(session->poke);
    }
}

bool tg_web_session_set_busy(struct tg_web_session *session, const char *command)
{
    pthread_mutex_lock(&session->lock);
    bool was_interrupted = session->has_interrupted;
    session->has_interrupted = false;
    session->is_busy = command != NULL;
    snprintf(session->busy, sizeof session->busy, "%s", command == NULL ? "" : command);
    session->has_news = true;
    pthread_mutex_unlock(&session->lock);
    wake(session->poke);
    return was_interrupted;
}

void tg_web_session_tell(struct tg_web_session *session, const struct tg_web_state *state)
{
    pthread_mutex_lock(&session->lock);
    bool is_new = state->version != session->state.version;
    session->state = *state;
    session->has_news |= is_new;
    pthread_mutex_unlock(&session->lock);
    if (is_new)
        wake(session->poke);
}

void tg_web_session_tell_late(struct tg_web_session *session)
{
    pthread_mutex_lock(&session->lock);
    session->n_late++;
    session->has_news = true;
    pthread_mutex_unlock(&session->lock);
    wake(session->poke);
}
