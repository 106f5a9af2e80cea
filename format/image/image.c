#include "format/image/image.h"

#include "format/image/debug_file.h"
#include "format/image/image_internal.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_INTERPRETER_BYTES = 4096, MAX_NAME_BYTES = 64 << 10 };

/* ---- making and unmaking */

static char *read_interpreter(const struct tg_elf_object *object)
{
    const struct tg_elf_segment *segment = tg_elf_object_segment(object, PT_INTERP);
    if (segment == NULL)
        return NULL;
    uint64_t offset;
    if (tg_elf_object_available_at(object, segment->address, &offset) < segment->file_size)
        return NULL;
    return (char *)tg_elf_object_read_new(object, offset, segment->file_size, MAX_INTERPRETER_BYTES);
}

static bool is_pie(const struct tg_elf_object *object)
{
    return object->header.type == ET_DYN;
}

struct tg_error *tg_image_create(struct tg_elf_object *object, uint64_t relocated_by,
                                 struct tg_image **result)
{
    struct tg_image *image = calloc(1, sizeof *image);
    if (image == NULL) {
        tg_elf_object_destroy(object);
        return tg_error_no_memory();
    }
    image->references = 1;
    image->object = object;
    image->interpreter = read_interpreter(object);
    struct tg_error *error = tg_dynamic_section_init(&image->dynamic, object, relocated_by);
    if (error != NULL) {
        tg_image_destroy(image);
        return error;
    }
    image->info = (struct tg_image_info){
        .build_id = object->build_id,
        .interpreter = image->interpreter != NULL ? image->interpreter : "",
        .soname = image->dynamic.soname != NULL ? image->dynamic.soname : "",
        .entry = object->header.entry,
        .start = object->start,
        .end = object->end,
        .dynamic = image->dynamic.address,
        .bits = object->header.bits,
        .position_independent = is_pie(object),
        .from_memory = object->fd < 0,
    };
    *result = image;
    return NULL;
}

void tg_image_destroy(struct tg_image *image)
{
    if (image == NULL)
        return;
    for (size_t i = 0; i < image->n_tables; i++)
        tg_symbol_index_destroy(image->tables[i]);
    tg_symbol_index_destroy(image->exported);
    tg_image_lines_destroy(image->lines);
    tg_dynamic_section_deinit(&image->dynamic);
    tg_elf_object_destroy(image->debug);
    tg_elf_object_destroy(image->object);
    free(image->interpreter);
    free(image);
}

struct tg_error *tg_image_open(const char *path, struct tg_image **image)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return tg_error_create_errno(errno, "cannot open %s", path);
    struct tg_elf_object *object;
    struct tg_error *error = tg_elf_object_open_fd(fd, &object);
    if (error == NULL)
        error = tg_image_create(object, 0, image);
    return tg_error_prefix(error, "%s", path);
}

struct tg_image *tg_image_ref(struct tg_image *image)
{
    image->references++;
    return image;
}

void tg_image_unref(struct tg_image *image)
{
    if (image == NULL || --image->references > 0)
        return;
    if (image->lines != NULL)
        tg_image_lines_trim(image->lines);
    if (image->release != NULL)
        image->release(image->release_context);
    else
        tg_image_destroy(image);
}

void tg_image_on_release(struct tg_image *image, void (*release)(void *context), void *context)
{
    image->release = release;
    image->release_context = context;
}

const struct tg_image_info *tg_image_info(const struct tg_image *image)
{
    return &image->info;
}

struct tg_elf_object *tg_image_object(struct tg_image *image)
{
    return image->object;
}

size_t tg_image_needed_count(const struct tg_image *image)
{
    return image->dynamic.n_needed;
}

const char *tg_image_needed_at(const struct tg_image *image, size_t i)
{
    return image->dynamic.needed[i];
}

/* ---- symbols */

struct tg_elf_object *tg_image_separate_debug(struct tg_image *image)
{
    if (image->debug_tried)
        return image->debug;
    image->debug_tried = true;
    char name[64], path[PATH_MAX];
    ssize_t n = -1;
    if (image->object->fd >= 0) {
        snprintf(name, sizeof name, "/proc/self/fd/%d", image->object->fd);
        n = readlink(name, path, sizeof path - 1);
    }
    if (n > 0)
        path[n] = '\0';
    image->debug = tg_debug_file_open(image->object, n > 0 ? path : NULL);
    return image->debug;
}

/* Adds the table of OBJECT's section of TYPE, if it has one. Out of memory or a broken table: as if it had
 * none. */
static void add_table(struct tg_image *image, struct tg_elf_object *object, uint32_t type)
{
    const struct tg_elf_section *symbols = tg_elf_object_section_by_type(object, type);
    const struct tg_elf_section *strings =
        symbols == NULL ? NULL : tg_elf_object_section_at(object, symbols->link);
    if (strings == NULL || image->n_tables == TG_IMAGE_MAX_TABLES)
        return;
    /* prelink moves a file after its debug file was split off */
    uint64_t delta = image->object->start - object->start;
    struct tg_error *error =
        tg_symbol_index_create(object, image->object, delta, symbols->offset,
                               symbols->size / tg_elf_symbol_size(object->header.bits), strings->offset,
                               strings->size, &image->tables[image->n_tables]);
    if (error == NULL)
        image->n_tables++;
    tg_error_destroy(error);
}

static void read_tables(struct tg_image *image)
{
    if (image->tables_tried)
        return;
    image->tables_tried = true;
    add_table(image, image->object, SHT_SYMTAB);
    if (image->n_tables == 0 && tg_image_separate_debug(image) != NULL)
        add_table(image, image->debug, SHT_SYMTAB);
    if (image->dynamic.gnu_hash_at == 0 && image->dynamic.hash_at == 0)
        add_table(image, image->object, SHT_DYNSYM);
}

static void find_function(struct tg_image *image, const char *name, struct tg_address_set *set)
{
    size_t length = strlen(name);
    if (length == 0 || length > MAX_NAME_BYTES)
        return;
    char *base = NULL;
    const char *version = strchr(name + 1, '@');
    if (version != NULL) {
        base = strndup(name, (size_t)(version - name));
        if (base == NULL)
            return;
        version += strspn(version, "@");
    }
    const char *bare = base != NULL ? base : name;
    tg_dynamic_section_find(&image->dynamic, image->object, bare, version, set);
    bool is_full =
        set->max > 0 && set->count == set->max; /* then symbol tables need not be read, which takes long */
    if (!is_full)
        read_tables(image);
    for (size_t i = 0; !is_full && i < image->n_tables; i++)
        tg_symbol_index_find(image->tables[i], bare, version, set);
    free(base);
}

size_t tg_image_find_function(struct tg_image *image, const char *name, uint64_t *addresses, size_t max)
{
    struct tg_address_set set = {.items = addresses, .max = max};
    find_function(image, name, &set);
    return set.count;
}

bool tg_image_exports(const struct tg_image *image, const char *name)
{
    uint64_t address;
    struct tg_address_set set = {.items = &address, .max = 1};
    tg_dynamic_section_find(&image->dynamic, image->object, name, NULL, &set);
    return set.count > 0;
}

bool tg_image_is_resolved_at_load(struct tg_image *image, const char *name)
{
    struct tg_address_set set = {0};
    find_function(image, name, &set);
    return set.resolver;
}

/* .dynsym by address, for a file that has no other symbols. */
static void read_exported(struct tg_image *image)
{
    const struct tg_elf_object *object = image->object;
    uint64_t count = tg_dynamic_section_symbol_count(&image->dynamic, object);
    uint64_t symbols_at, strings_at;
    uint64_t available = tg_elf_object_available_at(object, image->dynamic.symbols_at, &symbols_at);
    uint64_t strings_size = tg_elf_object_available_at(object, image->dynamic.strings_at, &strings_at);
    if (available == 0 || strings_size == 0)
        return;
    size_t entry_size = tg_elf_symbol_size(object->header.bits);
    count = count < available / entry_size ? count : available / entry_size;
    strings_size = strings_size < image->dynamic.strings_size ? strings_size : image->dynamic.strings_size;
    tg_error_destroy(tg_symbol_index_create(object, object, 0, symbols_at, count, strings_at, strings_size,
                                            &image->exported));
}

/* A procedure of Fortran's that is in no module: f_. */
static void find_external(struct tg_image *image, const char *name, struct tg_address_set *set)
{
    char symbol[128];
    int length = snprintf(symbol, sizeof symbol, "%s_", name);
    if (length > 0 && (size_t)length < sizeof symbol && strpbrk(name, ":@") == NULL)
        find_function(image, symbol, set);
}

/* Functions whose symbols a compiler has made of NAME. */
static void find_mangled(struct tg_image *image, const char *name, bool only_fortran,
                         struct tg_address_set *set)
{
    for (size_t i = 0; i < image->n_tables; i++)
        tg_symbol_index_find_mangled(image->tables[i], name, only_fortran, set);
    if (image->n_tables == 0 && image->exported == NULL)
        read_exported(image);
    if (image->exported != NULL)
        tg_symbol_index_find_mangled(image->exported, name, only_fortran, set);
    if (set->count == 0)
        find_external(image, name, set);
}

/* Procedures of Fortran, where large letters are the same as small ones. */
static void find_in_small_letters(struct tg_image *image, const char *name, struct tg_address_set *set)
{
    char small[128];
    size_t length = strlen(name);
    if (length >= sizeof small)
        return;
    for (size_t i = 0; i <= length; i++)
        small[i] = (char)tolower((unsigned char)name[i]);
    if (strcmp(small, name) != 0)
        find_mangled(image, small, true, set);
}

size_t tg_image_find_named(struct tg_image *image, const char *name, uint64_t *addresses, size_t max)
{
    size_t count = tg_image_find_function(image, name, addresses, max);
    if (count > 0 || *name == '\0')
        return count;
    struct tg_address_set set = {.items = addresses, .max = max};
    find_mangled(image, name, false, &set);
    if (set.count == 0)
        find_in_small_letters(image, name, &set);
    return set.count;
}

bool tg_image_symbol_at(struct tg_image *image, uint64_t address, const char **name, uint64_t *offset)
{
    if (!tg_elf_object_is_code(image->object, address))
        return false;
    read_tables(image);
    for (size_t i = 0; i < image->n_tables; i++)
        if (tg_symbol_index_at(image->tables[i], address, name, offset))
            return true;
    if (image->exported == NULL)
        read_exported(image);
    return image->exported != NULL && tg_symbol_index_at(image->exported, address, name, offset);
}

/* ---- lines */

static uint64_t function_start(void *context, uint64_t address)
{
    const char *name;
    uint64_t offset;
    return tg_image_symbol_at(context, address, &name, &offset) ? address - offset : address;
}

static bool has_lines(struct tg_elf_object *object)
{
    return tg_elf_object_section(object, ".debug_line") != NULL ||
           tg_elf_object_section(object, ".zdebug_line") != NULL;
}

static struct tg_image_lines *lines_of(struct tg_image *image)
{
    if (image->lines == NULL) {
        struct tg_elf_object *object = image->object;
        if (!has_lines(object) && tg_image_separate_debug(image) != NULL)
            object = image->debug;
        image->lines = tg_image_lines_create(object, image->object, image->object->start - object->start);
    }
    return image->lines;
}

size_t tg_image_find_line(struct tg_image *image, const char *file, uint64_t line, uint64_t *addresses,
                          size_t max)
{
    struct tg_address_set set = {.items = addresses, .max = max};
    if (lines_of(image) != NULL)
        tg_image_lines_find(image->lines, file, line, function_start, image, &set);
    return set.count;
}

size_t tg_image_find_copies(struct tg_image *image, const char *name, uint64_t *addresses, size_t max)
{
    struct tg_address_set set = {.items = addresses, .max = max};
    if (lines_of(image) != NULL)
        tg_image_lines_find_copies(image->lines, name, &set);
    return set.count;
}

const char *tg_image_inlined_at(struct tg_image *image, uint64_t address, uint64_t *offset)
{
    return tg_elf_object_is_code(image->object, address) && lines_of(image) != NULL
               ? tg_image_lines_inlined_at(image->lines, address, offset)
               : NULL;
}

const char *tg_image_body_owner(struct tg_image *image, uint64_t address)
{
    return tg_elf_object_is_code(image->object, address) && lines_of(image) != NULL
               ? tg_image_lines_body_owner(image->lines, address)
               : NULL;
}

bool tg_image_line_at(struct tg_image *image, uint64_t address, char *path, size_t size, uint64_t *line)
{
    return tg_elf_object_is_code(image->object, address) && lines_of(image) != NULL &&
           tg_image_lines_at(image->lines, address, path, size, line);
}
