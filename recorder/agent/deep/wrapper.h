/* An ELF file for the dynamic loader that has nothing of its own, and needs others. */
#ifndef TG_RECORDER_AGENT_DEEP_WRAPPER_H
#define TG_RECORDER_AGENT_DEEP_WRAPPER_H

#include <stddef.h>

enum { TG_DEEP_WRAPPER_MAX_NEEDED = 256 };

/* Writes a shared object (ELF64, little-endian, x86-64; nothing in it can be run) whose DT_NEEDED are NEEDED, N_NEEDED of them,
 * in their order, and whose DT_RUNPATH is RUNPATH, NULL none. Returns how many bytes it takes of the SIZE at BYTES; 0: there is
 * not room enough, or there are too many. */
size_t tg_deep_wrapper_write(const char *const *needed, size_t n_needed, const char *runpath,
                             unsigned char *bytes, size_t size);

#endif
