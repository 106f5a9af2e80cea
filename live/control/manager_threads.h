/* Manager threads, a library's own: their start routine lies in an object that a glob-list names. They
 * are managers, no workers, so that a barrier over workers does not wait for them. The tracer thread's. */
#ifndef TG_LIVE_CONTROL_MANAGER_THREADS_H
#define TG_LIVE_CONTROL_MANAGER_THREADS_H

#include "format/base/error.h"
#include "recorder/dwarf/modules.h"

#include <stdbool.h>
#include <stdint.h>

struct tg_manager_threads;

/* With TG_MANAGER_LIBRARIES. */
struct tg_error *tg_manager_threads_create(struct tg_manager_threads **managers);
void tg_manager_threads_destroy(struct tg_manager_threads *managers); /* NULL is accepted */

/* From now on LIBRARIES, a glob-list of file names without folders. Errors of tg_glob_list_create, which
 * change nothing. */
struct tg_error *tg_manager_threads_set(struct tg_manager_threads *managers, const char *libraries);

/* Whether the thread with that FS_BASE, of the process whose MODULES these are, is a manager. A thread of the
 * process must be stopped; PID is that thread's id, or the process's. glibc keeps a thread's start routine in
 * its descriptor, and says at which offset for libthread_db; where it does not, or another libc is in use,
 * nobody is a manager. */
bool tg_manager_threads_ask(struct tg_manager_threads *managers, struct tg_modules *modules, int32_t pid,
                            uint64_t fs_base);

/* The setting's value at first: libraries of MPI implementations and what they are built on. */
#define TG_MANAGER_LIBRARIES                                                                                 \
    "libmpi.so*:libmpi_*.so*:libmpich*.so*:libmpifort.so*:libopen-pal.so*:libopen-rte.so*:libprrte.so*:"     \
    "mca_*.so*:libpmi*.so*:libevent*.so*:libev.so*:libhwloc*.so*:libuc[mpst].so*:libuc[mpst]_*.so*:"         \
    "libucc*.so*:libfabric.so*:libpsm*.so*:libibverbs*.so*:librdmacm*.so*:libcuda.so*:libnccl.so*"

#endif
