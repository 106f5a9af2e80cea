#include "recorder/agent/scope.h"

#include "recorder/agent/symbols.h"

static bool is_same(const char *one, const char *other)
{
    while (*one != '\0' && *one == *other)
        one++, other++;
    return *one == *other;
}

static const char *last_component(const char *path)
{
    const char *last = path;
    for (; *path != '\0'; path++)
        if (*path == '/')
            last = path + 1;
    return last;
}

static const char *soname_of(const struct link_map *map)
{
    struct tg_agent_symbols symbols;
    (void)tg_agent_symbols_read(map->l_addr, map->l_ld, &symbols);
    for (const ElfW(Dyn) *entry = map->l_ld; symbols.names != NULL && entry->d_tag != DT_NULL; entry++)
        if (entry->d_tag == DT_SONAME)
            return symbols.names + entry->d_un.d_val;
    return "";
}

const struct link_map *tg_agent_scope_named(const struct link_map *map, const char *name)
{
    while (map->l_prev != NULL)
        map = map->l_prev;
    for (; map != NULL; map = map->l_next)
        if (map->l_name != NULL && map->l_ld != NULL &&
            (is_same(map->l_name, name) || is_same(last_component(map->l_name), name) ||
             is_same(soname_of(map), name)))
            return map;
    return NULL;
}

static void add(struct tg_agent_scope *scope, const struct link_map *map)
{
    for (size_t i = 0; i < scope->count; i++)
        if (scope->maps[i] == map)
            return;
    if (map != NULL && scope->count < TG_SCOPE_MAX_OBJECTS)
        scope->maps[scope->count++] = map;
}

void tg_agent_scope_find(const struct link_map *root, struct tg_agent_scope *scope)
{
    scope->count = 0;
    add(scope, root);
    for (size_t i = 0; i < scope->count; i++) {
        const struct link_map *map = scope->maps[i];
        struct tg_agent_symbols symbols;
        (void)tg_agent_symbols_read(map->l_addr, map->l_ld, &symbols);
        for (const ElfW(Dyn) *entry = map->l_ld;
             entry != NULL && symbols.names != NULL && entry->d_tag != DT_NULL; entry++)
            if (entry->d_tag == DT_NEEDED)
                add(scope, tg_agent_scope_named(root, symbols.names + entry->d_un.d_val));
    }
}

void tg_agent_scope_write(const struct tg_agent_scope *scope, const struct link_map *const *left_out,
                          size_t n_left_out, char text[TG_SCOPE_TEXT_BYTES])
{
    static const char more[] = "...";
    size_t used = 0;
    for (size_t i = 0; i < scope->count; i++) {
        bool is_left_out = false;
        for (size_t k = 0; k < n_left_out; k++)
            is_left_out = is_left_out || left_out[k] == scope->maps[i];
        if (is_left_out)
            continue;
        const char *name = scope->maps[i]->l_name;
        size_t length = 0;
        while (name[length] != '\0')
            length++;
        bool fits = used + length + 2 + sizeof more <= TG_SCOPE_TEXT_BYTES;
        if (used > 0)
            text[used++] = '\n';
        for (size_t k = 0; fits ? k < length : k < sizeof more - 1; k++)
            text[used++] = fits ? name[k] : more[k];
        if (!fits)
            break;
    }
    text[used] = '\0';
}
