#include "live/inspect/value/container.h"

#include <dwarf.h>
#include <stdio.h>
#include <string.h>

enum {
    MAX_COUNT_BITS = 47,  /* of elements: more than an address space has */
    MAX_TREE_DEPTH = 128, /* a red-black tree of 2^48 nodes has less than 96 levels */
    MAX_ALIGN_DEPTH = 8,
    WORD = sizeof(uint64_t),
    TREE_HEADER = 4 * sizeof(uint64_t), /* colour, parent, left, right */
    DEQUE_BLOCK = 512,                  /* libstdc++'s _GLIBCXX_DEQUE_BUF_SIZE */
};

static struct tg_error *damaged(const char *why)
{
    return tg_error_create(TG_ERROR_TARGET, "not constructed here, or damaged: %s", why);
}

static struct tg_error *read_word(const struct tg_scene *scene, uint64_t address, uint64_t *word)
{
    if (scene->memory.read(scene->memory.context, address, word, sizeof *word))
        return NULL;
    return tg_error_create(TG_ERROR_TARGET, "cannot read memory at 0x%llx", (unsigned long long)address);
}

/* The member at PATH, "_M_impl._M_start", of VALUE. */
static struct tg_error *member(const struct tg_scene *scene, const struct tg_value *value, const char *path,
                               struct tg_value *result)
{
    struct tg_value at = *value;
    struct tg_error *error = NULL;
    while (error == NULL && *path != '\0') {
        char name[64];
        size_t length = strcspn(path, ".");
        snprintf(name, sizeof name, "%.*s", (int)length, path);
        struct tg_value inner;
        error = tg_value_member(scene, &at, name, &inner);
        at = error == NULL ? inner : at;
        path += length + (path[length] == '.');
    }
    *result = at;
    return error;
}

/* A number or pointer that the member at PATH is. */
static struct tg_error *word(const struct tg_scene *scene, const struct tg_value *value, const char *path,
                             uint64_t *number)
{
    struct tg_value part;
    struct tg_number read;
    struct tg_error *error = member(scene, value, path, &part);
    if (error == NULL)
        error = tg_value_number(scene, &part, &read);
    if (error == NULL)
        *number = read.low;
    return error;
}

/* Argument number N of the template that TYPE is made of. */
static bool template_type(const struct tg_type *type, unsigned n, struct tg_type *argument)
{
    struct tg_type stripped = tg_type_strip(type);
    Dwarf_Die child;
    unsigned seen = 0;
    if (stripped.die.addr == NULL || stripped.pointers > 0)
        return false;
    for (int more = dwarf_child(&stripped.die, &child); more == 0; more = dwarf_siblingof(&child, &child))
        if (dwarf_tag(&child) == DW_TAG_template_type_parameter && seen++ == n)
            return tg_type_of(stripped.object, &child, argument);
    return false;
}

/* What objects of TYPE are aligned to where nobody has said otherwise: their largest scalar. */
static uint64_t alignment(const struct tg_type *type, unsigned depth)
{
    struct tg_type stripped = tg_type_strip(type), part;
    enum tg_type_kind kind = tg_type_kind(&stripped);
    uint64_t size = 1, largest = 1;
    Dwarf_Die child;
    if (kind == TG_TYPE_ARRAY)
        return depth < MAX_ALIGN_DEPTH && tg_type_target(&stripped, &part) ? alignment(&part, depth + 1)
                                                                           : WORD;
    if (kind != TG_TYPE_STRUCT && kind != TG_TYPE_UNION) {
        bool known = tg_type_size(&stripped, &size) && size > 0;
        size = known && kind == TG_TYPE_COMPLEX ? size / 2 : size;
        return !known ? WORD : size > 16 ? 16 : size;
    }
    if (depth == MAX_ALIGN_DEPTH)
        return WORD;
    for (int more = dwarf_child(&stripped.die, &child); more == 0; more = dwarf_siblingof(&child, &child)) {
        int tag = dwarf_tag(&child);
        bool counts =
            tag == DW_TAG_inheritance || (tag == DW_TAG_member && !dwarf_hasattr(&child, DW_AT_external));
        if (!counts || !tg_type_of(stripped.object, &child, &part))
            continue;
        size = alignment(&part, depth + 1);
        largest = size > largest ? size : largest;
    }
    return largest;
}

/* Sets the type of CONTAINER's elements: argument N of TYPE's template; in nodes they come after HEADER bytes. */
static struct tg_error *set_element(const struct tg_scene *scene, struct tg_container *container,
                                    const struct tg_type *type, unsigned n, uint64_t header)
{
    if (!template_type(type, n, &container->element))
        return tg_error_create(TG_ERROR_UNSUPPORTED, "the type of its elements is not known");
    container->element = tg_value_complete_type(scene, &container->element);
    if (!tg_type_size(&container->element, &container->element_bytes) || container->element_bytes == 0)
        return tg_error_create(TG_ERROR_UNSUPPORTED, "the size of its elements is not known");
    uint64_t unit = alignment(&container->element, 0);
    container->item_offset = (header + unit - 1) / unit * unit;
    return NULL;
}

/* COUNT elements from ADDRESS on become CONTAINER's array. */
static struct tg_error *set_array(const struct tg_scene *scene, struct tg_container *container,
                                  uint64_t address, uint64_t count)
{
    struct tg_value first;
    if (count >> MAX_COUNT_BITS != 0)
        return damaged("it has an impossible number of elements");
    struct tg_error *error = tg_value_at(scene, address, &container->element, &first);
    if (error == NULL)
        error = tg_value_repeat(scene, &first, count, &container->array);
    if (error != NULL)
        return error;
    container->array.dimensions[0].is_slice = false;
    container->count = count;
    container->has_count = true;
    return NULL;
}

/* ---- one function for each template */

static struct tg_error *open_bits(const struct tg_scene *scene, const struct tg_value *value,
                                  struct tg_container *container)
{
    uint64_t finish, offset;
    struct tg_error *error = word(scene, value, "_M_impl._M_start._M_p", &container->at);
    if (error == NULL)
        error = word(scene, value, "_M_impl._M_finish._M_p", &finish);
    if (error == NULL)
        error = word(scene, value, "_M_impl._M_finish._M_offset", &offset);
    if (error != NULL)
        return error;
    if (finish < container->at || (finish - container->at) % WORD != 0 || offset >= 8 * WORD ||
        (finish - container->at) >> MAX_COUNT_BITS != 0)
        return damaged("its end is before its beginning");
    container->kind = TG_CONTAINER_ITEMS;
    container->walk = TG_CONTAINER_BITS;
    container->count = (finish - container->at) * 8 + offset;
    container->has_count = true;
    return NULL;
}

static struct tg_error *open_vector(const struct tg_scene *scene, const struct tg_value *value,
                                    struct tg_container *container)
{
    uint64_t start, finish, storage;
    struct tg_type element;
    container->kind = TG_CONTAINER_ARRAY;
    if (template_type(&value->type, 0, &element) && tg_type_kind(&element) == TG_TYPE_BOOL)
        return open_bits(scene, value, container);
    struct tg_error *error = set_element(scene, container, &value->type, 0, 0);
    if (error == NULL)
        error = word(scene, value, "_M_impl._M_start", &start);
    if (error == NULL)
        error = word(scene, value, "_M_impl._M_finish", &finish);
    if (error == NULL)
        error = word(scene, value, "_M_impl._M_end_of_storage", &storage);
    if (error != NULL)
        return error;
    if (start > finish || finish > storage || (finish - start) % container->element_bytes != 0)
        return damaged("its beginning, end and capacity do not agree");
    return set_array(scene, container, start, (finish - start) / container->element_bytes);
}

static struct tg_error *open_array(const struct tg_scene *scene, const struct tg_value *value,
                                   struct tg_container *container)
{
    (void)container;
    container->kind = TG_CONTAINER_ARRAY;
    struct tg_error *error = member(scene, value, "_M_elems", &container->array);
    if (error == NULL && (container->array.n_dimensions == 0 || !container->array.dimensions[0].has_count))
        error = tg_error_create(TG_ERROR_UNSUPPORTED, "its number of elements is not known");
    container->count = error == NULL ? container->array.dimensions[0].count : 0;
    container->has_count = true;
    return error;
}

/* The class or parts of it may be declared only (clang leaves them to libstdc++'s own debug information): where it
 * can be, the ABI's layout is read, a pointer, a length, and the capacity or the characters. */
static struct tg_error *open_string(const struct tg_scene *scene, const struct tg_value *value,
                                    struct tg_container *container)
{
    uint64_t address, length, capacity = 0, place = 0;
    struct tg_error *error;
    struct tg_type type = tg_type_strip(&value->type);
    const char *name = dwarf_diename(&type.die);
    bool is_plain = strncmp(name, "basic_string<char,", strlen("basic_string<char,")) == 0;
    bool in_memory = tg_value_address(value, &place);
    container->kind = TG_CONTAINER_TEXT;
    if (is_plain && in_memory) {
        container->element = tg_type_basic(TG_BASIC_CHAR);
        error = read_word(scene, place, &address);
        if (error == NULL)
            error = read_word(scene, place + WORD, &length);
        if (error == NULL)
            error = read_word(scene, place + 2 * WORD, &capacity);
    } else {
        error = set_element(scene, container, &value->type, 0, 0);
        if (error == NULL)
            error = word(scene, value, "_M_dataplus._M_p", &address);
        if (error == NULL)
            error = word(scene, value, "_M_string_length", &length);
        if (error == NULL)
            error = word(scene, value, "_M_allocated_capacity", &capacity);
    }
    if (error != NULL)
        return error;
    bool is_local = in_memory && address == place + 2 * WORD;
    uint64_t size = container->element_bytes == 0 ? 1 : container->element_bytes;
    if (length > (is_local ? 2 * WORD / size - 1 : capacity))
        return damaged("it is longer than its capacity");
    return set_array(scene, container, address, length);
}

static struct tg_error *open_view(const struct tg_scene *scene, const struct tg_value *value,
                                  struct tg_container *container)
{
    uint64_t address, length;
    container->kind = TG_CONTAINER_TEXT;
    struct tg_error *error = set_element(scene, container, &value->type, 0, 0);
    if (error == NULL)
        error = word(scene, value, "_M_str", &address);
    if (error == NULL)
        error = word(scene, value, "_M_len", &length);
    return error != NULL ? error : set_array(scene, container, address, length);
}

/* map, set and those with equal keys: a red-black tree; its header is the end. */
static struct tg_error *open_tree(const struct tg_scene *scene, const struct tg_value *value,
                                  struct tg_container *container)
{
    struct tg_value tree, header;
    container->walk = TG_CONTAINER_TREE;
    struct tg_error *error = member(scene, value, "_M_t", &tree);
    if (error == NULL)
        error = set_element(scene, container, &tree.type, 1, TREE_HEADER);
    if (error == NULL)
        error = word(scene, &tree, "_M_impl._M_node_count", &container->count);
    if (error == NULL)
        error = word(scene, &tree, "_M_impl._M_header._M_left", &container->at);
    if (error == NULL)
        error = member(scene, &tree, "_M_impl._M_header", &header);
    if (error == NULL && !tg_value_address(&header, &container->end))
        error = tg_error_create(TG_ERROR_UNSUPPORTED, "it is not in memory");
    if (error == NULL && container->count >> MAX_COUNT_BITS != 0)
        error = damaged("it has an impossible number of elements");
    container->has_count = true;
    return error;
}

static struct tg_error *open_map(const struct tg_scene *scene, const struct tg_value *value,
                                 struct tg_container *container)
{
    container->kind = TG_CONTAINER_MAP;
    return open_tree(scene, value, container);
}

static struct tg_error *open_set(const struct tg_scene *scene, const struct tg_value *value,
                                 struct tg_container *container)
{
    container->kind = TG_CONTAINER_ITEMS;
    return open_tree(scene, value, container);
}

static struct tg_error *open_hash(const struct tg_scene *scene, const struct tg_value *value,
                                  struct tg_container *container)
{
    struct tg_value table;
    container->walk = TG_CONTAINER_CHAIN;
    struct tg_error *error = member(scene, value, "_M_h", &table);
    if (error == NULL)
        error = set_element(scene, container, &table.type, 1, WORD);
    if (error == NULL)
        error = word(scene, &table, "_M_element_count", &container->count);
    if (error == NULL)
        error = word(scene, &table, "_M_before_begin._M_nxt", &container->at);
    if (error == NULL && container->count >> MAX_COUNT_BITS != 0)
        error = damaged("it has an impossible number of elements");
    container->has_count = true;
    return error;
}

static struct tg_error *open_hash_map(const struct tg_scene *scene, const struct tg_value *value,
                                      struct tg_container *container)
{
    container->kind = TG_CONTAINER_MAP;
    return open_hash(scene, value, container);
}

static struct tg_error *open_hash_set(const struct tg_scene *scene, const struct tg_value *value,
                                      struct tg_container *container)
{
    container->kind = TG_CONTAINER_ITEMS;
    return open_hash(scene, value, container);
}

/* A ring that begins and ends in the list itself. */
static struct tg_error *open_list(const struct tg_scene *scene, const struct tg_value *value,
                                  struct tg_container *container)
{
    struct tg_value node;
    container->kind = TG_CONTAINER_ITEMS;
    container->walk = TG_CONTAINER_CHAIN;
    struct tg_error *error = set_element(scene, container, &value->type, 0, 2 * WORD);
    if (error == NULL)
        error = member(scene, value, "_M_impl._M_node", &node);
    if (error == NULL && !tg_value_address(&node, &container->end))
        error = tg_error_create(TG_ERROR_UNSUPPORTED, "it is not in memory");
    if (error == NULL)
        error = word(scene, &node, "_M_next", &container->at);
    if (error == NULL)
        error = word(scene, &node, "_M_size", &container->count);
    if (error == NULL && container->count >> MAX_COUNT_BITS != 0)
        error = damaged("it has an impossible number of elements");
    container->has_count = true;
    return error;
}

static struct tg_error *open_forward_list(const struct tg_scene *scene, const struct tg_value *value,
                                          struct tg_container *container)
{
    container->kind = TG_CONTAINER_ITEMS;
    container->walk = TG_CONTAINER_CHAIN;
    struct tg_error *error = set_element(scene, container, &value->type, 0, WORD);
    return error != NULL ? error : word(scene, value, "_M_impl._M_head._M_next", &container->at);
}

/* Blocks of 512 bytes, or of one element, that a map of pointers names. */
static struct tg_error *open_deque(const struct tg_scene *scene, const struct tg_value *value,
                                   struct tg_container *container)
{
    uint64_t last, cur, first, finish, map;
    container->kind = TG_CONTAINER_ITEMS;
    container->walk = TG_CONTAINER_BLOCKS;
    struct tg_error *error = set_element(scene, container, &value->type, 0, 0);
    const struct {
        const char *path;
        uint64_t *number;
    } parts[] = {{"_M_impl._M_start._M_cur", &container->at},
                 {"_M_impl._M_start._M_node", &container->block},
                 {"_M_impl._M_start._M_last", &last},
                 {"_M_impl._M_finish._M_cur", &cur},
                 {"_M_impl._M_finish._M_first", &first},
                 {"_M_impl._M_finish._M_node", &finish},
                 {"_M_impl._M_map", &map}};
    for (size_t i = 0; error == NULL && i < sizeof parts / sizeof *parts; i++)
        error = word(scene, value, parts[i].path, parts[i].number);
    if (error != NULL)
        return error;
    uint64_t size = container->element_bytes, per_block = size < DEQUE_BLOCK ? DEQUE_BLOCK / size : 1;
    if (finish < container->block || container->block < map || (finish - container->block) % WORD != 0 ||
        cur < first || (cur - first) % size != 0 || (cur - first) / size > per_block ||
        last < container->at || (last - container->at) % size != 0 ||
        (last - container->at) / size > per_block || (finish - container->block) >> MAX_COUNT_BITS != 0)
        return damaged("its blocks do not agree");
    uint64_t blocks = (finish - container->block) / WORD;
    container->block_end = last;
    container->has_count = true;
    if (blocks == 0 && cur < container->at)
        return damaged("its end is before its beginning");
    container->count = blocks == 0
                           ? (cur - container->at) / size
                           : (blocks - 1) * per_block + (last - container->at) / size + (cur - first) / size;
    return container->count >> MAX_COUNT_BITS != 0 ? damaged("it has an impossible number of elements")
                                                   : NULL;
}

/* stack, queue, priority_queue: their container. */
static struct tg_error *open_adaptor(const struct tg_scene *scene, const struct tg_value *value,
                                     struct tg_container *container)
{
    static const struct {
        const char *prefix;
        struct tg_error *(*open)(const struct tg_scene *scene, const struct tg_value *value,
                                 struct tg_container *container);
    } inside[] = {{"deque<", open_deque}, {"vector<", open_vector}, {"list<", open_list}};
    struct tg_value inner;
    struct tg_error *error = member(scene, value, "c", &inner);
    if (error != NULL)
        return error;
    inner.type = tg_type_strip(&inner.type);
    const char *name = inner.type.die.addr == NULL ? NULL : dwarf_diename(&inner.type.die);
    for (size_t i = 0; name != NULL && i < sizeof inside / sizeof *inside; i++)
        if (strncmp(name, inside[i].prefix, strlen(inside[i].prefix)) == 0)
            return inside[i].open(scene, &inner, container);
    return tg_error_create(TG_ERROR_UNSUPPORTED, "its container is not known");
}

static struct tg_error *open_shared(const struct tg_scene *scene, const struct tg_value *value,
                                    struct tg_container *container)
{
    uint64_t control, uses, weak;
    struct tg_value counts;
    container->kind = TG_CONTAINER_POINTER;
    struct tg_error *error = member(scene, value, "_M_ptr", &container->content);
    if (error == NULL)
        error = word(scene, value, "_M_refcount._M_pi", &control);
    if (error != NULL || control == 0)
        return error;
    error = member(scene, value, "_M_refcount._M_pi", &counts);
    if (error == NULL)
        error = tg_value_dereference(scene, &counts, &counts);
    if (error == NULL)
        error = word(scene, &counts, "_M_use_count", &uses);
    if (error == NULL)
        error = word(scene, &counts, "_M_weak_count", &weak);
    if (error != NULL)
        return error;
    container->uses = (int32_t)uses; /* all who use it count as one of the weak ones */
    container->weak = (int32_t)weak - (container->uses > 0 ? 1 : 0);
    container->has_uses = true;
    return NULL;
}

/* The base class of VALUE whose name begins with NAME. */
static bool base_class(const struct tg_scene *scene, const struct tg_value *value, const char *name,
                       struct tg_value *base)
{
    struct tg_type type = tg_type_strip(&value->type), of;
    Dwarf_Die child;
    if (type.die.addr == NULL || type.pointers > 0)
        return false;
    for (int more = dwarf_child(&type.die, &child); more == 0; more = dwarf_siblingof(&child, &child)) {
        if (dwarf_tag(&child) != DW_TAG_inheritance || !tg_type_of(type.object, &child, &of))
            continue;
        of = tg_type_strip(&of);
        const char *called = of.die.addr == NULL ? NULL : dwarf_diename(&of.die);
        if (called == NULL || strncmp(called, name, strlen(name)) != 0)
            continue;
        struct tg_error *error = tg_value_member_at(scene, value, &child, base);
        bool found = error == NULL;
        tg_error_destroy(error);
        return found;
    }
    return false;
}

static struct tg_error *open_unique(const struct tg_scene *scene, const struct tg_value *value,
                                    struct tg_container *container)
{
    struct tg_value tuple, level, head;
    container->kind = TG_CONTAINER_POINTER;
    struct tg_error *error = member(scene, value, "_M_t._M_t", &tuple);
    if (error != NULL)
        return error;
    if (!base_class(scene, &tuple, "_Tuple_impl<0", &level) ||
        !base_class(scene, &level, "_Head_base<0", &head))
        return tg_error_create(TG_ERROR_UNSUPPORTED, "its pointer is not known");
    return member(scene, &head, "_M_head_impl", &container->content);
}

static struct tg_error *open_optional(const struct tg_scene *scene, const struct tg_value *value,
                                      struct tg_container *container)
{
    uint64_t engaged;
    container->kind = TG_CONTAINER_ONE;
    struct tg_error *error = word(scene, value, "_M_payload._M_engaged", &engaged);
    if (error == NULL && engaged > 1)
        error = damaged("its flag is neither true nor false");
    if (error == NULL && engaged == 1)
        error = member(scene, value, "_M_payload._M_payload._M_value", &container->content);
    container->count = error == NULL ? engaged : 0;
    container->has_count = true;
    return error;
}

static const struct {
    const char *prefix, *name;
    const char *member; /* member that the class has: others may have classes of this name */
    struct tg_error *(*open)(const struct tg_scene *scene, const struct tg_value *value,
                             struct tg_container *container);
} templates[] = {
    {"vector<", "std::vector", "_M_impl", open_vector},
    {"array<", "std::array", "_M_elems", open_array},
    {"basic_string<", "std::string", "_M_string_length", open_string},
    {"basic_string_view<", "std::string_view", "_M_len", open_view},
    {"map<", "std::map", "_M_t", open_map},
    {"multimap<", "std::multimap", "_M_t", open_map},
    {"set<", "std::set", "_M_t", open_set},
    {"multiset<", "std::multiset", "_M_t", open_set},
    {"unordered_map<", "std::unordered_map", "_M_h", open_hash_map},
    {"unordered_multimap<", "std::unordered_multimap", "_M_h", open_hash_map},
    {"unordered_set<", "std::unordered_set", "_M_h", open_hash_set},
    {"unordered_multiset<", "std::unordered_multiset", "_M_h", open_hash_set},
    {"list<", "std::list", "_M_impl", open_list},
    {"forward_list<", "std::forward_list", "_M_impl", open_forward_list},
    {"deque<", "std::deque", "_M_impl", open_deque},
    {"stack<", "std::stack", "c", open_adaptor},
    {"queue<", "std::queue", "c", open_adaptor},
    {"priority_queue<", "std::priority_queue", "c", open_adaptor},
    {"shared_ptr<", "std::shared_ptr", "_M_refcount", open_shared},
    {"weak_ptr<", "std::weak_ptr", "_M_refcount", open_shared},
    {"unique_ptr<", "std::unique_ptr", "_M_t", open_unique},
    {"optional<", "std::optional", "_M_payload", open_optional},
};

/* A declaration alone is believed of std::string: see open_string. */
static bool has_member(const struct tg_scene *scene, const struct tg_value *value, const char *name)
{
    struct tg_type type = tg_type_strip(&value->type);
    if (dwarf_hasattr(&type.die, DW_AT_declaration))
        return strcmp(name, "_M_string_length") == 0;
    return tg_value_has_member(scene, value, name);
}

bool tg_container_open(const struct tg_scene *scene, const struct tg_value *value,
                       struct tg_container *container, struct tg_error **error)
{
    struct tg_value whole = *value;
    *error = NULL;
    if (value->n_dimensions > 0 || tg_type_kind(&value->type) != TG_TYPE_STRUCT)
        return false;
    whole.type = tg_type_strip(&value->type);
    whole.type = tg_value_complete_type(scene, &whole.type);
    const char *name = whole.type.die.addr == NULL ? NULL : dwarf_diename(&whole.type.die);
    for (size_t i = 0; name != NULL && i < sizeof templates / sizeof *templates; i++) {
        if (strncmp(name, templates[i].prefix, strlen(templates[i].prefix)) != 0)
            continue;
        if (!has_member(scene, &whole, templates[i].member))
            return false;
        *container = (struct tg_container){.name = templates[i].name};
        *error = templates[i].open(scene, &whole, container);
        container->name = templates[i].name;
        if (*error == NULL || tg_error_code(*error) == TG_ERROR_TARGET ||
            tg_error_code(*error) == TG_ERROR_NO_MEMORY)
            return true;
        tg_error_destroy(*error); /* of another shape than libstdc++'s: as it is */
        *error = NULL;
        return false;
    }
    return false;
}

/* ---- walks */

/* The successor of node AT in a tree that ends in the node END. */
static struct tg_error *next_in_tree(const struct tg_scene *scene, uint64_t end, uint64_t *at)
{
    enum { PARENT = WORD, LEFT = 2 * WORD, RIGHT = 3 * WORD };
    uint64_t node = *at, right, parent, child;
    struct tg_error *error = read_word(scene, node + RIGHT, &right);
    if (error == NULL && right != 0) {
        node = right;
        for (unsigned i = 0; error == NULL && i < MAX_TREE_DEPTH; i++) {
            error = read_word(scene, node + LEFT, &child);
            if (error != NULL || child == 0) {
                *at = node;
                return error;
            }
            node = child;
        }
        return error != NULL ? error : damaged("its tree has a circle");
    }
    for (unsigned i = 0; error == NULL && i < MAX_TREE_DEPTH; i++) {
        error = read_word(scene, node + PARENT, &parent);
        if (error == NULL && parent == end) { /* the root has been left to the right: that was the last one */
            *at = end;
            return NULL;
        }
        if (error == NULL)
            error = read_word(scene, parent + RIGHT, &child);
        if (error == NULL && child != node) {
            *at = parent;
            return NULL;
        }
        node = parent;
    }
    return error != NULL ? error : damaged("its tree has a circle");
}

static struct tg_error *next_bit(const struct tg_scene *scene, struct tg_container *container,
                                 struct tg_value *item)
{
    uint64_t bits;
    struct tg_error *error = read_word(scene, container->at, &bits);
    if (error != NULL)
        return error;
    const uint8_t value = bits >> container->bit & 1;
    const struct tg_type type = tg_type_basic(TG_BASIC_BOOL);
    *item = tg_value_computed(&type, &value, sizeof value);
    container->bit = (container->bit + 1) % (8 * WORD);
    container->at += container->bit == 0 ? WORD : 0;
    return NULL;
}

static struct tg_error *advance(const struct tg_scene *scene, struct tg_container *container)
{
    uint64_t first;
    struct tg_error *error;
    switch (container->walk) {
    case TG_CONTAINER_TREE:
        return next_in_tree(scene, container->end, &container->at);
    case TG_CONTAINER_CHAIN:
        return read_word(scene, container->at, &container->at);
    case TG_CONTAINER_BLOCKS:
        container->at += container->element_bytes;
        if (container->at != container->block_end || container->told == container->count)
            return NULL;
        container->block += WORD;
        error = read_word(scene, container->block, &first);
        if (error == NULL) {
            uint64_t size = container->element_bytes;
            container->at = first;
            container->block_end = first + (size < DEQUE_BLOCK ? DEQUE_BLOCK / size * size : size);
        }
        return error;
    case TG_CONTAINER_BITS:
        break;
    }
    return NULL;
}

struct tg_error *tg_container_next(const struct tg_scene *scene, struct tg_container *container,
                                   struct tg_value *item, bool *done)
{
    bool is_nodes = container->walk == TG_CONTAINER_TREE || container->walk == TG_CONTAINER_CHAIN;
    bool is_end = is_nodes && (container->at == container->end || container->at == 0);
    *done = container->has_count ? container->told == container->count : is_end;
    if (*done)
        return NULL;
    if (is_end)
        return damaged("it ends before its last element");
    container->told++;
    if (container->walk == TG_CONTAINER_BITS)
        return next_bit(scene, container, item);
    struct tg_error *error =
        tg_value_at(scene, container->at + container->item_offset, &container->element, item);
    return error != NULL ? error : advance(scene, container);
}

struct tg_error *tg_container_decay(const struct tg_scene *scene, struct tg_value *value)
{
    struct tg_value whole = *value;
    struct tg_container container;
    struct tg_error *error = tg_value_follow(scene, &whole);
    if (error != NULL || !tg_container_open(scene, &whole, &container, &error) || error != NULL)
        return error;
    if (container.kind == TG_CONTAINER_ARRAY || container.kind == TG_CONTAINER_TEXT)
        *value = container.array;
    else if (container.kind == TG_CONTAINER_POINTER ||
             (container.kind == TG_CONTAINER_ONE && container.count == 1))
        *value = container.content;
    return NULL;
}
