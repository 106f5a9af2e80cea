#include "analyzer/finding/words.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char *name(void *context, size_t process, uint64_t address, char *buffer, size_t size)
{
    (void)process;
    (void)address;
    snprintf(buffer, size, "%s", (const char *)context);
    return buffer;
}

static void expect(const char *code, const char *words)
{
    const struct tg_verdict_input input = {.namer = {.context = (void *)(uintptr_t)code, .name = name}};
    char *text;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    tg_words_code(stream, &input, 0, 0x10);
    assert_int_equal(fclose(stream), 0);
    assert_string_equal(text, words);
    free(text);
}

/* An address in mpi4py's library is the same for all lines of a script. */
static void where_code_is(void **state)
{
    (void)state;
    expect("main (a.c:7)", " in main (a.c:7)");
    expect("0x401234", " at 0x401234");
    expect("libsolve.so+0x100", " in libsolve.so+0x100");
    expect("MPI.cpython-311-x86_64-linux-gnu.so+0xd0809", " in mpi4py (the script's line was not recorded)");
    expect("MPI.abi3.so+0x7159a", " in mpi4py (the script's line was not recorded)");
    expect("MPI.cpython_like (a.c:7)", " in MPI.cpython_like (a.c:7)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(where_code_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
