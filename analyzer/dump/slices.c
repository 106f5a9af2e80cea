#include "analyzer/dump/slices.h"

#include "analyzer/dump/line.h"
#include "analyzer/output/openmp_words.h"
#include "format/base/json_writer.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

enum {
    LOCK_NAME_SIZE = 128,
    TEXTS = 1 << 12, /* kept, of each sort */
};

/* The members "pid", "tid" and the key of "ts", of a thread. */
struct thread {
    int32_t pid, tid;
    uint32_t generation;
    struct tg_dump_piece words;
};

/* Members that are said of code, or of a place: those of KEY, in process PID. */
struct text {
    uint64_t key;
    uint64_t what;
    uint64_t feeds; /* events that the names had taken by then */
    int32_t pid;
    enum tg_openmp_place_kind kind;
    size_t size;      /* of all of it */
    size_t name_size; /* of its beginning, up to what is said behind other members */
    char *text;       /* NULL: none is kept here */
};

struct tg_slices {
    const struct tg_dump *dump;
    struct tg_dump_line line;
    struct thread threads[TG_DUMP_THREADS]; /* each has one place, which it may share */
    struct text codes[TEXTS], places[TEXTS];
};

struct tg_error *tg_slices_create(const struct tg_dump *dump, struct tg_slices **slices)
{
    struct tg_slices *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    made->dump = dump;
    tg_dump_line_begin(&made->line, dump->stream);
    *slices = made;
    return NULL;
}

void tg_slices_destroy(struct tg_slices *slices)
{
    if (slices == NULL)
        return;
    for (size_t i = 0; i < TEXTS; i++) {
        free(slices->codes[i].text);
        free(slices->places[i].text);
    }
    free(slices);
}

void tg_slices_flush(struct tg_slices *slices)
{
    tg_dump_line_flush(&slices->line);
}

bool tg_slices_show(const struct tg_dump *dump, const struct tg_process_entry *entry, enum tg_event_kind kind,
                    uint64_t start_ns, uint64_t end_ns)
{
    const struct tg_selection *selection = dump->selection;
    return tg_selection_admits_kind(selection, kind) && tg_selection_admits_process(selection, entry) &&
           (!selection->has_from || end_ns >= selection->from_ns) &&
           (!selection->has_to || start_ns <= selection->to_ns);
}

uint64_t tg_slices_clip(const struct tg_dump *dump, uint64_t time_ns)
{
    const struct tg_selection *selection = dump->selection;
    if (selection->has_from && time_ns < selection->from_ns)
        time_ns = selection->from_ns;
    if (selection->has_to && time_ns > selection->to_ns)
        time_ns = selection->to_ns;
    return time_ns < dump->start_ns ? dump->start_ns : time_ns;
}

int64_t tg_slices_number(const struct tg_process_entry *entry, int32_t number)
{
    enum { RECORDER = 9999999, GENERATION = 10000000 };
    return entry == NULL ? RECORDER : number + (int64_t)entry->generation * GENERATION;
}

/* ---- parts of a line */

static inline char *put_words(char *to, const char *words, size_t size)
{
    memcpy(to, words, size);
    return to + size;
}
#define PUT(to, words) put_words(to, words, sizeof(words) - 1)

/* Microseconds with three digits. */
static char *put_time(char *to, uint64_t time_ns)
{
    unsigned rest = (unsigned)(time_ns % 1000);
    to = tg_dump_put_decimal(to, time_ns / 1000);
    to[0] = '.';
    to[1] = (char)('0' + rest / 100);
    to[2] = (char)('0' + rest / 10 % 10);
    to[3] = (char)('0' + rest % 10);
    return to + 4;
}

static const struct tg_dump_piece *find_thread(struct tg_slices *slices, const struct tg_process_entry *entry,
                                               int32_t tid)
{
    struct thread *thread = &slices->threads[tg_dump_thread_place(tid)];
    if (thread->words.size != 0 && thread->tid == tid && thread->pid == entry->pid &&
        thread->generation == entry->generation)
        return &thread->words;
    int size = snprintf(thread->words.text, sizeof thread->words.text,
                        ", \"pid\": %" PRId64 ", \"tid\": %" PRId64 ", \"ts\": ",
                        tg_slices_number(entry, entry->pid), tg_slices_number(entry, tid));
    assert(size > 0 && (size_t)size < sizeof thread->words.text); /* numbers of 17 digits */
    thread->words.size = (uint8_t)size;
    thread->pid = entry->pid;
    thread->tid = tid;
    thread->generation = entry->generation;
    return &thread->words;
}

/* NAME with its quotation marks. */
static void put_quoted(struct tg_dump_line *line, const char *name)
{
    size_t size;
    if (tg_dump_is_plain(name, &size)) {
        tg_dump_line_character(line, '"');
        tg_dump_line_put(line, name, size);
        tg_dump_line_character(line, '"');
        return;
    }
    struct tg_json json;
    tg_dump_line_flush(line);
    tg_json_init(&json, line->stream, false);
    tg_json_string(&json, name);
}

/* ---- texts that come again */

/* Writes what is to be kept in TEXT. Returns the size of what is the name. */
typedef size_t text_write(const struct tg_slices *slices, FILE *stream, const struct text *text);

/* Has WRITE say what is kept in TEXT. */
static struct tg_error *keep_text(const struct tg_slices *slices, struct text *text, struct text wanted,
                                  text_write *write)
{
    free(text->text);
    *text = (struct text){0};
    FILE *stream = open_memstream(&wanted.text, &wanted.size);
    if (stream == NULL)
        return tg_error_no_memory();
    wanted.name_size = write(slices, stream, &wanted);
    bool failed = ferror(stream) != 0;
    if (fclose(stream) == 0 && !failed) {
        *text = wanted;
        return NULL;
    }
    free(wanted.text);
    return tg_error_no_memory();
}

/* What is said of WANTED's key: what is kept of it in TEXTS, or what WRITE says. Valid until the next call. */
static struct tg_error *find_text(const struct tg_slices *slices, struct text *texts, struct text wanted,
                                  text_write *write, const struct text **found)
{
    const struct tg_code_names *names = slices->dump->names;
    uint64_t mixed = (wanted.key ^ (uint64_t)(uint32_t)wanted.pid << 32 ^ wanted.what << 16 ^
                      (uint64_t)wanted.kind << 24) *
                     UINT64_C(0x9e3779b97f4a7c15);
    struct text *text = &texts[mixed >> 52];
    *found = text;
    wanted.feeds = names == NULL ? 0 : tg_code_names_feeds(names);
    if (text->text != NULL && text->key == wanted.key && text->what == wanted.what &&
        text->kind == wanted.kind && text->pid == wanted.pid && text->feeds == wanted.feeds)
        return NULL;
    return keep_text(slices, text, wanted, write);
}
_Static_assert(TEXTS == 1 << (64 - 52), "places are the upper bits of a product");

/* What is said of the code at the return address that is TEXT's key. */
static size_t write_code(const struct tg_slices *slices, FILE *stream, const struct text *text)
{
    struct tg_code_names *names = slices->dump->names;
    struct tg_code_name where;
    struct tg_json json;
    tg_json_init_inside(&json, stream);
    json.not_first = 0;
    tg_json_key(&json, "code");
    tg_json_address(&json, text->key);
    if (names == NULL || !tg_code_names_find_return(names, text->pid, text->key, &where))
        return 0;
    if (where.symbol.function != NULL)
        tg_json_member_string(&json, "function", where.symbol.function);
    if (where.symbol.file != NULL) {
        tg_json_member_string(&json, "file", where.symbol.file);
        tg_json_member_unsigned(&json, "line", where.symbol.line);
    }
    return 0;
}

static struct tg_error *find_code(struct tg_slices *slices, int32_t pid, uint64_t code,
                                  const struct text **text)
{
    return find_text(slices, slices->codes, (struct text){.key = code, .pid = pid}, write_code, text);
}

/* ---- places */

/* By kind of place: the kind of event that begins it, and what its slice's name begins with. */
static const struct {
    enum tg_event_kind kind;
    const char *prefix;
} place_kinds[] = {
    [TG_OPENMP_IN_REGION] = {TG_EVENT_OMP_IMPLICIT_BEGIN, "parallel"},
    [TG_OPENMP_IN_ZONE] = {TG_EVENT_OMP_ZONE_BEGIN, ""},
    [TG_OPENMP_IN_MUTEX_WAIT] = {TG_EVENT_OMP_MUTEX_WAIT, "wait: "},
    [TG_OPENMP_IN_MUTEX] = {TG_EVENT_OMP_MUTEX_ENTER, ""},
    [TG_OPENMP_IN_SYNC] = {TG_EVENT_OMP_SYNC_BEGIN, "wait: "},
    [TG_OPENMP_IN_TASK] = {TG_EVENT_OMP_TASK_BEGIN, "task "},
};

static void print_place(enum tg_openmp_place_kind kind, uint64_t what_value, char *name, size_t size)
{
    enum { BEHIND_PLACE = 5 };
    const struct tg_field *field = &tg_event_schema(place_kinds[kind].kind)->fields[BEHIND_PLACE];
    const char *what = field->type == TG_FIELD_ENUM ? tg_field_value_name(field, what_value) : NULL;
    snprintf(name, size, "%s%s", place_kinds[kind].prefix, what == NULL ? "" : what);
}

/* Regions are told from each other by their place in the program: " in solve (solver.c:31)". */
static void add_region_name(struct tg_code_names *names, const struct text *text, char *name, size_t size)
{
    struct tg_code_name where;
    size_t length = strlen(name);
    if (names == NULL || !tg_code_names_find_return(names, text->pid, text->key, &where) ||
        size < length + sizeof " in ")
        return;
    char place[128];
    tg_code_symbol_print(&where.symbol, NULL, text->key, place, sizeof place);
    snprintf(name + length, size - length, " in %s", place);
}

static bool is_lock(enum tg_openmp_place_kind kind)
{
    return kind == TG_OPENMP_IN_MUTEX || kind == TG_OPENMP_IN_MUTEX_WAIT;
}

/* The variable that a lock is, or GCC's name of a critical section: "wait: lock queue_lock". False: not known. */
static bool name_lock(struct tg_code_names *names, const struct text *text, char *variable, char *name,
                      size_t size)
{
    if (!is_lock(text->kind) || names == NULL || text->key == 0 || text->what == TG_OMP_MUTEX_ORDERED ||
        tg_code_names_variable(names, text->pid, text->key, variable, LOCK_NAME_SIZE) == NULL)
        return false;
    size_t length = text->kind == TG_OPENMP_IN_MUTEX_WAIT ? (size_t)snprintf(name, size, "wait: ") : 0;
    tg_openmp_words_lock(text->what, 0, variable, name + length, size - length);
    return true;
}

/* The name of a slice, then what is said of its lock. */
static size_t write_place(const struct tg_slices *slices, FILE *stream, const struct text *text)
{
    char name[192], lock[LOCK_NAME_SIZE];
    print_place(text->kind, text->what, name, sizeof name);
    if (text->kind == TG_OPENMP_IN_REGION)
        add_region_name(slices->dump->names, text, name, sizeof name);
    bool has_name = name_lock(slices->dump->names, text, lock, name, sizeof name);
    struct tg_json json;
    tg_json_init(&json, stream, false);
    tg_json_string(&json, name);
    long name_size = ftell(stream);
    if (has_name) {
        tg_json_init_inside(&json, stream);
        tg_json_member_string(&json, "lock_name", lock);
    }
    return name_size < 0 ? 0 : (size_t)name_size;
}

/* The name of PLACE's slice, and what is said of its lock. */
static struct tg_error *find_place(struct tg_slices *slices, int32_t pid, const struct tg_openmp_place *place,
                                   const struct text **text)
{
    const uint64_t key = place->kind == TG_OPENMP_IN_REGION ? place->code
                         : is_lock(place->kind)             ? place->id
                                                            : 0;
    return find_text(slices, slices->places,
                     (struct text){.key = key, .what = place->what, .kind = place->kind, .pid = pid},
                     write_place, text);
}

/* ---- lines */

#define CATEGORY(name)                                                                                       \
    {                                                                                                        \
        ", \"cat\": \"" name "\", \"args\": {", sizeof(", \"cat\": \"" name "\", \"args\": {") - 1           \
    }
static const struct tg_dump_piece openmp = CATEGORY("openmp"), mpi = CATEGORY("mpi");

static void put_slice_begin(struct tg_dump_line *line)
{
    char *to = tg_dump_line_room(line);
    tg_dump_line_end(line, PUT(to, ",\n    {\"ph\": \"X\", \"name\": "));
}

/* What comes between a slice's name and the members of "args" that it has behind its CODE. */
static void put_slice_place(struct tg_slices *slices, const struct tg_process_entry *entry, int32_t tid,
                            uint64_t start_ns, uint64_t end_ns, const struct tg_dump_piece *category,
                            const struct text *code)
{
    const struct tg_dump *dump = slices->dump;
    uint64_t start = tg_slices_clip(dump, start_ns);
    char *to = tg_dump_put_piece(tg_dump_line_room(&slices->line), find_thread(slices, entry, tid));
    to = put_time(to, start - dump->start_ns);
    to = PUT(to, ", \"dur\": ");
    to = put_time(to, tg_slices_clip(dump, end_ns) - start);
    tg_dump_line_end(&slices->line, tg_dump_put_piece(to, category));
    tg_dump_line_put(&slices->line, code->text, code->size);
}

static void put_slice_end(struct tg_dump_line *line, char *to)
{
    *to++ = '}';
    *to++ = '}';
    tg_dump_line_end(line, to);
}

static void put_task_name(struct tg_dump_line *line, uint64_t task)
{
    char *to = tg_dump_put_decimal(PUT(tg_dump_line_room(line), "\"task "), task);
    *to++ = '"';
    tg_dump_line_end(line, to);
}

struct tg_error *tg_slices_write_place(struct tg_slices *slices, const struct tg_process_entry *entry,
                                       int32_t tid, const struct tg_openmp_place *place, uint64_t end_ns)
{
    if (!tg_slices_show(slices->dump, entry, place_kinds[place->kind].kind, place->since_ns, end_ns))
        return NULL;
    struct tg_dump_line *line = &slices->line;
    const struct text *text = NULL, *code;
    struct tg_error *error = find_code(slices, entry->pid, place->code, &code);
    if (error == NULL && place->kind != TG_OPENMP_IN_TASK) /* each task has another name */
        error = find_place(slices, entry->pid, place, &text);
    if (error != NULL)
        return error;
    put_slice_begin(line);
    if (text != NULL)
        tg_dump_line_put(line, text->text, text->name_size);
    else
        put_task_name(line, place->id);
    put_slice_place(slices, entry, tid, place->since_ns, end_ns, &openmp, code);
    char *to = PUT(tg_dump_line_room(line), ", \"team\": ");
    to = tg_dump_put_decimal(to, place->team);
    to = PUT(to, ", \"thread_num\": ");
    to = tg_dump_put_decimal(to, place->thread_num);
    if (is_lock(place->kind)) {
        to = tg_dump_put_hex(PUT(to, ", \"lock\": \""), place->id);
        *to++ = '"';
    } else if (place->kind == TG_OPENMP_IN_SYNC && place->id != 0) {
        to = tg_dump_put_decimal(PUT(to, ", \"instance\": "), place->id);
    }
    if (text != NULL && text->size > text->name_size) {
        tg_dump_line_end(line, to);
        tg_dump_line_put(line, text->text + text->name_size, text->size - text->name_size);
        to = tg_dump_line_room(line);
    }
    put_slice_end(line, to);
    return NULL;
}

static char *put_call(char *to, const struct tg_mpi_call *call, const struct tg_event_mpi_leave *leave)
{
    enum { NONE = -3 };
    if (call->comm != 0) {
        to = tg_dump_put_hex(PUT(to, ", \"comm\": \""), call->comm);
        *to++ = '"';
    }
    if (call->instance != 0)
        to = tg_dump_put_decimal(PUT(to, ", \"instance\": "), call->instance);
    if (call->peer != NONE)
        to = tg_dump_put_signed(PUT(to, ", \"peer\": "), call->peer);
    if (call->tag != NONE)
        to = tg_dump_put_signed(PUT(to, ", \"tag\": "), call->tag);
    if (call->root != NONE)
        to = tg_dump_put_signed(PUT(to, ", \"root\": "), call->root);
    if (call->comm != 0 || call->bytes != 0)
        to = tg_dump_put_decimal(PUT(to, ", \"bytes\": "), call->bytes);
    if (leave == NULL)
        return to;
    if (leave->bytes != 0)
        to = tg_dump_put_decimal(PUT(to, ", \"received_bytes\": "), leave->bytes);
    if (leave->result != 0)
        to = tg_dump_put_signed(PUT(to, ", \"result\": "), leave->result);
    return to;
}

struct tg_error *tg_slices_write_call(struct tg_slices *slices, const struct tg_process_entry *entry,
                                      int32_t tid, const struct tg_mpi_call *call,
                                      const struct tg_event_mpi_leave *leave, uint64_t end_ns)
{
    if (!tg_slices_show(slices->dump, entry, TG_EVENT_MPI_ENTER, call->since_ns, end_ns))
        return NULL;
    struct tg_dump_line *line = &slices->line;
    const struct text *code;
    struct tg_error *error = find_code(slices, entry->pid, call->code, &code);
    if (error != NULL)
        return error;
    put_slice_begin(line);
    put_quoted(line, call->name);
    put_slice_place(slices, entry, tid, call->since_ns, end_ns, &mpi, code);
    put_slice_end(line, put_call(tg_dump_line_room(line), call, leave));
    return NULL;
}

void tg_slices_write_flow(struct tg_slices *slices, char phase, const struct tg_process_entry *entry,
                          int32_t tid, uint64_t id, uint64_t time_ns)
{
    const struct tg_dump *dump = slices->dump;
    char *to = PUT(tg_dump_line_room(&slices->line), ",\n    {\"ph\": \"");
    *to++ = phase;
    to = PUT(to, "\", \"name\": \"message\"");
    to = tg_dump_put_piece(to, find_thread(slices, entry, tid));
    to = put_time(to, tg_slices_clip(dump, time_ns) - dump->start_ns);
    to = PUT(to, ", \"cat\": \"mpi\", \"id\": ");
    to = tg_dump_put_decimal(to, id);
    if (phase == 'f') /* ends in the slice around it, not in the next one */
        to = PUT(to, ", \"bp\": \"e\"");
    *to++ = '}';
    tg_dump_line_end(&slices->line, to);
}
