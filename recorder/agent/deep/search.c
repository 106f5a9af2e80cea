#include "recorder/agent/deep/search.h"

#include "recorder/agent/deep/library_file.h"
#include "recorder/agent/symbols.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const struct link_map *tg_deep_search_object(uint64_t caller)
{
    Dl_info info;
    struct link_map *map = NULL;
    if (dladdr1((void *)(uintptr_t)caller, &info, (void **)&map, RTLD_DL_LINKMAP) != 0 && map != NULL)
        return map;
    return _r_debug.r_map;
}

const char *tg_deep_search_string(const struct link_map *map, int64_t tag)
{
    struct tg_agent_symbols symbols;
    (void)tg_agent_symbols_read(map->l_addr, map->l_ld, &symbols);
    for (const ElfW(Dyn) *entry = map->l_ld; symbols.names != NULL && entry->d_tag != DT_NULL; entry++)
        if (entry->d_tag == tag)
            return symbols.names + entry->d_un.d_val;
    return NULL;
}

bool tg_deep_search_origin(const struct link_map *map, char origin[PATH_MAX])
{
    if (map->l_prev != NULL)
        return dlinfo((void *)(uintptr_t)map, RTLD_DI_ORIGIN, origin) == 0 && origin[0] == '/';
    /* where the program has no use for it glibc does not know its own, and dlinfo would crash */
    ssize_t length = readlink("/proc/self/exe", origin, PATH_MAX - 1);
    origin[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(origin, '/');
    if (slash == NULL)
        return false;
    slash[slash == origin] = '\0';
    return true;
}

bool tg_deep_search_file_origin(const char *path, char origin[PATH_MAX])
{
    const char *slash = strrchr(path, '/');
    origin[0] = '\0';
    if (slash == NULL || (path[0] != '/' && getcwd(origin, PATH_MAX) == NULL))
        return false;
    size_t used = strlen(origin);
    int folder = slash == path ? 1 : (int)(slash - path);
    return (size_t)snprintf(origin + used, PATH_MAX - used, "%s%.*s", used > 0 ? "/" : "", folder, path) <
           PATH_MAX - used;
}

bool tg_deep_search_expand(const char *text, const char *origin, char *expanded, size_t size)
{
    static const char *const tokens[] = {"$ORIGIN", "${ORIGIN}"};
    size_t used = 0;
    while (*text != '\0') {
        size_t taken = 1, length = 1;
        const char *from = text;
        for (size_t i = 0; i < 2; i++)
            if (strncmp(text, tokens[i], strlen(tokens[i])) == 0) {
                taken = strlen(tokens[i]);
                from = origin;
                length = strlen(origin);
            }
        if (used + length >= size)
            return false;
        memcpy(expanded + used, from, length);
        used += length;
        text += taken;
    }
    expanded[used] = '\0';
    return true;
}

static bool is_library(const char *path)
{
    struct tg_deep_library library;
    if (!tg_deep_library_open(path, &library))
        return false;
    tg_deep_library_close(&library);
    return true;
}

static bool is_in(const char *folder, size_t length, const char *name, char found[PATH_MAX])
{
    const char *slash = length > 0 && folder[length - 1] == '/' ? "" : "/";
    int n = snprintf(found, PATH_MAX, "%.*s%s%s", length > 0 ? (int)length : 1, length > 0 ? folder : ".",
                     slash, name);
    return n > 0 && n < PATH_MAX && is_library(found);
}

bool tg_deep_search_list(const char *list, const char *name, char found[PATH_MAX])
{
    for (;;) {
        size_t length = strcspn(list, ":");
        if (is_in(list, length, name, found))
            return true;
        if (list[length] == '\0')
            return false;
        list += length + 1;
    }
}

bool tg_deep_search_folders(const struct link_map *map, const char *name, char *buffer, size_t size,
                            char found[PATH_MAX])
{
    Dl_serinfo *folders = (Dl_serinfo *)(void *)buffer;
    void *handle = (void *)(uintptr_t)map;
    if (dlinfo(handle, RTLD_DI_SERINFOSIZE, folders) != 0 || folders->dls_size > size ||
        dlinfo(handle, RTLD_DI_SERINFO, folders) != 0)
        return false;
    for (unsigned i = 0; i < folders->dls_cnt; i++)
        if (is_in(folders->dls_serpath[i].dls_name, strlen(folders->dls_serpath[i].dls_name), name, found))
            return true;
    return false;
}
