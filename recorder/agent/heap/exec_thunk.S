/* The functions that execute another program, as the program calls them: exec.c looks at the heap first, and they go on in the
 * real function with the stack and the arguments as they were, also those of which nobody knows how many there are. Places are
 * those of exec.c. */

#include "recorder/agent/thunk_frame.inc"

	.text

	.macro	wrap name place
	begin	\name
	save_arguments
	mov	$\place, %edi
	call	tg_heap_before_exec
	mov	%rax, %r11
	restore_arguments
	jmp	*%r11
	end	\name
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
