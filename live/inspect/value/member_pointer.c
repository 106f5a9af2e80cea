#include "live/inspect/value/text.h"

#include "format/base/printable.h"

#include <dwarf.h>
#include <inttypes.h>
#include <string.h>

enum { MAX_MEMBERS = 65536 };

/* "&Class::member" of the member at OFFSET of TYPE, or the number. */
static void print_data_member(const struct tg_type *type, int64_t offset, FILE *out)
{
    Dwarf_Attribute attribute;
    Dwarf_Die of, child;
    unsigned seen = 0;
    Dwarf_Die die = type->die;
    if (offset == -1) {
        fputs("nullptr", out);
        return;
    }
    bool has_class = dwarf_attr(&die, DW_AT_containing_type, &attribute) != NULL &&
                     dwarf_formref_die(&attribute, &of) != NULL;
    const char *class_name = has_class ? dwarf_diename(&of) : NULL;
    for (int more = has_class ? dwarf_child(&of, &child) : 1; more == 0 && ++seen < MAX_MEMBERS;
         more = dwarf_siblingof(&child, &child)) {
        int64_t at;
        const char *name = dwarf_tag(&child) == DW_TAG_member ? dwarf_diename(&child) : NULL;
        if (name == NULL || dwarf_attr(&child, DW_AT_data_member_location, &attribute) == NULL ||
            !tg_type_constant(&attribute, &at) || at != offset)
            continue;
        fputc('&', out);
        tg_printable_write(out, class_name == NULL ? "?" : class_name);
        fputs("::", out);
        tg_printable_write(out, name);
        return;
    }
    fprintf(out, "<the member at offset %" PRId64 ">", offset);
}

struct tg_error *tg_value_print_member_pointer(const struct tg_scene *scene, const struct tg_value *value,
                                               FILE *out)
{
    struct tg_type type = tg_type_strip(&value->type), target;
    uint64_t words[2] = {0};
    bool is_function = tg_type_target(&type, &target) && tg_type_kind(&target) == TG_TYPE_FUNCTION;
    struct tg_error *error = tg_value_read(scene, value, 0, is_function ? 16 : 8, words);
    if (error != NULL)
        return error;
    if (!is_function) {
        print_data_member(&type, (int64_t)words[0], out);
    } else if (words[0] == 0) {
        fputs("nullptr", out);
    } else if ((words[0] & 1) != 0) { /* Itanium C++ ABI 2.3.2 */
        fprintf(out, "<virtual function %" PRIu64 ">", words[0] / 8);
    } else {
        fprintf(out, "0x%" PRIx64, words[0]);
        tg_value_print_symbol(scene, words[0], out);
    }
    return NULL;
}
