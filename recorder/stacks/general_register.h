/* The general registers, of whatever size. */
#ifndef TG_RECORDER_STACKS_GENERAL_REGISTER_H
#define TG_RECORDER_STACKS_GENERAL_REGISTER_H

enum { TG_GENERAL_REGISTERS = 16 };

/* The number (enum tg_register, below TG_GENERAL_REGISTERS) of REG (Capstone's x86_reg), or of the register that REG is a
 * part of; -1 for others. */
int tg_general_register(unsigned reg);

#endif
