/* Traces in a directory of the test's own. */
#ifndef TG_TESTS_TRACE_FIXTURE_H
#define TG_TESTS_TRACE_FIXTURE_H

#include "format/base/error.h"
#include "format/trace/meta.h"
#include "format/trace/reader.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define assert_fine(expression)                                                                              \
    do {                                                                                                     \
        struct tg_error *assert_error = (expression);                                                        \
        if (assert_error != NULL)                                                                            \
            fail_msg("%s", tg_error_message(assert_error));                                                  \
    } while (0)

/* The error must have CODE and a message with TEXT in it; it is destroyed. */
void expect_error(struct tg_error *error, enum tg_error_code code, const char *text);

/* cmocka's setup and teardown: *STATE is a struct temporary. */
int trace_fixture_setup(void **state);
int trace_fixture_teardown(void **state);
#define trace_test(function)                                                                                 \
    cmocka_unit_test_setup_teardown(function, trace_fixture_setup, trace_fixture_teardown)

struct tg_trace_meta *trace_fixture_meta(void);

/* N events of event_sample SEED in chunks of PER_CHUNK, closed cleanly. */
void trace_fixture_write(const char *path, uint64_t seed, uint64_t n, uint64_t per_chunk);

/* Reads on; every event must be that of event_sample SEED from number FIRST on. Returns how many; *ERROR is
 * what ended it, NULL at the end. */
uint64_t trace_fixture_compare(struct tg_trace_reader *reader, uint64_t seed, uint64_t first,
                               struct tg_error **error);

#endif
