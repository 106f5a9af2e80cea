#include "recorder/stacks/insn_reader.h"

bool tg_insn_reader_begin(csh *capstone, cs_insn **insn)
{
    *insn = NULL;
    if (cs_open(CS_ARCH_X86, CS_MODE_64, capstone) != CS_ERR_OK)
        return false;
    cs_option(*capstone, CS_OPT_DETAIL, CS_OPT_ON);
    *insn = cs_malloc(*capstone);
    if (*insn == NULL)
        cs_close(capstone);
    return *insn != NULL;
}

void tg_insn_reader_end(csh *capstone, cs_insn *insn)
{
    cs_free(insn, 1);
    cs_close(capstone);
}
