/* Any bytes as the call frame instructions of a function, as the agent reads them in the program: three say what
 * the CIE has, the rest are its instructions and the function's. */
#include "recorder/agent/calls/unwind_row.h"
#include "tests/fuzz/fuzz.h"

#include <assert.h>

enum { HEAD = 3, REGISTERS = 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint64_t steps[] = {0, 1, 2, 16, 255, 70000, UINT64_C(1) << 33};
    if (size < HEAD)
        return 0;
    size_t left = size - HEAD, initial = data[2] < left ? data[2] : left;
    const unsigned char *begin = data + HEAD;
    const struct tg_unwind_function function = {.start = 0x401000,
                                                .end = 0x401000 + (UINT64_C(1) << 34),
                                                .code_alignment = data[0],
                                                .data_alignment =
                                                    data[1] == 0x7f ? INT64_MIN : (int8_t)data[1],
                                                .initial = begin,
                                                .initial_end = begin + initial,
                                                .program = begin + initial,
                                                .program_end = begin + left};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        struct tg_unwind_row row;
        if (!tg_unwind_row_at(&function, function.start + steps[i], &row))
            continue;
        assert(row.n_saved <= REGISTERS && (unsigned)row.rbp_rule <= TG_UNWIND_ROW_OTHER);
        assert(row.rbp_rule != TG_UNWIND_ROW_SAME || row.rbp_offset == 0);
    }
    return 0;
}
