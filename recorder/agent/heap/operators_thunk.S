/* tg_heap_guarded_call(first, second, third, function): calls the function, and says so to operators.c where an
 * exception leaves it. */

	.text
	.globl	tg_heap_guarded_call
	.hidden	tg_heap_guarded_call
	.hidden	tg_heap_personality
	.type	tg_heap_guarded_call, @function
	.p2align 4
tg_heap_guarded_call:
	.cfi_startproc
	.cfi_personality 0x1b, tg_heap_personality
	endbr64
	push	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	mov	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	call	*%rcx
	pop	%rbp
	.cfi_def_cfa %rsp, 8
	ret
	.cfi_endproc
	.size	tg_heap_guarded_call, . - tg_heap_guarded_call

#include "recorder/agent/thunk_notes.inc"
