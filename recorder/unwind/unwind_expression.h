/* DWARF expressions of call frame information (what CFI may have of DWARF 5, sections 2.5 and 6.4.2). */
#ifndef TG_RECORDER_UNWIND_UNWIND_EXPRESSION_H
#define TG_RECORDER_UNWIND_UNWIND_EXPRESSION_H

#include "recorder/dwarf/target.h"

#include <elfutils/libdw.h>

/* Runs OPS over REGISTERS and MEMORY; CFA is what DW_OP_call_frame_cfa yields. The result is a value where
 * the operations end with DW_OP_stack_value or name a register, else an address. False where an operation is
 * not understood, a register or memory cannot be had, or it takes more than 4,096 steps. */
bool tg_unwind_expression_run(const Dwarf_Op *ops, size_t count, const struct tg_registers *registers,
                              const struct tg_inspect_memory *memory, uint64_t cfa, uint64_t *result,
                              bool *is_value);

#endif
