#include "recorder/process/initial_stack.h"

#include "recorder/process/memory.h"

#include <assert.h>
#include <elf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_BYTES = 4096, ALIGNMENT = 16 };

static struct tg_error *malformed(const char *what)
{
    return tg_error_create(TG_ERROR_INPUT, "unexpected layout of the initial stack: %s", what);
}

/* ---- reading */

/* Finds the parts of the block in STACK's words. False where its end is not among them. */
static bool find_parts(struct tg_initial_stack *stack, size_t n_read)
{
    const uint64_t *words = stack->words;
    if (n_read < 2 || words[0] >= n_read - 1)
        return false;
    size_t at = 1 + (size_t)words[0]; /* the NULL behind argv */
    if (words[at] != 0)
        return false;
    stack->variables = ++at;
    while (at < n_read && words[at] != 0)
        at++;
    stack->n_variables = at - stack->variables;
    stack->auxv = at + 1;
    for (at = stack->auxv; at + 2 <= n_read; at += 2) {
        if (words[at] == AT_NULL) {
            stack->n_words = at + 2;
            return true;
        }
    }
    return false;
}

/* Reads on until the block is whole; its size is not known beforehand. */
static struct tg_error *read_words(pid_t pid, struct tg_initial_stack *stack)
{
    for (size_t size = FIRST_BYTES; size <= TG_INITIAL_STACK_MAX_BYTES; size *= 4) {
        uint64_t *grown = realloc(stack->words, size);
        if (grown == NULL)
            return tg_error_no_memory();
        stack->words = grown;
        size_t n_read = tg_memory_read_some(pid, stack->address, stack->words, size);
        if (n_read == 0)
            return tg_error_create(TG_ERROR_OS, "cannot read the initial stack");
        if (find_parts(stack, n_read / sizeof stack->words[0]))
            return NULL;
        if (n_read < size)
            return malformed("no end found");
    }
    return malformed("too large");
}

uint64_t tg_initial_stack_auxiliary(const struct tg_initial_stack *stack, uint64_t type)
{
    for (size_t at = stack->auxv; at < stack->n_words; at += 2) {
        if (stack->words[at] == type)
            return stack->words[at + 1];
    }
    return 0;
}

/* The kernel puts the strings of the environment side by side, and the program's file name behind them. */
static struct tg_error *read_strings(pid_t pid, struct tg_initial_stack *stack)
{
    if (stack->n_variables == 0)
        return NULL;
    uint64_t end = tg_initial_stack_auxiliary(stack, AT_EXECFN);
    stack->strings_at = stack->words[stack->variables];
    if (end <= stack->strings_at || end - stack->strings_at > TG_INITIAL_STACK_MAX_BYTES)
        return malformed("the environment does not precede the program's name");
    stack->n_strings = (size_t)(end - stack->strings_at);
    stack->strings = malloc(stack->n_strings + 1);
    if (stack->strings == NULL)
        return tg_error_no_memory();
    if (!tg_memory_read(pid, stack->strings_at, stack->strings, stack->n_strings))
        return tg_error_create(TG_ERROR_OS, "cannot read the strings of the environment");
    stack->strings[stack->n_strings] = '\0';
    for (size_t i = 0; i < stack->n_variables; i++) {
        uint64_t string = stack->words[stack->variables + i];
        if (string < stack->strings_at || string >= end)
            return malformed("a variable lies outside the environment");
    }
    return NULL;
}

struct tg_error *tg_initial_stack_read(pid_t pid, uint64_t address, struct tg_initial_stack *stack)
{
    struct tg_initial_stack found = {.address = address};
    struct tg_error *error = address % ALIGNMENT == 0 ? NULL : malformed("not aligned");
    if (error == NULL)
        error = read_words(pid, &found);
    if (error == NULL)
        error = read_strings(pid, &found);
    if (error != NULL)
        tg_initial_stack_deinit(&found);
    else
        *stack = found;
    return error;
}

void tg_initial_stack_deinit(struct tg_initial_stack *stack)
{
    free(stack->words);
    free(stack->strings);
    *stack = (struct tg_initial_stack){0};
}

const char *tg_initial_stack_variable(const struct tg_initial_stack *stack, const char *name)
{
    size_t length = strlen(name);
    for (size_t i = stack->n_variables; i-- > 0;) {
        const char *text = stack->strings + (stack->words[stack->variables + i] - stack->strings_at);
        if (strncmp(text, name, length) == 0 && text[length] == '=')
            return text + length + 1;
    }
    return NULL;
}

/* ---- adding */

/* The index of the first one that is the same string. */
static size_t first_like(const char *const *variables, size_t i)
{
    size_t first = 0;
    while (variables[first] != variables[i])
        first++;
    return first;
}

struct tg_error *tg_initial_stack_add(const struct tg_initial_stack *stack, const char *const *variables,
                                      size_t count, struct tg_stack_image *image)
{
    assert(count <= TG_INITIAL_STACK_MAX_ADDED);
    size_t n_added = count + count % 2;
    size_t string_bytes = 0;
    for (size_t i = 0; i < count; i++)
        string_bytes += first_like(variables, i) == i ? strlen(variables[i]) + 1 : 0;
    string_bytes = (string_bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    size_t added_bytes = n_added * sizeof(uint64_t) + string_bytes;
    size_t size = stack->n_words * sizeof(uint64_t) + added_bytes;
    if (string_bytes > TG_INITIAL_STACK_MAX_BYTES || stack->address < added_bytes)
        return tg_error_create(TG_ERROR_LIMIT, "no room for variables in the initial stack");
    uint64_t *words = calloc(1, size);
    if (words == NULL)
        return tg_error_no_memory();
    uint64_t address = stack->address - added_bytes;
    size_t before = stack->variables + stack->n_variables; /* words that keep their index */
    memcpy(words, stack->words, before * sizeof(uint64_t));
    memcpy(words + before + count, stack->words + before, (stack->n_words - before) * sizeof(uint64_t));
    char *strings = (char *)(words + stack->n_words + n_added);
    for (size_t i = 0, used = 0; i < count; i++) {
        size_t first = first_like(variables, i);
        size_t bytes = strlen(variables[i]) + 1;
        if (first != i) {
            words[before + i] = words[before + first];
            continue;
        }
        memcpy(strings + used, variables[i], bytes);
        words[before + i] = address + (uint64_t)(strings + used - (char *)words);
        used += bytes;
    }
    *image = (struct tg_stack_image){.address = address, .bytes = words, .size = size};
    return NULL;
}

/* Below the stack pointer nothing can be broken: that part is written first, and tells whether the rest can
 * be written. */
struct tg_error *tg_initial_stack_write(pid_t tid, const struct tg_initial_stack *stack,
                                        const struct tg_stack_image *image)
{
    size_t below = (size_t)(stack->address - image->address);
    if (tg_memory_write(tid, image->address, image->bytes, below) &&
        tg_memory_write(tid, stack->address, (const char *)image->bytes + below, image->size - below))
        return NULL;
    tg_initial_stack_write_back(tid, stack);
    return tg_error_create(TG_ERROR_TARGET,
                           "cannot write the initial stack of the program (is its stack limited?)");
}

void tg_initial_stack_write_back(pid_t tid, const struct tg_initial_stack *stack)
{
    tg_memory_write(tid, stack->address, stack->words, stack->n_words * sizeof stack->words[0]);
}
