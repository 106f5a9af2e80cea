#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "format/image/elf_object.h"
#include "format/image/file.h"
#include "format/image/image.h"
#include "recorder/process/image_cache.h"
#include "recorder/process/image_peek.h"
#include "recorder/process/memory.h"
#include "recorder/process/process_file.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX = 64 };

static struct tg_image *open_image(const char *path)
{
    char whole[512];
    snprintf(whole, sizeof whole, path[0] == '/' ? "%s" : TG_IMAGES "/%s", path);
    if (access(whole, R_OK) != 0)
        return NULL;
    struct tg_image *image = NULL;
    struct tg_error *error = tg_image_open(whole, &image);
    if (error != NULL)
        fail_msg("%s", tg_error_message(error));
    return image;
}

/* ---- names, against nm */

static bool holds(const uint64_t *addresses, size_t count, uint64_t address)
{
    for (size_t i = 0; i < count; i++)
        if (addresses[i] == address)
            return true;
    return false;
}

/* Every function that `nm OPTIONS FILE` shows must be found at its address. Returns how many there were. */
static size_t compare_with_nm(const char *file, const char *options)
{
    struct tg_image *image = open_image(file);
    assert_non_null(image);
    char command[1024], line[4096];
    snprintf(command, sizeof command, "nm %s --defined-only %s%s", options,
             file[0] == '/' ? "" : TG_IMAGES "/", file);
    FILE *nm = popen(command, "re");
    assert_non_null(nm);
    size_t count = 0;
    while (fgets(line, sizeof line, nm) != NULL) {
        unsigned long long address;
        char type, name[2048];
        if (sscanf(line, "%llx %c %2047s", &address, &type, name) != 3 || strchr("TtiW", type) == NULL)
            continue;
        /* weak labels without a type: in .data, and where the probes of a C library with these are */
        if (strcmp(name, "data_start") == 0 || strcmp(name, "_.stapsdt.base") == 0)
            continue;
        uint64_t found[512];
        size_t n = tg_image_find_function(image, name, found, 512);
        if (!holds(found, n, address))
            fail_msg("%s: %s at 0x%llx is not among the %zu found", file, name, address, n);
        const char *at;
        uint64_t offset;
        if (!tg_image_symbol_at(image, address, &at, &offset))
            fail_msg("%s: no function at 0x%llx (%s)", file, address, name);
        assert_int_equal(offset, 0);
        count++;
    }
    assert_int_equal(pclose(nm), 0);
    tg_image_unref(image);
    return count;
}

static void every_function_is_found_as_nm_shows_it(void **state)
{
    (void)state;
    static const char *const files[] = {
        "plain.so", "gnu.so", "sysv.so",    "nobuildid.so", "versions.so",   "pie",      "prelinked.so",
        "nopie",    "static", "static-pie", "m32.so",       "compressed.so", "m32gnu.so"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[512];
        snprintf(path, sizeof path, TG_IMAGES "/%s", files[i]);
        if (access(path, R_OK) == 0)
            assert_true(compare_with_nm(files[i], "") >= 8);
        else
            assert_non_null(strstr(files[i], "m32")); /* nothing else may be missing */
    }
    assert_true(compare_with_nm("stripped.so", "-D") >= 6);
    assert_true(compare_with_nm("versions.so", "-D") >= 6);
}

static void every_function_of_libc_is_found(void **state)
{
    (void)state;
    Dl_info info;
    assert_int_not_equal(dladdr((void *)gnu_get_libc_version, &info), 0);
    assert_true(compare_with_nm(info.dli_fname, "-D") > 1000);
}

static size_t count_of(const char *file, const char *name)
{
    struct tg_image *image = open_image(file);
    assert_non_null(image);
    uint64_t found[MAX];
    size_t n = tg_image_find_function(image, name, found, MAX);
    tg_image_unref(image);
    return n;
}

static void only_functions_of_that_name_are_found(void **state)
{
    (void)state;
    assert_int_equal(count_of("plain.so", "tgm_exported"), 1);
    assert_int_equal(count_of("plain.so", "tgm_alias"), 1);
    assert_int_equal(count_of("plain.so", "tgm_static"), 2); /* one in each source file */
    assert_int_equal(count_of("plain.so", "tgm_data"), 0);   /* no code */
    assert_int_equal(count_of("plain.so", "puts"), 0);       /* undefined there */
    assert_int_equal(count_of("plain.so", "tgm_expor"), 0);
    assert_int_equal(count_of("plain.so", "tgm_exportedx"), 0);
    assert_int_equal(count_of("plain.so", ""), 0);
    assert_int_equal(count_of("plain.so", "@"), 0);
    assert_int_equal(count_of("stripped.so", "tgm_static"), 0);
    assert_int_equal(count_of("stripped.so", "tgm_exported"), 1);
    assert_int_equal(count_of("plain.so", "tgm_assembly"), 1);
    assert_int_equal(count_of("plain.so", "tgm_ifunc"), 1);
}

static void copies_that_a_compiler_made_have_the_name_of_the_original(void **state)
{
    (void)state;
    static const char *const files[] = {"plain.so", "static"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        assert_int_equal(count_of(files[i], "tgm_clone"), 1);
        assert_int_equal(count_of(files[i], "tgm_clone.isra.0.constprop.12"), 1);
        assert_int_equal(count_of(files[i], "tgm_clone.isra.0"), 1);
        assert_int_equal(count_of(files[i], "tgm_clone.cold"), 1);
        assert_int_equal(count_of(files[i], "tgm_clone.isra"), 0);
        assert_int_equal(count_of(files[i], "tgm_clone."), 0);
    }
}

static void an_indirect_function_is_told_from_others(void **state)
{
    (void)state;
    static const char *const files[] = {"plain.so", "stripped.so", "pie"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct tg_image *image = open_image(files[i]);
        assert_true(tg_image_is_resolved_at_load(image, "tgm_ifunc"));
        assert_false(tg_image_is_resolved_at_load(image, "tgm_line"));
        assert_false(tg_image_is_resolved_at_load(image, "no_such"));
        tg_image_unref(image);
    }
}

static void results_stop_at_the_maximum(void **state)
{
    (void)state;
    struct tg_image *image = open_image("plain.so");
    uint64_t found[2] = {0, 99};
    assert_int_equal(tg_image_find_function(image, "tgm_static", found, 1), 1);
    assert_int_equal(found[1], 99);
    assert_int_equal(tg_image_find_function(image, "tgm_static", found, 0), 0);
    tg_image_unref(image);
}

static void versions_choose_among_symbols(void **state)
{
    (void)state;
    assert_int_equal(count_of("versions.so", "tgm_exported"), 1);
    assert_int_equal(count_of("versions.so", "tgm_exported@OLD"), 1);
    assert_int_equal(count_of("versions.so", "tgm_exported@@OLD"), 1);
    assert_int_equal(count_of("versions.so", "tgm_exported@NEW"), 0);
    assert_int_equal(count_of("versions.so", "tgm_line@NEW"), 1);
    assert_int_equal(count_of("plain.so", "tgm_exported@OLD"), 0);
}

static void a_separate_debug_file_gives_what_was_stripped(void **state)
{
    (void)state;
    assert_int_equal(count_of("split.so", "tgm_static"), 2); /* by build-id */
    assert_int_equal(count_of("crc.so", "tgm_static"), 2);   /* by checksum */
    /* A debug file of something else is not believed. */
    char folder[] = "/tmp/tollgate-image-XXXXXX", command[1024];
    assert_non_null(mkdtemp(folder));
    snprintf(command, sizeof command,
             "cp " TG_IMAGES "/crc.so " TG_IMAGES "/split.so %s && cp " TG_IMAGES
             "/split.so.debug %s/crc.so.debug && "
             "cp " TG_IMAGES "/crc.so.debug %s/split.so.debug",
             folder, folder, folder);
    assert_int_equal(system(command), 0);
    snprintf(command, sizeof command, "%s/crc.so", folder);
    assert_int_equal(count_of(command, "tgm_static"), 0);
    snprintf(command, sizeof command, "%s/split.so", folder);
    assert_int_equal(count_of(command, "tgm_static"), 0);
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

/* ---- what an image says of itself */

static void read_build_id(const char *file, char text[129])
{
    char command[1024];
    snprintf(command, sizeof command, "readelf -n " TG_IMAGES "/%s | sed -n 's/.*Build ID: //p'", file);
    FILE *readelf = popen(command, "re");
    assert_non_null(readelf);
    text[0] = '\0';
    if (fscanf(readelf, "%128s", text) != 1)
        text[0] = '\0';
    pclose(readelf);
}

static void info_is_what_the_file_says(void **state)
{
    (void)state;
    char build_id[129];
    struct tg_image *image = open_image("plain.so");
    const struct tg_image_info *info = tg_image_info(image);
    read_build_id("plain.so", build_id);
    assert_string_equal(info->build_id, build_id);
    assert_int_equal(strlen(build_id), 40);
    assert_string_equal(info->soname, "libplain.so.1");
    assert_string_equal(info->interpreter, "");
    assert_int_equal(info->start, 0);
    assert_true(info->end > 0x1000 && info->dynamic != 0);
    assert_int_equal(info->bits, 64);
    assert_true(info->position_independent);
    assert_false(info->from_memory);
    assert_int_equal(tg_image_needed_count(image), 1);
    assert_string_equal(tg_image_needed_at(image, 0), "libc.so.6");
    tg_image_unref(image);

    image = open_image("nopie");
    info = tg_image_info(image);
    assert_int_equal(info->start, 0x400000);
    assert_false(info->position_independent);
    assert_non_null(strstr(info->interpreter, "/ld-linux"));
    uint64_t start;
    assert_int_equal(tg_image_find_function(image, "_start", &start, 1), 1);
    assert_int_equal(info->entry, start);
    tg_image_unref(image);

    image = open_image("static");
    assert_int_equal(tg_image_info(image)->dynamic, 0);
    assert_string_equal(tg_image_info(image)->interpreter, "");
    tg_image_unref(image);

    image = open_image("prelinked.so");
    assert_int_equal(tg_image_info(image)->start, 0x41000000);
    tg_image_unref(image);

    image = open_image("nobuildid.so");
    assert_string_equal(tg_image_info(image)->build_id, "");
    tg_image_unref(image);

    image = open_image("m32.so");
    if (image != NULL)
        assert_int_equal(tg_image_info(image)->bits, 32);
    tg_image_unref(image);
}

static void what_is_no_elf_file_is_refused(void **state)
{
    (void)state;
    static const char *const paths[] = {"/etc/passwd", "/dev/null", "/", "/nonexistent", "/dev/zero"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        struct tg_image *image = NULL;
        struct tg_error *error = tg_image_open(paths[i], &image);
        assert_non_null(error);
        assert_non_null(strstr(tg_error_message(error), paths[i]));
        assert_null(image);
        tg_error_destroy(error);
    }
}

/* ---- mapped objects: this process's own */

struct mapped {
    char folder[64];
    char path[256];
    void *handle;
    struct link_map *map;
};

/* Maps a private copy of FILE. */
static void map_copy(struct mapped *mapped, const char *file)
{
    char command[1024];
    strcpy(mapped->folder, "/tmp/tollgate-image-XXXXXX");
    assert_non_null(mkdtemp(mapped->folder));
    snprintf(mapped->path, sizeof mapped->path, "%s/lib.so", mapped->folder);
    snprintf(command, sizeof command, "cp " TG_IMAGES "/%s %s", file, mapped->path);
    assert_int_equal(system(command), 0);
    mapped->handle = dlopen(mapped->path, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(mapped->handle);
    assert_int_equal(dlinfo(mapped->handle, RTLD_DI_LINKMAP, &mapped->map), 0);
}

static void unmap_copy(struct mapped *mapped)
{
    dlclose(mapped->handle);
    unlink(mapped->path);
    rmdir(mapped->folder);
}

static size_t read_own(void *context, uint64_t address, void *buffer, size_t size)
{
    (void)context;
    return tg_memory_read_some(getpid(), address, buffer, size);
}
static const struct tg_elf_memory own_memory = {.read = read_own};

static struct tg_image *get(struct tg_image_cache *cache, const char *path, uint64_t load_bias)
{
    struct tg_image_source source = {
        .pid = getpid(), .path = path, .load_bias = load_bias, .header = load_bias};
    struct tg_image *image = NULL;
    struct tg_error *error = tg_image_cache_get(cache, &source, &image);
    if (error != NULL)
        fail_msg("%s", tg_error_message(error));
    return image;
}

static struct tg_image_cache *create_cache(size_t max)
{
    struct tg_image_cache *cache = NULL;
    assert_null(tg_image_cache_create(max, &cache));
    return cache;
}

static void assert_finds(struct tg_image *image, const struct mapped *mapped, const char *name)
{
    uint64_t address;
    assert_int_equal(tg_image_find_function(image, name, &address, 1), 1);
    assert_int_equal(mapped->map->l_addr + address, (uintptr_t)dlsym(mapped->handle, name));
}

static void a_mapped_file_is_opened_once(void **state)
{
    (void)state;
    static const char *const files[] = {"plain.so", "nobuildid.so", "sysv.so"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct mapped mapped;
        map_copy(&mapped, files[i]);
        struct tg_image_cache *cache = create_cache(0);
        struct tg_image *first = get(cache, mapped.path, mapped.map->l_addr);
        assert_finds(first, &mapped, "tgm_exported");
        assert_false(tg_image_info(first)->from_memory);
        struct tg_image *second = get(cache, mapped.path, mapped.map->l_addr);
        assert_ptr_equal(first, second);
        tg_image_unref(first);
        tg_image_unref(second);
        second = get(cache, mapped.path, mapped.map->l_addr); /* kept though unused */
        assert_int_equal(tg_image_cache_stats(cache).opened, 1);
        assert_int_equal(tg_image_cache_stats(cache).hits, 2);
        tg_image_cache_destroy(cache);
        assert_finds(second, &mapped, "tgm_second"); /* outlives the cache */
        tg_image_unref(second);
        unmap_copy(&mapped);
    }
}

static void a_file_that_was_replaced_is_not_believed(void **state)
{
    (void)state;
    static const char *const files[][2] = {{"plain.so", "gnu.so"},
                                           {"nobuildid.so", "nobuildid2.so"},
                                           {"plain.so", "nobuildid.so"},
                                           {"nobuildid.so", "plain.so"}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct mapped mapped;
        map_copy(&mapped, files[i][0]);
        char command[1024];
        snprintf(command, sizeof command, "cp " TG_IMAGES "/%s %s.new && mv %s.new %s", files[i][1],
                 mapped.path, mapped.path, mapped.path);
        assert_int_equal(system(command), 0);
        struct tg_image_cache *cache = create_cache(0);
        struct tg_image *image = get(cache, mapped.path, mapped.map->l_addr);
        assert_finds(image, &mapped, "tgm_exported");
        assert_finds(image, &mapped, "tgm_line");
        assert_finds(image, &mapped, "tgm_second");
        tg_image_unref(image);
        tg_image_cache_destroy(cache);
        unmap_copy(&mapped);
    }
}

static void a_deleted_file_is_read_from_what_is_mapped(void **state)
{
    (void)state;
    static const char *const files[] = {"plain.so", "nobuildid.so", "sysv.so", "prelinked.so"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct mapped mapped;
        map_copy(&mapped, files[i]);
        unlink(mapped.path);
        struct tg_image_cache *cache = create_cache(0);
        struct tg_image_source source = {
            .pid = getpid(), .path = mapped.path, .load_bias = mapped.map->l_addr};
        Dl_info info;
        assert_int_not_equal(dladdr(dlsym(mapped.handle, "tgm_exported"), &info), 0);
        source.header = (uintptr_t)info.dli_fbase;
        struct tg_image *image = NULL;
        assert_null(tg_image_cache_get(cache, &source, &image));
        assert_finds(image, &mapped, "tgm_exported");
        assert_finds(image, &mapped, "tgm_second");
        tg_image_unref(image);
        tg_image_cache_destroy(cache);
        unmap_copy(&mapped);
    }
}

/* An image only in memory: no file, no section headers, addresses in the dynamic section relocated. */
static void a_copy_from_memory_has_the_exported_functions(void **state)
{
    (void)state;
    static const char *const files[] = {"plain.so", "sysv.so", "prelinked.so", "versions.so"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct mapped mapped;
        map_copy(&mapped, files[i]);
        Dl_info info;
        assert_int_not_equal(dladdr(dlsym(mapped.handle, "tgm_exported"), &info), 0);
        uint64_t header = (uintptr_t)info.dli_fbase;
        struct tg_elf_object *object = NULL;
        struct tg_image *image = NULL;
        assert_null(tg_elf_object_copy(&own_memory, header, &object));
        assert_null(tg_image_create(object, header - object->start, &image));
        struct tg_image *file = open_image(files[i]);
        assert_true(tg_image_info(image)->from_memory);
        assert_string_equal(tg_image_info(image)->build_id, tg_image_info(file)->build_id);
        assert_string_equal(tg_image_info(image)->soname, tg_image_info(file)->soname);
        assert_int_equal(tg_image_info(image)->start, tg_image_info(file)->start);
        assert_int_equal(tg_image_info(image)->end, tg_image_info(file)->end);
        assert_int_equal(tg_image_needed_count(image), 1);
        assert_finds(image, &mapped, "tgm_exported");
        assert_finds(image, &mapped, "tgm_line");
        uint64_t found[MAX];
        assert_int_equal(tg_image_find_function(image, "tgm_line@NEW", found, MAX),
                         tg_image_find_function(file, "tgm_line@NEW", found, MAX));
        assert_int_equal(tg_image_find_line(image, "image_material.c", 30, found, MAX), 0);
        tg_image_unref(image);
        tg_image_unref(file);
        unmap_copy(&mapped);
    }
}

static void what_is_no_regular_file_is_not_opened(void **state)
{
    (void)state;
    char folder[] = "/tmp/tollgate-image-XXXXXX", path[128];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/fifo", folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    int place = tg_process_file_open(getpid(), path);
    assert_true(place >= 0);
    assert_int_equal(tg_image_file_read(place), -1); /* and does not wait for a writer */
    place = tg_process_file_open(getpid(), "/dev/null");
    assert_true(place >= 0);
    assert_int_equal(tg_image_file_read(place), -1);
    assert_int_equal(close(place), -1); /* closed by the cache */
    unlink(path);
    rmdir(folder);
}

/* The kernel's own object is nowhere but in memory. */
static void the_vdso_is_read_from_memory(void **state)
{
    (void)state;
    uint64_t vdso = getauxval(AT_SYSINFO_EHDR);
    if (vdso == 0)
        skip();
    struct tg_image_cache *cache = create_cache(0);
    struct tg_image *image = get(cache, "linux-vdso.so.1", vdso);
    assert_true(tg_image_info(image)->from_memory);
    uint64_t address = 0;
    assert_int_equal(tg_image_find_function(image, "__vdso_clock_gettime", &address, 1), 1);
    assert_true(address >= tg_image_info(image)->start && address < tg_image_info(image)->end);
    const char *name;
    uint64_t offset;
    assert_true(tg_image_symbol_at(image, address, &name, &offset));
    assert_int_equal(offset, 0);
    struct tg_image *again = get(cache, "linux-vdso.so.1", vdso);
    if (tg_image_info(image)->build_id[0] != '\0')
        assert_ptr_equal(image, again);
    tg_image_unref(image);
    tg_image_unref(again);
    tg_image_cache_destroy(cache);
}

static void a_memfd_is_found_through_the_process(void **state)
{
    (void)state;
    int fd = memfd_create("plugin", MFD_CLOEXEC);
    assert_true(fd >= 0);
    char command[1024], path[64];
    snprintf(command, sizeof command, "cat " TG_IMAGES "/plain.so > /proc/%d/fd/%d", (int)getpid(), fd);
    assert_int_equal(system(command), 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    struct mapped mapped = {.handle = dlopen(path, RTLD_NOW)};
    assert_non_null(mapped.handle);
    assert_int_equal(dlinfo(mapped.handle, RTLD_DI_LINKMAP, &mapped.map), 0);
    struct tg_image_cache *cache = create_cache(0);
    struct tg_image *image = get(cache, path, mapped.map->l_addr);
    assert_finds(image, &mapped, "tgm_exported");
    tg_image_unref(image);
    close(fd); /* the name now means nothing */
    image = get(cache, path, mapped.map->l_addr);
    assert_finds(image, &mapped, "tgm_exported");
    tg_image_unref(image);
    tg_image_cache_destroy(cache);
    dlclose(mapped.handle);
}

struct in_root {
    const char *root;
    int ready;
};

/* A process in a root and, where there is no other way, a user namespace of its own: maps /lib.so, tells
 * where, waits. */
static _Noreturn void run_in_root(const struct in_root *in)
{
    if (chroot(in->root) != 0 && (unshare(CLONE_NEWUSER) != 0 || chroot(in->root) != 0))
        _exit(77);
    int fd = chdir("/") == 0 ? open("/lib.so", O_RDONLY | O_CLOEXEC) : -1;
    void *header = fd < 0 ? MAP_FAILED : mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
    if (header == MAP_FAILED || write(in->ready, &header, sizeof header) != sizeof header)
        _exit(1);
    for (;;)
        pause();
}

static void paths_are_those_of_the_process(void **state)
{
    (void)state;
    static const char *const names[] = {"/lib.so", "/link.so", "lib/../lib.so", "/lib/../lib.so",
                                        "/../../lib.so"};
    static const char *const files[] = {"plain.so", "nobuildid.so"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char folder[] = "/tmp/tollgate-image-XXXXXX", command[1024];
        assert_non_null(mkdtemp(folder));
        snprintf(command, sizeof command,
                 "cp " TG_IMAGES "/%s %s/lib.so && ln -s /lib.so %s/link.so && mkdir %s/lib", files[i],
                 folder, folder, folder);
        assert_int_equal(system(command), 0);
        int ready[2];
        assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0)
            run_in_root(&(struct in_root){.root = folder, .ready = ready[1]});
        close(ready[1]);
        uint64_t header = 0;
        bool works = read(ready[0], &header, sizeof header) == sizeof header;
        close(ready[0]);
        struct tg_image_cache *cache = create_cache(0);
        for (size_t k = 0; works && k < sizeof names / sizeof *names; k++) {
            struct tg_image_source source = {
                .pid = pid, .path = names[k], .load_bias = header, .header = header};
            struct tg_image *image = NULL;
            assert_null(tg_image_cache_get(cache, &source, &image));
            uint64_t found[MAX];
            assert_int_equal(tg_image_find_function(image, "tgm_static", found, MAX),
                             2); /* the file's own symbols */
            tg_image_unref(image);
        }
        assert_int_equal(tg_image_cache_stats(cache).opened, works ? 1 : 0);
        tg_image_cache_destroy(cache);
        kill(pid, SIGKILL);
        int status = 0;
        assert_int_equal(waitpid(pid, &status, 0), pid);
        snprintf(command, sizeof command, "rm -r %s", folder);
        assert_int_equal(system(command), 0);
        if (!works) {
            print_message("cannot change the root of a process here\n");
            skip();
        }
    }
}

static void an_empty_path_is_the_program(void **state)
{
    (void)state;
    struct tg_image_cache *cache = create_cache(0);
    struct tg_image *image = get(cache, "", 0);
    uint64_t address;
    assert_int_equal(tg_image_find_function(image, "an_empty_path_is_the_program", &address, 1), 1);
    tg_image_unref(image);
    tg_image_cache_destroy(cache);
}

static void what_is_no_object_is_an_error(void **state)
{
    (void)state;
    struct tg_image_cache *cache = create_cache(0);
    static const char *const paths[] = {"/etc/passwd", "/nonexistent", "linux-vdso.so.1", "no/such"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        struct tg_image_source source = {
            .pid = getpid(), .path = paths[i], .load_bias = 0x1000, .header = 0x1000};
        struct tg_image *image = NULL;
        struct tg_error *error = tg_image_cache_get(cache, &source, &image);
        assert_non_null(error);
        assert_null(image);
        tg_error_destroy(error);
    }
    tg_image_cache_destroy(cache);
}

static void the_least_recently_used_image_goes_first(void **state)
{
    (void)state;
    struct mapped mapped[3];
    static const char *const files[] = {"plain.so", "gnu.so", "sysv.so"};
    struct tg_image_cache *cache = create_cache(2);
    for (size_t i = 0; i < 3; i++) {
        map_copy(&mapped[i], files[i]);
        tg_image_unref(get(cache, mapped[i].path, mapped[i].map->l_addr));
    }
    assert_int_equal(tg_image_cache_stats(cache).opened, 3);
    tg_image_unref(get(cache, mapped[1].path, mapped[1].map->l_addr));
    tg_image_unref(get(cache, mapped[2].path, mapped[2].map->l_addr));
    assert_int_equal(tg_image_cache_stats(cache).opened, 3);
    tg_image_unref(get(cache, mapped[0].path, mapped[0].map->l_addr));
    assert_int_equal(tg_image_cache_stats(cache).opened, 4);
    for (size_t i = 0; i < 3; i++)
        unmap_copy(&mapped[i]);
    tg_image_cache_destroy(cache);
}

static void peek_tells_build_id_and_size_from_memory(void **state)
{
    (void)state;
    static const char *const files[] = {"plain.so", "nobuildid.so", "prelinked.so"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct mapped mapped;
        map_copy(&mapped, files[i]);
        struct tg_image *image = open_image(files[i]);
        const struct tg_image_info *info = tg_image_info(image);
        char build_id[129];
        uint64_t size_bytes;
        assert_true(tg_image_peek(getpid(), mapped.map->l_addr + info->start, build_id, &size_bytes));
        assert_string_equal(build_id, info->build_id);
        assert_int_equal(size_bytes, info->end - info->start);
        assert_false(tg_image_peek(getpid(), mapped.map->l_addr + info->start + 64, build_id, &size_bytes));
        tg_image_unref(image);
        unmap_copy(&mapped);
    }
    char build_id[129];
    uint64_t size_bytes;
    assert_false(tg_image_peek(getpid(), 0, build_id, &size_bytes));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_function_is_found_as_nm_shows_it),
        cmocka_unit_test(every_function_of_libc_is_found),
        cmocka_unit_test(only_functions_of_that_name_are_found),
        cmocka_unit_test(copies_that_a_compiler_made_have_the_name_of_the_original),
        cmocka_unit_test(an_indirect_function_is_told_from_others),
        cmocka_unit_test(results_stop_at_the_maximum),
        cmocka_unit_test(versions_choose_among_symbols),
        cmocka_unit_test(a_separate_debug_file_gives_what_was_stripped),
        cmocka_unit_test(info_is_what_the_file_says),
        cmocka_unit_test(what_is_no_elf_file_is_refused),
        cmocka_unit_test(a_mapped_file_is_opened_once),
        cmocka_unit_test(a_file_that_was_replaced_is_not_believed),
        cmocka_unit_test(a_deleted_file_is_read_from_what_is_mapped),
        cmocka_unit_test(a_copy_from_memory_has_the_exported_functions),
        cmocka_unit_test(what_is_no_regular_file_is_not_opened),
        cmocka_unit_test(the_vdso_is_read_from_memory),
        cmocka_unit_test(a_memfd_is_found_through_the_process),
        cmocka_unit_test(paths_are_those_of_the_process),
        cmocka_unit_test(an_empty_path_is_the_program),
        cmocka_unit_test(what_is_no_object_is_an_error),
        cmocka_unit_test(the_least_recently_used_image_goes_first),
        cmocka_unit_test(peek_tells_build_id_and_size_from_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
