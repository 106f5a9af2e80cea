/* The file of a mapped object: by its name in the process's view of the file system, or by its mapping. */
#ifndef TG_RECORDER_PROCESS_PROCESS_FILE_H
#define TG_RECORDER_PROCESS_PROCESS_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* One line of /proc/PID/maps. */
struct tg_process_mapping {
    uint64_t start, end;
    unsigned major, minor;
    uint64_t inode; /* 0: no file */
    bool executable;
};

/* Finds PATH as process PID sees it (its root, its working directory, its /proc/self). -1 where there is
 * nothing; names without a slash (the vdso's) name no file. What this and tg_process_mapping_open give is a
 * place (O_PATH): good for fstat, and for tg_image_file_read. Verify that it is the file that is mapped. */
int tg_process_file_open(pid_t pid, const char *path);

/* Whether FD is what PID has mapped at [start, end) according to /proc/PID/map_files. False also where
 * there is no mapping with just these bounds: then ask tg_process_mapping_find, which reads all of
 * /proc/PID/maps. */
bool tg_process_file_is_mapped(pid_t pid, int fd, uint64_t start, uint64_t end);

/* The mapping that holds ADDRESS; false where there is none or it cannot be read. */
bool tg_process_mapping_find(pid_t pid, uint64_t address, struct tg_process_mapping *mapping);

/* The file that is mapped there, whatever became of its name; -1 where the kernel does not allow it. */
int tg_process_mapping_open(pid_t pid, const struct tg_process_mapping *mapping);

#endif
