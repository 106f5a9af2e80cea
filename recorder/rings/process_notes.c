#include "recorder/rings/process_notes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    FILES = 2, /* used in turn, so that some megabyte at most is kept of a job of many short processes */
    MAX_BYTES = 1 << 20, /* of a file; the trace has what is in the older one */
    MAX_TEXT = 4096,     /* with its NUL */
    TEXTS = 3,           /* of each note */
    MAGIC = 0x45544f4e,  /* "NOTE" */
};

static const char *const names[FILES] = {"processes.0", "processes.1"};

struct tg_process_notes {
    int fds[FILES];
    int current;
    size_t used; /* bytes of the current one */
    bool with_names;
};

/* In the memory of one machine, for the tollgate that made the directory: as it is. TEXTS NUL-terminated texts are
 * behind it. */
struct note {
    uint32_t magic, size; /* with its texts */
    uint32_t kind;        /* enum tg_event_kind */
    int32_t pid, tid;
    uint32_t unused;
    uint64_t time_ns;
    int64_t rank, n_ranks;
    uint64_t base, entry;
    uint32_t bits, linkage, secure, unused2;
};

/* ---- writing */

struct tg_error *tg_process_notes_create(int fd, bool with_names, struct tg_process_notes **notes)
{
    struct tg_process_notes *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    made->with_names = with_names;
    for (int i = 0; i < FILES; i++)
        made->fds[i] = openat(fd, names[i], O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    *notes = made;
    return NULL;
}

void tg_process_notes_destroy(struct tg_process_notes *notes)
{
    for (int i = 0; notes != NULL && i < FILES; i++)
        if (notes->fds[i] >= 0)
            close(notes->fds[i]);
    free(notes);
}

/* Adds TEXT to the note in BYTES. */
static void put_text(char *bytes, const char *text)
{
    struct note *note = (struct note *)(void *)bytes;
    size_t length = text == NULL ? 0 : strnlen(text, MAX_TEXT - 1);
    memcpy(bytes + note->size, text == NULL ? "" : text, length);
    bytes[note->size + length] = '\0';
    note->size += (uint32_t)length + 1;
}

static void put(struct tg_process_notes *notes, const char *bytes, size_t size)
{
    if (notes->used + size > MAX_BYTES) {
        notes->current = (notes->current + 1) % FILES;
        notes->used = 0;
        if (ftruncate(notes->fds[notes->current], 0) != 0)
            return;
    }
    if (pwrite(notes->fds[notes->current], bytes, size, (off_t)notes->used) == (ssize_t)size)
        notes->used += size;
}

void tg_process_notes_add(struct tg_process_notes *notes, const struct tg_event *event)
{
    _Alignas(struct note) char bytes[sizeof(struct note) + TEXTS * MAX_TEXT];
    bool is_program = event->kind == TG_EVENT_PROGRAM, is_identity = event->kind == TG_EVENT_IDENTITY;
    if (notes == NULL || !(is_identity || (is_program && notes->with_names)))
        return;
    struct note note = {.magic = MAGIC,
                        .size = sizeof note,
                        .kind = event->kind,
                        .pid = event->pid,
                        .tid = event->tid,
                        .time_ns = event->time_ns,
                        .rank = -1};
    if (is_program) {
        note.base = event->program.base;
        note.entry = event->program.entry;
        note.bits = (uint32_t)event->program.bits;
        note.linkage = event->program.linkage;
        note.secure = event->program.secure;
    } else {
        note.rank = event->identity.rank;
        note.n_ranks = event->identity.size;
    }
    memcpy(bytes, &note, sizeof note);
    put_text(bytes, is_program ? event->program.path : notes->with_names ? event->identity.host : "");
    put_text(bytes, is_program ? event->program.build_id : notes->with_names ? event->identity.job : "");
    put_text(bytes, is_program ? event->program.interpreter : event->identity.source);
    memcpy(&note, bytes, sizeof note);
    put(notes, bytes, note.size);
}

/* ---- reading */

/* The texts of the note of SIZE bytes behind its beginning; false where they do not fill it. */
static bool find_texts(const char *bytes, size_t size, const char *texts[TEXTS])
{
    size_t at = sizeof(struct note);
    for (int i = 0; i < TEXTS; i++) {
        const char *end = at < size ? memchr(bytes + at, '\0', size - at) : NULL;
        if (end == NULL)
            return false;
        texts[i] = bytes + at;
        at = (size_t)(end - bytes) + 1;
    }
    return at == size;
}

static void tell(const struct note *note, const char *texts[TEXTS], struct tg_event_queue *queue)
{
    struct tg_event event = {
        .kind = note->kind, .pid = note->pid, .tid = note->tid, .time_ns = note->time_ns};
    if (note->kind == TG_EVENT_PROGRAM)
        event.program = (struct tg_event_program){.path = texts[0],
                                                  .build_id = texts[1],
                                                  .interpreter = texts[2],
                                                  .base = note->base,
                                                  .entry = note->entry,
                                                  .bits = note->bits,
                                                  .linkage = note->linkage,
                                                  .secure = note->secure};
    else if (note->kind == TG_EVENT_IDENTITY)
        event.identity = (struct tg_event_identity){
            .host = texts[0], .job = texts[1], .source = texts[2], .rank = note->rank, .size = note->n_ranks};
    else
        return;
    tg_event_queue_add(queue, &event);
}

/* Tells what is in BYTES up to what is no note. Returns the time of the first one, 0: there is none. */
static uint64_t tell_all(const char *bytes, size_t size, struct tg_event_queue *queue)
{
    uint64_t first_ns = 0;
    struct note note;
    for (size_t at = 0; size - at >= sizeof note; at += note.size) {
        const char *texts[TEXTS];
        memcpy(&note, bytes + at, sizeof note);
        if (note.magic != MAGIC || note.size < sizeof note || note.size > size - at ||
            !find_texts(bytes + at, note.size, texts))
            break;
        first_ns = first_ns == 0 ? note.time_ns : first_ns;
        if (queue != NULL)
            tell(&note, texts, queue);
    }
    return first_ns;
}

/* The bytes of the file NAME; NULL where it is not ours or not there. */
static char *read_file(int directory, const char *name, size_t *size)
{
    int fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    struct stat status;
    char *bytes = NULL;
    *size = 0;
    if (fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid())
        bytes = malloc(MAX_BYTES);
    for (ssize_t got = 1; bytes != NULL && *size < MAX_BYTES && got > 0;) {
        got = pread(fd, bytes + *size, MAX_BYTES - *size, (off_t)*size);
        if (got > 0)
            *size += (size_t)got;
        else if (got < 0 && errno == EINTR)
            got = 1;
    }
    if (fd >= 0)
        close(fd);
    return bytes;
}

void tg_process_notes_read(int fd, struct tg_event_queue *queue)
{
    char *bytes[FILES];
    size_t sizes[FILES];
    for (int i = 0; i < FILES; i++)
        bytes[i] = read_file(fd, names[i], &sizes[i]);
    int older = tell_all(bytes[0], sizes[0], NULL) <= tell_all(bytes[1], sizes[1], NULL) ? 0 : 1;
    for (int i = 0; i < FILES; i++)
        (void)tell_all(bytes[(older + i) % FILES], sizes[(older + i) % FILES], queue);
    for (int i = 0; i < FILES; i++)
        free(bytes[i]);
}
