/* The address of a dynamic loader's r_debug, the structure that it shares with debuggers (<link.h>). */
#ifndef TG_RECORDER_LOADER_RENDEZVOUS_H
#define TG_RECORDER_LOADER_RENDEZVOUS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum tg_rendezvous {
    TG_RENDEZVOUS_FOUND,
    TG_RENDEZVOUS_NOT_YET, /* the loader has not filled in DT_DEBUG so far */
    TG_RENDEZVOUS_NEVER,   /* the program has no DT_DEBUG, or its headers cannot be read */
};

/* Through DT_DEBUG of the program whose N_PHDR program headers are at PHDR (AT_PHDR, AT_PHNUM). */
enum tg_rendezvous tg_rendezvous_locate(pid_t pid, unsigned bits, uint64_t phdr, uint64_t n_phdr,
                                        uint64_t *r_debug);

/* For programs without DT_DEBUG: a loader that was started as the program itself (`ld.so PROGRAM`). Looks
 * in its writable segments for a struct with this R_BRK whose list begins with a program. PHDR are its own
 * headers. */
bool tg_rendezvous_search(pid_t pid, unsigned bits, uint64_t phdr, uint64_t n_phdr, uint64_t r_brk,
                          uint64_t *r_debug);

#endif
