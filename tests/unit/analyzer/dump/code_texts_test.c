#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyzer/dump/code_texts.h"
#include "tests/unit/analyzer/dump/program_symbolizer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void write_text(FILE *stream, const struct tg_field *field, const struct tg_code_name *name)
{
    fprintf(stream, "%s of %s+%" PRIu64, field->name, name->symbol.function, name->symbol.offset);
}

struct fixture {
    struct tg_code_names *names;
    struct tg_code_texts *texts;
    const struct tg_field *code;
};

static void set_up(struct fixture *fixture)
{
    const struct tg_record_schema *schema = tg_event_schema(TG_EVENT_MPI_ENTER);
    *fixture = (struct fixture){.texts = calloc(1, sizeof *fixture->texts)};
    assert_non_null(fixture->texts);
    assert_null(tg_code_names_create(&services, &fixture->names));
    for (size_t i = 0; i < schema->n_fields; i++)
        if (strcmp(schema->fields[i].name, "code") == 0)
            fixture->code = &schema->fields[i];
    assert_non_null(fixture->code);
    assert_true(tg_code_names_concern(fixture->code));
    assert_false(tg_code_names_concern(&schema->fields[0]));
}

static void tear_down(struct fixture *fixture)
{
    tg_code_texts_deinit(fixture->texts);
    tg_code_names_destroy(fixture->names);
    free(fixture->texts);
}

static void run_program(struct fixture *fixture, int32_t pid, const char *path)
{
    const struct tg_event event = {
        .kind = TG_EVENT_PROGRAM,
        .pid = pid,
        .tid = pid,
        .program = {.path = path, .build_id = "", .interpreter = "", .base = 1000}};
    assert_null(tg_code_names_feed(fixture->names, &event));
}

static void check(struct fixture *fixture, int32_t pid, uint64_t address, const char *expected)
{
    const struct tg_event event = {.kind = TG_EVENT_MPI_ENTER,
                                   .pid = pid,
                                   .tid = pid,
                                   .mpi_enter = {.call = "MPI_Send", .code = address}};
    const struct tg_code_text *text = NULL;
    assert_null(tg_code_texts_find(fixture->texts, write_text, &event, fixture->code, address, fixture->names,
                                   &text));
    assert_int_equal(text->size, strlen(expected));
    assert_memory_equal(text->size == 0 ? "" : text->text, expected, text->size);
}

static void names_are_those_of_the_process_and_its_program_now(void **state)
{
    struct fixture fixture;
    (void)state;
    set_up(&fixture);
    check(&fixture, 7, 1101, "");
    run_program(&fixture, 7, "/solver");
    run_program(&fixture, 8, "/helper");
    check(&fixture, 7, 1101, "code of /solver+101");
    check(&fixture, 8, 1101, "code of /helper+101");
    check(&fixture, 9, 1101, "");
    run_program(&fixture, 7, "/printer"); /* after an exec */
    check(&fixture, 7, 1101, "code of /printer+101");
    check(&fixture, 8, 1101, "code of /helper+101");
    tear_down(&fixture);
}

static void addresses_that_share_a_place_have_their_own_names(void **state)
{
    struct fixture fixture;
    (void)state;
    set_up(&fixture);
    run_program(&fixture, 7, "/solver");
    for (int pass = 0; pass < 2; pass++)
        for (uint64_t i = 1; i <= 3 * TG_CODE_TEXTS; i++) {
            char expected[64];
            snprintf(expected, sizeof expected, "code of /solver+%" PRIu64, i * 16);
            check(&fixture, 7, 1000 + i * 16, expected);
        }
    tear_down(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(names_are_those_of_the_process_and_its_program_now),
                                       cmocka_unit_test(addresses_that_share_a_place_have_their_own_names)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
