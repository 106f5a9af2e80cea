/* One after the other, the instructions of some code of a 64-bit program, with their operands (capstone). */
#ifndef TG_RECORDER_STACKS_INSN_READER_H
#define TG_RECORDER_STACKS_INSN_READER_H

#include <capstone/capstone.h>
#include <stdbool.h>

/* Opens CAPSTONE, with room for one INSN, for cs_disasm_iter. False without memory: then there is nothing to end. */
bool tg_insn_reader_begin(csh *capstone, cs_insn **insn);
void tg_insn_reader_end(csh *capstone, cs_insn *insn);

#endif
