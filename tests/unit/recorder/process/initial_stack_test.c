#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "recorder/process/initial_stack.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A stack as the kernel makes it, in this process. */
enum { WORDS = 512, STRING_BYTES = 2048, PAGE = 4096 };

struct stack {
    uint64_t words[WORDS] __attribute__((aligned(16)));
    char strings[STRING_BYTES];
};

static uint64_t at(const void *address)
{
    return (uint64_t)(uintptr_t)address;
}

static size_t put(struct stack *stack, const char *const *arguments, const char *const *variables)
{
    size_t n = 1;
    char *string = stack->strings;
    memset(stack, 0xff, sizeof *stack);
    for (; *arguments != NULL; arguments++, string += strlen(string) + 1)
        stack->words[n++] = at(strcpy(string, *arguments));
    stack->words[0] = n - 1;
    stack->words[n++] = 0;
    for (; *variables != NULL; variables++, string += strlen(string) + 1)
        stack->words[n++] = at(strcpy(string, *variables));
    stack->words[n++] = 0;
    stack->words[n++] = AT_PAGESZ;
    stack->words[n++] = PAGE;
    stack->words[n++] = AT_EXECFN;
    stack->words[n++] = at(strcpy(string, "/program"));
    stack->words[n++] = AT_NULL;
    stack->words[n++] = 0;
    return n;
}

static const char *const two_arguments[] = {"program", "x", NULL};
static const char *const three_variables[] = {"A=1", "LD_PRELOAD=first", "LD_PRELOAD=second", NULL};
static const char *const none[] = {NULL};

static void its_parts_are_found(void **state)
{
    (void)state;
    static struct stack stack;
    struct tg_initial_stack found;
    size_t n_words = put(&stack, two_arguments, three_variables);
    assert_null(tg_initial_stack_read(getpid(), at(stack.words), &found));
    assert_int_equal(found.n_words, n_words);
    assert_int_equal(found.variables, 4);
    assert_int_equal(found.n_variables, 3);
    assert_int_equal(found.auxv, 8);
    assert_string_equal(tg_initial_stack_variable(&found, "A"), "1");
    assert_string_equal(tg_initial_stack_variable(&found, "LD_PRELOAD"), "second");
    assert_null(tg_initial_stack_variable(&found, "LD_PRE"));
    assert_null(tg_initial_stack_variable(&found, "LD_PRELOAD=second"));
    tg_initial_stack_deinit(&found);
}

static void nothing_at_all_is_a_stack_too(void **state)
{
    (void)state;
    static struct stack stack;
    struct tg_initial_stack found;
    size_t n_words = put(&stack, none, none);
    assert_null(tg_initial_stack_read(getpid(), at(stack.words), &found));
    assert_int_equal(found.n_words, n_words);
    assert_int_equal(found.n_variables, 0);
    assert_null(tg_initial_stack_variable(&found, "A"));
    tg_initial_stack_deinit(&found);
}

/* A program that ran on the image would find everything where it looks for it. */
static void check_image(const struct tg_stack_image *image, const struct stack *stack, size_t n_words,
                        const char *const *added, size_t count)
{
    const uint64_t *words = image->bytes;
    size_t before = 1 + (size_t)stack->words[0] + 1;
    assert_int_equal(image->address % 16, 0);
    assert_int_equal(image->address + image->size, at(stack->words) + n_words * 8);
    while (stack->words[before] != 0)
        before++;
    assert_memory_equal(words, stack->words, before * 8);
    for (size_t i = 0; i < count; i++) {
        uint64_t offset = words[before + i] - image->address;
        assert_in_range(offset, (n_words + count) * 8, image->size - 1);
        assert_string_equal((const char *)image->bytes + offset, added[i]);
    }
    assert_memory_equal(words + before + count, stack->words + before, (n_words - before) * 8);
}

static void variables_come_last_and_the_rest_stays(void **state)
{
    (void)state;
    static struct stack stack;
    const char *const cases[][2] = {{"NEW=value", "B="}, {"same", "other"}, {"", "123456789012345"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (int with = 0; with < 4; with++) {
            struct tg_initial_stack found;
            struct tg_stack_image image;
            size_t n_words = put(&stack, with & 1 ? two_arguments : none, with & 2 ? three_variables : none);
            assert_null(tg_initial_stack_read(getpid(), at(stack.words), &found));
            const char *const added[] = {cases[i][0], cases[i][1], cases[i][0], cases[i][0]};
            assert_null(tg_initial_stack_add(&found, added, 4, &image));
            check_image(&image, &stack, n_words, added, 4);
            const uint64_t *words = image.bytes;
            size_t first = found.variables + found.n_variables;
            assert_int_equal(words[first], words[first + 2]); /* one string */
            assert_int_equal(words[first], words[first + 3]);
            free(image.bytes);
            tg_initial_stack_deinit(&found);
        }
    }
}

static void an_odd_number_leaves_the_stack_aligned(void **state)
{
    (void)state;
    static struct stack stack;
    static const char *const added[] = {"ONE=1", "TWO=2", "THREE=3"};
    for (size_t count = 1; count <= 3; count += 2) {
        struct tg_initial_stack found;
        struct tg_stack_image image;
        size_t n_words = put(&stack, two_arguments, three_variables);
        assert_null(tg_initial_stack_read(getpid(), at(stack.words), &found));
        assert_null(tg_initial_stack_add(&found, added, count, &image));
        const uint64_t *words = image.bytes;
        size_t first = found.variables + found.n_variables;
        assert_int_equal(image.address % 16, 0);
        assert_int_equal(image.address + image.size, at(stack.words) + n_words * 8);
        for (size_t i = 0; i < count; i++)
            assert_string_equal((const char *)image.bytes + (words[first + i] - image.address), added[i]);
        assert_memory_equal(words, stack.words, first * 8);
        assert_memory_equal(words + first + count, stack.words + first, (n_words - first) * 8);
        assert_int_equal(words[n_words + count], 0); /* behind the auxiliary vector, which ends before it */
        assert_true(words[first] >= image.address + (n_words + count + 1) * 8);
        free(image.bytes);
        tg_initial_stack_deinit(&found);
    }
}

static void refused(const struct stack *stack, const char *why)
{
    struct tg_initial_stack untouched = {.address = 5};
    struct tg_error *error = tg_initial_stack_read(getpid(), at(stack->words), &untouched);
    assert_non_null(error);
    assert_non_null(strstr(tg_error_message(error), why));
    assert_int_equal(untouched.address, 5);
    tg_error_destroy(error);
}

static void what_is_no_stack_is_refused(void **state)
{
    (void)state;
    /* in front of a page that is not there: reading ends */
    char *pages = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(pages, MAP_FAILED);
    munmap(pages + 3 * PAGE, PAGE);
    struct stack *stack = (struct stack *)(void *)(pages + 3 * PAGE - sizeof(struct stack) / 16 * 16);
    const uint64_t counts[] = {3, WORDS, UINT64_MAX, UINT64_MAX - 1, UINT64_MAX / 8};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        put(stack, two_arguments, three_variables);
        stack->words[0] = counts[i];
        refused(stack, "no end found");
    }
    put(stack, two_arguments, three_variables);
    stack->words[3] = 1; /* argv does not end */
    refused(stack, "no end found");
    put(stack, two_arguments, three_variables);
    stack->words[5] = at(stack->strings) - 100; /* a variable somewhere else */
    refused(stack, "outside the environment");
    put(stack, two_arguments, three_variables);
    stack->words[5] = UINT64_MAX;
    refused(stack, "outside the environment");
    put(stack, two_arguments, three_variables);
    stack->words[10] = AT_PLATFORM; /* no AT_EXECFN */
    refused(stack, "does not precede the program's name");
    put(stack, two_arguments, three_variables);
    stack->words[4] = 16; /* the first one far away */
    refused(stack, "does not precede the program's name");
    struct tg_initial_stack untouched;
    struct tg_error *error = tg_initial_stack_read(getpid(), at(stack->words) + 8, &untouched);
    assert_non_null(error);
    tg_error_destroy(error);
    error = tg_initial_stack_read(getpid(), 16, &untouched);
    assert_int_equal(tg_error_code(error), TG_ERROR_OS);
    tg_error_destroy(error);
    munmap(pages, 3 * PAGE);
}

static void there_must_be_room_below(void **state)
{
    (void)state;
    uint64_t words[] = {0, 0, 0, AT_NULL, 0};
    struct tg_initial_stack low = {.address = 16, .words = words, .n_words = 5, .variables = 2, .auxv = 3};
    const char *const added[] = {"LONG=enough", "B=2"};
    struct tg_stack_image untouched;
    struct tg_error *error = tg_initial_stack_add(&low, added, 2, &untouched);
    assert_int_equal(tg_error_code(error), TG_ERROR_LIMIT);
    tg_error_destroy(error);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(its_parts_are_found),
        cmocka_unit_test(nothing_at_all_is_a_stack_too),
        cmocka_unit_test(variables_come_last_and_the_rest_stays),
        cmocka_unit_test(an_odd_number_leaves_the_stack_aligned),
        cmocka_unit_test(what_is_no_stack_is_refused),
        cmocka_unit_test(there_must_be_room_below),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
