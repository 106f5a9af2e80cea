#include "live/web/failure.h"

#include "format/base/json_writer.h"

void tg_web_failure_write(FILE *stream, const char *code, const char *message)
{
    struct tg_json json;
    tg_json_init(&json, stream, false);
    tg_json_begin_object(&json);
    tg_json_key(&json, "error");
    tg_json_begin_object(&json);
    tg_json_member_string(&json, "code", code);
    tg_json_member_string(&json, "message", message);
    tg_json_end_object(&json);
    tg_json_end_object(&json);
}
