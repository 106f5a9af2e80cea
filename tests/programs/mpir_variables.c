/* The variables of a starter (MPIR). Built into the starter or as a library of it, with
 *   PADDED      a descriptor that only DWARF tells of
 *   PARTIAL     MPIR_partial_attach_ok is there: ranks do not wait at a gate
 *   PRE_MAIN    MPIR_acquired_pre_main is there: ranks are left stopped
 *   SILENT      without MPIR_being_debugged */
#include "mpir_variables.h"

MPIR_PROCDESC *MPIR_proctable;
int MPIR_proctable_size;
volatile int MPIR_debug_state;
char *MPIR_debug_abort_string;
int MPIR_i_am_starter;
#ifndef SILENT
volatile int MPIR_being_debugged;
#endif
#ifdef PARTIAL
int MPIR_partial_attach_ok;
#endif
#ifdef PRE_MAIN
int MPIR_acquired_pre_main;
#endif

__attribute__((noinline)) void MPIR_Breakpoint(void)
{
    __asm__ volatile("" ::: "memory");
}

int is_being_debugged(void)
{
#ifdef SILENT
    return -1;
#else
    return MPIR_being_debugged;
#endif
}
