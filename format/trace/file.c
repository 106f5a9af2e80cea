#include "format/trace/file.h"

#include "format/base/cleanup.h"
#include "format/base/replace.h"
#include "format/trace/index.h"
#include "format/trace/recording_lock.h"
#include "format/trace/section_codec.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct tg_trace_file {
    char *path;            /* as given, for messages */
    char *incomplete_path; /* for messages */
    char *name;            /* in the directory */
    char *incomplete_name;
    int directory_fd; /* a change of the working directory must not move the file */
    int fd;
    int cleanup;    /* place of the file there (format/base/cleanup.h); -1: none */
    bool is_locked; /* readers see that the file is being written */
    bool overwrite;
    bool is_kept; /* where a signal ends the process: it is a recording */
    uint64_t size_bytes;
    uint32_t sequence;
    struct tg_section_codec *codec;
    struct tg_byte_buffer section;
    struct tg_trace_index index;
};

static struct tg_error *set_names(struct tg_trace_file *file, const char *path, const char *suffix)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;
    if (strcmp(path, "-") == 0)
        return tg_error_create(TG_ERROR_USAGE,
                               "a trace cannot be written to standard output: name a file (./- "
                               "is one called -)");
    if (*name == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return tg_error_create(TG_ERROR_USAGE, "invalid name for a trace file: \"%s\"", path);
    file->path = strdup(path);
    file->name = strdup(name);
    if (asprintf(&file->incomplete_path, "%s%s", path, suffix) < 0)
        file->incomplete_path = NULL;
    if (asprintf(&file->incomplete_name, "%s%s", name, suffix) < 0)
        file->incomplete_name = NULL;
    if (file->path == NULL || file->name == NULL || file->incomplete_path == NULL ||
        file->incomplete_name == NULL)
        return tg_error_no_memory();
    return NULL;
}

static struct tg_error *open_directory(struct tg_trace_file *file)
{
    const char *slash = strrchr(file->path, '/');
    char *directory = slash == NULL         ? strdup(".")
                      : slash == file->path ? strdup("/")
                                            : strndup(file->path, (size_t)(slash - file->path));
    if (directory == NULL)
        return tg_error_no_memory();
    file->directory_fd = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct tg_error *error = NULL;
    if (file->directory_fd < 0)
        error = tg_error_create_errno(errno, "cannot write %s: directory %s", file->path, directory);
    free(directory);
    return error;
}

/* Whether another process writes the file that is in the way; errno stays as it is. */
static bool is_recording(const struct tg_trace_file *file)
{
    int errno_value = errno,
        fd = openat(file->directory_fd, file->incomplete_name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    bool result = fd >= 0 && tg_recording_lock_owner(fd) != 0;
    if (fd >= 0)
        close(fd);
    errno = errno_value;
    return result;
}

static struct tg_error *open_incomplete(struct tg_trace_file *file)
{
    struct tg_error *error = tg_replace_check(file->directory_fd, file->name, file->path, file->overwrite);
    if (error == NULL && file->overwrite)
        error = tg_replace_check(file->directory_fd, file->incomplete_name, file->incomplete_path, true);
    if (error != NULL)
        return error;
    if (file->overwrite)
        unlinkat(file->directory_fd, file->incomplete_name, 0);
    sigset_t before;
    tg_cleanup_hold(&before);
    file->fd = openat(file->directory_fd, file->incomplete_name,
                      O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    int reason = errno;
    if (file->fd >= 0 && !file->is_kept)
        file->cleanup = tg_cleanup_add(file->directory_fd, file->incomplete_name, file->fd);
    tg_cleanup_release(&before);
    errno = reason;
    if (file->fd >= 0) {
        file->is_locked = tg_recording_lock_take(file->fd);
        return NULL;
    }
    if (errno == EEXIST && is_recording(file))
        return tg_error_create(TG_ERROR_EXISTS, "%s is still being recorded: choose another name",
                               file->incomplete_path);
    if (errno == EEXIST)
        return tg_error_create(
            TG_ERROR_EXISTS,
            "%s exists already, from an interrupted recording (`tollgate recover` repairs it): "
            "choose another name, or add --force",
            file->incomplete_path);
    return tg_error_create_errno(errno, "cannot create %s (-o FILE writes the trace elsewhere)",
                                 file->incomplete_path);
}

/* write(2) that says EFBIG beyond a file size limit: the signal that comes with it would end the process. It
 * is for the calling thread alone, so blocking and taking it here is enough. */
static ssize_t write_quietly(int fd, const uint8_t *bytes, size_t size)
{
    sigset_t too_large, before, pending;
    sigemptyset(&too_large);
    sigaddset(&too_large, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &too_large, &before);
    sigpending(&pending);
    bool was_pending = sigismember(&pending, SIGXFSZ) == 1;
    ssize_t n = write(fd, bytes, size);
    int errno_value = errno;
    if (n < 0 && errno_value == EFBIG && !was_pending)
        sigtimedwait(&too_large, NULL, &(struct timespec){0});
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = errno_value;
    return n;
}

static struct tg_error *write_all(struct tg_trace_file *file, const uint8_t *bytes, size_t size)
{
    size_t written = 0;
    while (written < size) {
        ssize_t n = write_quietly(file->fd, bytes + written, size - written);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            struct tg_error *error =
                tg_error_create_errno(n < 0 ? errno : ENOSPC, "cannot write %s", file->incomplete_path);
            /* The file ends with a whole section again; where even that fails, readers see a truncated
             * end. */
            if (ftruncate(file->fd, (off_t)file->size_bytes) == 0)
                lseek(file->fd, (off_t)file->size_bytes, SEEK_SET);
            return error;
        }
        written += (size_t)n;
    }
    file->size_bytes += size;
    return NULL;
}

/* Writing into a deleted file succeeds and helps nobody. */
static struct tg_error *check_linked(const struct tg_trace_file *file)
{
    struct stat status;
    if (fstat(file->fd, &status) == 0 && status.st_nlink == 0)
        return tg_error_create_errno(ENOENT, "%s was deleted while it was being written",
                                     file->incomplete_path);
    return NULL;
}

static struct tg_error *append_payload(struct tg_trace_file *file, struct tg_section_header *header,
                                       const struct tg_byte_buffer *payload,
                                       const struct tg_byte_buffer *boundaries)
{
    header->sequence = file->sequence;
    file->section.size = 0;
    struct tg_error *error = tg_section_codec_pack(file->codec, header, payload, boundaries, &file->section);
    if (error == NULL)
        error = write_all(file, file->section.data, file->section.size);
    if (error == NULL)
        file->sequence++;
    if (file->is_locked) /* a reader in this process may have closed the file, and taken the lock with it */
        file->is_locked = tg_recording_lock_take(file->fd);
    return error;
}

static struct tg_error *append_meta(struct tg_trace_file *file, const struct tg_trace_meta *meta)
{
    struct tg_byte_buffer payload = {0};
    struct tg_section_header header = {.kind = TG_SECTION_META};
    struct tg_error *error = tg_meta_payload_encode(meta, &payload);
    if (error == NULL)
        error = append_payload(file, &header, &payload, NULL);
    tg_byte_buffer_deinit(&payload);
    return error;
}

struct tg_error *tg_trace_file_create(const char *path, const char *suffix, bool overwrite, int level,
                                      const struct tg_trace_meta *meta, struct tg_trace_file **file)
{
    struct tg_trace_file *created = calloc(1, sizeof *created);
    if (created == NULL)
        return tg_error_no_memory();
    created->directory_fd = created->fd = created->cleanup = -1;
    created->is_kept = strcmp(suffix, TG_TRACE_INCOMPLETE_SUFFIX) == 0;
    created->overwrite = overwrite;
    struct tg_error *error = set_names(created, path, suffix);
    if (error == NULL)
        error = tg_section_codec_create(level, &created->codec);
    if (error == NULL)
        error = open_directory(created);
    if (error == NULL)
        error = open_incomplete(created);
    if (error == NULL)
        error = append_meta(created, meta);
    if (error != NULL) {
        if (created->fd >= 0)
            tg_trace_file_discard(created);
        tg_trace_file_destroy(created);
        return error;
    }
    *file = created;
    return NULL;
}

void tg_trace_file_destroy(struct tg_trace_file *file)
{
    if (file == NULL)
        return;
    tg_cleanup_forget(file->cleanup);
    if (file->fd >= 0)
        close(file->fd);
    if (file->directory_fd >= 0)
        close(file->directory_fd);
    tg_section_codec_destroy(file->codec);
    tg_byte_buffer_deinit(&file->section);
    tg_trace_index_deinit(&file->index);
    free(file->path);
    free(file->incomplete_path);
    free(file->name);
    free(file->incomplete_name);
    free(file);
}

void tg_trace_file_discard(struct tg_trace_file *file)
{
    unlinkat(file->directory_fd, file->incomplete_name, 0);
}

static struct tg_error *note_chunk(struct tg_trace_file *file, const struct tg_section_header *header,
                                   const struct tg_kind_set *kinds, uint64_t offset)
{
    if (header->kind != TG_SECTION_EVENTS)
        return NULL;
    struct tg_index_entry entry = {.offset = offset,
                                   .chunks = 1,
                                   .events = header->n_events,
                                   .first_time_ns = header->first_time_ns,
                                   .last_time_ns = header->last_time_ns,
                                   .kinds = *kinds};
    return tg_trace_index_add(&file->index, &entry);
}

struct tg_error *tg_trace_file_append_events(struct tg_trace_file *file, const struct tg_chunk_facts *facts,
                                             const struct tg_byte_buffer *payload,
                                             const struct tg_byte_buffer *boundaries)
{
    struct tg_section_header header = {.kind = TG_SECTION_EVENTS,
                                       .flags = TG_SECTION_BY_THREAD,
                                       .n_events = facts->n_events,
                                       .first_time_ns = facts->first_time_ns,
                                       .last_time_ns = facts->last_time_ns};
    uint64_t offset = file->size_bytes;
    struct tg_error *error = check_linked(file);
    if (error == NULL)
        error = append_payload(file, &header, payload, boundaries);
    return error != NULL ? error : note_chunk(file, &header, &facts->kinds, offset);
}

struct tg_error *tg_trace_file_append_packed(struct tg_trace_file *file,
                                             const struct tg_section_header *header, const uint8_t *payload,
                                             const struct tg_kind_set *kinds)
{
    struct tg_section_header renumbered = *header;
    renumbered.sequence = file->sequence;
    file->section.size = 0;
    if (!tg_byte_buffer_reserve(&file->section, TG_SECTION_HEADER_BYTES + (size_t)header->compressed_bytes))
        return tg_error_no_memory();
    tg_section_header_encode(&renumbered, payload, file->section.data);
    file->section.size = TG_SECTION_HEADER_BYTES;
    tg_byte_buffer_put(&file->section, payload, header->compressed_bytes);
    uint64_t offset = file->size_bytes;
    struct tg_error *error = write_all(file, file->section.data, file->section.size);
    if (error != NULL)
        return error;
    file->sequence++;
    return note_chunk(file, &renumbered, kinds, offset);
}

/* PAYLOAD becomes the one of the INDEX section, behind the KINDS section, which is written. One that is too long for a
 * section is left out: readers look into every chunk then. */
static struct tg_error *append_kinds(struct tg_trace_file *file, struct tg_byte_buffer *payload)
{
    struct tg_byte_buffer kinds = {0};
    struct tg_section_header header = {.kind = TG_SECTION_KINDS, .flags = TG_SECTION_SKIPPABLE};
    file->index.sections = (uint64_t)file->sequence + 1;
    struct tg_error *error = tg_trace_index_encode(&file->index, payload);
    if (error == NULL)
        error = tg_trace_index_encode_kinds(&file->index, payload, &kinds);
    if (error == NULL && kinds.size <= TG_SECTION_MAX_RAW_BYTES) {
        error = append_payload(file, &header, &kinds, NULL);
    } else if (error == NULL) {
        payload->size = 0;
        file->index.sections = file->sequence;
        error = tg_trace_index_encode(&file->index, payload);
    }
    tg_byte_buffer_deinit(&kinds);
    return error;
}

static struct tg_error *append_index(struct tg_trace_file *file, uint64_t lost_events)
{
    struct tg_byte_buffer payload = {0};
    struct tg_section_header header = {.kind = TG_SECTION_INDEX, .flags = TG_SECTION_SKIPPABLE};
    file->index.lost_events = lost_events;
    struct tg_error *error = append_kinds(file, &payload);
    uint64_t index_offset = file->size_bytes;
    if (error == NULL)
        error = append_payload(file, &header, &payload, NULL);
    tg_byte_buffer_deinit(&payload);
    if (error != NULL)
        return error;
    uint8_t trailer[TG_TRAILER_BYTES];
    tg_trailer_encode(index_offset, trailer);
    return write_all(file, trailer, sizeof trailer);
}

/* File systems without RENAME_NOREPLACE: the name is claimed with an empty file of our own first. */
static int claim_and_rename(const struct tg_trace_file *file)
{
    int fd =
        openat(file->directory_fd, file->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return -1;
    close(fd);
    int result = renameat(file->directory_fd, file->incomplete_name, file->directory_fd, file->name);
    if (result != 0) {
        int errno_value = errno;
        unlinkat(file->directory_fd, file->name, 0);
        errno = errno_value;
    }
    return result;
}

static struct tg_error *give_final_name(const struct tg_trace_file *file)
{
    struct tg_error *error =
        file->overwrite ? tg_replace_check(file->directory_fd, file->name, file->path, true) : NULL;
    if (error != NULL)
        return tg_error_prefix(error, "the finished trace is %s", file->incomplete_path);
    int result = renameat2(file->directory_fd, file->incomplete_name, file->directory_fd, file->name,
                           file->overwrite ? 0 : RENAME_NOREPLACE);
    if (result != 0 && !file->overwrite && (errno == EINVAL || errno == ENOSYS))
        result = claim_and_rename(file);
    if (result == 0)
        return NULL;
    if (errno == EEXIST)
        return tg_error_create(TG_ERROR_EXISTS,
                               "%s was created by another program meanwhile; the finished trace is %s",
                               file->path, file->incomplete_path);
    return tg_error_create_errno(errno, "cannot rename %s to %s", file->incomplete_path, file->path);
}

struct tg_error *tg_trace_file_finish(struct tg_trace_file *file, uint64_t lost_events)
{
    struct tg_error *error = check_linked(file);
    if (error == NULL)
        error = append_index(file, lost_events);
    if (error == NULL) {
        int fd = file->fd;
        file->fd = -1; /* under its first name it goes all the same where a signal comes */
        if (close(fd) != 0 && errno != EINTR) /* network file systems report late */
            error = tg_error_create_errno(errno, "cannot write %s", file->incomplete_path);
    }
    return error != NULL ? error : give_final_name(file);
}

uint64_t tg_trace_file_size(const struct tg_trace_file *file)
{
    return file->size_bytes;
}
