#include "analyzer/job/status.h"

#include "analyzer/job/list.h"
#include "format/base/hash.h"
#include "format/base/printable.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- words */

static const char *const key_names[TG_STATUS_KEY_COUNT] = {
    "control_group", "share_group", "process_state", "thread_state", "hostname",    "function", "line", "pc",
    "dpid",          "dtid",        "held",          "stop_reason",  "thread_name", "job",      "rank"};

const char *tg_status_key_name(enum tg_status_key key)
{
    return key_names[key];
}

static struct tg_error *no_such_key(const char *word, size_t size)
{
    char all[256] = "";
    for (size_t i = 0; i < TG_STATUS_KEY_COUNT; i++)
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s", i == 0 ? "" : ", ", key_names[i]);
    return tg_error_create(TG_ERROR_USAGE, "-group_by: invalid key '%.*s'; use %s",
                           size > 40 ? 40 : (int)size, word, all);
}

struct tg_error *tg_status_parse_keys(const char *text, enum tg_status_key keys[static TG_STATUS_KEY_COUNT],
                                      size_t *n_keys)
{
    enum tg_status_key found[TG_STATUS_KEY_COUNT];
    bool seen[TG_STATUS_KEY_COUNT] = {false};
    size_t n = 0;
    for (const char *word = text;;) {
        size_t size = strcspn(word, ","), key = 0;
        while (key < TG_STATUS_KEY_COUNT &&
               (strlen(key_names[key]) != size || memcmp(key_names[key], word, size) != 0))
            key++;
        if (key == TG_STATUS_KEY_COUNT)
            return no_such_key(word, size);
        if (seen[key])
            return tg_error_create(TG_ERROR_USAGE, "-group_by: '%s' is given twice", key_names[key]);
        seen[key] = true;
        found[n++] = (enum tg_status_key)key;
        if (word[size] == '\0')
            break;
        word += size + 1;
    }
    memcpy(keys, found, n * sizeof *keys);
    *n_keys = n;
    return NULL;
}

const char *tg_job_state_word(enum tg_job_state state)
{
    static const char *const words[] = {[TG_JOB_NONEXISTENT] = "nonexistent",
                                        [TG_JOB_RUNNING] = "running",
                                        [TG_JOB_KERNEL] = "kernel",
                                        [TG_JOB_STOPPED] = "stopped",
                                        [TG_JOB_BREAKPOINT] = "breakpoint",
                                        [TG_JOB_WATCHPOINT] = "watchpoint",
                                        [TG_JOB_ERROR] = "error"};
    return words[state];
}

/* The state that all of a process's threads are in; MIXED: they are in several. */
static enum tg_job_state process_state(const struct tg_job_view *view, const struct tg_job_process *process,
                                       bool *mixed)
{
    *mixed = false;
    if (!process->info.exists)
        return TG_JOB_NONEXISTENT;
    if (process->n_threads == 0)
        return TG_JOB_RUNNING;
    enum tg_job_state state = tg_job_view_thread(view, process, 0)->state;
    for (size_t i = 1; i < process->n_threads; i++)
        *mixed = *mixed || tg_job_view_thread(view, process, i)->state != state;
    return state;
}

/* ---- values */

enum { VALUE_SIZE = 256 };

/* One thread of the set, or a process that has none. */
struct entry {
    const struct tg_job_process *process;
    size_t i;
    size_t group; /* at the level that is being made */
};

static const struct tg_job_thread *thread_of(const struct tg_job_view *view, const struct entry *entry)
{
    return entry->process->n_threads == 0 ? NULL : tg_job_view_thread(view, entry->process, entry->i);
}

static void name_of(const struct tg_status_input *input, const struct entry *entry, enum tg_status_key key,
                    char *value)
{
    char raw[VALUE_SIZE] = "";
    if (input->name != NULL)
        input->name(input->context, entry->process, entry->i, key, raw, sizeof raw);
    if (raw[0] == '\0')
        snprintf(value, VALUE_SIZE, "%s unknown", key_names[key]);
    else
        tg_printable(raw, value, VALUE_SIZE);
}

static void held_word(const struct entry *entry, const struct tg_job_thread *thread, char *value)
{
    bool thread_held = thread != NULL && thread->held;
    snprintf(value, VALUE_SIZE, "%s",
             entry->process->info.held && thread_held ? "process and thread held"
             : entry->process->info.held              ? "process held"
             : thread_held                            ? "thread held"
                                                      : "not held");
}

/* By what, where that is known: "thread held at barrier 2". */
static void add_holder(const struct tg_status_input *input, const struct entry *entry, char *value)
{
    char raw[VALUE_SIZE] = "";
    size_t length = strlen(value);
    input->name(input->context, entry->process, entry->i, TG_STATUS_HELD, raw, sizeof raw);
    if (raw[0] != '\0')
        snprintf(value + length, VALUE_SIZE - length, " %s", raw);
}

/* Whether KEY says something of those alone who exist. */
static bool is_of_existent(enum tg_status_key key)
{
    return key != TG_STATUS_CONTROL_GROUP && key != TG_STATUS_SHARE_GROUP && key != TG_STATUS_DPID &&
           key != TG_STATUS_RANK && key != TG_STATUS_HOSTNAME;
}

/* The value of KEY for ENTRY, as shown. */
static void value_of(const struct tg_status_input *input, const struct entry *entry, enum tg_status_key key,
                     char *value)
{
    const struct tg_job_process_info *info = &entry->process->info;
    const struct tg_job_thread *thread = thread_of(input->view, entry);
    bool mixed;
    if (!info->exists && is_of_existent(key)) {
        snprintf(value, VALUE_SIZE, "has ended"); /* no name of code has such words */
        return;
    }
    switch (key) {
    case TG_STATUS_CONTROL_GROUP:
        snprintf(value, VALUE_SIZE, "control group %" PRIu32, info->control_group);
        return;
    case TG_STATUS_SHARE_GROUP:
        snprintf(value, VALUE_SIZE, "share group %" PRIu32, info->share_group);
        return;
    case TG_STATUS_PROCESS_STATE: {
        enum tg_job_state state = process_state(input->view, entry->process, &mixed);
        snprintf(value, VALUE_SIZE, "%s", mixed ? "mixed" : tg_job_state_word(state));
        return;
    }
    case TG_STATUS_THREAD_STATE:
        snprintf(value, VALUE_SIZE, "%s", thread == NULL ? "no threads" : tg_job_state_word(thread->state));
        return;
    case TG_STATUS_PC:
        if (thread == NULL || thread->pc == 0)
            snprintf(value, VALUE_SIZE, "pc unknown");
        else
            snprintf(value, VALUE_SIZE, "0x%" PRIx64, thread->pc);
        return;
    case TG_STATUS_DPID:
        snprintf(value, VALUE_SIZE, "process %" PRIu32, info->dpid);
        return;
    case TG_STATUS_DTID:
        if (thread == NULL)
            snprintf(value, VALUE_SIZE, "no threads");
        else
            snprintf(value, VALUE_SIZE, "thread %" PRIu32, thread->dtid);
        return;
    case TG_STATUS_RANK:
        if (info->rank < 0)
            snprintf(value, VALUE_SIZE, "no rank");
        else
            snprintf(value, VALUE_SIZE, "rank %" PRId64, info->rank);
        return;
    case TG_STATUS_HELD:
        held_word(entry, thread, value);
        if (input->name != NULL && strcmp(value, "not held") != 0)
            add_holder(input, entry, value);
        return;
    case TG_STATUS_HOSTNAME:
    case TG_STATUS_FUNCTION:
    case TG_STATUS_LINE:
    case TG_STATUS_STOP_REASON:
    case TG_STATUS_THREAD_NAME:
    case TG_STATUS_JOB:
    case TG_STATUS_KEY_COUNT:
        break;
    }
    name_of(input, entry, key, value);
}

/* ---- the tree */

struct value {
    size_t group; /* in order of appearance */
    size_t count;
    UT_hash_handle hh;
    char text[];
};

static void free_values(struct value **values)
{
    struct value *value, *next;
    HASH_ITER (hh, *values, value, next) {
        HASH_DEL(*values, value);
        free(value);
    }
}

static struct value *find_or_add(struct value **values, const char *text)
{
    struct value *value = NULL;
    size_t size = strlen(text);
    HASH_FIND(hh, *values, text, size, value);
    if (value != NULL)
        return value;
    value = calloc(1, sizeof *value + size + 1);
    if (value == NULL)
        return NULL;
    memcpy(value->text, text, size);
    value->group = HASH_COUNT(*values);
    if (TG_HASH_ADD_KEY(hh, *values, value->text, size, value) != NULL) {
        free(value);
        return NULL;
    }
    return value;
}

struct level {
    const struct tg_status_input *input;
    const enum tg_status_key *keys;
    size_t n_keys, depth;
    FILE *stream;
    bool ended;     /* the entries have ended, as a level above says */
    size_t skipped; /* keys that say nothing of them */
};

static int by_group(const void *x, const void *y)
{
    const struct entry *a = x, *b = y;
    if (a->group != b->group)
        return a->group > b->group ? 1 : -1;
    if (a->process != b->process)
        return a->process > b->process ? 1 : -1;
    return (a->i > b->i) - (a->i < b->i);
}

static struct tg_error *print_group(const struct level *level, const struct entry *entries, size_t n)
{
    TG_AUTO_JOB_SET struct tg_job_set members = {0};
    char value[VALUE_SIZE];
    struct tg_error *error = tg_job_set_init(&members, level->input->view);
    if (error != NULL)
        return error;
    for (size_t i = 0; i < n; i++)
        tg_job_set_add(&members, entries[i].process, entries[i].i);
    value_of(level->input, &entries[0], level->keys[level->depth], value);
    fprintf(level->stream, "%*s%s: ", (int)(2 * (level->depth - level->skipped)), "", value);
    error = tg_job_list_print(level->input->view, &members, level->stream);
    fputc('\n', level->stream);
    return error;
}

/* Groups ENTRIES by the level's key and prints them; as deep as there are keys. */
static struct tg_error *print_level(const struct level *level, struct entry *entries, size_t n)
{
    __attribute__((cleanup(free_values))) struct value *values = NULL;
    char text[VALUE_SIZE];
    if (level->depth == level->n_keys)
        return NULL;
    if (level->ended && is_of_existent(level->keys[level->depth])) {
        struct level next = *level;
        next.depth++;
        next.skipped++;
        return print_level(&next, entries, n);
    }
    for (size_t i = 0; i < n; i++) {
        value_of(level->input, &entries[i], level->keys[level->depth], text);
        const struct value *value = find_or_add(&values, text);
        if (value == NULL)
            return tg_error_no_memory();
        entries[i].group = value->group;
    }
    qsort(entries, n, sizeof *entries, by_group);
    struct level below = *level;
    below.depth++;
    struct tg_error *error = NULL;
    for (size_t i = 0, end; error == NULL && i < n; i = end) {
        for (end = i + 1; end < n && entries[end].group == entries[i].group;)
            end++;
        error = print_group(level, entries + i, end - i);
        below.ended =
            level->ended || (!entries[i].process->info.exists && is_of_existent(level->keys[level->depth]));
        if (error == NULL)
            error = print_level(&below, entries + i, end - i);
    }
    return error;
}

struct tg_error *tg_status_print(const struct tg_status_input *input, const enum tg_status_key *keys,
                                 size_t n_keys, FILE *stream)
{
    struct entry *entries = calloc(tg_job_view_slots(input->view) + 1, sizeof *entries);
    size_t n = 0;
    if (entries == NULL)
        return tg_error_no_memory();
    for (size_t p = 0; p < tg_job_view_count(input->view); p++) {
        const struct tg_job_process *process = tg_job_view_at(input->view, p);
        for (size_t i = 0; i < (process->n_threads == 0 ? 1 : process->n_threads); i++)
            if (tg_job_set_has(input->set, process, i))
                entries[n++] = (struct entry){.process = process, .i = i};
    }
    const struct level level = {.input = input, .keys = keys, .n_keys = n_keys, .stream = stream};
    struct tg_error *error = print_level(&level, entries, n);
    free(entries);
    return error;
}
