/* tg_heap_guarded_call(first, second, third, function): calls the function, and says so to operators.c where an
 * exception leaves it. */

#include "recorder/agent/thunk_frame.inc"

	.text
	.hidden	tg_heap_guarded_call
	.hidden	tg_heap_personality
	begin	tg_heap_guarded_call
	.cfi_personality 0x1b, tg_heap_personality
	push	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	mov	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	call	*%rcx
	pop	%rbp
	.cfi_def_cfa %rsp, 8
	ret
	end	tg_heap_guarded_call

#include "recorder/agent/thunk_notes.inc"
