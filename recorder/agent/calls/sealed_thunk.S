/* prctl and syscall as the program calls them: they tell sealed.c what may forbid system calls, and go on in the
 * real function with the stack and the arguments as they were (a child that begins on another stack finds what
 * it would find). */

#include "recorder/agent/thunk_frame.inc"

	.text

	begin	prctl
	cmp	$22, %edi	/* PR_SET_SECCOMP */
	je	2f
	cmp	$26, %edi	/* PR_SET_TSC */
	je	2f
1:	mov	tg_sealed_prctl(%rip), %rax
	test	%rax, %rax
	jz	3f
	jmp	*%rax
2:	save_arguments
	mov	%rsi, %rdx
	movslq	%edi, %rsi
	mov	$157, %edi	/* SYS_prctl */
	call	tg_sealed_begin
	restore_arguments
	jmp	1b
3:	save_arguments
	call	tg_sealed_find
	restore_arguments
	jmp	1b
	end	prctl

	begin	syscall
	cmp	$157, %rdi	/* SYS_prctl */
	je	2f
	cmp	$317, %rdi	/* SYS_seccomp */
	je	2f
1:	mov	tg_sealed_syscall(%rip), %rax
	test	%rax, %rax
	jz	3f
	jmp	*%rax
2:	save_arguments
	call	tg_sealed_begin
	restore_arguments
	jmp	1b
3:	save_arguments
	call	tg_sealed_find
	restore_arguments
	jmp	1b
	end	syscall

#include "recorder/agent/thunk_notes.inc"
