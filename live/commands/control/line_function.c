#include "live/commands/control/line_function.h"

#include "format/base/printable.h"
#include "format/settings/break_spec.h"
#include "live/commands/focus/standing.h"

#include <inttypes.h>
#include <string.h>

enum { MAX_ADDRESSES = 64 };

/* "f" of "a::f<int>(char)", "f" and "f._omp_fn.0": what of a name can be compared. Empty for names that the
 * compiler made: of lambdas, of clang's OpenMP regions. */
static size_t base_of(const char **name)
{
    size_t length = strcspn(*name, "(<.");
    for (size_t i = length; i > 1; i--) {
        if ((*name)[i - 1] != ':' || (*name)[i - 2] != ':')
            continue;
        *name += i;
        return length - i;
    }
    return length;
}

/* Whether NAME may be that of FUNCTION; operators and what has no name are not told apart. */
static bool may_be(const char *name, const char *function)
{
    static const char operators[] = "operator";
    size_t length = base_of(&name), wanted = base_of(&function);
    return length == 0 || strncmp(name, operators, sizeof operators - 1) == 0 ||
           (length == wanted && memcmp(name, function, length) == 0);
}

/* Whether the code at ADDRESS may be FUNCTION's; else OTHER becomes a name that it has, valid as its
 * module. */
static bool is_in(struct tg_debug_info *info, uint64_t address, const char *function, const char **other)
{
    const struct tg_code_place *place = tg_debug_info_place(info, address);
    if (place == NULL)
        return true;
    for (size_t i = 0; i < place->count; i++) {
        const struct tg_code_call *call = &place->calls[i];
        if (!call->has_function || call->name == NULL || may_be(call->name, function))
            return true;
    }
    *other = place->calls[0].name;
    return false;
}

/* Whether FUNCTION may have a place of SPEC in MODULE. */
static bool look_in(struct tg_modules *modules, const struct tg_module *module,
                    const struct tg_break_spec *spec, const char *function, const char **other)
{
    uint64_t bias, addresses[MAX_ADDRESSES];
    struct tg_debug_info *info =
        tg_break_spec_admits(spec, module->path) ? tg_modules_debug_info(modules, module, &bias) : NULL;
    size_t count = info == NULL ? 0
                                : tg_image_find_line(tg_debug_info_image(info), spec->name, spec->line,
                                                     addresses, MAX_ADDRESSES);
    for (size_t i = 0; i < count; i++)
        if (is_in(info, addresses[i], function, other))
            return true;
    return false;
}

struct tg_error *tg_line_function_check(const struct tg_request *control, int32_t pid, const char *spec,
                                        const char *function)
{
    struct tg_modules *modules = tg_engine_adapter_modules_of(control->engine, pid);
    struct tg_break_spec *parsed = NULL;
    const char *other = NULL;
    char line[200], wanted[200], found[200];
    struct tg_error *error = modules == NULL ? NULL : tg_break_spec_parse(spec, &parsed);
    if (error != NULL || modules == NULL)
        return error;
    bool may_have = parsed->kind != TG_BREAK_LINE;
    for (size_t i = 0; !may_have && i < tg_modules_count(modules); i++)
        may_have = look_in(modules, tg_modules_at(modules, i), parsed, function, &other);
    if (!may_have && other != NULL)
        error = tg_error_create(TG_ERROR_NOT_FOUND, "line %" PRIu64 " of %s is in '%s', not in '%s'",
                                parsed->line, tg_printable(parsed->name, line, sizeof line),
                                tg_printable(other, found, sizeof found),
                                tg_printable(function, wanted, sizeof wanted));
    tg_break_spec_destroy(parsed);
    return error;
}
