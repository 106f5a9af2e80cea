#include "format/base/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tg_error {
    enum tg_error_code code;
    char *message;
};

static struct tg_error no_memory = {.code = TG_ERROR_NO_MEMORY, .message = (char *)"out of memory"};

struct tg_error *tg_error_no_memory(void)
{
    return &no_memory;
}

static struct tg_error *error_create(enum tg_error_code code, int errno_value, const char *format,
                                     va_list args)
{
    struct tg_error *error = malloc(sizeof *error);
    if (error == NULL)
        return &no_memory;
    char *text = NULL;
    if (vasprintf(&text, format, args) < 0) {
        free(error);
        return &no_memory;
    }
    if (errno_value != 0) {
        char *full = NULL;
        int length = asprintf(&full, "%s: %s", text, strerror(errno_value));
        free(text);
        if (length < 0) {
            free(error);
            return &no_memory;
        }
        text = full;
    }
    *error = (struct tg_error){.code = code, .message = text};
    return error;
}

struct tg_error *tg_error_create(enum tg_error_code code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    struct tg_error *error = error_create(code, 0, format, args);
    va_end(args);
    return error;
}

struct tg_error *tg_error_create_errno(int errno_value, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    struct tg_error *error = error_create(TG_ERROR_OS, errno_value, format, args);
    va_end(args);
    return error;
}

struct tg_error *tg_error_prefix(struct tg_error *error, const char *format, ...)
{
    if (error == NULL || error == &no_memory)
        return error;
    char *prefix = NULL;
    va_list args;
    va_start(args, format);
    int length = vasprintf(&prefix, format, args);
    va_end(args);
    if (length < 0)
        return error;
    char *full = NULL;
    if (asprintf(&full, "%s: %s", prefix, error->message) >= 0) {
        free(error->message);
        error->message = full;
    }
    free(prefix);
    return error;
}

void tg_error_destroy(struct tg_error *error)
{
    if (error == NULL || error == &no_memory)
        return;
    free(error->message);
    free(error);
}

void tg_error_cleanup(struct tg_error **error)
{
    tg_error_destroy(*error);
}

enum tg_error_code tg_error_code(const struct tg_error *error)
{
    return error->code;
}

const char *tg_error_message(const struct tg_error *error)
{
    return error->message;
}

static const struct {
    const char *name;
    int exit_status;
} codes[] = {
#define X(name, status) [TG_ERROR_##name] = {#name, status},
    TG_ERROR_CODES(X)
#undef X
};

int tg_error_exit_status(const struct tg_error *error)
{
    return error == NULL ? 0 : codes[error->code].exit_status;
}

const char *tg_error_code_name(enum tg_error_code code)
{
    return codes[code].name;
}
