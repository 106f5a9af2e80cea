#include "recorder/rings/process_notes.h"
#include "tests/support/trace_fixture.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];

static int set_up(void **state)
{
    static int fd;
    strcpy(folder, "/tmp/process-notes-XXXXXX");
    fd = mkdtemp(folder) == NULL ? -1 : open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    *state = &fd;
    return fd < 0;
}

static int tear_down(void **state)
{
    int fd = *(int *)*state;
    unlinkat(fd, "processes.0", 0);
    unlinkat(fd, "processes.1", 0);
    close(fd);
    return rmdir(folder);
}

static struct tg_event program(int32_t pid, const char *path)
{
    return (struct tg_event){.kind = TG_EVENT_PROGRAM,
                             .pid = pid,
                             .tid = pid,
                             .time_ns = 1000 + (uint64_t)pid,
                             .program = {.path = path,
                                         .build_id = "ab12",
                                         .interpreter = "/lib/ld.so",
                                         .base = 4096,
                                         .entry = 5,
                                         .bits = 64,
                                         .linkage = TG_LINKAGE_DYNAMIC,
                                         .secure = 1}};
}

static struct tg_event identity(int32_t pid, int64_t rank)
{
    return (struct tg_event){
        .kind = TG_EVENT_IDENTITY,
        .pid = pid,
        .tid = pid,
        .time_ns = 1001 + (uint64_t)pid,
        .identity = {.host = "node", .job = "7", .source = "PMI_RANK", .rank = rank, .size = 4}};
}

static struct tg_event_queue *read_back(int fd)
{
    struct tg_event_queue *queue = NULL;
    assert_fine(tg_event_queue_create(0, &queue));
    tg_process_notes_read(fd, queue);
    return queue;
}

static void what_is_noted_is_read_back(void **state)
{
    int fd = *(int *)*state;
    struct tg_process_notes *notes = NULL;
    assert_fine(tg_process_notes_create(fd, true, &notes));
    struct tg_event events[] = {
        program(7, "/home/x/solver"), identity(7, 3), {.kind = TG_EVENT_NOTE, .note = {"x"}}};
    for (size_t i = 0; i < 3; i++)
        tg_process_notes_add(notes, &events[i]);
    tg_process_notes_add(NULL, &events[0]);
    struct tg_event_queue *queue = read_back(fd);
    const struct tg_event *event = tg_event_queue_first(queue);
    assert_int_equal(event->kind, TG_EVENT_PROGRAM);
    assert_int_equal(event->pid, 7);
    assert_int_equal(event->time_ns, 1007);
    assert_string_equal(event->program.path, "/home/x/solver");
    assert_string_equal(event->program.build_id, "ab12");
    assert_string_equal(event->program.interpreter, "/lib/ld.so");
    assert_int_equal(event->program.base, 4096);
    assert_int_equal(event->program.bits, 64);
    assert_int_equal(event->program.linkage, TG_LINKAGE_DYNAMIC);
    tg_event_queue_pop(queue);
    event = tg_event_queue_first(queue);
    assert_int_equal(event->kind, TG_EVENT_IDENTITY);
    assert_int_equal(event->identity.rank, 3);
    assert_int_equal(event->identity.size, 4);
    assert_string_equal(event->identity.host, "node");
    assert_string_equal(event->identity.source, "PMI_RANK");
    tg_event_queue_pop(queue);
    assert_null(tg_event_queue_first(queue));
    tg_event_queue_destroy(queue);
    tg_process_notes_destroy(notes);
}

static void without_names_there_are_none_in_the_files(void **state)
{
    int fd = *(int *)*state;
    struct tg_process_notes *notes = NULL;
    char bytes[4096];
    assert_fine(tg_process_notes_create(fd, false, &notes));
    struct tg_event events[] = {program(7, "/home/x/solver"), identity(7, 3)};
    for (size_t i = 0; i < 2; i++)
        tg_process_notes_add(notes, &events[i]);
    int file = openat(fd, "processes.0", O_RDONLY | O_CLOEXEC);
    ssize_t size = read(file, bytes, sizeof bytes);
    close(file);
    assert_true(size > 0);
    assert_null(memmem(bytes, (size_t)size, "solver", 6));
    assert_null(memmem(bytes, (size_t)size, "node", 4));
    struct tg_event_queue *queue = read_back(fd);
    const struct tg_event *event = tg_event_queue_first(queue);
    assert_int_equal(event->kind, TG_EVENT_IDENTITY);
    assert_int_equal(event->identity.rank, 3);
    tg_event_queue_destroy(queue);
    tg_process_notes_destroy(notes);
}

/* Of very many processes the latest stay, and no more than two files of a megabyte are used. */
static void the_latest_stay(void **state)
{
    enum { PROCESSES = 20000, LATEST = 2000 };
    int fd = *(int *)*state;
    struct tg_process_notes *notes = NULL;
    struct stat status[2];
    assert_fine(tg_process_notes_create(fd, true, &notes));
    for (int32_t pid = 1; pid <= PROCESSES; pid++) {
        struct tg_event event = program(pid, "/home/x/solver");
        tg_process_notes_add(notes, &event);
    }
    assert_int_equal(fstatat(fd, "processes.0", &status[0], 0) | fstatat(fd, "processes.1", &status[1], 0),
                     0);
    assert_true(status[0].st_size <= 1 << 20 && status[1].st_size <= 1 << 20);
    struct tg_event_queue *queue = read_back(fd);
    const struct tg_event *event = tg_event_queue_first(queue);
    int32_t next = event->pid;
    assert_true(next > 1 && next < PROCESSES - LATEST);
    for (; (event = tg_event_queue_first(queue)) != NULL; tg_event_queue_pop(queue))
        assert_int_equal(event->pid, next++); /* in order */
    assert_int_equal(next, PROCESSES + 1);
    tg_event_queue_destroy(queue);
    tg_process_notes_destroy(notes);
}

/* Any byte changed, or the end missing: what is before it is told, and nothing is read beyond. */
static void damage_ends_it(void **state)
{
    int fd = *(int *)*state;
    struct tg_process_notes *notes = NULL;
    char bytes[1024];
    assert_fine(tg_process_notes_create(fd, true, &notes));
    struct tg_event events[] = {program(7, "/home/x/solver"), identity(7, 3)};
    for (size_t i = 0; i < 2; i++)
        tg_process_notes_add(notes, &events[i]);
    tg_process_notes_destroy(notes);
    int file = openat(fd, "processes.0", O_RDWR | O_CLOEXEC);
    ssize_t size = read(file, bytes, sizeof bytes);
    assert_true(size > 0);
    for (ssize_t i = 0; i < 2 * size; i++) {
        char changed = (char)~bytes[i % size];
        if (i < size)
            assert_int_equal(pwrite(file, &changed, 1, i), 1);
        else
            assert_int_equal(ftruncate(file, 2 * size - i - 1), 0);
        struct tg_event_queue *queue = read_back(fd);
        int told = 0;
        for (; tg_event_queue_first(queue) != NULL; tg_event_queue_pop(queue))
            told++;
        assert_true(told <= 2);
        tg_event_queue_destroy(queue);
        if (i < size)
            assert_int_equal(pwrite(file, &bytes[i], 1, i), 1);
    }
    close(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_noted_is_read_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(without_names_there_are_none_in_the_files, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_latest_stay, set_up, tear_down),
        cmocka_unit_test_setup_teardown(damage_ends_it, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
