#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recorder/engine/engine.h"

/* ---- registers that a place takes */

static void places_are_covered_by_aligned_pieces(void **state)
{
    static const struct {
        uint64_t address, size_bytes;
        unsigned registers;
    } places[] = {
        {0x1000, 1, 1},  {0x1000, 8, 1},  {0x1007, 1, 1},  {0x1004, 4, 1},  {0x1004, 8, 2},
        {0x1001, 4, 3},  {0x1001, 8, 4},  {0x1006, 4, 2},  {0x1003, 2, 2},  {0x1000, 3, 2},
        {0x1000, 24, 3}, {0x1000, 32, 4}, {0x1001, 10, 5}, {0x1000, 33, 5}, {0x1000, UINT64_MAX, 5},
    };
    (void)state;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        assert_int_equal(tg_watch_registers_needed(places[i].address, places[i].size_bytes),
                         places[i].registers);
}

/* ---- writes of a real child */

static volatile struct {
    uint64_t first, second;
    uint8_t bytes[8];
} watched __attribute__((aligned(16)));

struct session {
    struct tg_engine *engine;
    struct tg_process *process;
    unsigned n_hits, n_left_out;
    bool is_refused;
};

static bool take_write(void *context, struct tg_thread *thread)
{
    struct session *session = context;
    assert_ptr_equal(thread->process->engine, session->engine);
    session->n_hits++;
    if (session->n_hits == 3)
        tg_watch_remove(thread->process, take_write, session);
    return false;
}

static bool take_other(void *context, struct tg_thread *thread)
{
    struct session *session = context;
    (void)thread;
    session->n_left_out++;
    return false;
}

static void plant(void *context, struct tg_thread *thread, bool attached)
{
    struct session *session = context;
    struct tg_process *process = thread->process;
    assert_true(attached);
    struct tg_error *error =
        tg_watch_plant(process, (uint64_t)(uintptr_t)&watched.first, 8, take_write, session);
    session->is_refused = error != NULL && tg_error_code(error) == TG_ERROR_UNSUPPORTED;
    tg_error_destroy(error);
    if (session->is_refused)
        return;
    assert_true(tg_watch_is_planted(process, take_write, session));
    assert_int_equal(tg_watch_registers_free(process), 3);
    error = tg_watch_plant(process, (uint64_t)(uintptr_t)&watched.bytes[1], 7, take_other, session);
    assert_null(error);
    assert_int_equal(tg_watch_registers_free(process), 0);
    error = tg_watch_plant(process, (uint64_t)(uintptr_t)&watched.second, 8, take_other, session);
    assert_int_equal(tg_error_code(error), TG_ERROR_LIMIT);
    tg_error_destroy(error);
    error = tg_watch_plant(process, UINT64_C(1) << 63, 1, take_other, session);
    assert_int_equal(tg_error_code(error), TG_ERROR_USAGE);
    tg_error_destroy(error);
}

static void ignore_event(void *context, const struct tg_event *event)
{
    (void)context;
    (void)event;
}

/* Waits for a byte of READY; five writes, of which the last two come when nothing is watched any more. */
static _Noreturn void write_in_child(int ready, int result)
{
    char byte;
    if (read(ready, &byte, 1) != 1)
        _exit(9);
    for (unsigned i = 1; i <= 5; i++) {
        watched.first = i;
        watched.second = i;
    }
    watched.bytes[0] = 1;
    pid_t child = fork(); /* has the other watch, too */
    if (child == 0) {
        watched.bytes[7] = 1;
        _exit(0);
    }
    int status = 1;
    waitpid(child, &status, 0);
    _exit(status == 0 && watched.first == 5 && write(result, "", 1) == 1 ? 0 : 1);
}

static void writes_are_told_and_nothing_else(void **state)
{
    struct session session = {0};
    const struct tg_engine_options options = {.sink = {.add = ignore_event}};
    const struct tg_observer observer = {.name = "watch", .context = &session, .program_loaded = plant};
    int ready[2], result[2];
    char byte;
    (void)state;
    assert_int_equal(pipe(ready), 0);
    assert_int_equal(pipe(result), 0);
    pid_t child = fork();
    if (child == 0)
        write_in_child(ready[0], result[1]);
    assert_null(tg_engine_create(&options, &session.engine));
    assert_null(tg_engine_add_observer(session.engine, &observer, NULL));
    assert_null(tg_engine_attach(session.engine, child));
    assert_int_equal(write(ready[1], "", 1), 1);
    assert_null(tg_engine_run(session.engine, NULL));
    tg_engine_destroy(session.engine);
    close(result[1]);
    assert_int_equal(read(result[0], &byte, 1), 1); /* the engine has waited for the child */
    close(result[0]);
    close(ready[0]);
    close(ready[1]);
    if (session.is_refused)
        skip();
    assert_int_equal(session.n_hits, 3);
    assert_int_equal(session.n_left_out, 1);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_are_covered_by_aligned_pieces),
        cmocka_unit_test(writes_are_told_and_nothing_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
