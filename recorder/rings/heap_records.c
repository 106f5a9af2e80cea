#include "recorder/rings/heap_records.h"

#include "format/base/array.h"

#include <stdio.h>
#include <string.h>
#include <xxhash.h>

enum {
    MAX_STACKS = 1 << 20, /* ids that an agent can have given */
    MAX_OBJECTS = 1 << 14,
    BUILD_ID_BYTES = 24,
    ADDRESS_SHIFT = 48,
    STACK_SHIFT = 32,
    OUTER_SHIFT = 32,
    PREVENTED_SHIFT = 63,
    MAX_FRAMES = TG_AGENT_HEAP_MAX_DEPTH,
};

/* The content of a stack: a hash of it that does not collide. */
struct content {
    uint64_t low, high;
};

struct stack {
    struct content content;
    uint64_t number; /* 0: a free slot */
};

/* By content, which is a hash: each is in the first slot from that of its low bits on that was free. */
struct tg_heap_stacks {
    struct stack *slots; /* a power of two of them, at most half in use; NULL: none yet */
    size_t n_slots, n_stacks;
    uint64_t count; /* the latest number */
};

struct object {
    uint64_t start, end, bias;
    char build_id[2 * BUILD_ID_BYTES + 1];
    char *path;
    uint64_t hash; /* of both */
};

struct tg_heap_program {
    struct object *objects; /* the latest last */
    size_t n_objects, max_objects;
    uint32_t *numbers; /* by the agent's id - 1; 0: not told */
    size_t n_numbers, max_numbers;
    size_t n_stacks; /* of them told */
};

/* One record on its way to events. */
struct given {
    struct tg_heap_stacks *stacks;
    struct tg_heap_program *program;
    uint64_t *arguments;
    size_t n_arguments;
    struct tg_event *event;
    const struct tg_event_sink *sink;
};

/* ---- life */

struct tg_error *tg_heap_stacks_create(struct tg_heap_stacks **stacks)
{
    *stacks = calloc(1, sizeof **stacks);
    return *stacks != NULL ? NULL : tg_error_no_memory();
}

void tg_heap_stacks_destroy(struct tg_heap_stacks *stacks)
{
    if (stacks == NULL)
        return;
    free(stacks->slots);
    free(stacks);
}

void tg_heap_program_destroy(struct tg_heap_program *program)
{
    if (program == NULL)
        return;
    for (size_t i = 0; i < program->n_objects; i++)
        free(program->objects[i].path);
    free(program->objects);
    free(program->numbers);
    free(program);
}

size_t tg_heap_program_stacks(const struct tg_heap_program *program)
{
    return program == NULL ? 0 : program->n_stacks;
}

static bool reserve_numbers(struct tg_heap_program *program, size_t count)
{
    if (count <= program->n_numbers)
        return true;
    if (TG_ARRAY_RESERVE(program->numbers, program->max_numbers, count) != NULL)
        return false;
    memset(program->numbers + program->n_numbers, 0,
           (count - program->n_numbers) * sizeof program->numbers[0]);
    program->n_numbers = count;
    return true;
}

struct tg_heap_program *tg_heap_program_copy(const struct tg_heap_program *program)
{
    struct tg_heap_program *copy = program == NULL ? NULL : calloc(1, sizeof *copy);
    if (copy == NULL)
        return NULL;
    if (TG_ARRAY_RESERVE(copy->objects, copy->max_objects, program->n_objects) != NULL ||
        !reserve_numbers(copy, program->n_numbers)) {
        tg_heap_program_destroy(copy);
        return NULL;
    }
    copy->n_stacks = program->n_stacks;
    if (program->n_numbers > 0)
        memcpy(copy->numbers, program->numbers, program->n_numbers * sizeof copy->numbers[0]);
    for (; copy->n_objects < program->n_objects; copy->n_objects++) {
        struct object *object = &copy->objects[copy->n_objects];
        *object = program->objects[copy->n_objects];
        object->path = strdup(object->path);
        if (object->path == NULL) {
            tg_heap_program_destroy(copy);
            return NULL;
        }
    }
    return copy;
}

/* ---- parts of records */

static void emit(const struct given *given, enum tg_event_kind kind)
{
    given->event->kind = kind;
    given->sink->add(given->sink->context, given->event);
}

/* The string at argument FROM, made to end within the record; *BEHIND is the argument behind it. */
static const char *string_at(const struct given *given, size_t from, size_t *behind)
{
    if (from >= given->n_arguments) {
        *behind = from;
        return "";
    }
    char *text = (char *)(given->arguments + from);
    size_t room = (given->n_arguments - from) * sizeof(uint64_t);
    if (room > TG_AGENT_MAX_STRING_BYTES)
        room = TG_AGENT_MAX_STRING_BYTES;
    text[room - 1] = '\0';
    *behind = from + strlen(text) / sizeof(uint64_t) + 1;
    return text;
}

static inline uint64_t number_in(const struct tg_heap_program *program, uint64_t id)
{
    return id > 0 && id <= program->n_numbers ? program->numbers[id - 1] : 0;
}

static uint64_t number_of(const struct given *given, uint64_t id)
{
    return number_in(given->program, id);
}

/* ---- objects */

static void add_object(const struct given *given)
{
    struct tg_heap_program *program = given->program;
    const uint64_t *arguments = given->arguments;
    size_t behind;
    uint64_t length = arguments[3] < BUILD_ID_BYTES ? arguments[3] : BUILD_ID_BYTES;
    struct object object = {.start = arguments[0], .end = arguments[1], .bias = arguments[2]};
    for (size_t i = 0; i < length; i++)
        snprintf(object.build_id + 2 * i, 3, "%02x", ((const unsigned char *)(arguments + 4))[i]);
    if (program->n_objects >= MAX_OBJECTS)
        return;
    object.path = strdup(string_at(given, 7, &behind));
    if (object.path != NULL)
        object.hash = XXH3_64bits_withSeed(object.path, strlen(object.path),
                                           XXH3_64bits(object.build_id, strlen(object.build_id)));
    if (object.path == NULL ||
        TG_ARRAY_APPEND(program->objects, program->n_objects, program->max_objects, object) != NULL)
        free(object.path);
}

/* What is there now came last. */
static const struct object *find_object(const struct tg_heap_program *program, uint64_t address)
{
    for (size_t i = program->n_objects; i-- > 0;) {
        const struct object *object = &program->objects[i];
        if (address >= object->start && address < object->end)
            return object;
    }
    return NULL;
}

/* ---- stacks */

/* Fills FRAMES from the record, and the hashes of their OBJECTS, 0 none; returns how many. */
static size_t read_frames(const struct given *given, struct tg_stack_frame frames[MAX_FRAMES],
                          uint64_t objects[MAX_FRAMES])
{
    size_t room = given->n_arguments - 3, count = 0;
    uint64_t listed = given->arguments[2] < room ? given->arguments[2] : room;
    bool was_interrupted = false;
    for (uint64_t i = 0; i < listed && count < MAX_FRAMES; i++) {
        uint64_t pc = given->arguments[3 + i];
        if (pc == 0) {
            was_interrupted = true;
            if (count > 0)
                frames[count - 1].kind = TG_FRAME_SIGNAL;
            continue;
        }
        const struct object *object = find_object(given->program, pc);
        objects[count] = object != NULL ? object->hash : 0;
        frames[count++] = (struct tg_stack_frame){
            .kind = TG_FRAME_CODE,
            .pc = pc,
            .module = object != NULL ? object->path : "",
            .build_id = object != NULL ? object->build_id : "",
            .address = object != NULL ? pc - !was_interrupted - object->bias : 0,
            .function = "",
            .file = "",
        };
        was_interrupted = false;
    }
    return count;
}

/* OUTER: the number of the stack whose frames follow, 0 none. */
static struct content content_of(const struct tg_stack_frame *frames, const uint64_t *objects, size_t count,
                                 uint64_t outer, uint64_t end)
{
    uint64_t words[3 + MAX_FRAMES * 3];
    size_t n = 0;
    words[n++] = outer;
    words[n++] = end;
    words[n++] = count;
    for (size_t i = 0; i < count; i++) {
        bool known = frames[i].module[0] != '\0';
        words[n++] = objects[i];
        words[n++] = known ? frames[i].address : frames[i].pc;
        words[n++] = frames[i].kind;
    }
    XXH128_hash_t hash = XXH3_128bits(words, n * sizeof words[0]);
    return (struct content){.low = hash.low64, .high = hash.high64};
}

static uint64_t next_number(struct tg_heap_stacks *stacks)
{
    stacks->count += (stacks->count + 1) % TG_HEAP_STACK_OUTSIDE == 0 ? 2 : 1;
    return stacks->count;
}

/* The slot of CONTENT, or the free one where it would be. */
static struct stack *find_stack(struct stack *slots, size_t n_slots, const struct content *content)
{
    size_t at = (size_t)content->low & (n_slots - 1);
    while (slots[at].number != 0 &&
           (slots[at].content.low != content->low || slots[at].content.high != content->high))
        at = (at + 1) & (n_slots - 1);
    return &slots[at];
}

static bool grow_stacks(struct tg_heap_stacks *stacks)
{
    enum { FIRST_SLOTS = 1 << 10 };
    size_t n_slots = stacks->n_slots == 0 ? FIRST_SLOTS : 2 * stacks->n_slots;
    struct stack *slots = calloc(n_slots, sizeof *slots);
    if (slots == NULL)
        return false;
    for (size_t i = 0; i < stacks->n_slots; i++)
        if (stacks->slots[i].number != 0)
            *find_stack(slots, n_slots, &stacks->slots[i].content) = stacks->slots[i];
    free(stacks->slots);
    stacks->slots = slots;
    stacks->n_slots = n_slots;
    return true;
}

/* 0 without memory. */
static uint64_t number_content(struct tg_heap_stacks *stacks, const struct content *content)
{
    if (2 * (stacks->n_stacks + 1) > stacks->n_slots && !grow_stacks(stacks))
        return 0;
    struct stack *stack = find_stack(stacks->slots, stacks->n_slots, content);
    if (stack->number == 0) {
        *stack = (struct stack){*content, next_number(stacks)};
        stacks->n_stacks++;
    }
    return stack->number;
}

static void add_stack(const struct given *given)
{
    struct tg_stack_frame frames[MAX_FRAMES];
    uint64_t objects[MAX_FRAMES];
    uint64_t id = given->arguments[0], outer_id = given->arguments[1] >> OUTER_SHIFT;
    uint64_t end = given->arguments[1] & UINT32_MAX, outer = number_of(given, outer_id);
    if (id == 0 || id > MAX_STACKS || !reserve_numbers(given->program, id) ||
        given->program->numbers[id - 1] != 0 || (outer == 0 && outer_id != 0))
        return;
    size_t count = read_frames(given, frames, objects);
    const struct content content = content_of(frames, objects, count, outer, end);
    uint64_t number = number_content(given->stacks, &content);
    if (number == 0 || number > UINT32_MAX)
        return;
    given->program->numbers[id - 1] = (uint32_t)number;
    given->program->n_stacks++;
    given->event->heap_stack = (struct tg_event_heap_stack){
        .stack = number, .end = end, .frames = {.items = frames, .count = count}, .outer = outer};
    emit(given, TG_EVENT_HEAP_STACK);
}

/* ---- the others */

static void add_start(const struct given *given)
{
    size_t behind;
    bool checks = (given->arguments[0] & UINT32_MAX) == TG_HEAP_CHECK;
    given->event->heap_start = (struct tg_event_heap_start){
        .mode = given->arguments[0] & UINT32_MAX,
        .depth = given->arguments[0] >> 32,
        .sample_bytes = given->arguments[1],
        .red_zones = given->arguments[3] != 0,
        .red_zone_start = given->arguments[2],
        .red_zone_bytes = given->arguments[3],
        .allocator = string_at(given, 4, &behind),
        .guard_bytes = checks ? TG_AGENT_HEAP_GUARD_BYTES : 0,
        .hoard_bytes = checks ? TG_AGENT_HEAP_HOARD_BYTES : 0,
        .paints = checks,
    };
    emit(given, TG_EVENT_HEAP_START);
}

static void add_unseen(const struct given *given)
{
    size_t behind;
    given->event->heap_unseen.module = string_at(given, 0, &behind);
    given->event->heap_unseen.reason = string_at(given, behind, &behind);
    emit(given, TG_EVENT_HEAP_UNSEEN);
}

static void add_large(const struct given *given)
{
    uint64_t word = given->arguments[0];
    given->event->heap_alloc = (struct tg_event_heap_alloc){
        .address = word & TG_AGENT_CODE_MASK,
        .size_bytes = given->arguments[2],
        .stack = number_of(given, given->arguments[1]),
        .call = word >> ADDRESS_SHIFT,
    };
    emit(given, TG_EVENT_HEAP_ALLOC);
}

static void add_resize(const struct given *given)
{
    uint64_t word = given->arguments[0];
    given->event->heap_resize = (struct tg_event_heap_resize){
        .address = word & TG_AGENT_CODE_MASK,
        .size_bytes = given->arguments[2],
        .stack = number_of(given, given->arguments[1]),
        .call = word >> ADDRESS_SHIFT,
    };
    emit(given, TG_EVENT_HEAP_RESIZE);
}

static void add_error(const struct given *given)
{
    const uint64_t *arguments = given->arguments;
    size_t behind;
    given->event->heap_error = (struct tg_event_heap_error){
        .error = arguments[0],
        .address = arguments[1],
        .block = arguments[2],
        .size_bytes = arguments[3],
        .stack = number_of(given, arguments[4]),
        .allocated_stack = number_of(given, arguments[5]),
        .freed_stack = number_of(given, arguments[6]),
        .allocated_tid = (int64_t)arguments[7],
        .freed_tid = (int64_t)arguments[8],
        .offset = (int64_t)arguments[9],
        .wrong_bytes = arguments[10] & ~(UINT64_C(1) << PREVENTED_SHIFT),
        .was_prevented = arguments[10] >> PREVENTED_SHIFT,
        .call = string_at(given, 11, &behind),
    };
    emit(given, TG_EVENT_HEAP_ERROR);
}

void tg_heap_records_put_change(const struct tg_heap_program *program, enum tg_agent_record kind,
                                const uint64_t *arguments, struct tg_event *event)
{
    uint64_t address = arguments[0] & TG_AGENT_CODE_MASK, how = arguments[0] >> ADDRESS_SHIFT;
    if (kind == TG_RECORD_HEAP_FREE) {
        event->kind = TG_EVENT_HEAP_FREE;
        event->heap_free = (struct tg_event_heap_free){
            .address = address, .stack = number_in(program, arguments[1]), .release = how};
        return;
    }
    event->kind = TG_EVENT_HEAP_ALLOC;
    event->heap_alloc = (struct tg_event_heap_alloc){.address = address,
                                                     .size_bytes = arguments[1] & UINT32_MAX,
                                                     .stack = number_in(program, arguments[1] >> STACK_SHIFT),
                                                     .call = how};
}

static void add_change(const struct given *given, enum tg_agent_record kind)
{
    tg_heap_records_put_change(given->program, kind, given->arguments, given->event);
    given->sink->add(given->sink->context, given->event);
}

void tg_heap_records_add(struct tg_heap_stacks *stacks, struct tg_heap_program **program,
                         enum tg_agent_record kind, uint64_t *arguments, size_t n_arguments,
                         struct tg_event *event, const struct tg_event_sink *sink)
{
    static struct tg_heap_program none;
    if (*program == NULL)
        *program = calloc(1, sizeof **program);
    const struct given given = {.stacks = stacks,
                                .program = *program != NULL ? *program : &none,
                                .arguments = arguments,
                                .n_arguments = n_arguments,
                                .event = event,
                                .sink = sink};
    if (tg_heap_records_are_changes(kind))
        add_change(&given, kind);
    else if (kind == TG_RECORD_HEAP_STACK && *program != NULL)
        add_stack(&given);
    else if (kind == TG_RECORD_HEAP_ALLOC_LARGE)
        add_large(&given);
    else if (kind == TG_RECORD_HEAP_START)
        add_start(&given);
    else if (kind == TG_RECORD_HEAP_UNSEEN)
        add_unseen(&given);
    else if (kind == TG_RECORD_HEAP_OBJECT && *program != NULL)
        add_object(&given);
    else if (kind == TG_RECORD_HEAP_RESIZE)
        add_resize(&given);
    else if (kind == TG_RECORD_HEAP_ERROR)
        add_error(&given);
}
