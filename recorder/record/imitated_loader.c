#include "recorder/record/imitated_loader.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    NAME_BYTES = 80,  /* about as long as a path of a library */
    MAPPED_PAGES = 2, /* with a fault for each but the header's */
    PAGE_BYTES = 4096,
};

/* Loaders allocate an object's name just before the object. */
struct object {
    char name[NAME_BYTES];
    struct link_map map; /* as <link.h> has it: what a debugger may see of it */
};

/* What an object is asked for when libraries are found together. */
struct names {
    Elf64_Dyn dynamic[4];
    char strings[48];
};

struct tg_imitated_loader {
    struct r_debug debug;
    int file;
    size_t n_pages; /* of an object */
    size_t room, count;
    struct object objects[];
};

static struct tg_error *open_file(struct tg_imitated_loader *loader)
{
    struct stat facts;
    loader->file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    if (loader->file < 0 || fstat(loader->file, &facts) != 0)
        return tg_error_create_errno(errno, "cannot open this program's own file");
    size_t n_pages = (size_t)facts.st_size / PAGE_BYTES;
    loader->n_pages = n_pages < MAPPED_PAGES ? n_pages : MAPPED_PAGES;
    return NULL;
}

struct tg_error *tg_imitated_loader_create(size_t n_objects, struct tg_imitated_loader **loader)
{
    struct tg_imitated_loader *made = calloc(1, sizeof *made + (n_objects + 1) * sizeof made->objects[0]);
    if (made == NULL)
        return tg_error_no_memory();
    struct tg_error *error = open_file(made);
    if (error != NULL) {
        tg_imitated_loader_destroy(made);
        return error;
    }
    made->room = n_objects + 1;
    made->count = 1;
    for (size_t i = 0; i < made->room; i++)
        made->objects[i].map.l_name = made->objects[i].name;
    for (size_t i = 1; i < made->room; i++)
        snprintf(made->objects[i].name, NAME_BYTES, "/tollgate/imitates/a/library/of/some/job/lib%05zu.so",
                 i);
    made->debug = (struct r_debug){.r_version = 1, .r_map = &made->objects[0].map};
    *loader = made;
    return NULL;
}

void tg_imitated_loader_destroy(struct tg_imitated_loader *loader)
{
    if (loader == NULL)
        return;
    if (loader->file >= 0)
        close(loader->file);
    free(loader);
}

uint64_t tg_imitated_loader_debug(const struct tg_imitated_loader *loader)
{
    return (uint64_t)(uintptr_t)&loader->debug;
}

char *tg_imitated_loader_map(struct tg_imitated_loader *loader)
{
    size_t size = loader->n_pages * PAGE_BYTES;
    char *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, loader->file, 0);
    if (pages == MAP_FAILED)
        return NULL;
    for (size_t i = PAGE_BYTES; i < size; i += PAGE_BYTES) {
        struct names *names =
            (struct names *)(void *)(pages + i); /* a loader relocates what is behind the header */
        *names = (struct names){.dynamic = {{.d_tag = DT_NEEDED, .d_un.d_val = 0},
                                            {.d_tag = DT_SONAME, .d_un.d_val = sizeof "libneeded.so.1"},
                                            {.d_tag = DT_STRTAB, .d_un.d_ptr = (uintptr_t)names->strings}},
                                .strings = "libneeded.so.1\0libimitated.so.1"};
    }
    return pages;
}

void tg_imitated_loader_add(struct tg_imitated_loader *loader)
{
    loader->debug.r_state = RT_ADD;
    if (loader->count == loader->room)
        return;
    struct object *object = &loader->objects[loader->count], *last = object - 1;
    char *pages = tg_imitated_loader_map(loader);
    if (pages == NULL)
        return;
    object->map.l_addr = (uintptr_t)pages;
    if (loader->n_pages > 1)
        object->map.l_ld = ((struct names *)(void *)(pages + PAGE_BYTES))->dynamic;
    object->map.l_prev = &last->map;
    last->map.l_next = &object->map;
    loader->count++;
}

void tg_imitated_loader_settle(struct tg_imitated_loader *loader)
{
    loader->debug.r_state = RT_CONSISTENT;
}
