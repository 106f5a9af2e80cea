/* A system call without the C library: its code is the agent's own, so who is stopped in it is shown where the program
 * called the agent. x86-64 alone. */
#ifndef TG_RECORDER_AGENT_RAW_CALL_H
#define TG_RECORDER_AGENT_RAW_CALL_H

/* The kernel's result: negative ones are -errno. */
static inline long tg_raw_call(long number, long a, long b, long c, long d, long e, long f)
{
    long result;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

#endif
