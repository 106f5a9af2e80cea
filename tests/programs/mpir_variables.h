#ifndef TG_TESTS_PROGRAMS_MPIR_VARIABLES_H
#define TG_TESTS_PROGRAMS_MPIR_VARIABLES_H

typedef struct {
#ifdef PADDED
    double padding;
    int pid;
    char *executable_name;
    long more_padding[3];
    char *host_name;
#else
    char *host_name;
    char *executable_name;
    int pid;
#endif
} MPIR_PROCDESC;

extern MPIR_PROCDESC *MPIR_proctable;
extern int MPIR_proctable_size;
extern volatile int MPIR_debug_state;
extern char *MPIR_debug_abort_string;
void MPIR_Breakpoint(void);
int is_being_debugged(void); /* -1: nobody can tell */

#endif
