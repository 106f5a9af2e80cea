/* Fortran's entry points. The implementations' Fortran libraries call the C functions, MPICH's as MPI_NAME
 * and Open MPI's as PMPI_NAME, so that every call is recorded anyway; what would be lost is where the program
 * made it. The functions here note that and go on to the library's, with all arguments where they are.
 *
 * Two ways of mangling are covered, those of gfortran, flang and ifort: mpi_send_ and mpi_send__ (mpif.h and
 * "use mpi"); mpi_send_f08_ and mpi_send_f08ts_ ("use mpi_f08"). With another one the place of the call is in
 * the Fortran library. */
#include "recorder/agent/mpi/frame.h"
#include "recorder/agent/next.h"

#include <mpi_fortran_names.h> /* made by the build from calls.h: X(send) */

enum { FORMS = 3 };

static const char *const names[][FORMS] = {
#define X(name) {"mpi_" #name "_", "mpi_" #name "_f08_", "mpi_" #name "_f08ts_"},
    TG_MPI_FORTRAN_NAMES(X)
#undef X
};
enum { N_ENTRIES = sizeof names / sizeof names[0] * FORMS };

/* By number of the entry point; NULL: not looked for yet. All threads find the same. */
void *tg_mpi_fortran_next[N_ENTRIES];
void *tg_mpi_fortran_find(unsigned entry);

static void there_is_none(void)
{
}

/* Called by the assembler below, with the program's arguments out of the way. */
__attribute__((used)) void *tg_mpi_fortran_find(unsigned entry)
{
    void *function = tg_agent_next(names[entry / FORMS][entry % FORMS]);
    if (function == NULL)
        return (void *)(uintptr_t)&there_is_none;
    __atomic_store_n(&tg_mpi_fortran_next[entry], function, __ATOMIC_RELAXED);
    return function;
}

_Static_assert(offsetof(struct tg_mpi_thread, fortran) == 8, "the assembler below says so too");

/* Only %rax, %r10 and %r11 are neither expected to be kept by a caller nor hold an argument. Fortran passes
 * nothing in vector registers. */
__asm__(".text\n"
        ".balign 16\n"
        "fortran_common:\n"
        "    mov (%rsp), %r11\n"
        "    mov tg_mpi_thread@gottpoff(%rip), %r10\n"
        "    mov %r11, %fs:8(%r10)\n"
        "    lea tg_mpi_fortran_next(%rip), %r11\n"
        "    mov (%r11,%rax,8), %r11\n"
        "    test %r11, %r11\n"
        "    je 1f\n"
        "    jmp *%r11\n"
        "1:\n"
        "    push %rdi\n"
        "    push %rsi\n"
        "    push %rdx\n"
        "    push %rcx\n"
        "    push %r8\n"
        "    push %r9\n"
        "    sub $8, %rsp\n"
        "    mov %eax, %edi\n"
        "    call tg_mpi_fortran_find\n"
        "    add $8, %rsp\n"
        "    pop %r9\n"
        "    pop %r8\n"
        "    pop %rcx\n"
        "    pop %rdx\n"
        "    pop %rsi\n"
        "    pop %rdi\n"
        "    jmp *%rax\n"
        ".set fortran_entry, 0\n");

#define LABEL(symbol)                                                                                        \
    ".globl " symbol "\n"                                                                                    \
    ".type " symbol ", @function\n" symbol ":\n"
#define ENTRY(labels)                                                                                        \
    ".balign 16\n" labels "    endbr64\n"                                                                    \
    "    mov $fortran_entry, %eax\n"                                                                         \
    "    jmp fortran_common\n"                                                                               \
    ".set fortran_entry, fortran_entry + 1\n"
#define X(name)                                                                                              \
    __asm__(ENTRY(LABEL("mpi_" #name "_") LABEL("mpi_" #name "__")) ENTRY(LABEL("mpi_" #name "_f08_"))       \
                ENTRY(LABEL("mpi_" #name "_f08ts_")));
TG_MPI_FORTRAN_NAMES(X)
#undef X
