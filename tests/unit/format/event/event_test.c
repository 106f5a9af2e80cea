#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "format/event/event.h"

static void kinds_are_found_by_number_and_name(void **state)
{
    (void)state;
    for (size_t i = 0; i < tg_event_kind_count(); i++) {
        unsigned kind = tg_event_kind_at(i);
        assert_int_equal(tg_event_kind_by_name(tg_event_kind_name(kind)), kind);
        assert_non_null(tg_event_schema(kind));
        if (i > 0)
            assert_true(kind > (unsigned)tg_event_kind_at(i - 1)); /* the binary search needs it */
    }
    assert_null(tg_event_schema(0));
    assert_string_equal(tg_event_kind_name(0xffff), "unknown");
    assert_int_equal(tg_event_kind_by_name("no such kind"), 0);
}

static void every_field_lies_inside_its_struct(void **state)
{
    (void)state;
    for (size_t i = 0; i < tg_event_kind_count(); i++) {
        const struct tg_record_schema *schema = tg_event_schema(tg_event_kind_at(i));
        size_t covered = 0;
        for (size_t f = 0; f < schema->n_fields; f++) {
            const struct tg_field *field = &schema->fields[f];
            size_t size = field->type == TG_FIELD_LIST ? sizeof(struct tg_list) : sizeof(uint64_t);
            assert_true(field->offset + size <= schema->size_bytes);
            covered += size;
            if (field->type == TG_FIELD_ENUM)
                assert_non_null(field->names);
            if (field->type == TG_FIELD_LIST)
                assert_non_null(field->element);
        }
        assert_int_equal(covered, schema->size_bytes); /* no member is forgotten in the schema */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds_are_found_by_number_and_name),
        cmocka_unit_test(every_field_lies_inside_its_struct),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
