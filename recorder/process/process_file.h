/* The file of a mapped object: by its name in the process's view of the file system, or by its mapping. */
#ifndef TG_RECORDER_PROCESS_PROCESS_FILE_H
#define TG_RECORDER_PROCESS_PROCESS_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Finds PATH as process PID sees it (its root, its working directory, its /proc/self). -1 where there is
 * nothing; names without a slash (the vdso's) name no file. What this and tg_mapping_open give is a
 * place (O_PATH): good for fstat, and for tg_image_file_read. Verify that it is the file that is mapped. */
int tg_process_file_open(pid_t pid, const char *path);

/* Whether an absolute path is one file for PID and for this process, /proc/self left out: they have one root, in one mount. False
 * also where that cannot be told (before Linux 5.8). */
bool tg_process_file_shares_root(pid_t pid);

/* Whether FD is what PID has mapped at [start, end) according to /proc/PID/map_files. False also where
 * there is no mapping with just these bounds: then ask tg_mapping_find, which reads all of
 * /proc/PID/maps. */
bool tg_process_file_is_mapped(pid_t pid, int fd, uint64_t start, uint64_t end);

#endif
