#include "recorder/loader/break_places.h"

#include "recorder/process/image_peek.h"
#include "recorder/process/mappings.h"
#include "recorder/process/memory.h"
#include "recorder/process/symbol_probe.h"

#include <stdlib.h>
#include <string.h>

struct tg_break_places {
    const struct tg_loader *loader;
    struct tg_image_cache *cache;
    struct tg_symbol_probe *probe;
    struct tg_digest_set absences; /* of specifications in files */
};

struct tg_error *tg_break_places_create(const struct tg_loader *loader, struct tg_image_cache *cache,
                                        struct tg_break_places **places)
{
    struct tg_break_places *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    *made = (struct tg_break_places){.loader = loader, .cache = cache, .probe = tg_symbol_probe_create()};
    if (made->probe == NULL) {
        free(made);
        return tg_error_no_memory();
    }
    *places = made;
    return NULL;
}

void tg_break_places_destroy(struct tg_break_places *places)
{
    if (places == NULL)
        return;
    tg_digest_set_deinit(&places->absences);
    tg_symbol_probe_destroy(places->probe);
    free(places);
}

void tg_break_places_release(struct tg_break_place *found, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free(found[i].library);
        free(found[i].file);
        found[i] = (struct tg_break_place){0};
    }
}

/* ---- one question */

struct question {
    struct tg_break_places *places;
    const struct tg_break_spec *spec;
    pid_t tid;
    struct tg_break_place *found;
    size_t max;
    size_t n;
    bool no_memory;
};

static bool is_full(const struct question *question)
{
    return question->no_memory || question->n == question->max;
}

/* IMAGE: of OBJECT, NULL where it is not open. */
static void add_place(struct question *question, const struct tg_break_object *object, struct tg_image *image,
                      uint64_t address)
{
    char file[PATH_MAX] = "";
    uint64_t line = 0;
    if (is_full(question))
        return;
    if (image != NULL && !tg_image_line_at(image, address - object->load_bias, file, sizeof file, &line))
        file[0] = '\0';
    struct tg_break_place *place = &question->found[question->n++];
    *place = (struct tg_break_place){
        .address = address, .library = strdup(object->path), .file = strdup(file), .line = line};
    question->no_memory = place->library == NULL || place->file == NULL;
}

static struct tg_image *open_image(const struct question *question, const struct tg_break_object *object)
{
    const struct tg_image_source source = tg_break_object_source(object, question->tid);
    return tg_image_cache_find(question->places->cache, &source);
}

/* Whether an object's file is known not to have the place, or a look at its names says so. */
static bool is_absent(const struct question *question, const struct tg_break_object *object,
                      const struct tg_digest *digest)
{
    struct tg_break_places *places = question->places;
    if (tg_digest_set_has(&places->absences, *digest))
        return true;
    const struct tg_image_source source = tg_break_object_source(object, question->tid);
    const char *name = question->spec->name;
    if (question->spec->kind != TG_BREAK_FUNCTION || !tg_symbol_probe_lacks(places->probe, &source, &name, 1))
        return false;
    tg_digest_set_add(&places->absences, *digest);
    return true;
}

/* A function or a line; IMAGE: of OBJECT, NULL where it is to be opened. */
static void look_for_code(struct question *question, const struct tg_break_object *object,
                          struct tg_image *image)
{
    uint64_t addresses[TG_BREAK_OBJECT_MAX_PLACES];
    struct tg_digest digest;
    bool has_digest = tg_break_object_digest(object, question->spec->text, &digest);
    if (has_digest && is_absent(question, object, &digest))
        return;
    struct tg_image *opened = image == NULL ? open_image(question, object) : NULL;
    if (image == NULL && opened == NULL)
        return;
    image = image == NULL ? opened : image;
    size_t n = tg_break_object_find(object, image, question->spec, addresses, TG_BREAK_OBJECT_MAX_PLACES);
    for (size_t i = 0; i < n; i++)
        add_place(question, object, image, addresses[i]);
    if (n == 0 && has_digest)
        tg_digest_set_add(&question->places->absences, digest);
    tg_image_unref(opened);
}

/* A breakpoint in data would change what the program reads there. What is not mapped is another's to
 * refuse. */
static bool is_data(const struct question *question, uint64_t address)
{
    struct tg_mapping mapping;
    return tg_mapping_find(question->tid, address, &mapping) && !mapping.executable;
}

static void look_for_address(struct question *question, const struct tg_break_object *object,
                             struct tg_image *image)
{
    uint64_t address = question->spec->address;
    if (question->spec->library != NULL)
        address += object->load_bias;
    else if (!tg_break_object_holds(object, address))
        return;
    if (is_data(question, address))
        return;
    struct tg_image *opened = image == NULL ? open_image(question, object) : NULL;
    add_place(question, object, image == NULL ? opened : image, address);
    tg_image_unref(opened);
}

static void look_in(struct question *question, const struct tg_break_object *object, struct tg_image *image)
{
    if (is_full(question) || !tg_break_spec_admits(question->spec, object->path))
        return;
    if (question->spec->kind == TG_BREAK_ADDRESS)
        look_for_address(question, object, image);
    else
        look_for_code(question, object, image);
}

static void look_in_program(struct question *question, const struct tg_process *process)
{
    char path[PATH_MAX];
    struct tg_break_object program;
    tg_break_object_program(process, question->tid, path, &program);
    struct tg_image *image = open_image(question, &program);
    if (image == NULL)
        return;
    tg_break_object_program_mapped(process, image, &program);
    look_in(question, &program, image);
    tg_image_unref(image);
}

/* Where no stop shows what is unloaded, another library may have come to OBJECT's place. */
static bool is_still_there(const struct question *question, const struct tg_break_object *object)
{
    char build_id[TG_ELF_BUILD_ID_CHARS];
    uint64_t size_bytes;
    if (object->build_id == NULL || object->header == 0)
        return true;
    return tg_image_peek(question->tid, object->header, build_id, &size_bytes) &&
           strcmp(build_id, object->build_id) == 0;
}

static bool look_in_library(void *context, const struct tg_loader_library *library)
{
    struct question *question = context;
    if (!library->deferred && tg_break_spec_admits(question->spec, library->object.path) &&
        is_still_there(question, &library->object))
        look_in(question, &library->object, NULL);
    return !is_full(question);
}

/* Memory of no object that is known: generated code, the vdso, a library that was not handled. */
static void look_anywhere(struct question *question)
{
    static const struct tg_break_object none = {.path = ""};
    uint8_t byte;
    if (question->n == 0 && question->spec->kind == TG_BREAK_ADDRESS && question->spec->library == NULL &&
        tg_memory_read(question->tid, question->spec->address, &byte, 1) &&
        !is_data(question, question->spec->address))
        add_place(question, &none, NULL, question->spec->address);
}

static struct tg_error *answer(struct question *question, size_t *n)
{
    if (question->no_memory) {
        tg_break_places_release(question->found, question->n);
        *n = 0;
        return tg_error_no_memory();
    }
    *n = question->n;
    return NULL;
}

struct tg_error *tg_break_places_find(struct tg_break_places *places, const struct tg_process *process,
                                      const struct tg_break_spec *spec, struct tg_break_place *found,
                                      size_t max, size_t *n)
{
    struct question question = {
        .places = places, .spec = spec, .tid = tg_process_memory_tid(process), .found = found, .max = max};
    *n = 0;
    if (question.tid == 0)
        return NULL;
    look_in_program(&question, process);
    if (places->loader != NULL)
        tg_loader_each_library(places->loader, process, look_in_library, &question);
    look_anywhere(&question);
    return answer(&question, n);
}

struct tg_error *tg_break_places_find_in(struct tg_break_places *places, const struct tg_process *process,
                                         const struct tg_break_object *objects, size_t count,
                                         const struct tg_break_spec *spec, struct tg_break_place *found,
                                         size_t max, size_t *n)
{
    struct question question = {
        .places = places, .spec = spec, .tid = tg_process_memory_tid(process), .found = found, .max = max};
    *n = 0;
    for (size_t i = 0; question.tid != 0 && i < count; i++)
        look_in(&question, &objects[i], NULL);
    return answer(&question, n);
}
