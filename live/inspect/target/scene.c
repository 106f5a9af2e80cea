#include "live/inspect/target/scene.h"

#include <dwarf.h>
#include <inttypes.h>

const struct tg_scene_object *tg_scene_object(const struct tg_scene *scene, size_t index)
{
    return scene->ops->object == NULL ? NULL : scene->ops->object(scene->context, index);
}

const struct tg_scene_object *tg_scene_object_at(const struct tg_scene *scene, uint64_t address)
{
    return scene->ops->object_at == NULL ? NULL : scene->ops->object_at(scene->context, address);
}

bool tg_scene_symbol_at(const struct tg_scene *scene, uint64_t address, char *name, size_t size,
                        uint64_t *offset)
{
    return scene->ops->symbol_at != NULL &&
           scene->ops->symbol_at(scene->context, address, name, size, offset);
}

bool tg_scene_wide_register(const struct tg_scene *scene, unsigned number,
                            uint8_t bytes[TG_WIDE_REGISTER_SIZE])
{
    return scene->wide.read != NULL && scene->wide.read(scene->wide.context, number, bytes);
}

struct tg_error *tg_scene_read(const struct tg_scene *scene, uint64_t address, void *buffer, size_t size)
{
    if (size > UINT64_MAX - address || !scene->memory.read(scene->memory.context, address, buffer, size))
        return tg_error_create(TG_ERROR_TARGET, "cannot read memory at 0x%" PRIx64, address);
    return NULL;
}

size_t tg_scene_scopes(const struct tg_scene *scene, const struct tg_frame *frame,
                       const struct tg_scene_object **object, Dwarf_Die scopes[TG_SCENE_MAX_SCOPES])
{
    if (frame == NULL || scene->ops->scopes_at == NULL)
        return 0;
    uint64_t place = tg_frame_place(frame);
    const struct tg_scene_object *found = tg_scene_object_at(scene, place);
    if (found == NULL || found->dwarf == NULL)
        return 0;
    size_t n = scene->ops->scopes_at(scene->context, found, place, scopes, TG_SCENE_MAX_SCOPES);
    if (n > 0)
        *object = found;
    return n;
}
