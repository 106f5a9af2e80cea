/* dlsym as runtimes call it that are bound within themselves: what bound.c does not answer, dlsym does, which sees its real caller
 * behind the return address. */

	.text
	.globl	tg_ompt_bound_dlsym
	.hidden	tg_ompt_bound_dlsym
	.hidden	tg_ompt_bound_look_up
	.type	tg_ompt_bound_dlsym, @function
	.p2align 4
tg_ompt_bound_dlsym:
	.cfi_startproc
	endbr64
	push	%rdi
	.cfi_adjust_cfa_offset 8
	push	%rsi
	.cfi_adjust_cfa_offset 8
	mov	16(%rsp), %rdx
	sub	$8, %rsp
	.cfi_adjust_cfa_offset 8
	call	tg_ompt_bound_look_up
	add	$8, %rsp
	.cfi_adjust_cfa_offset -8
	pop	%rsi
	.cfi_adjust_cfa_offset -8
	pop	%rdi
	.cfi_adjust_cfa_offset -8
	test	%rax, %rax
	jnz	1f
	jmp	*dlsym@GOTPCREL(%rip)
1:	ret
	.cfi_endproc
	.size	tg_ompt_bound_dlsym, . - tg_ompt_bound_dlsym

#include "recorder/agent/thunk_notes.inc"
