#include "live/source/source.h"

#include "live/source/moment_view.h"

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
