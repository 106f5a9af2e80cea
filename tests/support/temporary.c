#include "tests/support/temporary.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void temporary_init(struct temporary *temporary)
{
    const char *root = getenv("TMPDIR");
    int length = snprintf(temporary->directory, sizeof temporary->directory, "%s/tollgate-test-XXXXXX",
                          root == NULL || strlen(root) > 32 ? "/tmp" : root);
    if (length < 0 || mkdtemp(temporary->directory) == NULL) {
        perror("mkdtemp");
        abort();
    }
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    (void)status;
    (void)type;
    (void)walk;
    return remove(path);
}

void temporary_deinit(struct temporary *temporary)
{
    nftw(temporary->directory, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

char *temporary_path(const struct temporary *temporary, const char *name)
{
    char *path = NULL;
    if (asprintf(&path, "%s/%s", temporary->directory, name) < 0)
        abort();
    return path;
}

unsigned char *temporary_read(const char *path, unsigned long *size)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0) {
        perror(path);
        abort();
    }
    *size = (unsigned long)ftell(file);
    rewind(file);
    unsigned char *bytes = malloc(*size + 1);
    if (bytes == NULL || fread(bytes, 1, *size, file) != *size)
        abort();
    fclose(file);
    return bytes;
}

void temporary_write(const char *path, const void *bytes, unsigned long size)
{
    unlink(
        path); /* file systems that flush what is truncated and written anew make thousands of these slow */
    FILE *file = fopen(path, "wb");
    if (file == NULL || fwrite(bytes, 1, size, file) != size || fclose(file) != 0) {
        perror(path);
        abort();
    }
}
