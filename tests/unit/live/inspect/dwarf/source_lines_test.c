/* Source files: found, remembered, shown harmless. */
#include "live/inspect/dwarf/source_lines.h"

#include "tests/support/temporary.h"
#include "tests/support/trace_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH = 512 };

struct files {
    char directory[PATH];
    struct tg_source_lines *lines;
};

static void make(struct files *files, void **state)
{
    const struct temporary *temporary = *state;
    snprintf(files->directory, sizeof files->directory, "%s", temporary->directory);
    assert_fine(tg_source_lines_create(&files->lines));
}

static char *path_of(const struct files *files, const char *name, char path[PATH])
{
    assert_true(snprintf(path, PATH, "%s/%s", files->directory, name) < PATH);
    return path;
}

/* Writes TEXT to NAME, whose time is SECONDS. */
static void put(const struct files *files, const char *name, const char *text, size_t size, time_t seconds)
{
    char path[PATH];
    FILE *file = fopen(path_of(files, name, path), "we");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
    const struct timespec times[] = {{.tv_sec = seconds}, {.tv_sec = seconds}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void put_text(const struct files *files, const char *name, const char *text)
{
    put(files, name, text, strlen(text), 1000);
}

static const struct tg_source_text *find(struct files *files, const char *path, const char *program)
{
    const struct tg_source_text *text = NULL;
    assert_fine(tg_source_lines_find(files->lines, path, program, &text));
    return text;
}

static void check_lines(const struct tg_source_text *text, const struct tg_source_range *range,
                        const char *expected)
{
    char *shown = NULL;
    size_t size;
    FILE *stream = open_memstream(&shown, &size);
    tg_source_text_print(text, range, stream);
    fclose(stream);
    assert_string_equal(shown, expected);
    free(shown);
}

static void test_shown(void **state)
{
    static const char text[] =
        "\xef\xbb\xbfint x;\r\n\n\ta\tb\n\x1b[31m \\n \xff \xc3\xa4 \xe2\x80\xae\0!\nlast";
    static const struct tg_source_mark marks[] = {{1, 'd'}, {1, 'b'}, {3, 'B'}, {3, 'b'}, {4, 'd'}};
    const struct tg_source_range all = {.first = 1, .count = 100, .current = 3, .marks = marks, .n_marks = 5};
    struct files files;
    char path[PATH];
    make(&files, state);
    put(&files, "a.c", text, sizeof text - 1, 1000);
    const struct tg_source_text *found = find(&files, path_of(&files, "a.c", path), NULL);
    assert_int_equal(found->n_lines, 5);
    check_lines(found, &all,
                " b 1  int x;\n"
                "   2\n"
                ">B 3          a       b\n"
                " d 4  \\x1b[31m \\n \\xff \xc3\xa4 \\u{202e}\\x00!\n"
                "   5  last\n");
    check_lines(found, &(struct tg_source_range){.first = 5, .count = UINT64_MAX}, "   5  last\n");
    check_lines(found, &(struct tg_source_range){.first = 6, .count = 1}, "");
    check_lines(found, &(struct tg_source_range){.first = UINT64_MAX, .count = UINT64_MAX}, "");
    tg_source_lines_destroy(files.lines);
}

static void test_long_lines(void **state)
{
    struct files files;
    char path[PATH], *line = malloc(100000);
    make(&files, state);
    memset(line, 'x', 100000);
    put(&files, "long.c", line, 100000, 1000);
    const struct tg_source_text *found = find(&files, path_of(&files, "long.c", path), NULL);
    char *shown = NULL;
    size_t size;
    FILE *stream = open_memstream(&shown, &size);
    tg_source_text_print(found, &(struct tg_source_range){.first = 1, .count = 1}, stream);
    fclose(stream);
    assert_int_equal(size, strlen("   1  ") + TG_SOURCE_MAX_COLUMNS + strlen("... (99000 bytes more)\n"));
    assert_non_null(strstr(shown, "x... (99000 bytes more)\n"));
    free(shown);
    free(line);
    tg_source_lines_destroy(files.lines);
}

static void test_found(void **state)
{
    struct files files;
    char path[PATH], program[PATH], directory[PATH], search[3 * PATH];
    make(&files, state);
    mkdir(path_of(&files, "bin", path), 0700);
    mkdir(path_of(&files, "src", path), 0700);
    mkdir(path_of(&files, "src/solver", path), 0700);
    put_text(&files, "src/solver/a.c", "deep\n");
    put_text(&files, "src/a.c", "flat\n");
    put_text(&files, "bin/b.c", "beside\n");
    path_of(&files, "bin/app", program);
    /* as many of its last components as there are */
    snprintf(search, sizeof search, ":/does/not/exist:%s:", path_of(&files, "src", directory));
    assert_fine(tg_source_lines_search(files.lines, search));
    size_t size;
    assert_memory_equal(tg_source_text_line(find(&files, "/build/x/solver/a.c", program), 1, &size), "deep",
                        4);
    assert_memory_equal(tg_source_text_line(find(&files, "../solver2/a.c", program), 1, &size), "flat", 4);
    assert_memory_equal(tg_source_text_line(find(&files, "/build/b.c", program), 1, &size), "beside", 4);
    const struct tg_source_text *text = NULL;
    expect_error(tg_source_lines_find(files.lines, "/build/b.c", NULL, &text), TG_ERROR_NOT_FOUND,
                 "2 directories of SEARCH_PATH");
    expect_error(tg_source_lines_find(files.lines, "/build/\x1b.c", program, &text), TG_ERROR_NOT_FOUND,
                 "/build/\\x1b.c");
    assert_fine(tg_source_lines_search(files.lines, NULL));
    expect_error(tg_source_lines_find(files.lines, "/build/a.c", NULL, &text), TG_ERROR_NOT_FOUND,
                 "0 directories");
    /* names of no regular file are passed over: a directory, a pipe that nobody writes to */
    expect_error(tg_source_lines_find(files.lines, files.directory, NULL, &text), TG_ERROR_NOT_FOUND, "");
    assert_int_equal(mkfifo(path_of(&files, "pipe.c", path), 0600), 0);
    expect_error(tg_source_lines_find(files.lines, path, NULL, &text), TG_ERROR_NOT_FOUND, "");
    tg_source_lines_destroy(files.lines);
}

static void test_changed(void **state)
{
    struct files files;
    char path[PATH], program[PATH];
    make(&files, state);
    path_of(&files, "a.c", path);
    path_of(&files, "app", program);
    put_text(&files, "a.c", "one\n");
    put(&files, "app", "", 0, 2000);
    assert_false(find(&files, path, program)->is_newer);
    const char *first = find(&files, path, program)->path;
    assert_ptr_equal(find(&files, path, program)->path, first); /* not read again */
    put(&files, "a.c", "1\n2\n", 4, 3000);
    const struct tg_source_text *found = find(&files, path, program);
    assert_int_equal(found->n_lines, 2);
    assert_true(found->is_newer);
    tg_source_lines_destroy(files.lines);
}

/* More files than are remembered. */
static void test_many(void **state)
{
    struct files files;
    make(&files, state);
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 0; i < 3 * TG_SOURCE_MAX_FILES; i++) {
            char name[32], path[PATH], text[32];
            size_t size;
            snprintf(name, sizeof name, "%u.c", i);
            snprintf(text, sizeof text, "file %u\n", i);
            put_text(&files, name, text);
            const struct tg_source_text *found = find(&files, path_of(&files, name, path), NULL);
            const char *line = tg_source_text_line(found, 1, &size);
            assert_int_equal(size, strlen(text) - 1);
            assert_memory_equal(line, text, size);
        }
    }
    tg_source_lines_destroy(files.lines);
}

static void test_limits(void **state)
{
    struct files files;
    char path[PATH];
    const struct tg_source_text *text = NULL;
    make(&files, state);
    put_text(&files, "empty.c", "");
    const struct tg_source_text *empty = find(&files, path_of(&files, "empty.c", path), NULL);
    assert_int_equal(empty->n_lines, 0);
    check_lines(empty, &(struct tg_source_range){.first = 1, .count = 10}, "");
    put_text(&files, "large.c", "");
    assert_int_equal(truncate(path_of(&files, "large.c", path), TG_SOURCE_MAX_BYTES + 1), 0);
    expect_error(tg_source_lines_find(files.lines, path, NULL, &text), TG_ERROR_LIMIT, "large.c has");
    char *search = calloc(1, 2 * TG_SOURCE_MAX_DIRECTORIES + 8);
    for (size_t i = 0; i <= TG_SOURCE_MAX_DIRECTORIES; i++)
        memcpy(search + 2 * i, "a:", 2);
    expect_error(tg_source_lines_search(files.lines, search), TG_ERROR_LIMIT, "1025");
    free(search);
    tg_source_lines_destroy(files.lines);
}

static void test_json(void **state)
{
    static const struct tg_source_mark marks[] = {{2, 'B'}};
    const struct tg_source_range range = {.first = 1, .count = 2, .current = 2, .marks = marks, .n_marks = 1};
    struct files files;
    struct tg_json json;
    char path[PATH], expected[2 * PATH], *shown = NULL;
    size_t size;
    make(&files, state);
    put_text(&files, "a.c", "\x1b\xff\nx\n");
    FILE *stream = open_memstream(&shown, &size);
    tg_json_init(&json, stream, false);
    tg_source_text_json(find(&files, path_of(&files, "a.c", path), NULL), &range, &json);
    fclose(stream);
    snprintf(expected, sizeof expected,
             "{\"file\": \"%s\", \"is_newer\": false, \"current\": 2, \"lines\": [{\"number\": 1, \"text\": "
             "\"\\u001b\\udcff\"}, {\"number\": 2, \"text\": \"x\", \"mark\": \"B\"}]}",
             path);
    assert_string_equal(shown, expected);
    free(shown);
    tg_source_lines_destroy(files.lines);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        trace_test(test_shown), trace_test(test_long_lines), trace_test(test_found), trace_test(test_changed),
        trace_test(test_many),  trace_test(test_limits),     trace_test(test_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
