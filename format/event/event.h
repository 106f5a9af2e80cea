/* The event vocabulary: one struct, one enum, one schema table. "How to add" in docs/architecture.md says what
 * belongs to a kind. To add a field: append it. Never insert one, and never reuse a number: traces of every
 * version stay readable. */
#ifndef TG_FORMAT_EVENT_EVENT_H
#define TG_FORMAT_EVENT_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/event/each.h"

/* A list inside an event: COUNT items of the element struct that the field's schema names. */
struct tg_list {
    const void *items;
    uint64_t count;
};

/* Enums with their names, and flags. */
#define TG_ENUMERATOR(tag, constant)     TG_ENUMERATOR_OF constant
#define TG_ENUMERATOR_OF(constant, name) constant,
#define TG_FLAG(tag, flag)               TG_FLAG_OF flag
#define TG_FLAG_OF(constant, value)      constant = value,

/* Members. Every scalar is 64 bits wide so that one schema-driven codec serves all; enum members hold the
 * enum's value. */
#define TG_MEMBER(record, field)      TG_MEMBER_OF field
#define TG_MEMBER_OF(type, ...)       TG_MEMBER_##type(__VA_ARGS__)
#define TG_MEMBER_unsigned(member)    uint64_t member;
#define TG_MEMBER_signed(member)      int64_t member;
#define TG_MEMBER_address(member)     uint64_t member;
#define TG_MEMBER_flag(member)        uint64_t member;
#define TG_MEMBER_string(member)      const char *member;
#define TG_MEMBER_named(member, name) uint64_t member;
#define TG_MEMBER_enum(member, tag)   uint64_t member;
#define TG_MEMBER_list(member, item)  struct tg_list member;

#define TG_ENUM(tag, ...)  enum tag { TG_EACH(TG_ENUMERATOR, tag, __VA_ARGS__) };
#define TG_FLAGS(tag, ...) enum tag { TG_EACH(TG_FLAG, tag, __VA_ARGS__) };
#define TG_ITEM(tag, name, ...)                                                                              \
    struct tag {                                                                                             \
        TG_EACH(TG_MEMBER, tag, __VA_ARGS__)                                                                 \
    };
#define TG_PART(tag, ...)                                                                                    \
    struct tag {                                                                                             \
        TG_EACH(TG_MEMBER, tag, __VA_ARGS__)                                                                 \
    };
#define TG_EVENT(symbol, number, name, ...)                                                                  \
    struct tg_event_##name {                                                                                 \
        TG_EACH(TG_MEMBER, tg_event_##name, __VA_ARGS__)                                                     \
    };
#include "format/event/events.def"

enum tg_event_kind {
#define TG_EVENT(symbol, number, name, ...) TG_EVENT_##symbol = number,
#include "format/event/events.def"
};

/* One event. Strings and lists belong to the maker of the event: a reader's live until its next call, a
 * producer's until the sink returns. Strings are never NULL in an event that a reader hands out. */
struct tg_event {
    uint64_t time_ns; /* CLOCK_MONOTONIC of the recording host */
    uint64_t stop_ns; /* time from the stop, as the tracer saw it, to the resume; 0: no stop */
    int32_t pid;      /* thread group; 0: the recorder itself */
    int32_t tid;
    enum tg_event_kind kind;
    uint64_t payload_id; /* events of one maker with the same id have the same kind and payload; 0: unknown */
    union {
#define TG_EVENT(symbol, number, name, ...) struct tg_event_##name name;
#include "format/event/events.def"
    };
};

/* Where a chunk of a trace has an event: until that chunk is full another one of the same thread and kind is added there at little
 * cost, least where it differs in its time alone. All 0: nowhere. */
struct tg_event_place {
    uint64_t chunk; /* number of the chunk, 0: none */
    uint32_t kind;  /* among all that there are */
    uint32_t row, thread;
    uint32_t raw_bytes; /* at most, without the time */
    uint32_t
        changed; /* by who adds events: the fields of the payload that are others now, a bit each, in the order of its
                           schema; TG_EVENT_ALL_FIELDS: any, also texts */
    /* with TG_EVENT_SAME_ITEMS: of its list, in the chunk */
    uint32_t n_items, items_at, items_bytes;
};
#define TG_EVENT_ALL_FIELDS UINT32_MAX
/* In CHANGED, alone, of an event whose list has items: they come with each such event, and are the same again. */
#define TG_EVENT_SAME_ITEMS (UINT32_C(1) << 31)

enum tg_field_type {
    TG_FIELD_UNSIGNED, /* uint64_t */
    TG_FIELD_SIGNED,   /* int64_t */
    TG_FIELD_ADDRESS,  /* uint64_t, shown in hex, coded against the previous value */
    TG_FIELD_STRING,   /* const char * */
    TG_FIELD_ENUM,     /* uint64_t with names */
    TG_FIELD_BOOL,     /* uint64_t, 0 or 1 */
    TG_FIELD_LIST,     /* struct tg_list of records */
};

struct tg_record_schema;

/* One field of a payload or list element. Its position in the schema is its identity in the file. */
struct tg_field {
    const char *name; /* as in dump and --json; carries its unit */
    size_t name_bytes;
    enum tg_field_type type;
    size_t offset;                          /* in the payload or element struct */
    const struct tg_record_schema *element; /* TG_FIELD_LIST: what it holds; elements hold no lists */
    const char *const *names;               /* TG_FIELD_ENUM: name of each value, NULL-terminated */
    size_t n_names;                         /* likewise */
};

struct tg_record_schema {
    const char *name;
    size_t size_bytes; /* of the struct */
    size_t n_fields;
    const struct tg_field *fields;
};

enum { TG_EVENT_MAX_FIELDS = 17 };

/* Schema of KIND's payload, whose struct starts at TG_EVENT_PAYLOAD; NULL for a number that is no kind.
 * Constant. */
const struct tg_record_schema *tg_event_schema(unsigned kind);
#define TG_EVENT_PAYLOAD(event) ((void *)&(event)->process_start)

/* Every kind in ascending order, for I in [0, tg_event_kind_count()). */
size_t tg_event_kind_count(void);
enum tg_event_kind tg_event_kind_at(size_t i);

/* By number: 1 + the kind's place in that order, 0 where there is none. */
enum { TG_EVENT_KIND_NUMBERS = 1 << 12 };
extern const uint8_t tg_event_kind_places[TG_EVENT_KIND_NUMBERS];
/* The place of KIND, SIZE_MAX for a number that is no kind. */
static inline size_t tg_event_kind_place(unsigned kind)
{
    size_t above = kind < TG_EVENT_KIND_NUMBERS ? tg_event_kind_places[kind] : 0;
    return above - 1;
}

/* Whether KIND is of OpenMP and its payload begins with a struct tg_omp_place: all of that family but
 * TG_EVENT_OMP_RUNTIME. */
static inline bool tg_event_has_place(unsigned kind)
{
    return kind >> 8 == TG_EVENT_OMP_PARALLEL_BEGIN >> 8 && kind >= TG_EVENT_OMP_PARALLEL_BEGIN;
}

/* Name as in dump ("library_load"); "unknown" for a number that is no kind. */
const char *tg_event_kind_name(unsigned kind);

/* Finds a kind by name; returns 0 where there is none. */
unsigned tg_event_kind_by_name(const char *name);

/* A number of lost events, which a ring or a trace may have scribbled over: 0, unknown, where it cannot be. */
static inline uint64_t tg_loss_count(uint64_t count)
{
    return count >> 48 == 0 ? count : 0; /* nothing makes so many events in a year */
}

/* Name of VALUE of an enum field, or NULL where it is beyond the names known here. */
const char *tg_field_value_name(const struct tg_field *field, uint64_t value);
/* The same of the field of KIND called FIELD; NULL also where there is no such field. */
const char *tg_event_value_name(unsigned kind, const char *field, uint64_t value);

#endif
