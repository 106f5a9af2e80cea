#include "live/commands/inspect/frame_words.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

const char *tg_frame_words_function(const struct tg_call *call)
{
    if (call->is_signal)
        return "<signal handler called>";
    return call->code.name != NULL ? call->code.name : "?";
}

void tg_frame_words_place(const struct tg_call *call, char *text, size_t size)
{
    if (call->code.file != NULL)
        snprintf(text, size, "%s#%d", base_name(call->code.file), call->code.line);
    else if (call->module != NULL)
        snprintf(text, size, "%s", base_name(call->module->path));
    else
        snprintf(text, size, "%#" PRIx64, call->frame.registers.value[TG_RIP]);
}
