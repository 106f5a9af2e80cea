#include "analyzer/where/page.h"

#include "tests/unit/analyzer/where/looks.h"

enum { ANY = -1, UNKNOWN = -2 };

/* What a look says as JSON, in which rank 0 waits for MESSAGE. */
static char *say(struct tg_look_message message)
{
    struct tg_look_requests requests = {
        .pid = 100, .tid = 100, .count = 4, .n_pending = 1, .n_messages = 1, .messages = {message}};
    struct tg_where_look look;
    struct tg_where_threads threads;
    struct tg_where_verdict verdict;
    char *text = NULL;
    size_t size;
    assert_null(tg_where_look_create(&look));
    add_rank(&look, 0, 1);
    add_stack(&look, 0, 0, MPI, "MPI_Waitall", 10, 5);
    look.requests = &requests;
    look.n_requests = 1;
    assert_null(tg_where_threads_make(&look, NULL, &threads));
    assert_null(tg_where_verdict_make(&threads, &verdict));
    const struct tg_where_page page = {.look = &look, .threads = &threads, .verdict = &verdict};
    FILE *stream = open_memstream(&text, &size);
    tg_where_write_json(stream, &page);
    fclose(stream);
    tg_where_verdict_deinit(&verdict);
    tg_where_threads_deinit(&threads);
    look.requests = NULL;
    tg_where_look_deinit(&look);
    return text;
}

static void expect_message(struct tg_look_message message, const char *wanted)
{
    char *text = say(message), packed[256];
    const char *from = strstr(text, "\"messages\":");
    size_t n = 0;
    assert_non_null(from);
    for (; *from != '\0' && *from != '}' && n + 1 < sizeof packed; from++)
        if (*from != ' ' && *from != '\n')
            packed[n++] = *from;
    packed[n] = '\0';
    assert_string_equal(packed, wanted);
    free(text);
}

/* Any is null; what is not known is left out. */
static void test_messages(void **state)
{
    (void)state;
    expect_message((struct tg_look_message){.is_world = true, .peer = 3, .rank = 3, .tag = ANY},
                   "\"messages\":[{\"what\":\"receive\",\"rank\":3,\"peer\":3,\"tag\":null,\"world\":true");
    expect_message((struct tg_look_message){.is_other = true, .peer = 3, .rank = UNKNOWN, .tag = 0},
                   "\"messages\":[{\"what\":\"receive\",\"peer\":3,\"tag\":0,\"world\":false");
    expect_message((struct tg_look_message){.sends = true, .peer = UNKNOWN, .rank = UNKNOWN, .tag = UNKNOWN},
                   "\"messages\":[{\"what\":\"send\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_messages)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
