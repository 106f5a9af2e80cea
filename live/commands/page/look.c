#include "live/commands/page/look.h"

#include "analyzer/page/answer.h"
#include "analyzer/page/culprits.h"
#include "live/commands/info/place.h"
#include "live/commands/page/board.h"
#include "live/source/trace_source.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct tg_page_look {
    struct tg_console console; /* a moment and names of code are all that it has */
    char *name, *path;
    off_t size; /* of the file when it was opened */
};

struct tg_page_look *tg_page_look_create(const struct tg_command_services *services, const char *name)
{
    struct tg_page_look *look = calloc(1, sizeof *look);
    if (look == NULL || (look->name = strdup(name)) == NULL) {
        free(look);
        return NULL;
    }
    look->console.options.services = services;
    return look;
}

static void close_trace(struct tg_page_look *look)
{
    tg_source_destroy(look->console.source);
    look->console.source = NULL;
    free(look->path);
    look->path = NULL;
}

void tg_page_look_destroy(struct tg_page_look *look)
{
    if (look == NULL)
        return;
    close_trace(look);
    if (look->console.symbolizer != NULL)
        look->console.options.services->symbolizer_destroy(look->console.symbolizer);
    free(look->name);
    free(look);
}

static struct tg_error *open_trace(struct tg_page_look *look, const char *path)
{
    struct stat status;
    close_trace(look);
    look->path = strdup(path);
    if (look->path == NULL)
        return tg_error_no_memory();
    look->size = stat(path, &status) == 0 ? status.st_size : 0;
    struct tg_error *error = tg_trace_source_create(look->path, NULL, &look->console.source);
    const struct tg_command_services *services = look->console.options.services;
    if (error == NULL && look->console.symbolizer == NULL && services != NULL)
        error = services->symbolizer_create(&look->console.symbolizer);
    return error;
}

/* Whether the trace has grown, and its end as it was known is not behind AT_NS. */
static bool is_outgrown(const struct tg_page_look *look, uint64_t at_ns)
{
    struct stat status;
    const struct tg_source *source = look->console.source;
    return source->n_events != 0 && source->n_events == source->number &&
           at_ns >= source->time_ns - source->start_ns && stat(look->path, &status) == 0 &&
           status.st_size != look->size;
}

static struct tg_error *go(struct tg_page_look *look, const char *path, uint64_t at_ns)
{
    struct tg_error *error = NULL;
    for (int turn = 0; turn < 2; turn++) {
        if (turn == 0 ? look->path == NULL || strcmp(look->path, path) != 0 : is_outgrown(look, at_ns))
            error = open_trace(look, path);
        if (error == NULL) {
            struct tg_source *source = look->console.source;
            error = source->ops->seek(
                source, &(struct tg_target){.kind = TG_TO_TIME, .time_ns = source->start_ns + at_ns});
        }
        if (error != NULL) {
            close_trace(look);
            return error;
        }
    }
    return NULL;
}

/* The moment of WISH; behind the last event one that is known to have had no more. 0: that of the last event. */
static uint64_t moment_of(const struct tg_source *source, const struct tg_page_look_wish *wish)
{
    if (source->moment_ns != 0 || wish->known_ns == 0)
        return source->moment_ns;
    uint64_t at_ns = source->start_ns + wish->at_ns;
    return at_ns < wish->known_ns ? at_ns : wish->known_ns;
}

struct tg_error *tg_page_look_write(struct tg_page_look *look, const struct tg_page_look_wish *wish,
                                    FILE *out, struct tg_page_culprit **culprits, size_t *n_culprits)
{
    struct tg_verdict verdict = {0};
    const char *name = wish->name;
    struct tg_error *error = go(look, wish->path, wish->at_ns);
    if (error != NULL)
        return error;
    if (strcmp(name, "board") == 0)
        return tg_page_board_write(&look->console, out);
    const struct tg_source *source = look->console.source;
    struct tg_page page = {.words = tg_console_words(&look->console),
                           .name = look->name,
                           .moment_ns = source->start_ns + wish->at_ns,
                           .n_events = source->number,
                           .services = look->console.options.services};
    page.words.now_ns = moment_of(source, wish);
    if (strcmp(name, "verdict") == 0) {
        error = tg_verdict_make(&page.words, &verdict);
        if (error == NULL)
            error = tg_page_culprits(&verdict, culprits, n_culprits);
        page.verdict = &verdict;
    }
    if (error == NULL)
        error = tg_page_write(&page, name, "", out);
    tg_verdict_deinit(&verdict);
    return error;
}
