#include "format/base/replace.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/stat.h>

/* What people call a file that is no regular one. */
static const char *kind_of(mode_t mode)
{
    if (S_ISDIR(mode))
        return "a directory";
    if (S_ISLNK(mode))
        return "a symbolic link";
    if (S_ISFIFO(mode))
        return "a pipe";
    return S_ISSOCK(mode) ? "a socket" : "a device";
}

struct tg_error *tg_replace_check(int directory, const char *name, const char *path, bool force)
{
    struct stat status;
    if (fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? NULL : tg_error_create_errno(errno, "cannot write %s", path);
    if (!S_ISREG(status.st_mode))
        return tg_error_create(TG_ERROR_EXISTS, "%s is %s, which is not replaced: choose another name", path,
                               kind_of(status.st_mode));
    if (!force)
        return tg_error_create(TG_ERROR_EXISTS, "%s exists: choose another name, or add --force", path);
    return NULL;
}
