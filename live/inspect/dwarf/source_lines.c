#include "live/inspect/dwarf/source_lines.h"

#include "format/base/printable.h"
#include "format/image/source_path.h"
#include "live/inspect/dwarf/naming.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file that was read. */
struct file {
    struct tg_source_text public;
    char *path;
    char *bytes;
    size_t size;
    uint32_t *starts; /* of lines, and behind the last one's end */
    struct stat status;
    uint64_t used; /* the question that it was the answer to last */
};

struct tg_source_lines {
    struct file *files[TG_SOURCE_MAX_FILES]; /* NULL where there is none yet */
    char **directories;
    size_t n_directories;
    uint64_t questions;
};

struct tg_error *tg_source_lines_create(struct tg_source_lines **lines)
{
    struct tg_source_lines *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    *lines = made;
    return NULL;
}

static void destroy_file(struct file *file)
{
    if (file == NULL)
        return;
    free(file->path);
    free(file->bytes);
    free(file->starts);
    free(file);
}

static void forget_directories(struct tg_source_lines *lines)
{
    for (size_t i = 0; i < lines->n_directories; i++)
        free(lines->directories[i]);
    free(lines->directories);
    lines->directories = NULL;
    lines->n_directories = 0;
}

void tg_source_lines_destroy(struct tg_source_lines *lines)
{
    if (lines == NULL)
        return;
    for (size_t i = 0; i < TG_SOURCE_MAX_FILES; i++)
        destroy_file(lines->files[i]);
    forget_directories(lines);
    free(lines);
}

struct tg_error *tg_source_lines_search(struct tg_source_lines *lines, const char *directories)
{
    size_t count = 0, n = 0;
    directories = directories == NULL ? "" : directories;
    for (const char *at = directories; *at != '\0'; at += strcspn(at, ":"), at += *at == ':')
        count += *at != ':';
    if (count > TG_SOURCE_MAX_DIRECTORIES)
        return tg_error_create(TG_ERROR_LIMIT, "a search path has at most %d directories, not %zu",
                               TG_SOURCE_MAX_DIRECTORIES, count);
    char **made = calloc(count + 1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    forget_directories(lines);
    lines->directories = made;
    for (const char *at = directories; *at != '\0'; at += *at == ':') {
        size_t length = strcspn(at, ":");
        if (length > 0 && (made[n] = strndup(at, length)) == NULL)
            return tg_error_no_memory();
        n += length > 0;
        lines->n_directories = n;
        at += length;
    }
    return NULL;
}

/* ---- reading */

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* The lines of FILE's bytes; the last one need not end. */
static bool find_starts(struct file *file)
{
    size_t count = 0, n = 0;
    const char *end = file->bytes + file->size;
    for (const char *at = file->bytes; at < end; count++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        at = stop == NULL ? end : stop + 1;
    }
    file->starts = reallocarray(NULL, count + 1, sizeof *file->starts);
    if (file->starts == NULL)
        return false;
    for (const char *at = file->bytes; at < end;) {
        file->starts[n++] = (uint32_t)(at - file->bytes);
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        at = stop == NULL ? end : stop + 1;
    }
    file->starts[n] = (uint32_t)file->size;
    file->public.n_lines = n;
    return true;
}

static struct tg_error *read_bytes(int descriptor, const char *path, struct file *file)
{
    size_t wanted = (size_t)file->status.st_size;
    file->bytes = malloc(wanted + 1);
    if (file->bytes == NULL)
        return tg_error_no_memory();
    while (file->size < wanted) {
        ssize_t got = read(descriptor, file->bytes + file->size, wanted - file->size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return tg_error_create_errno(errno, "cannot read %s", path);
        if (got == 0)
            break; /* the file is being truncated */
        file->size += (size_t)got;
    }
    return find_starts(file) ? NULL : tg_error_no_memory();
}

/* *FILE NULL: there is no regular file at PATH that may be read. */
static struct tg_error *read_file(const char *path, struct file **result)
{
    struct tg_error *error = NULL;
    struct file *file = NULL;
    *result = NULL;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (descriptor < 0)
        return NULL;
    struct stat status;
    if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode))
        goto close;
    if (status.st_size > TG_SOURCE_MAX_BYTES) {
        error = tg_error_create(TG_ERROR_LIMIT, "%s has %jd bytes: more than a source file may have here, %d",
                                path, (intmax_t)status.st_size, TG_SOURCE_MAX_BYTES);
        goto close;
    }
    file = calloc(1, sizeof *file);
    if (file == NULL || (file->path = strdup(path)) == NULL) {
        error = tg_error_no_memory();
        goto close;
    }
    file->status = status;
    file->public.path = file->path;
    error = read_bytes(descriptor, path, file);
close:
    close(descriptor);
    if (error != NULL)
        destroy_file(file);
    else
        *result = file;
    return error;
}

/* The file at PATH, as it is now. */
static struct tg_error *have_file(struct tg_source_lines *lines, const char *path, struct file **result)
{
    struct stat status;
    size_t slot = 0;
    *result = NULL;
    if (stat(path, &status) != 0 || !S_ISREG(status.st_mode))
        return NULL;
    for (size_t i = 0; i < TG_SOURCE_MAX_FILES; i++) {
        struct file *file = lines->files[i];
        if (file != NULL && strcmp(file->path, path) == 0) {
            slot = i;
            if (!is_same(&file->status, &status))
                break;
            *result = file;
            return NULL;
        }
        if (lines->files[slot] != NULL && (file == NULL || file->used < lines->files[slot]->used))
            slot = i;
    }
    struct tg_error *error = read_file(path, result);
    if (error != NULL || *result == NULL)
        return error;
    destroy_file(lines->files[slot]);
    lines->files[slot] = *result;
    return NULL;
}

/* ---- finding */

/* PATH's last components below DIRECTORY, as many as there are first. */
static struct tg_error *find_below(struct tg_source_lines *lines, const char *directory, const char *path,
                                   struct file **file)
{
    enum { MOST = 32 }; /* components left out */
    for (size_t i = 0; i < MOST; i++) {
        char joined[PATH_MAX];
        path += strspn(path, "/");
        const char *parts[3] = {directory, path, NULL};
        if (*path == '\0')
            return NULL;
        struct tg_error *error =
            tg_source_path_join(parts, joined, sizeof joined) ? have_file(lines, joined, file) : NULL;
        if (error != NULL || *file != NULL)
            return error;
        path += strcspn(path, "/");
    }
    return NULL;
}

static struct tg_error *find_anywhere(struct tg_source_lines *lines, const char *path, const char *program,
                                      struct file **file)
{
    struct tg_error *error = have_file(lines, path, file);
    for (size_t i = 0; error == NULL && *file == NULL && i < lines->n_directories; i++)
        error = find_below(lines, lines->directories[i], path, file);
    const char *last = program == NULL ? NULL : strrchr(program, '/');
    if (error != NULL || *file != NULL || last == NULL)
        return error;
    char directory[PATH_MAX];
    size_t length = (size_t)(last - program);
    if (length + 2 > sizeof directory)
        return NULL;
    snprintf(directory, sizeof directory, "%.*s/", (int)length, program);
    return find_below(lines, directory, path, file);
}

static struct tg_error *not_found(const struct tg_source_lines *lines, const char *path, const char *program)
{
    char shown[512], of[512] = "";
    if (program != NULL)
        tg_printable(program, of, sizeof of);
    return tg_error_create(TG_ERROR_NOT_FOUND,
                           "no source file %s, nor one of its last components in the %zu director%s "
                           "of SEARCH_PATH%s%s; set it with `dset SEARCH_PATH DIRECTORY:...`",
                           tg_printable(path, shown, sizeof shown), lines->n_directories,
                           lines->n_directories == 1 ? "y" : "ies", *of == '\0' ? "" : " or beside ", of);
}

static bool is_newer(const struct stat *file, const char *program)
{
    struct stat status;
    if (program == NULL || stat(program, &status) != 0)
        return false;
    if (file->st_mtim.tv_sec != status.st_mtim.tv_sec)
        return file->st_mtim.tv_sec > status.st_mtim.tv_sec;
    return file->st_mtim.tv_nsec > status.st_mtim.tv_nsec;
}

struct tg_error *tg_source_lines_find(struct tg_source_lines *lines, const char *path, const char *program,
                                      const struct tg_source_text **text)
{
    struct file *file = NULL;
    struct tg_error *error = find_anywhere(lines, path, program, &file);
    if (error == NULL && file == NULL)
        error = not_found(lines, path, program);
    if (error != NULL)
        return error;
    file->used = ++lines->questions;
    file->public.is_newer = is_newer(&file->status, program);
    *text = &file->public;
    return NULL;
}

/* ---- what is shown */

const char *tg_source_text_line(const struct tg_source_text *text, uint64_t number, size_t *size)
{
    static const char mark[] = "\xef\xbb\xbf"; /* byte order mark of UTF-8 */
    const struct file *file = (const struct file *)text;
    size_t start = file->starts[number - 1], end = file->starts[number];
    if (end > start && file->bytes[end - 1] == '\n')
        end--;
    if (end > start && file->bytes[end - 1] == '\r')
        end--;
    if (number == 1 && end - start >= 3 && memcmp(file->bytes, mark, 3) == 0)
        start += 3;
    *size = end - start;
    return file->bytes + start;
}

static char mark_at(const struct tg_source_range *range, uint64_t line)
{
    static const char order[] = "dbB";
    const char *best = NULL;
    for (size_t i = 0; i < range->n_marks; i++) {
        const char *known = strchr(order, range->marks[i].letter);
        if (range->marks[i].line == line && known != NULL && *known != '\0' && (best == NULL || known > best))
            best = known;
    }
    return best == NULL ? ' ' : *best;
}

static uint64_t end_of(const struct tg_source_text *text, const struct tg_source_range *range)
{
    if (range->first > text->n_lines)
        return range->first;
    return range->count > text->n_lines - range->first ? text->n_lines + 1 : range->first + range->count;
}

void tg_source_text_print(const struct tg_source_text *text, const struct tg_source_range *range,
                          FILE *stream)
{
    uint64_t end = end_of(text, range);
    int width = snprintf(NULL, 0, "%" PRIu64, end - 1);
    for (uint64_t number = range->first; number < end; number++) {
        size_t size;
        const char *line = tg_source_text_line(text, number, &size);
        fprintf(stream, "%c%c %*" PRIu64, number == range->current ? '>' : ' ', mark_at(range, number), width,
                number);
        fputs(size > 0 ? "  " : "", stream);
        tg_inspect_write_text(line, size, TG_SOURCE_MAX_COLUMNS, stream);
        fputc('\n', stream);
    }
}

void tg_source_text_json(const struct tg_source_text *text, const struct tg_source_range *range,
                         struct tg_json *json)
{
    uint64_t end = end_of(text, range);
    tg_json_begin_object(json);
    tg_json_member_string(json, "file", text->path);
    tg_json_member_bool(json, "is_newer", text->is_newer);
    if (range->current >= range->first && range->current < end)
        tg_json_member_unsigned(json, "current", range->current);
    tg_json_key(json, "lines");
    tg_json_begin_array(json);
    for (uint64_t number = range->first; number < end; number++) {
        size_t size;
        const char *line = tg_source_text_line(text, number, &size);
        char letter[2] = {mark_at(range, number), '\0'}, *copy = strndup(line, size);
        tg_json_begin_object(json);
        tg_json_member_unsigned(json, "number", number);
        tg_json_member_string(json, "text", copy == NULL ? "" : copy);
        if (letter[0] != ' ')
            tg_json_member_string(json, "mark", letter);
        tg_json_end_object(json);
        free(copy);
    }
    tg_json_end_array(json);
    tg_json_end_object(json);
}
