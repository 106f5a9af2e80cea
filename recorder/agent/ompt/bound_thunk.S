/* dlsym as runtimes call it that are bound within themselves: what bound.c does not answer, dlsym does, which sees its real
 * caller behind the return address. */

#include "recorder/agent/thunk_frame.inc"

	.text
	.hidden	tg_ompt_bound_dlsym
	.hidden	tg_ompt_bound_look_up
	begin	tg_ompt_bound_dlsym
	save	%rdi
	save	%rsi
	mov	16(%rsp), %rdx
	sub	$8, %rsp
	.cfi_adjust_cfa_offset 8
	call	tg_ompt_bound_look_up
	add	$8, %rsp
	.cfi_adjust_cfa_offset -8
	restore	%rsi
	restore	%rdi
	test	%rax, %rax
	jnz	1f
	jmp	*dlsym@GOTPCREL(%rip)
1:	ret
	end	tg_ompt_bound_dlsym

#include "recorder/agent/thunk_notes.inc"
