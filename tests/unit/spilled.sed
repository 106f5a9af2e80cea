# Of what clang 14 writes for a place on the stack (DW_OP_breg7 N), what clang 19 does for a vector register that it has put there: the
# number of 16 bytes that is there (DW_OP_breg7 N, DW_OP_deref_size 16, DW_OP_stack_value).
s/[.]byte\t2[^\n]*\n\t[.]byte\t119[^\n]*\n\t[.]byte\t\([0-9]*\)[^\n]*/.byte 5,119,\1,148,16,159/g
