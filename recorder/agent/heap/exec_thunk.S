/* The functions that execute another program, as the program calls them: exec.c looks at the heap first, and they go on in the real
 * function with the stack and the arguments as they were, also those of which nobody knows how many there are.
 * Places are those of exec.c. */

	.text

	.macro	save register
	push	\register
	.cfi_adjust_cfa_offset 8
	.endm

	.macro	restore register
	pop	\register
	.cfi_adjust_cfa_offset -8
	.endm

	.macro	wrap name place
	.globl	\name
	.type	\name, @function
	.p2align 4
\name:
	.cfi_startproc
	endbr64
	save	%rdi
	save	%rsi
	save	%rdx
	save	%rcx
	save	%r8
	save	%r9
	save	%rax
	mov	$\place, %edi
	call	tg_heap_before_exec
	mov	%rax, %r11
	restore	%rax
	restore	%r9
	restore	%r8
	restore	%rcx
	restore	%rdx
	restore	%rsi
	restore	%rdi
	jmp	*%r11
	.cfi_endproc
	.size	\name, . - \name
	.endm

	wrap	execve 0
	wrap	execv 1
	wrap	execvp 2
	wrap	execvpe 3
	wrap	execl 4
	wrap	execlp 5
	wrap	execle 6
	wrap	fexecve 7
	wrap	execveat 8

#include "recorder/agent/thunk_notes.inc"
