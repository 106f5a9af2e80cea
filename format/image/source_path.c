#include "format/image/source_path.h"

#include <string.h>

const char *tg_source_path_last(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

/* Takes the last component off PATH ([path, path + length)), unless it is "..", the root, or nothing. */
static bool take_last(const char *path, size_t *length)
{
    size_t start = *length;
    while (start > 0 && path[start - 1] != '/')
        start--;
    size_t size = *length - start;
    if (size == 0)
        return *length == 1; /* the parent of the root is the root */
    if (size == 2 && path[start] == '.' && path[start + 1] == '.')
        return false;
    *length = start > 1 ? start - 1 : start; /* the slash goes, too, but the root's */
    return true;
}

static bool add_component(const char *component, size_t component_size, char *path, size_t size,
                          size_t *length)
{
    if (component_size == 0 || (component_size == 1 && component[0] == '.'))
        return true;
    if (component_size == 2 && component[0] == '.' && component[1] == '.' && take_last(path, length))
        return true;
    bool slash = *length > 0 && path[*length - 1] != '/';
    if (*length + slash + component_size >= size)
        return false;
    if (slash)
        path[(*length)++] = '/';
    memcpy(path + *length, component, component_size);
    *length += component_size;
    return true;
}

bool tg_source_path_join(const char *const parts[3], char *path, size_t size)
{
    size_t length = 0;
    if (size < 2)
        return false;
    for (int i = 0; i < 3; i++) {
        const char *part = parts[i] == NULL ? "" : parts[i];
        if (part[0] == '/') {
            path[0] = '/';
            length = 1;
        }
        while (*part != '\0') {
            size_t n = strcspn(part, "/");
            if (!add_component(part, n, path, size, &length))
                return false;
            part += n + (part[n] == '/');
        }
    }
    path[length] = '\0';
    return true;
}

bool tg_source_path_ends_with(const char *path, const char *suffix)
{
    size_t length = strlen(path), suffix_length = strlen(suffix);
    if (suffix_length == 0 || suffix_length > length || strcmp(path + length - suffix_length, suffix) != 0)
        return false;
    return suffix_length == length || (suffix[0] != '/' && path[length - suffix_length - 1] == '/');
}
