#include "live/inspect/expression/condition_commands.h"

#include "format/base/tcl_match.h"

#include <string.h>

const char tg_condition_commands_list[] =
    "string compare, equal, first, index, is, last, length, match, range, tolower, toupper and trim";

bool tg_condition_commands_has(const char *name, size_t length)
{
    return length == strlen("string") && memcmp(name, "string", length) == 0;
}

/* Tcl's own tries every way to distribute the text over the stars. */
static int match(ClientData data, Tcl_Interp *interp, int count, Tcl_Obj *const *words)
{
    (void)data;
    if (count != 3) {
        Tcl_WrongNumArgs(interp, 1, words, "pattern string");
        return TCL_ERROR;
    }
    const char *pattern = Tcl_GetString(words[1]);
    if (!tg_tcl_match_accepts(pattern)) {
        Tcl_SetObjResult(interp, Tcl_NewStringObj("the pattern has too many stars", -1));
        return TCL_ERROR;
    }
    Tcl_SetObjResult(interp, Tcl_NewBooleanObj(tg_tcl_match(pattern, Tcl_GetString(words[2]))));
    return TCL_OK;
}

/* A number that is shifted further would have gigabytes. */
static int check_shift(ClientData data, Tcl_Interp *interp, int count, Tcl_Obj *const *words)
{
    enum { MAX_SHIFT = 63 };
    Tcl_WideInt by;
    (void)data;
    if (count != 2) {
        Tcl_WrongNumArgs(interp, 1, words, "number");
        return TCL_ERROR;
    }
    if (Tcl_GetWideIntFromObj(interp, words[1], &by) != TCL_OK)
        return TCL_ERROR;
    if (by < 0 || by > MAX_SHIFT) {
        Tcl_SetObjResult(interp, Tcl_ObjPrintf("conditions shift by 0 to %d", MAX_SHIFT));
        return TCL_ERROR;
    }
    Tcl_SetObjResult(interp, words[1]);
    return TCL_OK;
}

struct tg_error *tg_condition_commands_add(Tcl_Interp *interp)
{
    static const char map[] =
        "namespace ensemble configure string -subcommands {} -map {"
        " compare ::tcl::string::compare equal ::tcl::string::equal first ::tcl::string::first"
        " index ::tcl::string::index is ::tcl::string::is last ::tcl::string::last"
        " length ::tcl::string::length match ::tg_match range ::tcl::string::range"
        " tolower ::tcl::string::tolower toupper ::tcl::string::toupper trim ::tcl::string::trim}";
    Tcl_CreateObjCommand(interp, "::tg_match", match, NULL, NULL);
    Tcl_CreateObjCommand(interp, "::tcl::mathfunc::" TG_CONDITION_SHIFT, check_shift, NULL, NULL);
    if (Tcl_Eval(interp, map) == TCL_OK)
        return NULL;
    return tg_error_create(TG_ERROR_UNSUPPORTED, "this Tcl does not let 'string' be restricted: %s",
                           Tcl_GetStringResult(interp));
}
