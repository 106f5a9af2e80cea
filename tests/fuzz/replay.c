/* Runs a fuzz target on every file of the folders named, and on the files named. Fails where there is
 * none. */
#include "tests/fuzz/fuzz.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>

static bool replay_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    struct stat status;
    if (file == NULL || fstat(fileno(file), &status) != 0) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return false;
    }
    size_t size = (size_t)status.st_size;
    uint8_t *data = malloc(size > 0 ? size : 1); /* exactly SIZE bytes: a read behind them shows under ASan */
    bool complete = data != NULL && fread(data, 1, size, file) == size;
    fclose(file);
    if (complete)
        LLVMFuzzerTestOneInput(data, size);
    else
        fprintf(stderr, "%s: cannot be read\n", path);
    free(data);
    return complete;
}

/* Returns the number of files replayed, or -1. */
static long replay_folder(const char *path)
{
    DIR *folder = opendir(path);
    if (folder == NULL) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return -1;
    }
    long count = 0;
    for (struct dirent *entry; count >= 0 && (entry = readdir(folder)) != NULL;) {
        if (entry->d_name[0] == '.')
            continue;
        char *file = NULL;
        if (asprintf(&file, "%s/%s", path, entry->d_name) < 0)
            abort();
        count = replay_file(file) ? count + 1 : -1;
        free(file);
    }
    closedir(folder);
    if (count == 0) {
        fprintf(stderr, "%s: the corpus is empty\n", path);
        return -1;
    }
    return count;
}

int main(int argc, char **argv)
{
    long total = 0;
    for (int i = 1; i < argc; i++) {
        struct stat status;
        bool is_file = stat(argv[i], &status) == 0 && S_ISREG(status.st_mode);
        long count = is_file ? (replay_file(argv[i]) ? 1 : -1) : replay_folder(argv[i]);
        if (count < 0)
            return 1;
        total += count;
    }
    if (total == 0) {
        fprintf(stderr, "usage: %s FOLDER-OR-FILE...\n", argv[0]);
        return 1;
    }
    printf("%ld inputs replayed\n", total);
    return 0;
}
