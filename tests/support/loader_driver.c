/* Runs a command under the engine and the loader watcher, writes a trace, and does meanwhile what lines on
 * descriptor 3 say; the answer to each, on descriptor 4, ends with a line ".":
 *
 *   loader_driver TRACE MODE GLOBLIST COMMAND... 3<commands 4>answers
 *
 *   set MODE [GLOBLIST]   the filter from now on
 *   find SPEC             where SPEC is in the first process: "place ADDRESS FILE LINE LIBRARY" each
 *   libraries             of the first process: "handled|deferred NAMESPACE PATH" each
 *   break SPEC            planted in every process where it is, and wherever libraries are handled
 *   halt, step, go        the first process's first thread; answered when it is stopped (halt, step) */
#include "format/trace/meta.h"
#include "format/trace/writer.h"
#include "recorder/loader/break_places.h"
#include "recorder/loader/loader.h"

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { COMMANDS = 3, ANSWERS = 4, MAX_PLACES = 64, MAX_BREAKS = 16 };

struct driver {
    struct tg_engine *engine;
    struct tg_loader *loader;
    struct tg_break_places *places;
    struct tg_trace_writer *writer;
    struct tg_break_spec *breaks[MAX_BREAKS];
    size_t n_breaks;
    pid_t first;
    FILE *answers;
    bool awaits_halt;
    int over[2];  /* a pipe that says so */
    int lines[2]; /* a pipe of pointers to commands, for the tracer thread */
};

static struct driver driver; /* addresses of the driver's breaks are contexts of breakpoints */

static void must(struct tg_error *error)
{
    if (error == NULL)
        return;
    fprintf(stderr, "loader_driver: %s\n", tg_error_message(error));
    exit(tg_error_exit_status(error));
}

static void write_event(void *context, const struct tg_event *event)
{
    (void)context;
    tg_trace_writer_add(driver.writer, event);
}

static void end_answer(void)
{
    fputs(".\n", driver.answers);
    fflush(driver.answers);
}

/* ---- breakpoints */

static void see_hit(void *context, struct tg_thread *thread, struct tg_breakpoint *breakpoint)
{
    struct tg_break_spec **spec = context;
    const struct tg_event event = {
        .kind = TG_EVENT_BREAKPOINT_HIT,
        .breakpoint_hit = {(uint64_t)(spec - driver.breaks) + 1, tg_breakpoint_address(breakpoint)}};
    tg_engine_emit(driver.engine, thread, &event);
}

/* Plants break I at what was FOUND in THREAD's process. */
static void plant(size_t i, struct tg_thread *thread, struct tg_break_place *found, size_t n, bool late,
                  uint64_t window_ns)
{
    void *context = &driver.breaks[i];
    for (size_t k = 0; k < n; k++) {
        if (tg_breakpoint_find(thread->process, found[k].address, see_hit, context) != NULL)
            continue;
        must(tg_breakpoint_plant(thread->process, found[k].address, TG_BREAKPOINT_USER, see_hit, context,
                                 NULL));
        const struct tg_event event = {
            .kind = TG_EVENT_BREAKPOINT_PLANTED,
            .breakpoint_planted = {i + 1, found[k].address, found[k].library, late, window_ns}};
        tg_engine_emit(driver.engine, thread, &event);
    }
    tg_break_places_release(found, n);
}

static void handled(void *context, struct tg_thread *thread, const struct tg_loader_handled *libraries)
{
    (void)context;
    struct tg_break_place found[MAX_PLACES];
    for (size_t i = 0; i < driver.n_breaks; i++) {
        size_t n = 0;
        must(tg_break_places_find_in(driver.places, thread->process, libraries->objects, libraries->count,
                                     driver.breaks[i], found, MAX_PLACES, &n));
        plant(i, thread, found, n, libraries->late, libraries->window_ns);
    }
}

static void add_break(const char *text)
{
    struct tg_break_place found[MAX_PLACES];
    size_t i = driver.n_breaks;
    must(tg_break_spec_parse(text, &driver.breaks[i]));
    driver.n_breaks++;
    const struct tg_event event = {.kind = TG_EVENT_BREAKPOINT_SPEC, .breakpoint_spec = {i + 1, text}};
    tg_engine_emit(driver.engine, NULL, &event);
    for (struct tg_process *process = tg_engine_first_process(driver.engine); process != NULL;
         process = process->hh.next) {
        size_t n = 0;
        must(tg_break_places_find(driver.places, process, driver.breaks[i], found, MAX_PLACES, &n));
        fprintf(driver.answers, "places %zu\n", n);
        plant(i, process->threads, found, n, false, 0);
    }
}

/* ---- questions */

static void answer_places(const char *text)
{
    struct tg_break_place found[MAX_PLACES];
    struct tg_process *process = tg_engine_find_process(driver.engine, driver.first);
    struct tg_break_spec *spec = NULL;
    size_t n = 0;
    must(tg_break_spec_parse(text, &spec));
    if (process != NULL)
        must(tg_break_places_find(driver.places, process, spec, found, MAX_PLACES, &n));
    for (size_t i = 0; i < n; i++)
        fprintf(driver.answers, "place\t0x%" PRIx64 "\t%s\t%" PRIu64 "\t%s\n", found[i].address,
                found[i].file, found[i].line, found[i].library);
    tg_break_places_release(found, n);
    tg_break_spec_destroy(spec);
}

static bool answer_library(void *context, const struct tg_loader_library *library)
{
    (void)context;
    fprintf(driver.answers, "%s\t%u\t%s\n", library->deferred ? "deferred" : "handled",
            library->namespace_index, library->object.path);
    return true;
}

static void set_filter(char *arguments)
{
    struct tg_dlopen_filter filter;
    char *mode = strtok_r(arguments, " ", &arguments);
    char *match = strtok_r(NULL, " ", &arguments);
    must(tg_dlopen_filter_init(&filter));
    must(tg_dlopen_filter_set_mode(&filter, mode, match));
    must(tg_loader_set_filter(driver.loader, &filter));
    tg_dlopen_filter_deinit(&filter);
}

/* ---- commands */

static void see_halted(void *context, struct tg_thread *thread)
{
    (void)context;
    (void)thread;
    if (driver.awaits_halt)
        end_answer();
    driver.awaits_halt = false;
}

static void see_process(void *context, struct tg_thread *thread, enum tg_process_origin origin,
                        struct tg_process *parent)
{
    (void)context;
    (void)origin;
    (void)parent;
    if (driver.first == 0)
        driver.first = thread->process->pid;
}

static void control(const char *what)
{
    struct tg_process *process = tg_engine_find_process(driver.engine, driver.first);
    if (process == NULL || process->threads == NULL)
        return;
    driver.awaits_halt = strcmp(what, "go") != 0;
    if (strcmp(what, "halt") == 0)
        tg_thread_halt(process->threads);
    else if (strcmp(what, "step") == 0)
        tg_thread_step(process->threads);
    else
        tg_thread_go(process->threads);
}

/* On the tracer's thread. */
static void obey(char *line)
{
    char *rest = line + strcspn(line, " ");
    if (*rest != '\0')
        *rest++ = '\0';
    if (strcmp(line, "set") == 0)
        set_filter(rest);
    else if (strcmp(line, "find") == 0)
        answer_places(rest);
    else if (strcmp(line, "libraries") == 0)
        tg_loader_each_library(driver.loader, tg_engine_find_process(driver.engine, driver.first),
                               answer_library, NULL);
    else if (strcmp(line, "break") == 0)
        add_break(rest);
    else
        control(line);
    free(line);
    if (!driver.awaits_halt)
        end_answer();
}

static void serve(void *context)
{
    char *line;
    (void)context;
    while (read(driver.lines[0], &line, sizeof line) == sizeof line)
        obey(line);
}

/* Until the job is over. One byte at a time: poll is to know of all that is left. */
static void *read_commands(void *context)
{
    FILE *commands = fdopen(COMMANDS, "r");
    struct pollfd waiting[] = {{.fd = COMMANDS, .events = POLLIN}, {.fd = driver.over[0], .events = POLLIN}};
    char *line = NULL;
    size_t size = 0;
    if (commands == NULL)
        return context;
    setvbuf(commands, NULL, _IONBF, 0);
    while (poll(waiting, 2, -1) > 0 && waiting[1].revents == 0 && getline(&line, &size, commands) > 0) {
        line[strcspn(line, "\n")] = '\0';
        char *copy = strdup(line);
        if (copy == NULL || write(driver.lines[1], &copy, sizeof copy) != sizeof copy)
            free(copy);
        else
            tg_engine_wake(driver.engine);
    }
    free(line);
    fclose(commands);
    return context;
}

static void create_writer(const char *path)
{
    struct tg_trace_meta *meta = NULL;
    const struct tg_trace_writer_options options = {0};
    must(tg_trace_meta_create(&meta));
    must(tg_trace_writer_create(path, &options, meta, &driver.writer));
    tg_trace_meta_destroy(meta);
}

int main(int argc, char **argv)
{
    if (argc < 5) {
        fputs("usage: loader_driver TRACE MODE GLOBLIST COMMAND... 3<commands 4>answers\n", stderr);
        return 2;
    }
    fcntl(COMMANDS, F_SETFD, FD_CLOEXEC);
    fcntl(ANSWERS, F_SETFD, FD_CLOEXEC);
    driver.answers = fdopen(ANSWERS, "w");
    if (driver.answers == NULL || pipe2(driver.over, O_CLOEXEC) != 0)
        return 2;
    struct tg_dlopen_filter filter;
    must(tg_dlopen_filter_init(&filter));
    must(tg_dlopen_filter_set_mode(&filter, argv[2], argv[3][0] != '\0' ? argv[3] : NULL));
    create_writer(argv[1]);
    const struct tg_engine_options options = {
        .sink = {.add = write_event}, .serve = serve, .kill_on_exit = true};
    if (pipe2(driver.lines, O_NONBLOCK | O_CLOEXEC) != 0)
        return 1;
    must(tg_engine_create(&options, &driver.engine));
    struct tg_image_cache *images = NULL;
    must(tg_image_cache_create(0, &images));
    const struct tg_loader_listener listener = {.handled = handled};
    const struct tg_loader_options watch = {.launched = TG_LOADER_STOPS,
                                            .attached = TG_LOADER_CATCH_UP,
                                            .filter = &filter,
                                            .images = images,
                                            .listener = &listener};
    must(tg_loader_create(driver.engine, &watch, &driver.loader));
    must(tg_break_places_create(driver.loader, images, &driver.places));
    const struct tg_observer observer = {
        .name = "driver", .process_started = see_process, .halted = see_halted};
    must(tg_engine_add_observer(driver.engine, &observer, NULL));
    const struct tg_event settings = {.kind = TG_EVENT_FILTER_SETTINGS,
                                      .filter_settings = {filter.mode, tg_glob_list_text(filter.list)}};
    tg_engine_emit(driver.engine, NULL, &settings);
    int status = 0;
    must(tg_engine_launch(driver.engine, argv + 4, NULL));
    pthread_t reader;
    if (pthread_create(&reader, NULL, read_commands, NULL) != 0)
        return 2;
    must(tg_engine_run(driver.engine, &status));
    if (write(driver.over[1], "", 1) == 1)
        pthread_join(reader, NULL);
    tg_engine_destroy(driver.engine);
    tg_break_places_destroy(driver.places);
    tg_loader_destroy(driver.loader);
    tg_image_cache_destroy(images);
    tg_dlopen_filter_deinit(&filter);
    must(tg_trace_writer_close(driver.writer, NULL));
    for (size_t i = 0; i < driver.n_breaks; i++)
        tg_break_spec_destroy(driver.breaks[i]);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
