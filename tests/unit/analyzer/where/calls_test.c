#include "analyzer/where/calls.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ANY = -1, UNKNOWN = -2 };

/* What is said of REQUESTS of rank 2. */
static void expect(const struct tg_look_requests *requests, const char *wanted)
{
    const struct tg_process_entry process = {.rank = 2};
    const struct tg_where_thread thread = {.process = &process, .requests = requests};
    char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    bool is_written = tg_where_write_requests(stream, "", &thread);
    fclose(stream);
    assert_int_equal(is_written, *wanted != '\0');
    assert_int_equal(tg_where_has_pending(&thread), is_written);
    assert_string_equal(text, wanted);
    free(text);
}

static void expect_message(struct tg_look_message message, const char *wanted)
{
    char line[160];
    const struct tg_look_requests requests = {
        .count = 4, .n_pending = 1, .n_messages = 1, .messages = {message}};
    snprintf(line, sizeof line, "1 of 4 requests of rank 2 is not complete: %s\n", wanted);
    expect(&requests, line);
}

static void test_communicators(void **state)
{
    (void)state;
    struct tg_look_message message = {.is_world = true, .peer = 5, .rank = 5, .tag = 7};
    expect_message(message, "receive from rank 5, tag 7");
    message.is_world = false;
    message.is_other = true;
    expect_message(message, "receive from rank 5 (rank 5 of its communicator), tag 7");
    message.rank = UNKNOWN;
    expect_message(message, "receive from rank 5 of another communicator, tag 7");
    message.is_other = false;
    expect_message(message, "receive from rank 5 of its communicator, tag 7");
    message.rank = 5; /* whichever communicator */
    expect_message(message, "receive from rank 5, tag 7");
    message.rank = 3;
    expect_message(message, "receive from rank 3 (rank 5 of its communicator), tag 7");
}

static void test_wildcards(void **state)
{
    (void)state;
    struct tg_look_message message = {.is_world = true, .peer = ANY, .rank = ANY, .tag = ANY};
    expect_message(message, "receive from any rank, any tag");
    message.is_world = false;
    expect_message(message, "receive from any rank, any tag");
    message.is_other = true;
    message.rank = UNKNOWN;
    expect_message(message, "receive from any rank of another communicator, any tag");
    message = (struct tg_look_message){.sends = true, .peer = UNKNOWN, .rank = UNKNOWN, .tag = UNKNOWN};
    expect_message(message, "a send");
}

static void test_numbers(void **state)
{
    (void)state;
    struct tg_look_requests requests = {.count = 4, .n_pending = 3};
    expect(&requests, "3 of 4 requests of rank 2 are not complete\n");
    for (int i = 0; i < 7; i++)
        requests.messages[i] = (struct tg_look_message){.is_world = true, .peer = i, .rank = i, .tag = i};
    requests.n_messages = 2;
    expect(&requests, "3 of 4 requests of rank 2 are not complete: receive from rank 0, tag 0; receive from "
                      "rank 1, tag 1; ...\n");
    requests.n_messages = 3;
    expect(&requests, "3 of 4 requests of rank 2 are not complete: receive from rank 0, tag 0; receive from "
                      "rank 1, tag 1; receive from rank 2, tag 2\n");
    requests.count = requests.n_pending = requests.n_messages = 7;
    expect(&requests, "7 of 7 requests of rank 2 are not complete: receive from rank 0, tag 0; receive from "
                      "rank 1, tag 1; receive from rank 2, tag 2; receive from rank 3, tag 3; receive from "
                      "rank 4, tag 4; receive from rank 5, tag 5; ...\n");
    requests.n_pending = requests.n_messages = 0;
    expect(&requests, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_communicators),
        cmocka_unit_test(test_wildcards),
        cmocka_unit_test(test_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
