#include "live/commands/control/action_file.h"
#include "live/console/script_nesting.h"

#include "format/base/printable.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct loading {
    Tcl_Interp *to;
    size_t made;
};

static int refuse(Tcl_Interp *interp, const char *message)
{
    Tcl_SetObjResult(interp, Tcl_NewStringObj(message, -1));
    return TCL_ERROR;
}

/* Has the other interpreter do the command that WORDS are, word by word: nothing in them is a script. */
static int forward(struct loading *loading, Tcl_Interp *interp, Tcl_Obj *words)
{
    Tcl_IncrRefCount(words);
    int code = Tcl_EvalObjEx(loading->to, words, TCL_EVAL_GLOBAL);
    Tcl_DecrRefCount(words);
    Tcl_SetObjResult(interp, Tcl_NewStringObj(Tcl_GetStringResult(loading->to), -1));
    return code == TCL_OK ? TCL_OK : TCL_ERROR;
}

/* The text, not a value that both interpreters would have. */
static Tcl_Obj *copy_of(Tcl_Obj *word)
{
    int size;
    const char *text = Tcl_GetStringFromObj(word, &size);
    return Tcl_NewStringObj(text, size);
}

static Tcl_Obj *copy_words(int argc, Tcl_Obj *const argv[])
{
    Tcl_Obj *words = Tcl_NewListObj(0, NULL);
    for (int i = 0; i < argc; i++)
        Tcl_ListObjAppendElement(NULL, words, copy_of(argv[i]));
    return words;
}

/* Whether ARGV has a script, which is not to be made of what a file says. */
static bool has_script(int argc, Tcl_Obj *const argv[])
{
    for (int i = 1; i < argc; i++)
        if (strcmp(Tcl_GetString(argv[i]), "-e") == 0)
            return true;
    return false;
}

static const char *const refused_script =
    "scripts (-e) are not loaded from a file of action points; if you trust it, read it with `source FILE`";

static int make_point(ClientData data, Tcl_Interp *interp, int argc, Tcl_Obj *const argv[])
{
    struct loading *loading = data;
    if (has_script(argc, argv))
        return refuse(interp, refused_script);
    int code = forward(loading, interp, copy_words(argc, argv));
    loading->made += code == TCL_OK;
    return code;
}

/* dfocus SET dbreak|dbarrier|dwatch ... */
static int focus_point(ClientData data, Tcl_Interp *interp, int argc, Tcl_Obj *const argv[])
{
    struct loading *loading = data;
    const char *command = argc > 2 ? Tcl_GetString(argv[2]) : "";
    if (strcmp(command, "dbreak") != 0 && strcmp(command, "dbarrier") != 0 && strcmp(command, "dwatch") != 0)
        return refuse(interp, "a file of action points may use dfocus only as in `dfocus SET dbreak ...`, "
                              "`dfocus SET dbarrier ...` or `dfocus SET dwatch ...`");
    if (has_script(argc, argv))
        return refuse(interp, refused_script);
    Tcl_Obj *words = copy_words(2, argv);
    Tcl_ListObjAppendElement(NULL, words, copy_words(argc - 2, argv + 2));
    int code = forward(loading, interp, words);
    loading->made += code == TCL_OK;
    return code;
}

static int disable_point(ClientData data, Tcl_Interp *interp, int argc, Tcl_Obj *const argv[])
{
    Tcl_WideInt id;
    if (argc != 2 || Tcl_GetWideIntFromObj(NULL, argv[1], &id) != TCL_OK)
        return refuse(interp, "a file of action points may use ddisable only with a number");
    return forward(data, interp, copy_words(argc, argv));
}

static int suppress_points(ClientData data, Tcl_Interp *interp, int argc, Tcl_Obj *const argv[])
{
    if (argc != 2 || strcmp(Tcl_GetString(argv[1]), "-suppress") != 0)
        return refuse(interp, "a file of action points may use dactions only as `dactions -suppress`");
    return forward(data, interp, copy_words(argc, argv));
}

/* ---- the interpreter */

/* Takes away every command: of what is left nothing can loop, read or run anything. */
static void strip(Tcl_Interp *interp)
{
    Tcl_EvalEx(interp, "info commands", -1, TCL_EVAL_GLOBAL);
    Tcl_Obj *list = Tcl_GetObjResult(interp), **names;
    int n = 0;
    Tcl_IncrRefCount(list);
    if (Tcl_ListObjGetElements(NULL, list, &n, &names) == TCL_OK)
        for (int i = 0; i < n; i++)
            Tcl_DeleteCommand(interp, Tcl_GetString(names[i]));
    Tcl_DecrRefCount(list);
    Tcl_Namespace *tcl = Tcl_FindNamespace(interp, "::tcl", NULL, TCL_GLOBAL_ONLY);
    if (tcl != NULL)
        Tcl_DeleteNamespace(tcl);
    Tcl_Namespace *oo = Tcl_FindNamespace(interp, "::oo", NULL, TCL_GLOBAL_ONLY);
    if (oo != NULL)
        Tcl_DeleteNamespace(oo);
    Tcl_Namespace *zlib = Tcl_FindNamespace(interp, "::zlib", NULL, TCL_GLOBAL_ONLY);
    if (zlib != NULL)
        Tcl_DeleteNamespace(zlib);
    Tcl_ResetResult(interp);
}

static Tcl_Interp *make_interpreter(struct loading *loading)
{
    Tcl_Interp *interp = Tcl_CreateInterp();
    if (Tcl_MakeSafe(interp) != TCL_OK) {
        Tcl_DeleteInterp(interp);
        return NULL;
    }
    strip(interp);
    Tcl_CreateObjCommand(interp, "dbreak", make_point, loading, NULL);
    Tcl_CreateObjCommand(interp, "dbarrier", make_point, loading, NULL);
    Tcl_CreateObjCommand(interp, "dwatch", make_point, loading, NULL);
    Tcl_CreateObjCommand(interp, "dfocus", focus_point, loading, NULL);
    Tcl_CreateObjCommand(interp, "ddisable", disable_point, loading, NULL);
    Tcl_CreateObjCommand(interp, "dactions", suppress_points, loading, NULL);
    return interp;
}

/* The error, line by line: a mark may be below the place that is meant. */
static struct tg_error *tell(const char *path, int line, const char *message)
{
    enum { MAX_LINES = 4, MAX_LINE = 1024 };
    char text[MAX_LINES * MAX_LINE], one[MAX_LINE];
    size_t used = 0;
    for (unsigned i = 0; i < MAX_LINES; i++) {
        size_t length = strcspn(message, "\n");
        char *copy = strndup(message, length);
        if (copy == NULL)
            return tg_error_no_memory();
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", i == 0 ? "" : "\n",
                                 tg_printable(copy, one, sizeof one - 1));
        free(copy);
        if (message[length] == '\0')
            break;
        message += length + 1;
    }
    return tg_error_create(TG_ERROR_INPUT, "%s:%d: %s", path, line, text);
}

static struct tg_error *run(const char *path, const char *script, size_t size, struct loading *loading)
{
    if (tg_script_nests_too_deep(script, size))
        return tg_error_create(TG_ERROR_INPUT, "%s: " TG_SCRIPT_NESTS_TOO_DEEP, path);
    Tcl_Interp *interp = make_interpreter(loading);
    if (interp == NULL)
        return tg_error_create(TG_ERROR_UNSUPPORTED, "this version of Tcl has no safe interpreters");
    struct tg_error *error = NULL;
    int code = Tcl_EvalEx(interp, script, (int)size, TCL_EVAL_GLOBAL | TCL_EVAL_DIRECT);
    if (code != TCL_OK) {
        int line = Tcl_GetErrorLine(interp);
        error = tell(path, line < 1 ? 1 : line, Tcl_GetStringResult(interp));
    }
    Tcl_DeleteInterp(interp);
    return error;
}

/* ---- the file */

static struct tg_error *read_file(const char *path, char **text, size_t *size)
{
    struct stat status;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (descriptor < 0 || fstat(descriptor, &status) != 0) {
        struct tg_error *error = tg_error_create_errno(errno, "cannot open %s", path);
        if (descriptor >= 0)
            close(descriptor);
        return error;
    }
    struct tg_error *error = NULL;
    char *made = malloc(TG_ACTION_FILE_MAX + 2);
    size_t used = 0;
    ssize_t got = 1;
    if (made == NULL)
        error = tg_error_no_memory();
    else if (!S_ISREG(status.st_mode))
        error = tg_error_create(TG_ERROR_INPUT, "%s is not a regular file", path);
    while (error == NULL && got > 0 && used <= TG_ACTION_FILE_MAX) {
        got = read(descriptor, made + used, TG_ACTION_FILE_MAX + 1 - used);
        if (got < 0 && errno != EINTR)
            error = tg_error_create_errno(errno, "cannot read %s", path);
        used += got > 0 ? (size_t)got : 0;
        got = got < 0 ? 1 : got;
    }
    close(descriptor);
    if (error == NULL && used > TG_ACTION_FILE_MAX)
        error = tg_error_create(TG_ERROR_LIMIT, "%s is longer than %d bytes", path, TG_ACTION_FILE_MAX);
    if (error != NULL) {
        free(made);
        return error;
    }
    made[used] = '\0';
    *text = made;
    *size = used;
    return NULL;
}

struct tg_error *tg_action_file_load(Tcl_Interp *interp, const char *path, size_t *made)
{
    struct loading loading = {.to = interp};
    char *text = NULL;
    size_t size = 0;
    *made = 0;
    struct tg_error *error = read_file(path, &text, &size);
    if (error == NULL)
        error = run(path, text, size, &loading);
    free(text);
    *made = loading.made;
    return error;
}
