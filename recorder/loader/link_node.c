#include "recorder/loader/link_node.h"

#include <string.h>

enum { PAGE_BYTES = 4096 };

uint64_t tg_link_word(const uint8_t *bytes, size_t i, size_t word)
{
    uint64_t value = 0;
    memcpy(&value, bytes + i * word, word); /* x86: little-endian */
    return value;
}

struct tg_link_node tg_link_node_parse(const uint8_t *bytes, size_t word, uint64_t address)
{
    return (struct tg_link_node){
        .address = address,
        .base = tg_link_word(bytes, 0, word),
        .name = tg_link_word(bytes, 1, word),
        .dynamic = tg_link_word(bytes, 2, word),
        .next = tg_link_word(bytes, 3, word),
        .previous = tg_link_word(bytes, 4, word),
    };
}

/* The bytes of ADDRESS's page that lie before it, up to LIMIT. */
static size_t before_in_page(uint64_t address, size_t limit)
{
    return address % PAGE_BYTES < limit ? address % PAGE_BYTES : limit;
}

struct tg_memory_range tg_link_window_range(struct tg_link_window *window, uint64_t address, size_t word)
{
    window->before = before_in_page(address, TG_LINK_NAME_BYTES);
    return (struct tg_memory_range){address - window->before, window->bytes,
                                    window->before + TG_LINK_NODE_WORDS * word};
}

bool tg_link_node_read(pid_t pid, uint64_t address, size_t word, const struct tg_link_window *ahead,
                       struct tg_link_node *node, char name[TG_LINK_NAME_BYTES])
{
    struct tg_link_window here;
    const struct tg_link_window *window = ahead;
    name[0] = '\0';
    if (window->address != address) {
        struct tg_memory_range range = tg_link_window_range(&here, address, word);
        if (!tg_memory_read(pid, range.address, range.buffer, range.size))
            return false;
        window = &here;
    }
    *node = tg_link_node_parse(window->bytes + window->before, word, address);
    if (node->name < address && address - node->name <= window->before) {
        size_t size = (size_t)(address - node->name);
        const uint8_t *text = window->bytes + window->before - size;
        if (memchr(text, '\0', size) != NULL)
            memcpy(name, text, strnlen((const char *)text, size) + 1);
    }
    return true;
}

/* Whether the name at ADDRESS is OBJECT's. */
static bool has_name(pid_t pid, const struct tg_loaded_object *object, uint64_t address)
{
    char text[PATH_MAX + 1];
    return address != 0 && tg_memory_read_string(pid, address, text, sizeof text) &&
           strcmp(text, object->path) == 0;
}

bool tg_link_node_is(pid_t pid, const struct tg_loaded_object *object, const struct tg_link_node *node,
                     const char *name)
{
    if (object->base != node->base || object->dynamic != node->dynamic)
        return false;
    if (object->name_address != node->name)
        return has_name(pid, object, node->name);
    return memcmp(object->path, name, object->path_length + 1) == 0;
}

size_t tg_link_remembered_ranges(const struct tg_loaded_object *object, size_t word,
                                 struct tg_link_remembered *to, struct tg_memory_range *ranges)
{
    size_t node_size = TG_LINK_NODE_WORDS * word, name_size = object->path_length + 1;
    uint64_t gap = object->link_map - object->name_address;
    to->name = (const char *)to->bytes;
    if (object->name_address != 0 && object->name_address < object->link_map && gap >= name_size &&
        gap <= before_in_page(object->link_map, name_size + TG_LINK_NAME_BYTES)) {
        to->node = to->bytes + gap;
        ranges[0] = (struct tg_memory_range){object->name_address, to->bytes, gap + node_size};
        return 1;
    }
    uint8_t *node = to->bytes + name_size;
    to->node = node;
    to->bytes[0] = '\0';
    ranges[0] = (struct tg_memory_range){object->link_map, node, node_size};
    ranges[1] = (struct tg_memory_range){object->name_address, to->bytes, name_size};
    return object->name_address != 0 ? 2 : 1;
}
