#include "format/trace/redactor.h"

#include "format/base/array.h"
#include "format/base/hash.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

/* What a text is, and the word that its replacement begins with. */
enum sort { HOST, USER, NAME, ARGUMENT, VALUE, TEXT, JOB, PATTERN, COMMUNICATOR, SORTS };
static const char *const sort_words[SORTS] = {"host", "user", "name",    "arg", "value",
                                              "text", "job",  "pattern", "comm"};

struct replacement {
    char *text; /* owned, with its sort in front; as REPLACED */
    char *replaced;
    UT_hash_handle hh;
};

struct tg_redactor {
    struct replacement *replacements;
    unsigned used[SORTS];
    bool no_memory;
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

/* ---- what says nothing of anybody */

static bool is_one_of(const char *const *words, const char *text, size_t size)
{
    for (; *words != NULL; words++)
        if (strlen(*words) == size && memcmp(*words, text, size) == 0)
            return true;
    return false;
}

static bool begins_with_one_of(const char *const *words, const char *text, size_t size)
{
    for (; *words != NULL; words++)
        if (strlen(*words) <= size && memcmp(*words, text, strlen(*words)) == 0)
            return true;
    return false;
}

static bool is_number(const char *text, size_t size, size_t most)
{
    if (size == 0 || size > most)
        return false;
    for (size_t i = 0; i < size; i++)
        if (!isdigit((unsigned char)text[i]) && text[i] != '.')
            return false;
    return true;
}

/* Directories that every system has, and the files that models and people know by name. */
static bool is_common(const char *name, size_t size)
{
    static const char *const words[] = {".",
                                        "..",
                                        "",
                                        "usr",
                                        "lib",
                                        "lib64",
                                        "lib32",
                                        "bin",
                                        "sbin",
                                        "share",
                                        "opt",
                                        "etc",
                                        "proc",
                                        "dev",
                                        "sys",
                                        "run",
                                        "tmp",
                                        "var",
                                        "home",
                                        "root",
                                        "self",
                                        "exe",
                                        "fd",
                                        "shm",
                                        "libexec",
                                        "local",
                                        "task",
                                        "Users",
                                        "sh",
                                        "bash",
                                        "dash",
                                        "env",
                                        "make",
                                        "ls",
                                        "sleep",
                                        "true",
                                        "cat",
                                        "x86_64-linux-gnu",
                                        "site-packages",
                                        "dist-packages",
                                        "memfd:",
                                        NULL};
    static const char *const beginnings[] = {
        "libmpi",    "libopen-",     "libpmi",     "libprrte", "libgomp.", "libomp.",    "libiomp",
        "libc.so",   "libm.so",      "libpthread", "libdl.so", "librt.so", "ld-linux",   "libstdc++.",
        "libgcc_s.", "libgfortran.", "libpython",  "python",   "mpirun",   "mpiexec",    "orterun",
        "orted",     "prte",         "prun",       "hydra",    "srun",     "slurmstepd", "tollgate",
        "[vdso]",    "linux-vdso",   NULL};
    return is_one_of(words, name, size) || begins_with_one_of(beginnings, name, size) ||
           is_number(name, size, 10);
}

/* Where distributions keep what is the same on all machines. */
static bool is_of_system(const char *path)
{
    static const char *const beginnings[] = {"/usr/lib", "/usr/bin/", "/usr/sbin/", "/lib/",
                                             "/lib64/",  "/bin/",     "/sbin/",     NULL};
    return begins_with_one_of(beginnings, path, strlen(path));
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

/* ---- kinds of text */

static void put_name(struct tg_redactor *redactor, const char *name, size_t size, bool is_user, FILE *out)
{
    size_t stem = extension_of(name, size);
    if (is_common(name, size))
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
    if (is_of_system(path)) {
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

/* Words of tollgate or of a library, in which paths, file names, hosts and users are replaced. */
static void put_words(struct tg_redactor *redactor, const char *text, FILE *out)
{
    static const char between[] = " \t\n'\"`(),;:=[]{}<>|@";
    while (*text != '\0') {
        size_t size = strcspn(text, between);
        char *word = strndup(text, size);
        if (word == NULL) {
            redactor->no_memory = true;
            return;
        }
        if (strchr(word, '/') != NULL || (size > 0 && extension_of(word, size) < size))
            put_path(redactor, word, out);
        else if (find(redactor, HOST, word, size) != NULL)
            fputs(replace(redactor, HOST, word, size), out);
        else if (find(redactor, USER, word, size) != NULL)
            fputs(replace(redactor, USER, word, size), out);
        else if (find(redactor, NAME, word, size) != NULL)
            fputs(replace(redactor, NAME, word, size), out);
        else
            fputs(word, out);
        free(word);
        text += size;
        if (*text != '\0')
            fputc(*text++, out);
    }
}

static void put_argument(struct tg_redactor *redactor, const char *argument, bool is_first, FILE *out)
{
    static const char *const plain[] = {"-n", "-np", "-c", "--", "-", "", NULL};
    size_t size = strlen(argument);
    if (is_first || (*argument != '-' && strchr(argument, '/') != NULL && strchr(argument, '=') == NULL &&
                     strpbrk(argument, " \n;") == NULL))
        put_path(redactor, argument, out);
    else if (is_one_of(plain, argument, size) || is_number(argument, size, 4))
        fputs(argument, out);
    else
        fputs(replace(redactor, ARGUMENT, argument, size), out);
}

/* NAME=VALUE of an environment: values that are numbers or OpenMP's own words stay. */
static void put_variable(struct tg_redactor *redactor, const char *variable, FILE *out)
{
    static const char *const words[] = {"true",    "false",   "close",   "spread",  "master", "primary",
                                        "static",  "dynamic", "guided",  "auto",    "cores",  "threads",
                                        "sockets", "active",  "passive", "yes",     "no",     "on",
                                        "off",     "TRUE",    "FALSE",   "VERBOSE", "",       NULL};
    static const char between[] = ":,;= ";
    const char *value = strchr(variable, '=');
    size_t name = value == NULL ? strlen(variable) : (size_t)(value - variable) + 1;
    fwrite(variable, 1, name, out);
    for (value = variable + name; *value != '\0';) {
        size_t size = strcspn(value, between);
        char *word = strndup(value, size);
        if (word == NULL) {
            redactor->no_memory = true;
            return;
        }
        if (is_number(word, size, 20) || is_one_of(words, word, size))
            fputs(word, out);
        else if (strchr(word, '/') != NULL)
            put_path(redactor, word, out);
        else
            fputs(replace(redactor, find(redactor, HOST, word, size) != NULL ? HOST : VALUE, word, size),
                  out);
        free(word);
        value += size;
        if (*value != '\0')
            fputc(*value++, out);
    }
}

static void put_whole(struct tg_redactor *redactor, enum sort sort, const char *text, FILE *out)
{
    if (*text == '\0' || is_number(text, strlen(text), 20) ||
        (sort == COMMUNICATOR && strncmp(text, "MPI_", 4) == 0))
        fputs(text, out);
    else
        fputs(replace(redactor, sort, text, strlen(text)), out);
}

/* ---- fields */

enum treatment { WORDS, KEPT, PATH, ON_HOST, OF_JOB, ARGUMENTS, VARIABLES, GLOB, WHOLE, COMM_NAME };

/* The first row that fits; RECORD NULL: in any. What no row names, a field of tomorrow too, is WORDS, where no
 * single word is known to be harmless: that is for texts of tollgate itself. */
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
    {"command_line", "arguments", ARGUMENTS},
    {"environment", "variables", VARIABLES},
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
    case ON_HOST:
        put_whole(redactor, HOST, text, out);
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
        put_whole(redactor, strcmp(text, "*") == 0 ? COMMUNICATOR : PATTERN, text, out);
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

/* TEXT as it is told, which the event at hand keeps. */
static const char *redact(struct tg_redactor *redactor, enum treatment treatment, const char *text,
                          bool is_first)
{
    char *made = NULL;
    size_t size;
    if (text == NULL || *text == '\0' || treatment == KEPT)
        return text;
    FILE *out = open_memstream(&made, &size);
    if (out != NULL) {
        put(redactor, treatment, text, is_first, out);
        fclose(out);
    }
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

/* A copy of LIST, a field of RECORD, in place of it. */
static void redact_list(struct tg_redactor *redactor, const char *record, size_t f,
                        const struct tg_field *field, struct tg_list *list)
{
    const struct tg_record_schema *element = field->element;
    enum treatment whole = treatment_of(record, field->name);
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
    *redacted = *event;
    char *payload = TG_EVENT_PAYLOAD(redacted);
    for (size_t f = 0; f < schema->n_fields; f++) {
        const struct tg_field *field = &schema->fields[f];
        if (field->type == TG_FIELD_STRING)
            redact_member(redactor, treatment_of(schema->name, field->name), field, payload, false);
        else if (field->type == TG_FIELD_LIST)
            redact_list(redactor, schema->name, f, field,
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
    if (made == NULL)
        return tg_error_no_memory();
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
    HASH_ITER (hh, redactor->replacements, at, next) {
        HASH_DEL(redactor->replacements, at);
        free(at->text);
        free(at->replaced);
        free(at);
    }
    free(redactor->texts);
    free(redactor);
}
