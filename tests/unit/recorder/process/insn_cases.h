/* The instructions of insn_test.c, assembled into the section insn_cases. Addresses that RIP-relative
 * operands name lie in the data area (0x1000 to 0x2000 behind the code); relative branches are spelt as
 * bytes, because an assembler would choose their form. */
#ifndef TG_TESTS_UNIT_RECORDER_PROCESS_INSN_CASES_H
#define TG_TESTS_UNIT_RECORDER_PROCESS_INSN_CASES_H

/* EMULATED: must be emulated (all others must not). TO_TRAP: the native run must not single-step: the
 * instruction would show its TF, or be stepped by iterations. TARGET: rax is an address to jump to. WILD: rax
 * is not canonical. SYSTEM: rax is getppid. COUNT: rcx is small. */
#define E       "1"
#define TO_TRAP "2"
#define AVX2    "4"
#define AVX512  "8"
#define TARGET  "16"
#define WILD    "32"
#define SYSTEM  "64"
#define COUNT   "128"
#define PLAIN   "0"

#define INSN(bits, flags, text)                                                                              \
    ".balign 128\n"                                                                                          \
    ".byte 1f - 0f, " bits "\n.short " flags "\n"                                                            \
    ".balign 8, 0\n"                                                                                         \
    ".code" bits "\n"                                                                                        \
    "0: " text "\n1:\n"                                                                                      \
    ".balign 32, 0\n"                                                                                        \
    ".asciz \"" text "\"\n"
#define X64(flags, text) INSN("64", flags, text)
#define X32(flags, text) INSN("32", flags, text)

/* A table, which reads best as it is. */
/* clang-format off */
__asm__(".pushsection insn_cases,\"a\",@progbits\n"
        /* no effect */
        X64(E, "nop") X64(E, "pause") X64(E, "xchg %ax, %ax") X64(E, "endbr64") X64(E, "endbr32")
        X64(E, "nopl (%rax)") X64(E, "nopw 0x200(%rax,%rax,1)") X64(E, "nopl 0x1000(%rip)")
        X64(E, ".byte 0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0") X64(PLAIN, "xchg %rax, %r8")
        /* stack */
        X64(E, "push %rbp") X64(E, "push %rsp") X64(E, "push %r15") X64(E, "push %rax") X64(E, "push $-5")
        X64(E, "push $0x7fffffff") X64(E, "push $-0x7fffffff") X64(PLAIN, "push %ax") X64(PLAIN, "pushw $5")
        X64(E, "pop %rbp") X64(E, "pop %rsp") X64(E, "pop %r12") X64(E, "pop %rcx") X64(PLAIN, "pop %cx")
        X64(E "|" TO_TRAP, "pushf") X64(TO_TRAP, "pushfw") X64(E "|" TO_TRAP, ".byte 0x48, 0x9c")
        X64(E, "leave") X64(PLAIN, "enter $0x20, $0") X64(PLAIN, "push (%rbx)") X64(PLAIN, "push 0x1010(%rip)")
        X64(PLAIN, "pop (%rbx)") X64(PLAIN, "pop 0x1010(%rip)") X64(TO_TRAP, "popf") X64(PLAIN, "push %fs")
        /* returns, jumps, calls */
        X64(E, "ret") X64(E, "ret $24") X64(E, "ret $0x8010") X64(E, ".byte 0xf3, 0xc3") X64(E, ".byte 0xf2, 0xc3")
        X64(E, ".byte 0xeb, 0x10") X64(E, ".byte 0xeb, 0xf0") X64(E, ".byte 0xeb, 0xfe")
        X64(E, ".byte 0xe9, 0, 1, 0, 0") X64(E, ".byte 0xe9, 0, 0, 0, 0xff") X64(E, ".byte 0x3e, 0xeb, 0x10")
        X64(E, ".byte 0xe8, 0, 1, 0, 0") X64(E, ".byte 0xe8, 0, 0, 0, 0xff") X64(E, ".byte 0xf2, 0xe8, 0, 1, 0, 0")
        X64(E, ".byte 0x66, 0x66, 0x48, 0xe8, 0, 1, 0, 0") X64(E, ".byte 0x48, 0xe9, 0, 1, 0, 0")
        X64(E, ".byte 0x70, 0x10") X64(E, ".byte 0x71, 0x10") X64(E, ".byte 0x72, 0x10") X64(E, ".byte 0x73, 0x10")
        X64(E, ".byte 0x74, 0x10") X64(E, ".byte 0x75, 0x10") X64(E, ".byte 0x76, 0x10") X64(E, ".byte 0x77, 0x10")
        X64(E, ".byte 0x78, 0x90") X64(E, ".byte 0x79, 0x90") X64(E, ".byte 0x7a, 0x90") X64(E, ".byte 0x7b, 0x90")
        X64(E, ".byte 0x7c, 0x90") X64(E, ".byte 0x7d, 0x90") X64(E, ".byte 0x7e, 0x90") X64(E, ".byte 0x7f, 0x90")
        X64(E, ".byte 0x2e, 0x74, 0x10") X64(E, ".byte 0xf2, 0x75, 0x10") X64(E, ".byte 0x0f, 0x80, 0, 1, 0, 0")
        X64(E, ".byte 0x0f, 0x8d, 0, 0, 0xff, 0xff") X64(E, ".byte 0x0f, 0x8f, 0, 0, 1, 0")
        X64(E "|" COUNT, ".byte 0xe0, 0x10") X64(E "|" COUNT, ".byte 0xe1, 0x10")
        X64(E "|" COUNT, ".byte 0xe2, 0xe0") X64(E "|" COUNT, ".byte 0xe3, 0x10")
        X64(COUNT, ".byte 0x67, 0xe2, 0x10") X64(COUNT, ".byte 0x67, 0xe3, 0x10")
        X64(E "|" TARGET, "jmp *%rax") X64(E "|" TARGET, "call *%rax") X64(E "|" TARGET, ".byte 0x3e, 0xff, 0xe0")
        X64(E, "jmp *%rsp") X64(E, "call *%rsp") X64(E, "jmp *%r8") X64(E, "call *%r8") X64(E, "call *%rsi")
        X64(E, "call *%rdi") X64(E "|" WILD, "jmp *%rax") X64(E "|" WILD, "call *%rax")
        X64(PLAIN, "jmp *0x10(%rbx)") X64(PLAIN, "call *0x10(%rbx)") X64(PLAIN, "jmp *0x1010(%rip)")
        X64(PLAIN, "call *0x1010(%rip)") X64(PLAIN, "call *8(%rsp)") X64(PLAIN, ".byte 0xf2, 0xff, 0x15, 0x10, 0x10, 0, 0")
        /* registers and constants */
        X64(E, "mov %rsp, %rbp") X64(E, "mov %rax, %r15") X64(E, "mov %r15d, %eax") X64(E, "mov %eax, %eax")
        X64(E, ".byte 0x48, 0x8b, 0xec") X64(E, ".byte 0x44, 0x8b, 0xc9") X64(PLAIN, "mov %ax, %cx")
        X64(PLAIN, "mov %al, %ch") X64(E, "mov $0x12345678, %eax") X64(E, "mov $-1, %r9d")
        X64(E, "mov $-1, %rax") X64(E, "movabs $0x1122334455667788, %r10") X64(PLAIN, "mov $5, %cx")
        X64(E, "xor %eax, %eax") X64(E, "xor %r11d, %edx") X64(E, "xor %rax, %rdx") X64(E, ".byte 0x48, 0x33, 0xc1")
        X64(E, "or %rcx, %rax") X64(E, "and %edx, %eax") X64(E, "and $-16, %rsp") X64(E, "and $0xff, %eax")
        X64(E, "or $-1, %eax") X64(E, "sub $0x18, %rsp") X64(E, "sub $0x1000, %rsp") X64(E, "add $0x18, %rsp")
        X64(E, "add %rax, %rcx") X64(E, "add %eax, %ecx") X64(E, ".byte 0x48, 0x03, 0xc1") X64(E, "sub %rax, %rcx")
        X64(E, "sub %eax, %eax") X64(E, ".byte 0x2b, 0xc1") X64(E, "cmp %rax, %rcx") X64(E, "cmp %eax, %ecx")
        X64(E, "cmp $1, %edi") X64(E, "cmp $0x80, %rdi") X64(E, ".byte 0x3b, 0xc1") X64(E, "test %rax, %rax")
        X64(E, "test %edi, %esi") X64(E, "test $0x80000001, %edx") X64(E, "test $-2, %rax") X64(E, "test $1, %eax")
        X64(E, "add $0x12345678, %eax") X64(E, "add $0x12345678, %rax") X64(E, "cmp $-0x12345678, %rax")
        X64(E, "sub $1, %r13") X64(E, "and $0x7fffffff, %rax") X64(E, "or $0x7fffffff, %rax")
        X64(E, "xor $0x7fffffff, %eax") X64(PLAIN, "adc %rax, %rcx") X64(PLAIN, "sbb $1, %ecx")
        X64(PLAIN, "add %ax, %cx") X64(PLAIN, "add %al, %cl") X64(PLAIN, "cmp $1, %cl") X64(PLAIN, "test %al, %al")
        X64(E, "lea 0x8(%rsp), %r10") X64(E, "lea 0x1000(%rip), %rdi") X64(E, "lea -0x1000(%rip), %r12d")
        X64(E, "lea (%rax,%rcx,8), %edx") X64(E, "lea -0x80(%r13,%r12,4), %r11") X64(E, "lea 0x77(,%rax,2), %rbx")
        X64(E, "lea 0x1234, %eax") X64(E, "lea (%rsp), %rax") X64(E, "lea (%r12), %rax") X64(E, "lea 0(%rbp), %rax")
        X64(E, "lea 0x1000(%r13), %rax") X64(E, ".byte 0x66, 0x48, 0x8d, 0x3d, 0, 0x10, 0, 0")
        X64(PLAIN, "lea 4(%eax), %rdx") X64(PLAIN, "lea 4(%rax), %dx") X64(PLAIN, "lea 0x1000(%eip), %rdx")
        /* memory operands, RIP-relative or not */
        /* extension bits that RIP-relative operands ignore, set */
        X64(PLAIN, ".byte 0x49, 0x8b, 0x05, 0, 0x10, 0, 0") X64(AVX2, ".byte 0xc4, 0xc1, 0x7c, 0x10, 0x05, 0, 0x10, 0, 0")
        X64(AVX512, ".byte 0x62, 0xd1, 0x7c, 0x48, 0x10, 0x05, 0, 0x10, 0, 0")
        X64(PLAIN, "mov 0x1000(%rip), %rax") X64(PLAIN, "mov %rsi, 0x1008(%rip)") X64(PLAIN, "mov %rdi, 0x1008(%rip)")
        X64(PLAIN, "mov 0x1000(%rip), %rsi") X64(PLAIN, "mov 0x1000(%rip), %r14") X64(PLAIN, "mov %r15, 0x1008(%rip)")
        X64(PLAIN, "mov 0x1000(%rip), %rbx") X64(PLAIN, "mov 0x1000(%rip), %esi") X64(PLAIN, "mov %cl, 0x1000(%rip)")
        X64(PLAIN, "mov 0x1000(%eip), %rax") X64(PLAIN, "movl $0x11223344, 0x1004(%rip)")
        X64(PLAIN, "movw $0x1122, 0x1004(%rip)") X64(PLAIN, "movb $7, 0x1004(%rip)") X64(PLAIN, "cmpb $0, 0x1000(%rip)")
        X64(PLAIN, "cmpq $0, 0x1000(%rip)") X64(PLAIN, "addq $1, 0x1010(%rip)") X64(PLAIN, "lock addl $-3, 0x1010(%rip)")
        X64(PLAIN, "lock xadd %rsi, 0x1010(%rip)") X64(PLAIN, "lock cmpxchg %rdi, 0x1010(%rip)")
        X64(PLAIN, "lock cmpxchg8b 0x1010(%rip)") X64(PLAIN, "lock cmpxchg16b 0x1000(%rip)") X64(PLAIN, "xchg %rdi, 0x1018(%rip)")
        X64(PLAIN, "incl 0x1020(%rip)") X64(PLAIN, "notq 0x1020(%rip)") X64(PLAIN, "shll $3, 0x1020(%rip)")
        X64(COUNT, "shlq %cl, 0x1020(%rip)") X64(COUNT, "shld %cl, %rsi, 0x1020(%rip)") X64(PLAIN, "mulq 0x1020(%rip)")
        X64(PLAIN, "divq 0x1020(%rip)") X64(PLAIN, "idivl 0x1020(%rip)") X64(PLAIN, "imul 0x1020(%rip), %rdi")
        X64(PLAIN, "imul $77, 0x1020(%rip), %rsi") X64(PLAIN, "movzbl 0x1001(%rip), %edi") X64(PLAIN, "movslq 0x1001(%rip), %rsi")
        X64(PLAIN, "movsbq 0x1001(%rip), %r9") X64(PLAIN, "cmovne 0x1000(%rip), %rsi") X64(PLAIN, "setg 0x1005(%rip)")
        X64(PLAIN, "bt %rdi, %rsi") X64(PLAIN, "btsl $5, 0x1008(%rip)") X64(PLAIN, "bsf 0x1008(%rip), %rdi")
        X64(PLAIN, "testb $4, 0x1008(%rip)") X64(PLAIN, "mov %fs:0, %rax") X64(PLAIN, "prefetcht0 0x1000(%rip)")
        X64(PLAIN, "mov (%rbx), %rax") X64(PLAIN, "add %rax, 8(%rbx)") X64(PLAIN, "lock incq 8(%rbx)")
        X64(PLAIN, "mov 0x7f000000(%rip), %rax") X64(PLAIN, "mov %rax, 0x7f000000(%rip)") X64(PLAIN, "mov (%rax), %rcx")
        X64(PLAIN, "cqto") X64(PLAIN, "bswap %r9") X64(PLAIN, "xchg %rcx, %rdx") X64(PLAIN, "neg %rdx")
        X64(PLAIN, "std") X64(PLAIN, "lahf") X64(PLAIN, "cpuid") X64(PLAIN, "ud2") X64(PLAIN, "hlt")
        X64(PLAIN, "mov %ss, %ecx") X64(PLAIN, "movq %ss, %rcx") X64(PLAIN, "div %cl")
        /* strings */
        X64(PLAIN, "movsb") X64(PLAIN, "stosq") X64(PLAIN, "cmpsl") X64(PLAIN, "lodsw") X64(COUNT "|" TO_TRAP, "rep movsb")
        X64(COUNT "|" TO_TRAP, "rep stosq") X64(COUNT "|" TO_TRAP, "repe cmpsb") X64(COUNT "|" TO_TRAP, "repne scasb") X64(COUNT "|" TO_TRAP, "rep lodsl")
        X64(COUNT "|" TO_TRAP, ".byte 0x66, 0xf3, 0xa5")
        /* system */
        X64(SYSTEM "|" TO_TRAP, "syscall")
        /* x87, SSE */
        X64(PLAIN, "fldl 0x1000(%rip)") X64(PLAIN, "fildll 0x1000(%rip)") X64(PLAIN, "fldcw 0x1040(%rip)")
        X64(PLAIN, "movups 0x1000(%rip), %xmm3") X64(PLAIN, "movups %xmm12, 0x1010(%rip)")
        X64(PLAIN, "movss 0x1000(%rip), %xmm9") X64(PLAIN, "movsd %xmm1, 0x1000(%rip)") X64(PLAIN, "pxor %xmm0, %xmm0")
        X64(PLAIN, "pshufb 0x1001(%rip), %xmm0") X64(PLAIN, "cvtsi2sdq 0x1000(%rip), %xmm2")
        X64(PLAIN, "pcmpistri $0x1a, 0x1001(%rip), %xmm4") X64(PLAIN, "pextrq $1, %xmm4, 0x1000(%rip)")
        X64(PLAIN, "stmxcsr 0x1000(%rip)") X64(PLAIN, "fxsave 0x1002(%rip)") X64(PLAIN, "crc32q 0x1000(%rip), %rsi")
        X64(PLAIN, "movbe 0x1000(%rip), %rdi") X64(PLAIN, "popcnt 0x1000(%rip), %rsi")
        /* VEX, EVEX */
        X64(AVX2, "vmovups 0x1000(%rip), %ymm3") X64(AVX2, "vmovups %ymm14, 0x1020(%rip)")
        X64(AVX2, "vaddps 0x1020(%rip), %ymm6, %ymm7") X64(AVX2, "vaddpd 0x1020(%rip), %ymm14, %ymm15")
        X64(AVX2, "vpxor %ymm0, %ymm0, %ymm0") X64(AVX2, "vzeroupper") X64(AVX2, "vzeroall")
        X64(AVX2, "vpshufb 0x1000(%rip), %ymm9, %ymm1") X64(AVX2, "vpalignr $3, 0x1000(%rip), %ymm6, %ymm7")
        X64(AVX2, "vbroadcastsd 0x1000(%rip), %ymm8") X64(AVX2, "andn 0x1000(%rip), %rsi, %rdi")
        X64(AVX2, "andn 0x1000(%rip), %rdi, %rsi") X64(AVX2, "bextr %r14, 0x1000(%rip), %r15")
        X64(AVX2, "bextr %rsi, 0x1000(%rip), %rdi") X64(AVX2, "mulx 0x1000(%rip), %rsi, %rdi")
        X64(AVX2, "rorx $7, 0x1000(%rip), %rdi") X64(AVX2, "vfmadd213ps 0x1000(%rip), %ymm7, %ymm6")
        X64(AVX2, "vmaskmovps 0x1000(%rip), %ymm6, %ymm15") X64(AVX2, "vpextrd $2, %xmm9, 0x1008(%rip)")
        X64(AVX512, "vmovups 0x1000(%rip), %zmm3") X64(AVX512, "vmovups %zmm30, 0x1040(%rip)")
        X64(AVX512, "vaddps 0x1000(%rip), %zmm22, %zmm31") X64(AVX512, "vaddpd 0x1008(%rip){1to8}, %zmm6, %zmm15")
        X64(AVX512, "vpternlogd $0x96, 0x1000(%rip), %zmm14, %zmm7") X64(AVX512, "vmovdqu8 %zmm6, 0x1000(%rip){%k3}")
        X64(AVX512, "vpcmpeqd 0x1000(%rip), %zmm7, %k2") X64(AVX512, "kmovw 0x1000(%rip), %k1")
        X64(AVX512, "vcvttsd2usi 0x1000(%rip), %rdi") X64(AVX512, "vpaddd %zmm1, %zmm2, %zmm3")
        /* 32-bit programs */
        X32(E, "nop") X32(E, "endbr32") X32(E, "push %ebp") X32(E, "push %esp") X32(E, "pop %esp") X32(E, "pop %ecx")
        X32(E, "push $-5") X32(E, "push $0x12345678") X32(PLAIN, "push %ax") X32(E "|" TO_TRAP, "pushf")
        X32(TO_TRAP, "pushfw") X32(E, "leave") X32(E, "ret") X32(E, "ret $8") X32(E, ".byte 0xeb, 0xf0")
        X32(E, ".byte 0xe9, 0, 0, 0, 0x80") X32(E, ".byte 0xe8, 0, 0, 1, 0") X32(E, ".byte 0xe8, 0, 0, 0, 0xe0")
        X32(E, ".byte 0x74, 0x10") X32(E, ".byte 0x0f, 0x8c, 0, 0, 1, 0") X32(E "|" COUNT, ".byte 0xe2, 0x10")
        X32(E "|" COUNT, ".byte 0xe3, 0x10") X32(E "|" TARGET, "jmp *%eax") X32(E "|" TARGET, "call *%eax")
        X32(E, "call *%esp") X32(E, "call *%esi") X32(PLAIN, "call *4(%ebx)") X32(PLAIN, "jmp *4(%ebx)")
        X32(E, "mov %esp, %ebp") X32(E, "mov $0x12345678, %eax") X32(E, "sub $0x1c, %esp") X32(E, "and $-16, %esp")
        X32(E, "xor %eax, %eax") X32(E, "add %eax, %ecx") X32(E, "cmp $3, %eax") X32(E, "test %eax, %eax")
        X32(E, "lea 4(%esp), %ecx") X32(E, "lea (%eax,%ecx,4), %edx") X32(E, "lea 0x12345678, %eax")
        X32(PLAIN, "mov 4(%ebx), %eax") X32(PLAIN, "mov 0x10001000, %eax") X32(PLAIN, "mov 0x10001000, %ecx")
        X32(PLAIN, "inc %eax") X32(PLAIN, "pusha") X32(PLAIN, "popa") X32(PLAIN, "daa") X32(COUNT "|" TO_TRAP, "rep movsb")
        X32(SYSTEM, "int $0x80") X32(PLAIN, "lock addl $1, 4(%ebx)") X32(PLAIN, "movups 4(%ebx), %xmm1")
        ".code64\n.balign 128\n.popsection\n");
/* clang-format on */

#endif
