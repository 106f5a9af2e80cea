#include "recorder/stacks/open_mpi_objects.h"

#include <string.h>

enum { MAX_DEPTH = 12 };

bool tg_open_mpi_read(const struct tg_open_mpi_objects *objects, uint64_t address, void *buffer, size_t size)
{
    return objects->memory->read(objects->memory->context, address, buffer, size);
}

/* The class at ADDRESS, which is a variable of a library; NULL: there is none. */
static const struct tg_open_mpi_class *find_class(struct tg_open_mpi_objects *objects, uint64_t address)
{
    struct {
        uint64_t name, parent, construct, destruct;
        int32_t is_initialized, depth;
        uint64_t constructors, destructors, size;
    } found;
    for (size_t i = 0; i < objects->n_classes; i++)
        if (objects->classes[i].address == address)
            return &objects->classes[i];
    struct tg_open_mpi_class *class = &objects->classes[objects->n_classes];
    if (objects->n_classes == TG_OPEN_MPI_MAX_CLASSES || tg_modules_find(objects->modules, address) == NULL ||
        !tg_open_mpi_read(objects, address, &found, sizeof found) || found.depth < 0 ||
        found.depth > MAX_DEPTH || tg_modules_find(objects->modules, found.name) == NULL ||
        !tg_open_mpi_read(objects, found.name, class->name, sizeof class->name) ||
        memchr(class->name, '\0', sizeof class->name) == NULL)
        return NULL;
    class->address = address;
    class->parent = found.parent;
    class->size = found.size;
    objects->n_classes++;
    return class;
}

uint64_t tg_open_mpi_object_size(struct tg_open_mpi_objects *objects, uint64_t address, const char *name)
{
    uint64_t of;
    const struct tg_open_mpi_class *class = NULL;
    if (address != 0 && address % 8 == 0 && tg_open_mpi_read(objects, address, &of, sizeof of))
        class = find_class(objects, of);
    for (int i = 0; class != NULL && i < MAX_DEPTH; i++) {
        if (strcmp(class->name, name) == 0)
            return class->size;
        class = class->parent != 0 ? find_class(objects, class->parent) : NULL;
    }
    return 0;
}

/* ---- processes */

bool tg_open_mpi_name_read(struct tg_open_mpi_objects *objects, uint64_t address,
                           struct tg_open_mpi_name *name)
{
    enum { LIST_ITEM = 40 };
    return tg_open_mpi_object_size(objects, address, "ompi_proc_t") != 0 &&
           tg_open_mpi_object_size(objects, address, "opal_list_item_t") == LIST_ITEM &&
           tg_open_mpi_read(objects, address + LIST_ITEM, name, sizeof *name) && name->rank <= INT32_MAX;
}

bool tg_open_mpi_name_own(struct tg_open_mpi_objects *objects, uint64_t *address,
                          struct tg_open_mpi_name *name)
{
    return objects->process != 0 && tg_open_mpi_read(objects, objects->process, address, sizeof *address) &&
           tg_open_mpi_name_read(objects, *address, name);
}
