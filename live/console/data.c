#include "live/console/data.h"

#include <stdlib.h>
#include <string.h>

struct tg_json *tg_console_data_begin(struct tg_console_data *data)
{
    tg_console_data_drop(data);
    if (!data->wanted)
        return NULL;
    data->stream = open_memstream(&data->text, &data->size);
    if (data->stream == NULL)
        return NULL;
    tg_json_init(&data->json, data->stream, false);
    return &data->json;
}

void tg_console_data_drop(struct tg_console_data *data)
{
    if (data->stream != NULL)
        fclose(data->stream);
    free(data->text);
    data->stream = NULL;
    data->text = NULL;
    data->size = 0;
}

char *tg_console_data_take(struct tg_console_data *data)
{
    if (data->stream == NULL)
        return NULL;
    bool is_whole = fclose(data->stream) == 0 && data->size > 0;
    char *text = data->text;
    data->stream = NULL;
    data->text = NULL;
    if (is_whole)
        return text;
    free(text);
    return NULL;
}

/* ---- Tcl's values */

Tcl_Obj *tg_console_data_list(void)
{
    Tcl_Obj *nothing = Tcl_NewObj(), *list = Tcl_NewListObj(1, &nothing);
    Tcl_ListObjReplace(NULL, list, 0, 1, 0, NULL);
    return list;
}

static bool is_a(const Tcl_Obj *object, const char *type)
{
    return object->typePtr != NULL && strcmp(object->typePtr->name, type) == 0;
}

static void put_list(struct tg_json *json, Tcl_Obj *list, unsigned depth);

static void put_dict(struct tg_json *json, Tcl_Obj *dict, unsigned depth);

static void put(struct tg_json *json, Tcl_Obj *object, unsigned depth)
{
    enum { DEEPEST = 24 }; /* commands build flatter ones */
    Tcl_WideInt number;
    if (depth < DEEPEST && is_a(object, "dict"))
        put_dict(json, object, depth + 1);
    else if (depth < DEEPEST && is_a(object, "list"))
        put_list(json, object, depth + 1);
    else if ((is_a(object, "int") || is_a(object, "wideInt")) &&
             Tcl_GetWideIntFromObj(NULL, object, &number) == TCL_OK)
        tg_json_signed(json, number);
    else
        tg_json_string(json, Tcl_GetString(object));
}

static void put_list(struct tg_json *json, Tcl_Obj *list, unsigned depth)
{
    int n = 0;
    Tcl_Obj **members;
    tg_json_begin_array(json);
    if (Tcl_ListObjGetElements(NULL, list, &n, &members) == TCL_OK)
        for (int i = 0; i < n; i++)
            put(json, members[i], depth);
    tg_json_end_array(json);
}

static void put_dict(struct tg_json *json, Tcl_Obj *dict, unsigned depth)
{
    Tcl_DictSearch search;
    Tcl_Obj *key, *value;
    int done = 1;
    tg_json_begin_object(json);
    if (Tcl_DictObjFirst(NULL, dict, &search, &key, &value, &done) == TCL_OK) {
        for (; !done; Tcl_DictObjNext(&search, &key, &value, &done)) {
            tg_json_key(json, Tcl_GetString(key));
            put(json, value, depth);
        }
        Tcl_DictObjDone(&search);
    }
    tg_json_end_object(json);
}

void tg_console_data_put(struct tg_json *json, Tcl_Obj *object)
{
    if (object->typePtr == NULL && *Tcl_GetString(object) == '\0') /* Tcl gives an empty list no type */
        put_list(json, object, 0);
    else
        put(json, object, 0);
}
