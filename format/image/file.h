/* Regular files opened by names that a traced program chose: never a device, whatever it calls its
 * libraries. */
#ifndef TG_FORMAT_IMAGE_FILE_H
#define TG_FORMAT_IMAGE_FILE_H

#include <stdint.h>
#include <sys/stat.h>

/* PATH as the recorder's own root has it: cheaper than tg_process_file_open, and mostly the same file; only
 * its build-id can tell. -1 for names that mean something else there. What this gives is a place (O_PATH):
 * good for fstat, and for tg_image_file_read. */
int tg_image_file_open_here(const char *path);

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

#endif
