/* A directory of a test's own, removed with all that is in it. */
#ifndef TG_TESTS_TEMPORARY_H
#define TG_TESTS_TEMPORARY_H

struct temporary {
    char directory[64];
};

void temporary_init(struct temporary *temporary);
void temporary_deinit(struct temporary *temporary);

/* "DIRECTORY/NAME"; free it. */
char *temporary_path(const struct temporary *temporary, const char *name);

/* The whole file. Aborts where it cannot be read. */
unsigned char *temporary_read(const char *path, unsigned long *size);
void temporary_write(const char *path, const void *bytes, unsigned long size);

#endif
