#include "recorder/record/settings_files.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file that need not be there. */
static struct tg_error *read_if_present(const char *path, struct tg_settings *settings)
{
    struct tg_error *error =
        access(path, F_OK) != 0 && errno == ENOENT ? NULL : tg_settings_read(path, settings);
    if (error == NULL)
        return NULL;
    struct tg_error *more = tg_error_create(tg_error_code(error), "%s (--no-rc ignores your settings files)",
                                            tg_error_message(error));
    tg_error_destroy(error);
    return more;
}

static bool is_same_file(const char *a, const char *b)
{
    struct stat of_a, of_b;
    return stat(a, &of_a) == 0 && stat(b, &of_b) == 0 && of_a.st_dev == of_b.st_dev &&
           of_a.st_ino == of_b.st_ino;
}

struct tg_error *tg_settings_files_read(const char *named, bool no_rc, struct tg_settings *settings)
{
    static const char here[] = ".tollgaterc";
    static const char *const at_home[] = {".tvdrc", here};
    const char *home = getenv("HOME");
    struct tg_error *error = NULL;
    bool seen_here = false;
    if (named != NULL)
        return tg_settings_read(named, settings);
    for (size_t i = 0; error == NULL && i < 2 && !no_rc && home != NULL && home[0] != '\0'; i++) {
        char path[PATH_MAX];
        if ((size_t)snprintf(path, sizeof path, "%s/%s", home, at_home[i]) >= sizeof path)
            continue;
        seen_here |= is_same_file(path, here);
        error = read_if_present(path, settings);
    }
    return error != NULL || seen_here || no_rc ? error : read_if_present(here, settings);
}
