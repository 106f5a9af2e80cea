#include "analyzer/output/output_file.h"

#include "analyzer/output/pager.h"
#include "format/base/cleanup.h"
#include "format/base/replace.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

struct tg_output {
    FILE *stream;
    int descriptor;
    int write_errno; /* of the first write that failed */
    uint64_t bytes;
    char *path;      /* NULL: standard output */
    char *temporary; /* NULL: written in place */
    int cleanup;     /* place of TEMPORARY there; -1: none */
    bool force;
    bool committed;
    bool is_terminal;
    struct winsize size; /* of the terminal; 0: it does not say */
    struct tg_pager *pager;
    char buffer[65536]; /* of STREAM */
};

/* stdio forgets why a write failed; the stream's own write function does not. */
static ssize_t write_output(void *cookie, const char *bytes, size_t size)
{
    struct tg_output *output = cookie;
    size_t written = 0;
    while (written < size) {
        ssize_t step = write(output->descriptor, bytes + written, size - written);
        if (step < 0 && errno == EINTR)
            continue;
        if (step < 0) {
            if (output->write_errno == 0)
                output->write_errno = errno;
            return 0;
        }
        written += (size_t)step;
    }
    output->bytes += size;
    return (ssize_t)size;
}

static int close_output(void *cookie)
{
    struct tg_output *output = cookie;
    int descriptor = output->descriptor;
    output->descriptor = -1;
    if (descriptor == STDOUT_FILENO)
        return 0;
    if (close(descriptor) == 0)
        return 0;
    if (output->write_errno == 0)
        output->write_errno = errno;
    return -1;
}

static struct tg_error *open_temporary(struct tg_output *output)
{
    if (asprintf(&output->temporary, "%s.XXXXXX", output->path) < 0) {
        output->temporary = NULL;
        return tg_error_no_memory();
    }
    sigset_t before;
    tg_cleanup_hold(&before);
    output->descriptor = mkostemp(output->temporary, O_CLOEXEC);
    int reason = errno;
    if (output->descriptor >= 0)
        output->cleanup = tg_cleanup_add(AT_FDCWD, output->temporary, output->descriptor);
    tg_cleanup_release(&before);
    if (output->descriptor < 0) {
        free(output->temporary);
        output->temporary = NULL;
        return tg_error_create_errno(reason, "cannot create a temporary file beside '%s'", output->path);
    }
    mode_t mask = umask(0);
    umask(mask);
    fchmod(output->descriptor, 0666 & ~mask);
    return NULL;
}

/* A device or pipe, also by a link, as /dev/stdout. */
static bool is_written_in_place(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

struct tg_error *tg_output_check(const char *path, bool force)
{
    if (path == NULL || strcmp(path, "-") == 0 || is_written_in_place(path))
        return NULL;
    return tg_replace_check(AT_FDCWD, path, path, force);
}

static struct tg_error *open_path(struct tg_output *output, const char *path)
{
    output->path = strdup(path);
    if (output->path == NULL)
        return tg_error_no_memory();
    if (is_written_in_place(path)) {
        output->descriptor = open(path, O_WRONLY | O_CLOEXEC);
        return output->descriptor >= 0 ? NULL : tg_error_create_errno(errno, "cannot write to '%s'", path);
    }
    struct tg_error *error = tg_output_check(path, output->force);
    return error != NULL ? error : open_temporary(output);
}

struct tg_error *tg_output_open(const char *path, bool force, struct tg_output **output)
{
    struct tg_output *created = calloc(1, sizeof *created);
    if (created == NULL)
        return tg_error_no_memory();
    created->force = force;
    created->cleanup = -1;
    created->descriptor = STDOUT_FILENO;
    signal(SIGPIPE, SIG_IGN);
    struct tg_error *error = NULL;
    if (path != NULL && strcmp(path, "-") != 0) {
        created->descriptor = -1;
        error = open_path(created, path);
    }
    created->is_terminal = error == NULL && isatty(created->descriptor);
    if (created->is_terminal)
        ioctl(created->descriptor, TIOCGWINSZ, &created->size);
    if (error == NULL) {
        created->stream =
            fopencookie(created, "w", (cookie_io_functions_t){.write = write_output, .close = close_output});
        if (created->stream == NULL)
            error = tg_error_no_memory();
        else
            setvbuf(created->stream, created->buffer, _IOFBF, sizeof created->buffer);
    }
    if (error != NULL) {
        tg_output_destroy(created);
        return error;
    }
    *output = created;
    return NULL;
}

struct tg_error *tg_output_refuse_input(const char *output_path, const char *input_path)
{
    struct stat output, input;
    if (output_path == NULL || strcmp(output_path, "-") == 0 || strcmp(input_path, "-") == 0 ||
        stat(output_path, &output) != 0 || stat(input_path, &input) != 0 || !S_ISREG(output.st_mode) ||
        output.st_dev != input.st_dev || output.st_ino != input.st_ino)
        return NULL;
    return tg_error_create(TG_ERROR_USAGE, "'%s' is the input itself; choose another name for the output",
                           output_path);
}

FILE *tg_output_stream(struct tg_output *output)
{
    return output->stream;
}

bool tg_output_is_file(const struct tg_output *output)
{
    return output->temporary != NULL;
}

bool tg_output_is_terminal(const struct tg_output *output)
{
    return output->is_terminal;
}

/* The number in environment variable NAME, else SAID where the terminal says it, else OTHERWISE. */
static size_t dimension(const char *name, unsigned short said, size_t otherwise)
{
    enum { MOST = 10000 };
    const char *text = getenv(name);
    unsigned long number = text == NULL ? 0 : strtoul(text, NULL, 10);
    if (number > 0 && number <= MOST)
        return number;
    return said > 0 ? said : otherwise;
}

size_t tg_output_columns(const struct tg_output *output)
{
    return dimension("COLUMNS", output->size.ws_col, 80);
}

size_t tg_output_lines(const struct tg_output *output)
{
    return dimension("LINES", output->size.ws_row, 24);
}

struct tg_error *tg_output_page(struct tg_output *output)
{
    if (!output->is_terminal || output->descriptor != STDOUT_FILENO)
        return NULL;
    return tg_pager_open(&output->descriptor, &output->pager);
}

bool tg_output_colour(const struct tg_output *output)
{
    const char *no_colour = getenv("NO_COLOR"), *terminal = getenv("TERM");
    return output->is_terminal && (no_colour == NULL || *no_colour == '\0') && terminal != NULL &&
           strcmp(terminal, "dumb") != 0;
}

bool tg_output_closed(const struct tg_output *output)
{
    return output->write_errno != 0;
}

uint64_t tg_output_bytes(const struct tg_output *output)
{
    return output->bytes;
}

/* Moves the finished file to its place; nothing that came to be there meanwhile is overwritten unasked. */
static struct tg_error *install(struct tg_output *output)
{
    struct tg_error *error =
        output->force ? tg_replace_check(AT_FDCWD, output->path, output->path, true) : NULL;
    if (error != NULL)
        return error;
    int status = output->force
                     ? rename(output->temporary, output->path)
                     : renameat2(AT_FDCWD, output->temporary, AT_FDCWD, output->path, RENAME_NOREPLACE);
    if (status != 0 && errno == EINVAL && !output->force) {
        /* A file system that cannot rename so: a link does not overwrite either. */
        status = link(output->temporary, output->path);
        if (status == 0)
            unlink(output->temporary);
    }
    if (status != 0) {
        int reason = errno;
        error = reason == EEXIST ? tg_replace_check(AT_FDCWD, output->path, output->path, false) : NULL;
        return error != NULL ? error
                             : tg_error_create_errno(reason, "cannot rename '%s' to '%s'", output->temporary,
                                                     output->path);
    }
    output->committed = true;
    tg_cleanup_forget(output->cleanup);
    output->cleanup = -1;
    return NULL;
}

struct tg_error *tg_output_commit(struct tg_output *output)
{
    int status = fclose(output->stream);
    output->stream = NULL;
    struct tg_error *error = tg_pager_close(output->pager);
    output->pager = NULL;
    if (error != NULL)
        return error;
    if (output->write_errno == EPIPE)
        return NULL;
    const char *name = output->path == NULL ? "standard output" : output->path;
    if (output->write_errno != 0)
        return tg_error_create_errno(output->write_errno, "cannot write to %s", name);
    if (status != 0)
        return tg_error_no_memory();
    return output->temporary == NULL ? NULL : install(output);
}

void tg_output_destroy(struct tg_output *output)
{
    if (output == NULL)
        return;
    if (output->stream != NULL)
        fclose(output->stream);
    else if (output->descriptor > STDERR_FILENO)
        close(output->descriptor);
    tg_error_destroy(tg_pager_close(output->pager));
    if (output->temporary != NULL && !output->committed)
        unlink(output->temporary);
    tg_cleanup_forget(output->cleanup);
    free(output->temporary);
    free(output->path);
    free(output);
}
