#include "live/console/tcl_capture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

/* ---- collecting */

static ssize_t collect(void *cookie, const char *bytes, size_t size)
{
    struct tg_text_capture *capture = cookie;
    size_t wanted = capture->size + size;
    if (capture->is_cut || wanted > TG_TEXT_CAPTURE_MAX) {
        capture->is_cut = true;
        return (ssize_t)size;
    }
    if (wanted >= capture->capacity) {
        size_t capacity = 2 * wanted + 1024;
        char *larger = realloc(capture->text, capacity);
        if (larger == NULL) {
            errno = ENOMEM;
            return 0;
        }
        capture->text = larger;
        capture->capacity = capacity;
    }
    memcpy(capture->text + capture->size, bytes, size);
    capture->size = wanted;
    return (ssize_t)size;
}

FILE *tg_text_capture_open(struct tg_text_capture *capture)
{
    return fopencookie(capture, "w", (cookie_io_functions_t){.write = collect});
}

void tg_text_capture_deinit(struct tg_text_capture *capture)
{
    free(capture->text);
    *capture = (struct tg_text_capture){0};
}

const char *tg_text_capture_take(struct tg_text_capture *capture)
{
    static const char cut[] = "... (too long)";
    size_t size = capture->size;
    if (capture->is_cut && size >= sizeof cut)
        memcpy(capture->text + size - sizeof cut + 1, cut, sizeof cut - 1);
    capture->size = 0;
    capture->is_cut = false;
    if (size == 0)
        return "";
    if (capture->text[size - 1] == '\n')
        size--;
    for (size_t i = 0; i < size; i++)
        if (capture->text[i] == '\0')
            capture->text[i] = ' ';
    capture->text[size] = '\0';
    return capture->text;
}

/* ---- Tcl's standard output */

static int channel_output(ClientData data, const char *bytes, int size, int *error)
{
    *error = 0;
    return (int)fwrite(bytes, 1, (size_t)size, data);
}

static int channel_close(ClientData data, Tcl_Interp *interp)
{
    (void)interp;
    return fflush(data) == 0 ? 0 : errno;
}

static void channel_watch(ClientData data, int mask)
{
    (void)data;
    (void)mask;
}

static const Tcl_ChannelType channel_type = {
    .typeName = "capture",
    .version = TCL_CHANNEL_VERSION_5,
    .closeProc = channel_close,
    .outputProc = channel_output,
    .watchProc = channel_watch,
};

struct tg_error *tg_tcl_capture_begin(Tcl_Interp *interp, FILE *stream)
{
    Tcl_Channel former = Tcl_GetStdChannel(TCL_STDOUT);
    if (Tcl_IsSafe(interp))
        return NULL;
    if (former != NULL && Tcl_IsChannelRegistered(interp, former))
        Tcl_UnregisterChannel(interp, former);
    Tcl_Channel channel = Tcl_CreateChannel(&channel_type, "stdout", stream, TCL_WRITABLE);
    if (channel == NULL)
        return tg_error_no_memory();
    Tcl_SetChannelOption(NULL, channel, "-encoding", "utf-8");
    Tcl_SetChannelOption(NULL, channel, "-translation", "lf");
    Tcl_SetStdChannel(channel, TCL_STDOUT);
    Tcl_RegisterChannel(interp, channel);
    return NULL;
}

void tg_tcl_capture_end(Tcl_Interp *interp)
{
    Tcl_Channel channel = Tcl_GetStdChannel(TCL_STDOUT);
    if (channel == NULL || Tcl_GetChannelType(channel) != &channel_type)
        return;
    Tcl_SetStdChannel(NULL, TCL_STDOUT);
    Tcl_UnregisterChannel(interp, channel);
}

/* Tcl closes a standard channel when it thinks that nobody else has it: the former one is none meanwhile. */
struct tg_error *tg_tcl_capture_swap(Tcl_Interp *interp, FILE *stream, Tcl_Channel *former)
{
    *former = Tcl_IsSafe(interp) ? NULL : Tcl_GetStdChannel(TCL_STDOUT);
    if (*former != NULL) {
        bool is_registered = Tcl_IsChannelRegistered(interp, *former);
        Tcl_RegisterChannel(NULL, *former);
        Tcl_SetStdChannel(NULL, TCL_STDOUT);
        if (is_registered)
            Tcl_UnregisterChannel(interp, *former);
    }
    return tg_tcl_capture_begin(interp, stream);
}

void tg_tcl_capture_restore(Tcl_Interp *interp, Tcl_Channel former)
{
    tg_tcl_capture_end(interp);
    if (former == NULL)
        return;
    Tcl_RegisterChannel(interp, former);
    Tcl_UnregisterChannel(NULL, former);
    Tcl_SetStdChannel(former, TCL_STDOUT);
}
