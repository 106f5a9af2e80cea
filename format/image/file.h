/* Finding the file of a mapped object: by its name in the process's view of the file system, or by its
 * mapping. */
#ifndef TG_FORMAT_IMAGE_FILE_H
#define TG_FORMAT_IMAGE_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/* One line of /proc/PID/maps. */
struct tg_image_mapping {
    uint64_t start, end;
    unsigned major, minor;
    uint64_t inode; /* 0: no file */
    bool executable;
};

/* PATH as the recorder's own root has it: cheaper, and mostly the same file; only its build-id can tell. -1
 * for names that mean something else there. */
int tg_image_file_open_here(const char *path);

/* Finds PATH as process PID sees it (its root, its working directory, its /proc/self). -1 where there is
 * nothing; names without a slash (the vdso's) name no file. What this and the functions below give is a place
 * (O_PATH): good for fstat, and for tg_image_file_read. Verify that it is the file that is mapped. */
int tg_image_file_open(pid_t pid, const char *path);

/* Opens the file at PLACE, which it closes, for reading; -1 where it is no regular file or cannot be read.
 * Devices are never opened, whatever a traced program calls its libraries. */
int tg_image_file_read(int place);

/* Opens the file PATH of the recorder's own root for reading in one step, as libraries' files mostly can be:
 * an absolute name without symbolic links, of a regular file. SIZE_BYTES becomes its size. -1 elsewhere: take
 * the way through tg_image_file_open_here then. */
int tg_image_file_read_here(const char *path, uint64_t *size_bytes);

/* As tg_image_file_read where it is done often: DESCRIPTORS is from tg_image_file_descriptors, PLACE stays
 * open, and what fstat says of the file goes to STATUS. */
int tg_image_file_reopen(int descriptors, int place, struct stat *status);

/* The directory of the recorder's own descriptors in /proc, which saves finding it each time; -1 where there
 * is none, which tg_image_file_reopen accepts. Close it. */
int tg_image_file_descriptors(void);

/* Whether FD is what PID has mapped at [start, end) according to /proc/PID/map_files. False also where there
 * is no mapping with just these bounds: then ask tg_image_file_mapping, which reads all of /proc/PID/maps. */
bool tg_image_file_is_mapped(pid_t pid, int fd, uint64_t start, uint64_t end);

/* The mapping that holds ADDRESS; false where there is none or it cannot be read. */
bool tg_image_file_mapping(pid_t pid, uint64_t address, struct tg_image_mapping *mapping);

/* What is mapped there, whatever became of its name; -1 where the kernel does not allow it. */
int tg_image_file_open_mapping(pid_t pid, const struct tg_image_mapping *mapping);

#endif
