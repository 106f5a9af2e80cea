/* prctl and syscall as the program calls them: they tell sealed.c what may forbid system calls, and go on in the
 * real function with the stack and the arguments as they were (a child that begins on another stack finds what
 * it would find). */

	.text

	.macro	save register
	push	\register
	.cfi_adjust_cfa_offset 8
	.endm

	.macro	restore register
	pop	\register
	.cfi_adjust_cfa_offset -8
	.endm

	.macro	outside
	save	%rdi
	save	%rsi
	save	%rdx
	save	%rcx
	save	%r8
	save	%r9
	save	%rax		/* for the alignment */
	.endm

	.macro	inside
	restore	%rax
	restore	%r9
	restore	%r8
	restore	%rcx
	restore	%rdx
	restore	%rsi
	restore	%rdi
	.endm

	.globl	prctl
	.type	prctl, @function
	.p2align 4
prctl:
	.cfi_startproc
	endbr64
	cmp	$22, %edi	/* PR_SET_SECCOMP */
	je	2f
	cmp	$26, %edi	/* PR_SET_TSC */
	je	2f
1:	mov	tg_sealed_prctl(%rip), %rax
	test	%rax, %rax
	jz	3f
	jmp	*%rax
2:	outside
	mov	%rsi, %rdx
	movslq	%edi, %rsi
	mov	$157, %edi	/* SYS_prctl */
	call	tg_sealed_begin
	inside
	jmp	1b
3:	outside
	call	tg_sealed_find
	inside
	jmp	1b
	.cfi_endproc
	.size	prctl, . - prctl

	.globl	syscall
	.type	syscall, @function
	.p2align 4
syscall:
	.cfi_startproc
	endbr64
	cmp	$157, %rdi	/* SYS_prctl */
	je	2f
	cmp	$317, %rdi	/* SYS_seccomp */
	je	2f
1:	mov	tg_sealed_syscall(%rip), %rax
	test	%rax, %rax
	jz	3f
	jmp	*%rax
2:	outside
	call	tg_sealed_begin
	inside
	jmp	1b
3:	outside
	call	tg_sealed_find
	inside
	jmp	1b
	.cfi_endproc
	.size	syscall, . - syscall

#include "recorder/agent/thunk_notes.inc"
