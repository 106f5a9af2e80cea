#include "recorder/inject/startup_libraries.h"

#include "format/base/hash.h"
#include "format/image/dynamic_section.h"
#include "format/image/elf_object.h"
#include "format/image/file.h"
#include "recorder/inject/library_cache.h"
#include "recorder/process/process_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    MAX_LIBRARIES = 4096,      /* libraries of one program */
    MAX_FILES = 4096,          /* kept */
    MAX_TLS_BYTES = 1 << 24,   /* storage of one library */
    MAX_TLS_ALIGNMENT = 64,    /* alignment of static storage that is made later */
    MAX_LIST_BYTES = 128 << 10 /* length of a list of directories or libraries */
};

/* One state of one file: what identifies it. */
struct file_key {
    dev_t device;
    ino_t inode;
    struct timespec changed;
    off_t size;
};

/* Facts about a library's file. */
struct file {
    struct file_key key;
    bool fits; /* for a 64-bit x86-64 program */
    uint64_t tls_bytes;
    uint64_t tls_alignment;
    struct tg_dynamic_section dynamic;
    UT_hash_handle hh;
};

struct tg_startup_libraries {
    struct file *files; /* uthash by key */
    struct file_key cache_key;
    struct tg_library_cache *cache; /* of CACHE_KEY; NULL none yet */
    uint8_t *cache_bytes;           /* what CACHE refers to */
};

/* A library of the program in question. */
struct library {
    const struct file *file;
    char *path;
    const struct library *loader; /* the library that needs it, NULL: the program itself, or preloaded */
    struct library *next;
};

struct name {
    UT_hash_handle hh;
    char text[];
};

struct search {
    struct tg_startup_libraries *libraries;
    const struct tg_startup_program *program;
    struct library *first;
    struct library **end;
    size_t n_libraries;
    struct name *names; /* uthash: found already */
    uint64_t tls_bytes;
    uint64_t tls_alignment;
    bool shares_root; /* an absolute path is one file for the program and for this process */
};

/* ---- files */

static struct file_key key_of(const struct stat *status)
{
    struct file_key key;
    memset(&key, 0, sizeof key); /* compared as bytes */
    key.device = status->st_dev;
    key.inode = status->st_ino;
    key.changed.tv_sec = status->st_ctim.tv_sec;
    key.changed.tv_nsec = status->st_ctim.tv_nsec;
    key.size = status->st_size;
    return key;
}

static void drop_files(struct tg_startup_libraries *libraries)
{
    struct file *file, *next;
    HASH_ITER (hh, libraries->files, file, next) {
        HASH_DEL(libraries->files, file);
        tg_dynamic_section_deinit(&file->dynamic);
        free(file);
    }
}

/* A file that no loader would take does not fit. False without memory. */
static bool read_file(int fd, struct file *file)
{
    struct tg_elf_object *object;
    struct tg_error *error = tg_elf_object_open_fd(fd, &object);
    if (error != NULL) {
        bool no_memory = tg_error_code(error) == TG_ERROR_NO_MEMORY;
        tg_error_destroy(error);
        return !no_memory;
    }
    file->fits = object->header.bits == 64 && object->header.machine == EM_X86_64;
    const struct tg_elf_segment *tls = tg_elf_object_segment(object, PT_TLS);
    if (tls != NULL) {
        file->tls_bytes = tls->memory_size;
        file->tls_alignment = tls->align;
    }
    error = tg_dynamic_section_init(&file->dynamic, object, 0);
    tg_elf_object_destroy(object);
    bool good = error == NULL;
    tg_error_destroy(error);
    return good;
}

/* The status of what is at PATH, as the program sees it, in one system call. False: nothing is there, or it takes more calls. */
static bool get_status(const struct search *search, const char *path, struct stat *status)
{
    return search->shares_root && path[0] == '/' && strncmp(path, "/proc/", 6) != 0 &&
           stat(path, status) == 0;
}

static bool is_there(const struct search *search, const char *path)
{
    struct stat status;
    if (get_status(search, path, &status))
        return true;
    int place = tg_process_file_open(search->program->pid, path);
    if (place >= 0)
        close(place);
    return place >= 0;
}

/* Returns a place with the status of a file, -1: there is none at PATH. */
static int open_place(const struct search *search, const char *path, struct stat *status)
{
    int place = tg_process_file_open(search->program->pid, path);
    if (place < 0 || (fstat(place, status) == 0 && S_ISREG(status->st_mode)))
        return place;
    close(place);
    return -1;
}

/* The file with STATUS, where it was read before. */
static struct file *find_file(const struct search *search, const struct stat *status)
{
    struct file_key key = key_of(status);
    struct file *known;
    HASH_FIND(hh, search->libraries->files, &key, sizeof key, known);
    return known;
}

/* The file at PATH as the program sees it, read once; *FILE is NULL where there is none that fits. */
static struct tg_error *get_file(struct search *search, const char *path, const struct file **file)
{
    struct tg_startup_libraries *libraries = search->libraries;
    struct stat status;
    struct file *known = get_status(search, path, &status) ? find_file(search, &status) : NULL;
    int place = known == NULL ? open_place(search, path, &status) : -1;
    if (place >= 0)
        known = find_file(search, &status);
    *file = known != NULL && known->fits ? known : NULL;
    if (known != NULL && place >= 0)
        close(place);
    if (known != NULL || place < 0)
        return NULL;
    int fd = tg_image_file_read(place);
    if (fd < 0)
        return NULL;
    known = calloc(1, sizeof *known);
    if (known == NULL) {
        close(fd);
        return tg_error_no_memory();
    }
    known->key = key_of(&status);
    if (!read_file(fd, known) || TG_HASH_ADD(hh, libraries->files, key, known) != NULL) {
        tg_dynamic_section_deinit(&known->dynamic);
        free(known);
        return tg_error_no_memory();
    }
    *file = known->fits ? known : NULL;
    return NULL;
}

/* ---- libraries found */

static bool is_known(const struct search *search, const char *text)
{
    struct name *name;
    HASH_FIND_STR(search->names, text, name);
    return name != NULL;
}

static bool add_name(struct search *search, const char *text)
{
    if (is_known(search, text))
        return true;
    size_t size = strlen(text) + 1;
    struct name *name = calloc(1, sizeof *name + size);
    if (name == NULL)
        return false;
    memcpy(name->text, text, size);
    bool added = TG_HASH_ADD_KEY(hh, search->names, name->text, size - 1, name) == NULL;
    if (!added)
        free(name);
    return added;
}

/* Takes PATH (from malloc). */
static struct tg_error *add_library(struct search *search, const struct file *file, char *path,
                                    const struct library *loader)
{
    struct library *library = path != NULL ? calloc(1, sizeof *library) : NULL;
    const char *soname = file->dynamic.soname;
    if (library == NULL || (soname != NULL && !add_name(search, soname)) || !add_name(search, path)) {
        free(library);
        free(path);
        return tg_error_no_memory();
    }
    *library = (struct library){.file = file, .path = path, .loader = loader};
    *search->end = library;
    search->end = &library->next;
    if (++search->n_libraries > MAX_LIBRARIES)
        return tg_error_create(TG_ERROR_LIMIT, "too many libraries");
    return NULL;
}

static void count_tls(struct search *search, const struct file *file)
{
    if (file->tls_bytes == 0)
        return;
    uint64_t alignment = file->tls_alignment > 16 ? file->tls_alignment : 16;
    search->tls_bytes += file->tls_bytes < MAX_TLS_BYTES ? file->tls_bytes : MAX_TLS_BYTES;
    search->tls_bytes += alignment < MAX_TLS_ALIGNMENT ? alignment : MAX_TLS_ALIGNMENT;
    if (alignment > search->tls_alignment)
        search->tls_alignment = alignment;
}

/* ---- places where the loader looks */

/* Copies the item at *TEXT (up to one of SEPARATORS) and goes on behind it; $ORIGIN is the folder of PATH,
 * $LIB and $PLATFORM what they are on Debian. False behind the last item; an item that does not fit becomes
 * "". */
static bool next_item(const char **text, const char *separators, const char *path, char item[PATH_MAX])
{
    static const struct {
        const char *name, *value;
    } tokens[] = {{"$LIB", "lib/x86_64-linux-gnu"},
                  {"${LIB}", "lib/x86_64-linux-gnu"},
                  {"$PLATFORM", "x86_64"},
                  {"${PLATFORM}", "x86_64"},
                  {"$ORIGIN", NULL},
                  {"${ORIGIN}", NULL}};
    if (*text == NULL)
        return false;
    size_t length = strcspn(*text, separators), used = 0;
    const char *at = *text, *end = at + length;
    *text = *end == '\0' ? NULL : end + 1;
    const char *slash = strrchr(path, '/');
    size_t origin = slash == NULL ? 0 : (size_t)(slash - path);
    while (at < end) {
        const char *value = at;
        size_t bytes = 1, skip = 1;
        for (size_t i = 0; *at == '$' && i < sizeof tokens / sizeof tokens[0]; i++) {
            size_t name = strlen(tokens[i].name);
            if ((size_t)(end - at) < name || memcmp(at, tokens[i].name, name) != 0)
                continue;
            value = tokens[i].value != NULL ? tokens[i].value : path;
            bytes = tokens[i].value != NULL ? strlen(value) : origin;
            skip = name;
            break;
        }
        if (used + bytes >= PATH_MAX) {
            item[0] = '\0';
            return true;
        }
        memcpy(item + used, value, bytes);
        used += bytes;
        at += skip;
    }
    item[used] = '\0';
    return true;
}

/* One way to find a library: stops the search where it gives a file. */
struct found {
    const struct file *file;
    char path[PATH_MAX];
};

static struct tg_error *try_path(struct search *search, const char *path, struct found *found)
{
    const struct file *file;
    struct tg_error *error = get_file(search, path, &file);
    /* of variants for better processors the one that takes most: which one it will be is the processor's
     * word */
    if (error == NULL && file != NULL && (found->file == NULL || file->tls_bytes > found->file->tls_bytes)) {
        found->file = file;
        snprintf(found->path, sizeof found->path, "%s", path);
    }
    return error;
}

static struct tg_error *try_directory(struct search *search, const char *directory, const char *name,
                                      struct found *found)
{
    static const char *const variants[] = {"", "glibc-hwcaps/x86-64-v2/", "glibc-hwcaps/x86-64-v3/",
                                           "glibc-hwcaps/x86-64-v4/"};
    struct tg_error *error = NULL;
    char path[PATH_MAX];
    bool fits = snprintf(path, sizeof path, "%s/glibc-hwcaps", directory) < PATH_MAX;
    size_t n = fits && is_there(search, path) ? sizeof variants / sizeof variants[0] : 1;
    for (size_t i = 0; i < n && error == NULL; i++) {
        int length =
            snprintf(path, sizeof path, "%s/%s%s", directory[0] == '\0' ? "." : directory, variants[i], name);
        if (length < PATH_MAX)
            error = try_path(search, path, found);
    }
    return error;
}

static struct tg_error *try_list(struct search *search, const char *list, const char *separators,
                                 const char *of, const char *name, struct found *found)
{
    struct tg_error *error = NULL;
    char directory[PATH_MAX];
    if (list == NULL || strlen(list) > MAX_LIST_BYTES)
        return NULL;
    while (error == NULL && found->file == NULL && next_item(&list, separators, of, directory))
        error = try_directory(search, directory, name, found);
    return error;
}

/* DT_RPATH of the library and of those that loaded it, unless they have DT_RUNPATH. */
static struct tg_error *try_rpaths(struct search *search, const struct library *loader, const char *name,
                                   struct found *found)
{
    struct tg_error *error = NULL;
    if (loader->file->dynamic.runpath != NULL)
        return NULL;
    for (; loader != NULL && error == NULL && found->file == NULL; loader = loader->loader) {
        const struct tg_dynamic_section *dynamic = &loader->file->dynamic;
        if (dynamic->runpath == NULL)
            error = try_list(search, dynamic->rpath, ":", loader->path, name, found);
    }
    if (error == NULL && found->file == NULL && search->first->file->dynamic.runpath == NULL)
        error = try_list(search, search->first->file->dynamic.rpath, ":", search->first->path, name, found);
    return error;
}

static void drop_cache(struct tg_startup_libraries *libraries)
{
    tg_library_cache_destroy(libraries->cache);
    free(libraries->cache_bytes);
    libraries->cache = NULL;
    libraries->cache_bytes = NULL;
}

static bool has_cache_of(const struct tg_startup_libraries *libraries, const struct stat *status)
{
    struct file_key key = key_of(status);
    return libraries->cache != NULL && memcmp(&key, &libraries->cache_key, sizeof key) == 0;
}

/* The list of ldconfig, read again where it has changed. */
static struct tg_error *load_cache(struct search *search)
{
    static const char path[] = "/etc/ld.so.cache";
    struct tg_startup_libraries *libraries = search->libraries;
    struct stat status;
    if (get_status(search, path, &status) && has_cache_of(libraries, &status))
        return NULL;
    int place = open_place(search, path, &status);
    if (place >= 0 && has_cache_of(libraries, &status)) {
        close(place);
        return NULL;
    }
    drop_cache(libraries);
    if (place < 0)
        return NULL;
    int fd = tg_image_file_read(place);
    if (fd < 0)
        return NULL;
    size_t size = status.st_size < TG_LIBRARY_CACHE_MAX_BYTES ? (size_t)status.st_size : 0;
    uint8_t *bytes = malloc(size + 1);
    ssize_t got = bytes != NULL ? pread(fd, bytes, size, 0) : -1;
    close(fd);
    if (got >= 0)
        libraries->cache = tg_library_cache_parse(bytes, (size_t)got);
    libraries->cache_bytes = bytes;
    libraries->cache_key = key_of(&status);
    bool no_memory = bytes == NULL || (got >= 0 && libraries->cache == NULL);
    return no_memory ? tg_error_no_memory() : NULL;
}

static struct tg_error *try_cache(struct search *search, const char *name, struct found *found)
{
    struct tg_library_cache *cache = search->libraries->cache;
    struct tg_error *error = NULL;
    const char *path;
    for (size_t i = 0;
         cache != NULL && error == NULL && (path = tg_library_cache_path(cache, name, i)) != NULL; i++)
        error = try_path(search, path, found);
    return error;
}

/* LOADER is NULL for what is preloaded, which is searched for as what the program needs. */
static struct tg_error *find(struct search *search, const struct library *loader, const char *name,
                             struct found *found)
{
    static const char defaults[] =
        "/lib/x86_64-linux-gnu:/usr/lib/x86_64-linux-gnu:/lib64:/usr/lib64:/lib:/usr/lib";
    found->file = NULL;
    if (loader == NULL)
        loader = search->first;
    if (strchr(name, '/') != NULL) {
        char path[PATH_MAX];
        return next_item(&name, "", loader->path, path) ? try_path(search, path, found) : NULL;
    }
    struct tg_error *error = try_rpaths(search, loader, name, found);
    if (error == NULL && found->file == NULL)
        error = try_list(search, search->program->library_path, ":;", search->first->path, name, found);
    if (error == NULL && found->file == NULL)
        error = try_list(search, loader->file->dynamic.runpath, ":", loader->path, name, found);
    if (error == NULL && found->file == NULL)
        error = try_cache(search, name, found);
    if (error == NULL && found->file == NULL)
        error = try_list(search, defaults, ":", search->first->path, name, found);
    return error;
}

/* ---- all of them */

static struct tg_error *take(struct search *search, const struct library *loader, const char *name, bool must)
{
    struct found found;
    if (is_known(search, name))
        return NULL;
    struct tg_error *error = find(search, loader, name, &found);
    if (error != NULL)
        return error;
    if (found.file == NULL)
        return must ? tg_error_create(TG_ERROR_NOT_FOUND, "library %s not found", name) : NULL;
    bool loaded = is_known(search, found.path) ||
                  (found.file->dynamic.soname != NULL && is_known(search, found.file->dynamic.soname));
    if (!add_name(search, name))
        return tg_error_no_memory();
    if (loaded)
        return NULL;
    count_tls(search, found.file);
    return add_library(search, found.file, strdup(found.path), loader);
}

static struct tg_error *take_preloaded(struct search *search)
{
    const char *list = search->program->preload;
    struct tg_error *error = NULL;
    char name[PATH_MAX];
    if (list != NULL && strlen(list) > MAX_LIST_BYTES)
        return tg_error_create(TG_ERROR_LIMIT, "LD_PRELOAD is too long");
    while (error == NULL && next_item(&list, ": ", search->first->path, name))
        error = name[0] == '\0' ? NULL : take(search, NULL, name, false);
    return error;
}

static struct tg_error *take_all(struct search *search)
{
    char link[32], path[PATH_MAX];
    const char *given = search->program->path;
    const struct file *program;
    snprintf(link, sizeof link, "/proc/%d/exe", (int)search->program->pid);
    ssize_t length = given == NULL ? readlink(link, path, sizeof path - 1) : 0;
    path[length > 0 ? length : 0] = '\0';
    if (given != NULL)
        snprintf(path, sizeof path, "%s", given);
    struct tg_error *error = get_file(search, given != NULL ? path : "/proc/self/exe", &program);
    if (error == NULL && program == NULL)
        error = tg_error_create(TG_ERROR_NOT_FOUND, "cannot read the program's file");
    if (error == NULL)
        error = add_library(search, program, strdup(path), NULL);
    if (error == NULL)
        error = load_cache(search);
    if (error == NULL)
        error = take_preloaded(search);
    for (const struct library *library = search->first; error == NULL && library != NULL;
         library = library->next) {
        const struct tg_dynamic_section *dynamic = &library->file->dynamic;
        for (size_t i = 0; i < dynamic->n_needed && error == NULL; i++)
            error = take(search, library, dynamic->needed[i], true);
    }
    return error;
}

struct tg_error *tg_startup_libraries_tls(struct tg_startup_libraries *libraries,
                                          const struct tg_startup_program *program, uint64_t *bytes)
{
    struct search search = {
        .libraries = libraries, .program = program, .shares_root = tg_process_file_shares_root(program->pid)};
    search.end = &search.first;
    struct tg_error *error = take_all(&search);
    if (error == NULL && search.tls_alignment > MAX_TLS_ALIGNMENT)
        error =
            tg_error_create(TG_ERROR_UNSUPPORTED, "a library has thread-local storage aligned to %ju bytes",
                            (uintmax_t)search.tls_alignment);
    if (error == NULL)
        *bytes = search.tls_bytes;
    struct name *name, *next_name;
    HASH_ITER (hh, search.names, name, next_name) {
        HASH_DEL(search.names, name);
        free(name);
    }
    while (search.first != NULL) {
        struct library *library = search.first;
        search.first = library->next;
        free(library->path);
        free(library);
    }
    if (HASH_COUNT(libraries->files) > MAX_FILES)
        drop_files(libraries);
    return error;
}

struct tg_error *tg_startup_libraries_create(struct tg_startup_libraries **libraries)
{
    struct tg_startup_libraries *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    *libraries = made;
    return NULL;
}

void tg_startup_libraries_destroy(struct tg_startup_libraries *libraries)
{
    if (libraries == NULL)
        return;
    drop_files(libraries);
    drop_cache(libraries);
    free(libraries);
}
