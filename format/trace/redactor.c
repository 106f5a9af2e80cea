#include "format/trace/redactor.h"

#include "format/base/array.h"
#include "format/base/hash.h"
#include "format/trace/plain_names.h"
#include "format/trace/plain_words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a text is, and the word that its replacement begins with. */
enum sort { HOST, USER, NAME, ARGUMENT, VALUE, TEXT, JOB, PATTERN, COMMUNICATOR, SORTS };
static const char *const sort_words[SORTS] = {"host", "user", "name",    "arg", "value",
                                              "text", "job",  "pattern", "comm"};

struct replacement {
    char *text; /* owned, with its sort in front; as REPLACED */
    char *replaced;
    UT_hash_handle hh;
};

/* A text that was made before, and may come again with many events. */
struct known_text {
    char *made;
    UT_hash_handle hh;
    char key[]; /* treatment, whether it is the first of a list, text */
};

enum { KNOWN_BYTES = 256, MAX_KNOWN = 4096 };

struct tg_redactor {
    struct replacement *replacements;
    unsigned used[SORTS];
    bool no_memory;
    struct known_text *known;
    unsigned known_names;                       /* of hosts and users, when they were made */
    uint8_t (*treatments)[TG_EVENT_MAX_FIELDS]; /* of the fields of each kind, + 1; 0: not asked for yet */
    /* of the event at hand */
    char **texts;
    size_t n_texts, text_capacity;
    void *lists[TG_EVENT_MAX_FIELDS];
};

/* ---- replacements */

static struct replacement *find(const struct tg_redactor *redactor, enum sort sort, const char *text,
                                size_t size)
{
    struct replacement *found = NULL;
    char short_key[512], *long_key = NULL, *key = short_key;
    if (size + 1 > sizeof short_key)
        key = long_key = malloc(size + 1);
    if (key == NULL) /* then it is replaced anew */
        return NULL;
    key[0] = (char)('0' + sort);
    memcpy(key + 1, text, size);
    HASH_FIND(hh, redactor->replacements, key, size + 1, found);
    free(long_key);
    return found;
}

static bool add(struct tg_redactor *redactor, enum sort sort, const char *text, size_t size,
                struct replacement **added)
{
    struct replacement *made = calloc(1, sizeof *made);
    if (made == NULL)
        return false;
    made->text = malloc(size + 2);
    if (made->text == NULL ||
        asprintf(&made->replaced, "%s%u", sort_words[sort], ++redactor->used[sort]) < 0) {
        free(made->text);
        free(made);
        return false;
    }
    made->text[0] = (char)('0' + sort);
    memcpy(made->text + 1, text, size);
    made->text[size + 1] = '\0';
    if (TG_HASH_ADD_KEY(hh, redactor->replacements, made->text, size + 1, made) != NULL) {
        free(made->replaced);
        free(made->text);
        free(made);
        return false;
    }
    *added = made;
    return true;
}

/* The replacement of the SIZE bytes at TEXT. */
static const char *replace(struct tg_redactor *redactor, enum sort sort, const char *text, size_t size)
{
    struct replacement *found = find(redactor, sort, text, size);
    if (found == NULL && !add(redactor, sort, text, size, &found)) {
        redactor->no_memory = true;
        return "?";
    }
    return found->replaced;
}

/* ---- kinds of text */

static bool is_one_of(const char *const *words, const char *text, size_t size)
{
    for (; *words != NULL; words++)
        if (strlen(*words) == size && memcmp(*words, text, size) == 0)
            return true;
    return false;
}

/* ".so.1", ".c": what a file is. Its end where it is not said. */
static size_t extension_of(const char *name, size_t size)
{
    static const char *const all[] = {".c",   ".cc",  ".cpp", ".cxx", ".C",   ".h",  ".hpp",
                                      ".f",   ".f90", ".F90", ".F",   ".for", ".py", ".sh",
                                      ".tgt", ".exe", ".out", ".o",   ".cu",  NULL};
    for (size_t i = 1; i + 3 <= size; i++)
        if (memcmp(name + i, ".so", 3) == 0 && (i + 3 == size || name[i + 3] == '.'))
            return i;
    for (size_t i = size; i-- > 1;)
        if (name[i] == '.')
            return is_one_of(all, name + i, size - i) ? i : size;
    return size;
}

static void put_name(struct tg_redactor *redactor, const char *name, size_t size, bool is_user, FILE *out)
{
    size_t stem = extension_of(name, size);
    if (tg_plain_name(name, size))
        fwrite(name, 1, size, out);
    else if (is_user)
        fputs(replace(redactor, USER, name, size), out);
    else if (find(redactor, HOST, name, size) != NULL || find(redactor, USER, name, size) != NULL)
        fputs(replace(redactor, find(redactor, HOST, name, size) != NULL ? HOST : USER, name, size), out);
    else
        fprintf(out, "%s%.*s", replace(redactor, NAME, name, stem), (int)(size - stem), name + stem);
}

/* A path component by component; one that is deleted says so. */
static void put_path(struct tg_redactor *redactor, const char *path, FILE *out)
{
    static const char deleted[] = " (deleted)";
    size_t length = strlen(path), tail = strlen(deleted);
    bool is_deleted = length > tail && strcmp(path + length - tail, deleted) == 0;
    const char *end = path + length - (is_deleted ? tail : 0);
    bool is_user = false;
    if (tg_plain_path(path, (size_t)(end - path))) {
        fputs(path, out);
        return;
    }
    for (const char *at = path; at <= end;) {
        size_t size = 0;
        while (at + size < end && at[size] != '/')
            size++;
        put_name(redactor, at, size, is_user, out);
        is_user = (size == 4 && memcmp(at, "home", 4) == 0) || (size == 5 && memcmp(at, "Users", 5) == 0);
        at += size;
        if (at < end)
            fputc('/', out);
        at++;
    }
    fputs(is_deleted ? deleted : "", out);
}

/* One word of a message, which stays where it is in the vocabulary and nobody's name. */
static void put_word(struct tg_redactor *redactor, const char *word, FILE *out)
{
    size_t size = strlen(word);
    bool is_somebody = find(redactor, HOST, word, size) != NULL || find(redactor, USER, word, size) != NULL;
    if (strchr(word, '/') != NULL)
        put_path(redactor, word, out);
    else if (!is_somebody && tg_plain_word(word, size))
        fputs(word, out);
    else
        put_name(redactor, word, size, false, out);
}

/* The words of TEXT, which are separated by the letters of BETWEEN, one after another. */
static void put_each(struct tg_redactor *redactor, const char *text, const char *between,
                     void (*put_part)(struct tg_redactor *redactor, const char *part, FILE *out), FILE *out)
{
    while (*text != '\0') {
        size_t size = strcspn(text, between);
        char *part = strndup(text, size);
        if (part == NULL) {
            redactor->no_memory = true;
            return;
        }
        put_part(redactor, part, out);
        free(part);
        text += size;
        if (*text != '\0')
            fputc(*text++, out);
    }
}

/* Words of tollgate or of a library. */
static void put_words(struct tg_redactor *redactor, const char *text, FILE *out)
{
    put_each(redactor, text, " \t\n'\"`(),;:=[]{}<>|@#", put_word, out);
}

/* Where a breakpoint or barrier is: FUNCTION, IMAGE`FUNCTION, FILE#LINE, FILE:LINE, ADDRESS. What comes last is a
 * function, whose name stays, or a number; the others are files. */
static void put_place(struct tg_redactor *redactor, const char *place, FILE *out)
{
    size_t files = strlen(place);
    while (files > 0 && strchr("`#", place[files - 1]) == NULL)
        files--;
    const char *last = place + files, *colon = strrchr(last, ':');
    bool has_line =
        colon != NULL && colon > last && colon[-1] != ':' && strspn(colon, ":0123456789") == strlen(colon);
    char *before = strndup(place, files);
    if (before == NULL) {
        redactor->no_memory = true;
        return;
    }
    put_each(redactor, before, "`#", put_path, out);
    free(before);
    if (has_line || strpbrk(last, "/ \t\n") != NULL || extension_of(last, strlen(last)) < strlen(last))
        put_words(redactor, last, out);
    else
        fputs(last, out);
}

static void put_argument(struct tg_redactor *redactor, const char *argument, bool is_first, FILE *out)
{
    static const char *const plain[] = {"-n", "-np", "-c", "--", "-", "", NULL};
    size_t size = strlen(argument);
    if (is_first || (*argument != '-' && strchr(argument, '/') != NULL && strchr(argument, '=') == NULL &&
                     strpbrk(argument, " \n;") == NULL))
        put_path(redactor, argument, out);
    else if (is_one_of(plain, argument, size) || tg_plain_number(argument, size, 4))
        fputs(argument, out);
    else
        fputs(replace(redactor, ARGUMENT, argument, size), out);
}

/* A word of a variable's value: numbers and OpenMP's own words stay. */
static void put_value(struct tg_redactor *redactor, const char *word, FILE *out)
{
    static const char *const words[] = {"true",    "false",   "close",   "spread",  "master", "primary",
                                        "static",  "dynamic", "guided",  "auto",    "cores",  "threads",
                                        "sockets", "active",  "passive", "yes",     "no",     "on",
                                        "off",     "TRUE",    "FALSE",   "VERBOSE", "",       NULL};
    size_t size = strlen(word);
    if (tg_plain_number(word, size, 20) || is_one_of(words, word, size))
        fputs(word, out);
    else if (strchr(word, '/') != NULL)
        put_path(redactor, word, out);
    else
        fputs(replace(redactor, find(redactor, HOST, word, size) != NULL ? HOST : VALUE, word, size), out);
}

/* NAME=VALUE of an environment. */
static void put_variable(struct tg_redactor *redactor, const char *variable, FILE *out)
{
    const char *value = strchr(variable, '=');
    size_t name = value == NULL ? strlen(variable) : (size_t)(value - variable) + 1;
    fwrite(variable, 1, name, out);
    put_each(redactor, variable + name, ":,;= ", put_value, out);
}

static void put_whole(struct tg_redactor *redactor, enum sort sort, const char *text, FILE *out)
{
    static const char *const everywhere[] = {"MPI_COMM_WORLD", "MPI_COMM_SELF", "MPI_COMM_PARENT", NULL};
    size_t size = strlen(text);
    if (*text == '\0' || tg_plain_number(text, size, 20) ||
        (sort == COMMUNICATOR && is_one_of(everywhere, text, size)))
        fputs(text, out);
    else
        fputs(replace(redactor, sort, text, strlen(text)), out);
}

/* A host is also known by its name without the domain. */
static void put_host(struct tg_redactor *redactor, const char *host, FILE *out)
{
    size_t label = strcspn(host, ".");
    put_whole(redactor, HOST, host, out);
    if (host[label] != '\0' && label > 0 && strspn(host, "0123456789") < label)
        (void)replace(redactor, HOST, host, label);
}

/* ---- fields */

enum treatment { WORDS, KEPT, PATH, PLACE, ON_HOST, OF_JOB, ARGUMENTS, VARIABLES, GLOB, WHOLE, COMM_NAME };

/* The first row that fits; RECORD NULL: in any. What no row names, a field of tomorrow too, is WORDS, of which only
 * those of messages stay. */
static const struct {
    const char *record, *field;
    enum treatment treatment;
} rules[] = {
    {NULL, "build_id", KEPT},
    {NULL, "function", KEPT},
    {"mpi_enter", "call", KEPT},
    {"mpi_leave", "call", KEPT},
    {"mpi_complete", "call", KEPT},
    {"mpi_error", "call", KEPT},
    {"mpi_error", "error_class", KEPT},
    {"mpi_comm_name", "name", COMM_NAME},
    {"mpir_symbol", "name", KEPT},
    {"mpir_symbol", "text", PATH},
    {"mpir_write", "symbol", KEPT},
    {"mpir_job", "launcher", KEPT},
    {"mpir_state", "abort_string", WHOLE},
    {"omp_runtime", "name", KEPT},
    {"omp_runtime", "version", KEPT},
    {"identity", "source", KEPT},
    {"value", "name", KEPT}, /* of an argument, as the interface has it */
    {"command_line", "arguments", ARGUMENTS},
    {"environment", "variables", VARIABLES},
    {"breakpoint_spec", "text", PLACE},
    {"barrier_created", "location", PLACE},
    {"signal", "sender", PATH},
    {"filter_settings", "match", GLOB},
    {"filter_decision", "pattern", GLOB},
    {NULL, "host", ON_HOST},
    {NULL, "job", OF_JOB},
    {NULL, "path", PATH},
    {NULL, "object", PATH},
    {NULL, "library", PATH},
    {NULL, "module", PATH},
    {NULL, "file", PATH},
    {NULL, "executable", PATH},
    {NULL, "interpreter", PATH},
    {NULL, "name", WHOLE},
};

static enum treatment treatment_of(const char *record, const char *field)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if ((rules[i].record == NULL || strcmp(rules[i].record, record) == 0) &&
            strcmp(rules[i].field, field) == 0)
            return rules[i].treatment;
    return WORDS;
}

static void put(struct tg_redactor *redactor, enum treatment treatment, const char *text, bool is_first,
                FILE *out)
{
    switch (treatment) {
    case KEPT:
        fputs(text, out);
        break;
    case PATH:
        put_path(redactor, text, out);
        break;
    case PLACE:
        put_place(redactor, text, out);
        break;
    case ON_HOST:
        put_host(redactor, text, out);
        break;
    case OF_JOB:
        put_whole(redactor, JOB, text, out);
        break;
    case ARGUMENTS:
        put_argument(redactor, text, is_first, out);
        break;
    case VARIABLES:
        put_variable(redactor, text, out);
        break;
    case GLOB:
        if (strcmp(text, "*") == 0)
            fputs(text, out);
        else
            put_whole(redactor, PATTERN, text, out);
        break;
    case WHOLE:
        put_whole(redactor, TEXT, text, out);
        break;
    case COMM_NAME:
        put_whole(redactor, COMMUNICATOR, text, out);
        break;
    case WORDS:
        put_words(redactor, text, out);
        break;
    }
}

static void forget_known(struct tg_redactor *redactor)
{
    struct known_text *at, *next;
    HASH_ITER (hh, redactor->known, at, next) {
        HASH_DEL(redactor->known, at);
        free(at->made);
        free(at);
    }
}

/* What a text becomes changes only with the names of hosts and users. */
static bool are_known_current(const struct tg_redactor *redactor)
{
    return redactor->known_names == redactor->used[HOST] + redactor->used[USER];
}

/* Takes MADE where it is kept. */
static bool keep_known(struct tg_redactor *redactor, const char *key, size_t size, char *made)
{
    struct known_text *known = HASH_COUNT(redactor->known) < MAX_KNOWN ? malloc(sizeof *known + size) : NULL;
    if (known == NULL)
        return false;
    memcpy(known->key, key, size);
    known->made = made;
    if (TG_HASH_ADD_KEY(hh, redactor->known, known->key, size, known) == NULL)
        return true;
    free(known);
    return false;
}

static char *make(struct tg_redactor *redactor, enum treatment treatment, const char *text, bool is_first)
{
    char *made = NULL;
    size_t size;
    FILE *out = open_memstream(&made, &size);
    if (out != NULL) {
        put(redactor, treatment, text, is_first, out);
        fclose(out);
    }
    return made;
}

/* TEXT as it is told, which the event at hand keeps. */
static const char *redact(struct tg_redactor *redactor, enum treatment treatment, const char *text,
                          bool is_first)
{
    if (text == NULL || *text == '\0' || treatment == KEPT)
        return text;
    char key[KNOWN_BYTES];
    size_t length = strnlen(text, sizeof key);
    bool is_short = length + 2 <= sizeof key;
    if (is_short) {
        struct known_text *known;
        key[0] = (char)treatment;
        key[1] = (char)is_first;
        memcpy(key + 2, text, length);
        HASH_FIND(hh, redactor->known, key, length + 2, known);
        if (known != NULL && are_known_current(redactor))
            return known->made;
    }
    char *made = make(redactor, treatment, text, is_first);
    if (made != NULL && is_short && !redactor->no_memory && are_known_current(redactor) &&
        keep_known(redactor, key, length + 2, made))
        return made;
    if (made == NULL ||
        TG_ARRAY_APPEND(redactor->texts, redactor->n_texts, redactor->text_capacity, made) != NULL) {
        free(made);
        redactor->no_memory = true;
        return "";
    }
    return made;
}

static void redact_member(struct tg_redactor *redactor, enum treatment treatment,
                          const struct tg_field *field, void *record, bool is_first)
{
    const char *text;
    memcpy(&text, (char *)record + field->offset, sizeof text);
    text = redact(redactor, treatment, text, is_first);
    memcpy((char *)record + field->offset, &text, sizeof text);
}

/* A copy of LIST, a field whose treatment is WHOLE, in place of it. */
static void redact_list(struct tg_redactor *redactor, enum treatment whole, size_t f,
                        const struct tg_field *field, struct tg_list *list)
{
    const struct tg_record_schema *element = field->element;
    if (list->count == 0)
        return;
    char *items = calloc(list->count, element->size_bytes);
    if (items == NULL) {
        redactor->no_memory = true;
        *list = (struct tg_list){0};
        return;
    }
    memcpy(items, list->items, list->count * element->size_bytes);
    for (size_t m = 0; m < element->n_fields; m++) {
        enum treatment treatment =
            whole != WORDS ? whole : treatment_of(element->name, element->fields[m].name);
        for (uint64_t i = 0; element->fields[m].type == TG_FIELD_STRING && i < list->count; i++)
            redact_member(redactor, treatment, &element->fields[m], items + i * element->size_bytes, i == 0);
    }
    redactor->lists[f] = items;
    list->items = items;
}

/* Looked up once. */
static enum treatment treatment_of_field(struct tg_redactor *redactor, enum tg_event_kind kind, size_t f)
{
    uint8_t *known = &redactor->treatments[kind][f];
    if (*known == 0) {
        const struct tg_record_schema *schema = tg_event_schema(kind);
        *known = (uint8_t)(treatment_of(schema->name, schema->fields[f].name) + 1);
    }
    return (enum treatment)(*known - 1);
}

static void forget_event(struct tg_redactor *redactor)
{
    for (size_t i = 0; i < redactor->n_texts; i++)
        free(redactor->texts[i]);
    redactor->n_texts = 0;
    for (size_t f = 0; f < TG_EVENT_MAX_FIELDS; f++) {
        free(redactor->lists[f]);
        redactor->lists[f] = NULL;
    }
}

struct tg_error *tg_redactor_event(struct tg_redactor *redactor, const struct tg_event *event,
                                   struct tg_event *redacted)
{
    const struct tg_record_schema *schema = tg_event_schema(event->kind);
    forget_event(redactor);
    if (!are_known_current(redactor)) { /* not before: the event before had some of them */
        forget_known(redactor);
        redactor->known_names = redactor->used[HOST] + redactor->used[USER];
    }
    *redacted = *event;
    redacted->payload_id = 0;
    char *payload = TG_EVENT_PAYLOAD(redacted);
    for (size_t f = 0; f < schema->n_fields; f++) {
        const struct tg_field *field = &schema->fields[f];
        if (field->type == TG_FIELD_STRING)
            redact_member(redactor, treatment_of_field(redactor, event->kind, f), field, payload, false);
        else if (field->type == TG_FIELD_LIST)
            redact_list(redactor, treatment_of_field(redactor, event->kind, f), f, field,
                        (struct tg_list *)(void *)(payload + field->offset));
    }
    if (!redactor->no_memory)
        return NULL;
    redactor->no_memory = false;
    return tg_error_no_memory();
}

/* ---- what the trace says about itself */

static enum treatment treatment_of_key(const char *key)
{
    static const struct {
        const char *beginning;
        enum treatment treatment;
    } keys[] = {{"tool.", KEPT},           {"host.name", ON_HOST}, {"host.", KEPT}, {"command.cwd", PATH},
                {"command.", ARGUMENTS},   {"start.", KEPT},       {"time.", KEPT}, {"stop.", KEPT},
                {"capture.match", GLOB},   {"capture.", KEPT},     {"cost.", KEPT}, {"clock.", KEPT},
                {"agent.directory", PATH}, {"redacted", KEPT}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strncmp(key, keys[i].beginning, strlen(keys[i].beginning)) == 0)
            return keys[i].treatment;
    return WORDS;
}

/* A host or user, who is then found in texts too. */
static struct tg_error *know(struct tg_redactor *redactor, enum sort sort, const char *name)
{
    if (name != NULL && *name != '\0')
        replace(redactor, sort, name, strlen(name));
    return redactor->no_memory ? tg_error_no_memory() : NULL;
}

struct tg_error *tg_redactor_meta(struct tg_redactor *redactor, const struct tg_trace_meta *meta,
                                  struct tg_trace_meta *redacted)
{
    struct tg_error *error = know(redactor, HOST, tg_trace_meta_get(meta, "host.name"));
    for (size_t i = 0; error == NULL && i < tg_trace_meta_count(meta); i++) {
        const char *key = tg_trace_meta_key_at(meta, i);
        const char *value = redact(redactor, treatment_of_key(key), tg_trace_meta_value_at(meta, i),
                                   strcmp(key, "command.0") == 0);
        error = redactor->no_memory ? tg_error_no_memory() : tg_trace_meta_set(redacted, key, value);
    }
    forget_event(redactor);
    return error != NULL ? error : tg_trace_meta_set(redacted, "redacted", "on");
}

/* ---- life */

struct tg_error *tg_redactor_user(struct tg_redactor *redactor, const char *name)
{
    return know(redactor, USER, name);
}

struct tg_error *tg_redactor_create(unsigned before, struct tg_redactor **redactor)
{
    struct tg_redactor *made = calloc(1, sizeof *made);
    if (made == NULL || (made->treatments = calloc((size_t)tg_event_kind_at(tg_event_kind_count() - 1) + 1,
                                                   sizeof *made->treatments)) == NULL) {
        free(made);
        return tg_error_no_memory();
    }
    for (size_t sort = 0; sort < SORTS; sort++)
        made->used[sort] = before;
    *redactor = made;
    return NULL;
}

void tg_redactor_destroy(struct tg_redactor *redactor)
{
    struct replacement *at, *next;
    if (redactor == NULL)
        return;
    forget_event(redactor);
    forget_known(redactor);
    free(redactor->treatments);
    HASH_ITER (hh, redactor->replacements, at, next) {
        HASH_DEL(redactor->replacements, at);
        free(at->text);
        free(at->replaced);
        free(at);
    }
    free(redactor->texts);
    free(redactor);
}
