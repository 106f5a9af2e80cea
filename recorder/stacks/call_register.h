/* The registers that decide what a function is called with. */
#ifndef TG_RECORDER_STACKS_CALL_REGISTER_H
#define TG_RECORDER_STACKS_CALL_REGISTER_H

enum {
    TG_CALL_ARGUMENT_COUNT =
        6, /* arguments in registers: integers and addresses (System V ABI, AMD64 supplement) */
    TG_CALL_REGISTER_COUNT = TG_CALL_ARGUMENT_COUNT + 2,
    TG_CALL_ARGUMENT_ALL = TG_CALL_ARGUMENT_COUNT + 5, /* with the first ones on the stack */
};

/* The place of REG (Capstone's x86_reg), or of the register that REG is a part of: the arguments in their order, then rax and
 * rbx; -1 for others. */
int tg_call_register_place(unsigned reg);

#endif
