/* dlopen and dlmopen as the program calls them: they tell dl_calls.c, and enter the real function so that it
 * finds its real caller's object behind its return address, and the agent sees what it returns.
 *
 * S is the stack pointer at entry, which points to the caller's return address. The real function is entered
 * with
 *     plain     S-16: a `ret` of the caller's object, S-8: where that leads to
 *     skipping  the same lower by what the row skips, S-8 or lower: how much that is
 *     framed    S-32: a `ret` of the caller's object, S-24: where that leads to, S-8: rbp; rbp = S-8
 * (see return_site.h): from that `ret` an unwinder gets to the caller by the row of the function around it;
 * where the row is CFA = rsp + 8, by way of the plain return here. Nothing but the stack holds state, so it may
 * be left by longjmp, an exception or cancellation, and entered anew by a constructor. */

#include "recorder/agent/thunk_frame.inc"

	.text

/* enter(the arguments, where the return address is) -> struct plan of dl_calls.c in rax and rdx. returned(result) -> the
 * result. */
	.macro	wrap name enter returned frame
	begin	\name
	save	%rdi
	save	%rsi
	save	%rdx
	lea	24(%rsp), \frame
	call	\enter
	mov	%rax, %r10
	mov	%rdx, %r11
	restore	%rdx
	restore	%rsi
	restore	%rdi
	btr	$62, %r11
	jc	1f
	btr	$63, %r11
	jc	2f
	jmp	*%r10

1:	mov	%r11, %rax
	shr	$48, %rax
	jnz	5f
	lea	3f(%rip), %rax
	save	%rax
	save	%r11
	jmp	*%r10
	.cfi_adjust_cfa_offset -16
	nop			/* unwinders look up the byte before a return address */
3:	mov	%rax, %rdi
	jmp	\returned

5:	shl	$16, %r11
	shr	$16, %r11
	sub	%rax, %rsp	/* from here on to the call there is no row for what the stack looks like */
	mov	%rax, (%rsp)
	.cfi_remember_state
	.cfi_escape 0x0f, 6, 0x77, 0, 0x06, 0x77, 8, 0x22	/* CFA = rsp + *rsp + 8 */
	lea	6f(%rip), %rax
	push	%rax
	push	%r11
	jmp	*%r10
	nop
6:	add	(%rsp), %rsp
	.cfi_restore_state
	mov	%rax, %rdi
	jmp	\returned

2:	save	%rbp
	.cfi_offset %rbp, -16
	mov	%rsp, %rbp
	sub	$8, %rsp
	.cfi_adjust_cfa_offset 8
	lea	4f(%rip), %rax
	save	%rax
	save	%r11
	jmp	*%r10
	.cfi_adjust_cfa_offset -16
	nop
4:	add	$8, %rsp
	.cfi_adjust_cfa_offset -8
	restore	%rbp
	.cfi_restore %rbp
	mov	%rax, %rdi
	jmp	\returned
	end	\name
	.endm

	wrap dlopen tg_dl_enter_dlopen tg_dl_returned_dlopen %rdx
	wrap dlmopen tg_dl_enter_dlmopen tg_dl_returned_dlmopen %rcx

#include "recorder/agent/thunk_notes.inc"
