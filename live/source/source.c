#include "live/source/source.h"

#include "format/trace/file.h"
#include "live/source/moment_view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct tg_error *tg_source_view(struct tg_source *source, struct tg_job_view **view)
{
    struct tg_job_view *made = NULL;
    struct tg_error *error = tg_job_view_create(&made);
    if (error == NULL)
        error = source->ops->view != NULL ? source->ops->view(source, made)
                                          : tg_moment_view(source->moment, made);
    if (error != NULL) {
        tg_job_view_destroy(made);
        return error;
    }
    *view = made;
    return NULL;
}

char *tg_source_trace_file(const struct tg_source *source)
{
    char *incomplete = NULL;
    if (source->trace_path == NULL)
        return NULL;
    if (source->ops->sync == NULL)
        return strdup(source->trace_path);
    if (asprintf(&incomplete, "%s" TG_TRACE_INCOMPLETE_SUFFIX, source->trace_path) < 0)
        return NULL;
    /* looked for first: the file of the other name can be a former one that is being replaced */
    if (access(incomplete, F_OK) == 0)
        return incomplete;
    free(incomplete);
    return strdup(source->trace_path);
}
