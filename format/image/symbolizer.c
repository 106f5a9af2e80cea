#include "format/image/symbolizer.h"

#include "format/base/hash.h"
#include "format/image/image.h"
#include "format/image/mangled_name.h"
#include "format/image/outlined_bodies.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_OPEN_IMAGES = 64,
    MAX_ANSWERS = 1 << 20,   /* of all objects together */
    MAX_VARIABLES = 1 << 12, /* of an object: each takes a look at all of its symbols */
    MAX_PATH_BYTES = 3 * PATH_MAX,
};

struct answer {
    uint64_t address;
    char *function, *file; /* NULL unknown */
    uint64_t offset, line;
    UT_hash_handle hh;
};

struct variable {
    uint64_t address; /* address asked for */
    char *name;       /* NULL: none holds it */
    uint64_t offset;
    UT_hash_handle hh;
};

/* One object: PATH and BUILD_ID, NUL between them, are its key. */
struct object {
    struct tg_image *image; /* NULL: not open */
    bool useless;           /* there is no such file, or it is another one */
    const char *build_id;   /* in KEY */
    struct answer *answers;
    struct variable *variables;
    UT_hash_handle hh;
    struct object *newer, *older; /* among those with an image, by last use */
    size_t n_key;
    char key[];
};

struct tg_symbolizer {
    struct object *objects;
    struct object *newest, *oldest;
    size_t n_open;
    size_t n_answers;
    struct object *last; /* asked about */
};

struct tg_error *tg_symbolizer_create(struct tg_symbolizer **symbolizer)
{
    struct tg_symbolizer *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    *symbolizer = made;
    return NULL;
}

/* ---- answers */

static void forget_answers(struct tg_symbolizer *symbolizer, struct object *object)
{
    struct answer *answer, *next;
    HASH_ITER (hh, object->answers, answer, next) {
        HASH_DEL(object->answers, answer);
        free(answer->function);
        free(answer->file);
        free(answer);
        symbolizer->n_answers--;
    }
}

static void ask(struct tg_image *image, uint64_t address, struct answer *answer)
{
    const char *name;
    char path[MAX_PATH_BYTES];
    uint64_t offset;
    answer->address = address;
    bool known = tg_image_symbol_at(image, address, &name, &answer->offset);
    const char *inlined = tg_image_inlined_at(image, address, &offset); /* the line is in this function */
    if (inlined != NULL &&
        (!known || answer->offset > 0)) { /* a region's body may begin with another function */
        known = true;
        name = inlined;
        answer->offset = offset;
    }
    const char *owner =
        known && tg_outlined_bodies_is_name(name) ? tg_image_body_owner(image, address) : NULL;
    if (known)
        answer->function = tg_mangled_name_words(owner != NULL ? owner : name);
    if (tg_image_line_at(image, address, path, sizeof path, &answer->line))
        answer->file = strdup(path);
}

static void forget_variables(struct object *object)
{
    struct variable *variable, *next;
    HASH_ITER (hh, object->variables, variable, next) {
        HASH_DEL(object->variables, variable);
        free(variable->name);
        free(variable);
    }
}

/* The smallest symbol that holds an address: one of a whole section may be around it. */
struct holder {
    struct variable *variable;
    uint64_t size_bytes;
};

static void consider(void *context, const struct tg_image_symbol *symbol)
{
    struct holder *holder = context;
    struct variable *variable = holder->variable;
    bool holds =
        symbol->address <= variable->address && variable->address - symbol->address < symbol->size_bytes;
    if (!holds || (variable->name != NULL && symbol->size_bytes >= holder->size_bytes))
        return;
    free(variable->name);
    variable->name = tg_mangled_name_words(symbol->name);
    variable->offset = variable->address - symbol->address;
    holder->size_bytes = symbol->size_bytes;
}

/* ---- objects */

static void unlink_open(struct tg_symbolizer *symbolizer, struct object *object)
{
    *(object->newer != NULL ? &object->newer->older : &symbolizer->newest) = object->older;
    *(object->older != NULL ? &object->older->newer : &symbolizer->oldest) = object->newer;
    object->newer = object->older = NULL;
    symbolizer->n_open--;
}

static void link_open(struct tg_symbolizer *symbolizer, struct object *object)
{
    object->older = symbolizer->newest;
    *(symbolizer->newest != NULL ? &symbolizer->newest->newer : &symbolizer->oldest) = object;
    symbolizer->newest = object;
    symbolizer->n_open++;
}

static void close_image(struct tg_symbolizer *symbolizer, struct object *object)
{
    unlink_open(symbolizer, object);
    tg_image_unref(object->image);
    object->image = NULL;
}

/* Makes OBJECT the one used last. False where its file cannot be had. */
static bool use_image(struct tg_symbolizer *symbolizer, struct object *object)
{
    if (object->image != NULL) {
        unlink_open(symbolizer, object);
        link_open(symbolizer, object);
        return true;
    }
    if (object->useless)
        return false;
    struct tg_error *error = tg_image_open(object->key, &object->image);
    if (error == NULL && strcmp(tg_image_info(object->image)->build_id, object->build_id) != 0) {
        tg_image_unref(object->image);
        object->image = NULL;
    }
    tg_error_destroy(error);
    object->useless = object->image == NULL;
    if (object->useless)
        return false;
    if (symbolizer->n_open == MAX_OPEN_IMAGES)
        close_image(symbolizer, symbolizer->oldest);
    link_open(symbolizer, object);
    return true;
}

static struct object *add_object(struct tg_symbolizer *symbolizer, const char *path, const char *build_id)
{
    size_t n_path = strlen(path) + 1, n_build_id = strlen(build_id) + 1;
    struct object *object = calloc(1, sizeof *object + n_path + n_build_id);
    if (object == NULL)
        return NULL;
    object->n_key = n_path + n_build_id;
    memcpy(object->key, path, n_path);
    memcpy(object->key + n_path, build_id, n_build_id);
    object->build_id = object->key + n_path;
    if (TG_HASH_ADD_KEY(hh, symbolizer->objects, object->key, object->n_key, object) != NULL) {
        free(object);
        return NULL;
    }
    return object;
}

static struct object *find_object(struct tg_symbolizer *symbolizer, const char *path, const char *build_id)
{
    struct object *object = symbolizer->last;
    if (object != NULL && strcmp(object->key, path) == 0 && strcmp(object->build_id, build_id) == 0)
        return object;
    size_t n_path = strlen(path) + 1, n_build_id = strlen(build_id) + 1;
    char *key = malloc(n_path + n_build_id);
    if (key == NULL)
        return NULL;
    memcpy(key, path, n_path);
    memcpy(key + n_path, build_id, n_build_id);
    HASH_FIND(hh, symbolizer->objects, key, n_path + n_build_id, object);
    free(key);
    if (object == NULL)
        object = add_object(symbolizer, path, build_id);
    symbolizer->last = object;
    return object;
}

void tg_symbolizer_destroy(struct tg_symbolizer *symbolizer)
{
    if (symbolizer == NULL)
        return;
    struct object *object, *next;
    HASH_ITER (hh, symbolizer->objects, object, next) {
        HASH_DEL(symbolizer->objects, object);
        forget_answers(symbolizer, object);
        forget_variables(object);
        tg_image_unref(object->image);
        free(object);
    }
    free(symbolizer);
}

bool tg_symbolizer_resolve(struct tg_symbolizer *symbolizer, const char *path, const char *build_id,
                           uint64_t address, struct tg_symbol *symbol)
{
    struct object *object = find_object(symbolizer, path, build_id == NULL ? "" : build_id);
    if (object == NULL || (object->useless && object->answers == NULL))
        return false;
    struct answer *answer = NULL;
    HASH_FIND(hh, object->answers, &address, sizeof address, answer);
    if (answer == NULL) {
        if (!use_image(symbolizer, object))
            return false;
        if (symbolizer->n_answers >= MAX_ANSWERS) /* of this object alone: the others are not being asked */
            forget_answers(symbolizer, object);
        answer = calloc(1, sizeof *answer);
        if (answer == NULL)
            return false;
        ask(object->image, address, answer);
        if (TG_HASH_ADD(hh, object->answers, address, answer) != NULL) {
            free(answer->function);
            free(answer->file);
            free(answer);
            return false;
        }
        symbolizer->n_answers++;
    }
    if (answer->function == NULL && answer->file == NULL)
        return false;
    *symbol = (struct tg_symbol){answer->function, answer->offset, answer->file, answer->line};
    return true;
}

const char *tg_symbolizer_variable(struct tg_symbolizer *symbolizer, const char *path, const char *build_id,
                                   uint64_t address, uint64_t *offset)
{
    struct object *object = find_object(symbolizer, path, build_id == NULL ? "" : build_id);
    struct variable *variable = NULL;
    if (object == NULL)
        return NULL;
    HASH_FIND(hh, object->variables, &address, sizeof address, variable);
    if (variable == NULL) {
        if (!use_image(symbolizer, object))
            return NULL;
        if (HASH_COUNT(object->variables) >= MAX_VARIABLES)
            forget_variables(object);
        variable = calloc(1, sizeof *variable);
        if (variable == NULL)
            return NULL;
        variable->address = address;
        if (TG_HASH_ADD(hh, object->variables, address, variable) != NULL) {
            free(variable);
            return NULL;
        }
        tg_image_each_symbol(object->image, "", true, consider, &(struct holder){.variable = variable});
    }
    *offset = variable->offset;
    return variable->name;
}
