#include "format/trace/redactor.h"
#include "tests/support/trace_fixture.h"

#include <stdlib.h>
#include <string.h>

/* What becomes of EVENT; lives until the next call. */
static const struct tg_event *redacted(struct tg_redactor *redactor, struct tg_event event)
{
    static struct tg_event made;
    assert_fine(tg_redactor_event(redactor, &event, &made));
    return &made;
}

static const char *note(struct tg_redactor *redactor, const char *text)
{
    return redacted(redactor, (struct tg_event){.kind = TG_EVENT_NOTE, .note = {.text = text}})->note.text;
}

static const char *program(struct tg_redactor *redactor, const char *path)
{
    const struct tg_event event = {.kind = TG_EVENT_PROGRAM,
                                   .program = {.path = path, .build_id = "", .interpreter = ""}};
    return redacted(redactor, event)->program.path;
}

static void messages_keep_no_word_that_could_be_a_name(void **state)
{
    (void)state;
    struct tg_redactor *redactor = NULL;
    assert_fine(tg_redactor_create(0, &redactor));
    /* nothing is known of alice, node17 and solver when the message comes */
    assert_string_equal(
        note(redactor, "process 17 of alice on node17: cannot read /home/alice/a b: no such file"),
        "process 17 of name1 on name2: cannot read /home/user1/name3 name4: no such file");
    assert_string_equal(note(redactor, "breakpoint 1 (solver`main) was never planted"),
                        "breakpoint 1 (name5`main) was never planted");
    assert_string_equal(note(redactor, "secret.c#12: Message truncated; 40 bytes received from 10.0.0.5"),
                        "name6.c#12: Message truncated; 40 bytes received from name7");
    assert_string_equal(note(redactor, "MPI_Recv failed: SIGKILL at 0x12ab"),
                        "MPI_Recv failed: SIGKILL at 0x12ab");
    tg_redactor_destroy(redactor);
}

static void known_hosts_and_users_are_the_same_everywhere(void **state)
{
    (void)state;
    struct tg_redactor *redactor = NULL;
    assert_fine(tg_redactor_create(0, &redactor));
    assert_fine(tg_redactor_user(redactor, "process")); /* also where it is a word */
    const struct tg_event who = {
        .kind = TG_EVENT_IDENTITY,
        .identity = {.host = "node17.cluster.org", .job = "123.server", .source = "PMI_RANK"}};
    assert_string_equal(redacted(redactor, who)->identity.host, "host1");
    assert_string_equal(note(redactor, "process of node17.cluster.org and node17"),
                        "user1 of host1 and host2");
    const struct tg_event address = {.kind = TG_EVENT_IDENTITY,
                                     .identity = {.host = "10.0.0.5", .job = "7", .source = ""}};
    assert_string_equal(redacted(redactor, address)->identity.host, "host3");
    assert_string_equal(redacted(redactor, address)->identity.job, "7");
    tg_redactor_destroy(redactor);
}

static void only_what_is_everywhere_stays_of_paths(void **state)
{
    (void)state;
    struct tg_redactor *redactor = NULL;
    assert_fine(tg_redactor_create(0, &redactor));
    assert_string_equal(program(redactor, "/usr/lib/../../home/alice/x"), "/usr/lib/../../home/user1/name1");
    assert_string_equal(program(redactor, "/usr/libsecret/libsecret.so.1"), "/usr/name2/name2.so.1");
    assert_string_equal(program(redactor, "/opt/prune_customer_x/python_secret_project"), "/opt/name3/name4");
    assert_string_equal(program(redactor, "/opt/python3.11/libmpi.so.40"), "/opt/python3.11/libmpi.so.40");
    assert_string_equal(program(redactor, "/usr/lib/x86_64-linux-gnu/libm.so.6 (deleted)"),
                        "/usr/lib/x86_64-linux-gnu/libm.so.6 (deleted)");
    assert_string_equal(program(redactor, "/usr/lib/debug/home/alice/x"), "/usr/lib/name5/home/user1/name1");
    tg_redactor_destroy(redactor);
}

static void places_and_senders_have_names_too(void **state)
{
    (void)state;
    static const char *const places[][2] = {
        {"solver`main", "name1`main"},       {"main", "main"},
        {"ns::f<int>", "ns::f<int>"},        {"*0x401136", "*0x401136"},
        {"secret.c#12", "name2.c#12"},       {"secret.c:12", "name2.c:12"},
        {"##lib/secret#f", "##lib/name2#f"}, {"f#12", "name3#12"}};
    struct tg_redactor *redactor = NULL;
    assert_fine(tg_redactor_create(0, &redactor));
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        struct tg_event event = {.kind = TG_EVENT_BREAKPOINT_SPEC, .breakpoint_spec = {.text = places[i][0]}};
        assert_string_equal(redacted(redactor, event)->breakpoint_spec.text, places[i][1]);
        event = (struct tg_event){.kind = TG_EVENT_BARRIER_CREATED,
                                  .barrier_created = {.location = places[i][0]}};
        assert_string_equal(redacted(redactor, event)->barrier_created.location, places[i][1]);
    }
    struct tg_event event = {.kind = TG_EVENT_SIGNAL, .signal = {.sender = "alice_watchdog"}};
    assert_string_equal(redacted(redactor, event)->signal.sender, "name4");
    event.signal.sender = "mpirun.openmpi";
    assert_string_equal(redacted(redactor, event)->signal.sender, "mpirun.openmpi");
    event = (struct tg_event){.kind = TG_EVENT_MPI_COMM_NAME, .mpi_comm_name = {.name = "MPI_secret"}};
    assert_string_equal(redacted(redactor, event)->mpi_comm_name.name, "comm1");
    tg_redactor_destroy(redactor);
}

/* A text that comes again is what it was, until it has somebody's name. */
static void what_is_known_of_a_text_ends_with_a_new_name(void **state)
{
    (void)state;
    struct tg_redactor *redactor = NULL;
    const char *text = "process 17 of alice on node17";
    assert_fine(tg_redactor_create(0, &redactor));
    for (int i = 0; i < 3; i++)
        assert_string_equal(note(redactor, text), "process 17 of name1 on name2");
    const struct tg_event identity = {.kind = TG_EVENT_IDENTITY, .identity = {.host = "node17", .job = text}};
    for (int i = 0; i < 3; i++) {
        assert_string_equal(redacted(redactor, identity)->identity.host, "host1");
        assert_string_equal(note(redactor, text), "process 17 of name1 on host1");
    }
    tg_redactor_destroy(redactor);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_known_of_a_text_ends_with_a_new_name),
        cmocka_unit_test(messages_keep_no_word_that_could_be_a_name),
        cmocka_unit_test(known_hosts_and_users_are_the_same_everywhere),
        cmocka_unit_test(only_what_is_everywhere_stays_of_paths),
        cmocka_unit_test(places_and_senders_have_names_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
