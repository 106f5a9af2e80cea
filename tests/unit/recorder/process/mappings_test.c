#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "recorder/process/mappings.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE_BYTES = 4096, PAGES = 3, NAME_BYTES = 240, DEPTH = 20 };

/* Goes into a directory of long names, so deep that a path in it has more bytes than the reader's buffer. */
static int enter_deep_directory(char *root)
{
    char name[NAME_BYTES + 1];
    memset(name, 'd', NAME_BYTES);
    name[NAME_BYTES] = '\0';
    name[1] = '\n'; /* four bytes in /proc/PID/maps */
    assert_non_null(mkdtemp(root));
    assert_int_equal(chdir(root), 0);
    for (int i = 0; i < DEPTH; i++) {
        assert_int_equal(mkdir(name, 0700), 0);
        if (chdir(name) != 0)
            return i;
    }
    return DEPTH;
}

static void leave_deep_directory(const char *root)
{
    char command[PAGE_BYTES];
    assert_int_equal(chdir("/"), 0);
    snprintf(command, sizeof command, "rm -rf '%s'", root);
    assert_int_equal(system(command), 0);
}

static void a_file_is_described_and_found(void **state)
{
    (void)state;
    char path[] = "/tmp/mappings test XXXXXX";
    int fd = mkstemp(path);
    struct stat status;
    assert_int_equal(ftruncate(fd, (off_t)PAGES * PAGE_BYTES), 0);
    assert_int_equal(fstat(fd, &status), 0);
    char *at = mmap(NULL, (size_t)2 * PAGE_BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, PAGE_BYTES);
    assert_ptr_not_equal(at, MAP_FAILED);

    struct tg_mappings mappings;
    struct tg_mapping mapping;
    uint64_t last = 0;
    int met = 0;
    assert_true(tg_mappings_open(&mappings, getpid()));
    while (tg_mappings_next(&mappings, &mapping)) {
        assert_true(mapping.start >= last && mapping.end > mapping.start);
        last = mapping.end;
        if (mapping.start != (uintptr_t)at)
            continue;
        met++;
        assert_string_equal(mapping.path, path);
        assert_true(mapping.readable && !mapping.writable && mapping.executable && !mapping.shared);
        assert_int_equal(mapping.offset, PAGE_BYTES);
        assert_int_equal(mapping.end - mapping.start, 2 * PAGE_BYTES);
        assert_int_equal(mapping.inode, status.st_ino);
        assert_int_equal(mapping.major, major(status.st_dev));
        assert_int_equal(mapping.minor, minor(status.st_dev));
    }
    tg_mappings_close(&mappings);
    assert_int_equal(met, 1);

    assert_true(tg_mapping_find(getpid(), (uintptr_t)at + 2 * PAGE_BYTES - 1, &mapping));
    assert_int_equal(mapping.start, (uintptr_t)at);
    unlink(path);
    int opened = tg_mapping_open(getpid(), &mapping); /* the file's name is gone */
    if (opened >= 0) {
        struct stat same;
        assert_int_equal(fstat(opened, &same), 0);
        assert_int_equal(same.st_ino, status.st_ino);
        close(opened);
    }
    munmap(at, (size_t)2 * PAGE_BYTES);
    assert_false(tg_mapping_find(getpid(), (uintptr_t)at, &mapping) && mapping.inode == status.st_ino);
    close(fd);
}

static void memory_without_a_file_has_no_path(void **state)
{
    (void)state;
    char *at = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    char *own = mmap(NULL, PAGE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct tg_mapping mapping;
    assert_true(tg_mapping_find(getpid(), (uintptr_t)at, &mapping));
    assert_true(mapping.shared && mapping.writable);
    assert_true(tg_mapping_find(getpid(), (uintptr_t)own, &mapping));
    assert_false(mapping.shared || mapping.readable || mapping.writable || mapping.executable);
    assert_int_equal(mapping.inode, 0);
    assert_int_equal(tg_mapping_open(getpid(), &mapping), -1);
    munmap(at, PAGE_BYTES);
    munmap(own, PAGE_BYTES);

    struct tg_mappings mappings;
    bool has_stack = false;
    assert_true(tg_mappings_open(&mappings, getpid()));
    while (tg_mappings_next(&mappings, &mapping))
        has_stack = has_stack || strcmp(mapping.path, "[stack]") == 0;
    tg_mappings_close(&mappings);
    assert_true(has_stack);
}

static void *stay(void *unused)
{
    pause();
    return unused;
}

/* A process whose first thread has ended has its memory all the same. */
static void another_thread_tells_where_the_first_is_gone(void **state)
{
    (void)state;
    struct tg_mappings mappings;
    struct tg_mapping mapping;
    int ends[2];
    char byte;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t pid = fork();
    if (pid == 0) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, stay, NULL) != 0 || write(ends[1], "", 1) != 1)
            _exit(1);
        syscall(SYS_exit, 0);
    }
    assert_int_equal(read(ends[0], &byte, 1), 1);
    char name[32], line[64] = "";
    snprintf(name, sizeof name, "/proc/%d/stat", (int)pid);
    for (int i = 0; i < 1000 && strstr(line, ") Z") == NULL; i++) {
        FILE *file = fopen(name, "re");
        assert_non_null(file);
        assert_non_null(fgets(line, sizeof line, file));
        fclose(file);
        usleep(1000);
    }
    assert_true(tg_mappings_open(&mappings, pid) && tg_mappings_next(&mappings, &mapping));
    tg_mappings_close(&mappings);
    assert_true(tg_mapping_find(pid, (uintptr_t)stay, &mapping) && mapping.executable);
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_false(tg_mappings_open(&mappings, pid));
    tg_mappings_close(&mappings);
    close(ends[0]);
    close(ends[1]);
}

/* A path of any length is one mapping. */
static void a_long_name_is_one_mapping(void **state)
{
    (void)state;
    char root[] = "/tmp/mappings.XXXXXX";
    int depth = enter_deep_directory(root);
    int fd = open("file", O_RDWR | O_CREAT, 0600);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, PAGE_BYTES), 0);
    char *at = mmap(NULL, PAGE_BYTES, PROT_READ, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(at, MAP_FAILED);
    struct tg_mappings mappings;
    struct tg_mapping mapping;
    size_t length = 0;
    assert_true(tg_mappings_open(&mappings, getpid()));
    while (tg_mappings_next(&mappings, &mapping))
        if (mapping.start == (uintptr_t)at)
            length = strlen(mapping.path);
    tg_mappings_close(&mappings);
    munmap(at, PAGE_BYTES);
    close(fd);
    leave_deep_directory(root);
    assert_int_equal(length, strlen(root) + (size_t)depth * (1 + NAME_BYTES + 3) + strlen("/file"));
    assert_true(length > TG_MAPPINGS_BUFFER_BYTES);
}

static void a_process_that_is_gone_has_none(void **state)
{
    (void)state;
    struct tg_mappings mappings;
    struct tg_mapping mapping;
    assert_false(tg_mappings_open(&mappings, -1));
    assert_int_equal(errno, ENOENT);
    assert_false(tg_mappings_next(&mappings, &mapping));
    tg_mappings_close(&mappings);
    assert_false(tg_mapping_find(-1, 0, &mapping));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_described_and_found),
        cmocka_unit_test(memory_without_a_file_has_no_path),
        cmocka_unit_test(another_thread_tells_where_the_first_is_gone),
        cmocka_unit_test(a_long_name_is_one_mapping),
        cmocka_unit_test(a_process_that_is_gone_has_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
