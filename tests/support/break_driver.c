/* Runs a command with user breakpoints under the engine and the loader watcher, without a trace, and writes
 * what becomes of the breakpoints as tab-separated lines:
 *
 *   break_driver FILE MODE GLOBLIST SPEC... -- COMMAND...
 *
 *   spec ID TEXT | planted PID ID ADDRESS LATE WINDOW_NS LIBRARY | hit PID ID ADDRESS | removed PID ID
 * ADDRESS LIBRARY note PID TEXT | opened IMAGES */
#include "recorder/loader/loader.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static void print_event(void *context, const struct tg_event *event)
{
    FILE *output = context;
    switch ((unsigned)event->kind) {
    case TG_EVENT_BREAKPOINT_SPEC:
        fprintf(output, "spec\t%" PRIu64 "\t%s\n", event->breakpoint_spec.breakpoint,
                event->breakpoint_spec.text);
        break;
    case TG_EVENT_BREAKPOINT_PLANTED:
        fprintf(output, "planted\t%d\t%" PRIu64 "\t0x%" PRIx64 "\t%" PRIu64 "\t%" PRIu64 "\t%s\n", event->pid,
                event->breakpoint_planted.breakpoint, event->breakpoint_planted.address,
                event->breakpoint_planted.late, event->breakpoint_planted.window_ns,
                event->breakpoint_planted.library);
        break;
    case TG_EVENT_BREAKPOINT_HIT:
        fprintf(output, "hit\t%d\t%" PRIu64 "\t0x%" PRIx64 "\n", event->pid, event->breakpoint_hit.breakpoint,
                event->breakpoint_hit.address);
        break;
    case TG_EVENT_BREAKPOINT_REMOVED:
        fprintf(output, "removed\t%d\t%" PRIu64 "\t0x%" PRIx64 "\t%s\n", event->pid,
                event->breakpoint_removed.breakpoint, event->breakpoint_removed.address,
                event->breakpoint_removed.library);
        break;
    case TG_EVENT_NOTE:
        fprintf(output, "note\t%d\t%s\n", event->pid, event->note.text);
        break;
    default:
        break;
    }
}

static void must(struct tg_error *error)
{
    if (error == NULL)
        return;
    fprintf(stderr, "break_driver: %s\n", tg_error_message(error));
    exit(tg_error_exit_status(error));
}

int main(int argc, char **argv)
{
    int command = 4;
    while (command < argc && strcmp(argv[command], "--") != 0)
        command++;
    FILE *output = command + 1 < argc ? fopen(argv[1], "we") : NULL;
    if (output == NULL) {
        fputs("usage: break_driver FILE MODE GLOBLIST SPEC... -- COMMAND...\n", stderr);
        return 2;
    }
    struct tg_dlopen_filter filter;
    must(tg_dlopen_filter_init(&filter));
    must(tg_dlopen_filter_set_mode(&filter, argv[2], argv[3][0] != '\0' ? argv[3] : NULL));
    struct tg_engine_options options = {.sink = {.context = output, .add = print_event},
                                        .kill_on_exit = true};
    struct tg_engine *engine = NULL;
    struct tg_image_cache *images = NULL;
    struct tg_user_breakpoints *breakpoints = NULL;
    struct tg_loader *loader = NULL;
    must(tg_engine_create(&options, &engine));
    must(tg_image_cache_create(0, &images));
    must(tg_user_breakpoints_create(engine, images, &breakpoints));
    for (int i = 4; i < command; i++)
        must(tg_user_breakpoints_add(breakpoints, argv[i]));
    const struct tg_loader_options watch = {.launched = TG_LOADER_STOPS,
                                            .attached = TG_LOADER_CATCH_UP,
                                            .filter = &filter,
                                            .images = images,
                                            .breakpoints = breakpoints};
    must(tg_loader_create(engine, &watch, &loader));
    tg_user_breakpoints_start(breakpoints);
    int status = 0;
    must(tg_engine_launch(engine, argv + command + 1, NULL));
    must(tg_engine_run(engine, &status));
    fprintf(output, "opened\t%" PRIu64 "\n", tg_image_cache_stats(images).opened);
    tg_engine_destroy(engine);
    tg_loader_destroy(loader);
    tg_user_breakpoints_destroy(breakpoints);
    tg_image_cache_destroy(images);
    tg_dlopen_filter_deinit(&filter);
    fclose(output);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
