/* Registers as ptrace has them, as unwinding wants them. */
#ifndef TG_RECORDER_UNWIND_USER_REGISTERS_H
#define TG_RECORDER_UNWIND_USER_REGISTERS_H

#include "recorder/dwarf/target.h"

#include <sys/user.h>

/* All of them are known. */
struct tg_registers tg_user_registers(const struct user_regs_struct *user);

#endif
