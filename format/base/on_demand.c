#include "format/base/on_demand.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

static _Noreturn void fail(void)
{
    const char *reason = dlerror();
    dprintf(STDERR_FILENO, "tollgate: what this needs is missing: %s\n",
            reason != NULL ? reason : "the dynamic loader gives no reason");
    _exit(127);
}

void *tg_on_demand_find(struct tg_on_demand_library *library, unsigned long i)
{
    int errno_before = errno;
    void *handle = __atomic_load_n(&library->handle, __ATOMIC_ACQUIRE);
    if (handle == NULL) {
        handle = dlopen(library->file, RTLD_LAZY | RTLD_LOCAL);
        if (handle == NULL)
            fail();
        __atomic_store_n(&library->handle, handle, __ATOMIC_RELEASE);
    }
    void *address = dlsym(handle, library->names[i]);
    if (address == NULL)
        fail();
    __atomic_store_n(&library->addresses[i], address, __ATOMIC_RELEASE);
    errno = errno_before;
    return address;
}

/* Where a stub goes at its first call: the library in r11, the function's number on the stack, above it the caller's
 * return address, and all arguments where the function expects them (System V ABI, section 3.2.3: six integers, eight
 * vectors, in al how many of these a variadic function is given). They are kept, and the function is jumped to. */
__asm__(".text\n"
        "    .globl tg_on_demand_enter\n"
        "    .hidden tg_on_demand_enter\n"
        "    .type tg_on_demand_enter, @function\n"
        "    .p2align 4\n"
        "tg_on_demand_enter:\n"
        "    .cfi_startproc\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    push %rax\n"
        "    push %rdi\n"
        "    push %rsi\n"
        "    push %rdx\n"
        "    push %rcx\n"
        "    push %r8\n"
        "    push %r9\n"
        "    push %r10\n"
        "    sub $128, %rsp\n"
        "    .cfi_adjust_cfa_offset 192\n"
        "    movaps %xmm0, (%rsp)\n"
        "    movaps %xmm1, 16(%rsp)\n"
        "    movaps %xmm2, 32(%rsp)\n"
        "    movaps %xmm3, 48(%rsp)\n"
        "    movaps %xmm4, 64(%rsp)\n"
        "    movaps %xmm5, 80(%rsp)\n"
        "    movaps %xmm6, 96(%rsp)\n"
        "    movaps %xmm7, 112(%rsp)\n"
        "    mov %r11, %rdi\n"
        "    mov 192(%rsp), %rsi\n"
        "    call tg_on_demand_find\n"
        "    mov %rax, %r11\n"
        "    movaps (%rsp), %xmm0\n"
        "    movaps 16(%rsp), %xmm1\n"
        "    movaps 32(%rsp), %xmm2\n"
        "    movaps 48(%rsp), %xmm3\n"
        "    movaps 64(%rsp), %xmm4\n"
        "    movaps 80(%rsp), %xmm5\n"
        "    movaps 96(%rsp), %xmm6\n"
        "    movaps 112(%rsp), %xmm7\n"
        "    add $128, %rsp\n"
        "    pop %r10\n"
        "    pop %r9\n"
        "    pop %r8\n"
        "    pop %rcx\n"
        "    pop %rdx\n"
        "    pop %rsi\n"
        "    pop %rdi\n"
        "    pop %rax\n"
        "    add $8, %rsp\n"
        "    .cfi_adjust_cfa_offset -200\n"
        "    jmp *%r11\n"
        "    .cfi_endproc\n"
        "    .size tg_on_demand_enter, . - tg_on_demand_enter\n");
