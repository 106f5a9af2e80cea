#include "recorder/stacks/mpi_requests.h"

#include "recorder/stacks/call_arguments.h"
#include "recorder/stacks/mpich_requests.h"
#include "recorder/stacks/open_mpi_requests.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MAX_REQUESTS = 1024, NONE = -1 };

/* Where a call has its requests among its arguments, and how many there are. */
static const struct form {
    const char *name;
    int8_t count, requests;
    bool needs_all;
} forms[] = {
    {"wait", NONE, 0, true},
    {"waitall", 0, 1, true},
    {"waitany", 0, 1, false},
    {"waitsome", 0, 1, false},
};

static const struct form *find_form(const struct tg_mpi_shape *shape)
{
    for (size_t i = 0; shape != NULL && i < sizeof forms / sizeof *forms; i++)
        if (strcmp(forms[i].name, shape->name) == 0)
            return &forms[i];
    return NULL;
}

/* What is asked about one call. */
struct question {
    const struct tg_mpi_asking *asking;
    const struct tg_inspect_memory *memory;
    const struct tg_call_stack *stack;
    const struct tg_mpi_shape *shape;
    const struct form *form;
    size_t entry;
    bool is_fortran, is_mpich;
};

/* What the function that the library was entered by was passed: by its caller's code, and by its own. Of Open MPI's functions for
 * Fortran, whose handles are numbers, what the one of C has that they call. */
static struct tg_call_arguments find_arguments(const struct question *question)
{
    struct tg_modules *modules = question->asking->process->modules;
    const struct form *form = question->form;
    struct tg_call_arguments arguments = {.known = 0};
    uint16_t of_requests = (uint16_t)(1u << form->requests),
             wanted = (uint16_t)(of_requests | (form->count == NONE ? 0 : 1u << form->count));
    bool is_inner = question->is_fortran && !question->is_mpich;
    size_t index = is_inner ? tg_mpi_inner_find(modules, question->stack, question->entry, question->shape)
                            : question->entry;
    if (index == SIZE_MAX)
        return arguments;
    if (!is_inner && tg_mpi_is_called_by(question->asking, question->memory,
                                         &question->stack->unwound[index + 1], question->shape))
        tg_call_arguments_find(modules, question->memory, &question->stack->unwound[index + 1], wanted, 0,
                               &arguments);
    tg_kept_arguments_find(question->asking->kept, modules, question->memory, question->stack, index, wanted,
                           question->is_fortran && question->is_mpich ? wanted : of_requests, &arguments);
    return arguments;
}

/* Where the call has its requests, and how many. */
static bool find_array(const struct question *question, uint64_t *address, size_t *count)
{
    const struct form *form = question->form;
    const struct tg_call_arguments arguments = find_arguments(question);
    int32_t number = 1;
    if ((arguments.known >> form->requests & 1) == 0 ||
        (form->count != NONE && (arguments.known >> form->count & 1) == 0))
        return false;
    if (form->count != NONE && question->is_fortran && question->is_mpich) {
        if (!question->memory->read(question->memory->context, arguments.value[form->count], &number,
                                    sizeof number))
            return false;
    } else if (form->count != NONE) {
        number = (int32_t)arguments.value[form->count];
    }
    *address = arguments.value[form->requests];
    *count = (size_t)number;
    return number > 0 && number <= MAX_REQUESTS;
}

static struct tg_open_mpi_call open_mpi_call(const struct question *question)
{
    const struct tg_mpi_variables *variables = question->asking->variables;
    const struct tg_call_stack *stack = question->stack;
    const struct tg_registers *innermost = &stack->unwound[0].registers,
                              *caller = &stack->unwound[question->entry + 1].registers;
    return (struct tg_open_mpi_call){.modules = question->asking->process->modules,
                                     .memory = question->memory,
                                     .world = variables->world,
                                     .process = variables->process,
                                     .frames = {innermost->value[TG_RSP], caller->value[TG_RSP]}};
}

static bool read_open_mpi(const struct question *question, uint64_t array, struct tg_mpi_requests *requests)
{
    uint64_t addresses[MAX_REQUESTS];
    const struct tg_open_mpi_call call = open_mpi_call(question);
    return question->memory->read(question->memory->context, array, addresses,
                                  requests->count * sizeof *addresses) &&
           tg_open_mpi_requests_read(&call, addresses, requests->count, requests);
}

/* Registers of the library's functions, and what they have on the stack: as much as fits. */
static size_t gather_words(const struct question *question, uint64_t *words, size_t max)
{
    static const enum tg_register kept[] = {TG_RBX, TG_RBP, TG_R12, TG_R13, TG_R14, TG_R15};
    const struct tg_frame *frames = question->stack->unwound;
    size_t n = 0;
    for (size_t i = 0; i <= question->entry && i < 16; i++)
        for (size_t k = 0; k < sizeof kept / sizeof *kept && n < max; k++)
            if (tg_registers_has(&frames[i].registers, kept[k]))
                words[n++] = frames[i].registers.value[kept[k]];
    uint64_t start = frames[0].registers.value[TG_RSP] & ~(uint64_t)7,
             end = frames[question->entry + 1].registers.value[TG_RSP];
    size_t n_stack = end > start ? (end - start) / sizeof *words : 0;
    if (n_stack > max - n) { /* the outermost ones: those of the function that waits */
        start += (n_stack - (max - n)) * sizeof *words;
        n_stack = max - n;
    }
    bool is_read =
        question->memory->read(question->memory->context, start, words + n, n_stack * sizeof *words);
    return is_read ? n + n_stack : n;
}

enum { MAX_WORDS = 1024 };

static bool read_mpich(const struct question *question, uint64_t array, struct tg_mpi_requests *requests)
{
    uint32_t handles[MAX_REQUESTS];
    uint64_t words[MAX_WORDS];
    const struct tg_mpich_call call = {.modules = question->asking->process->modules,
                                       .memory = question->memory,
                                       .comms = &question->asking->variables->mpich,
                                       .words = words,
                                       .n_words = gather_words(question, words, MAX_WORDS)};
    return question->memory->read(question->memory->context, array, handles,
                                  requests->count * sizeof *handles) &&
           tg_mpich_requests_read(&call, handles, requests->count, requests);
}

bool tg_mpi_requests_find(const struct tg_mpi_asking *asking, const struct tg_inspect_memory *memory,
                          const struct tg_call_stack *stack, struct tg_mpi_requests *requests)
{
    struct question question = {.asking = asking, .memory = memory, .stack = stack};
    const char *name;
    uint64_t offset, array;
    *requests = (struct tg_mpi_requests){.count = 0};
    question.entry = asking->process->modules != NULL ? tg_mpi_entry_find(stack) : SIZE_MAX;
    if (question.entry == SIZE_MAX ||
        !tg_modules_symbol_at(asking->process->modules, tg_mpi_entry_place(stack, question.entry), &name,
                              &offset))
        return false;
    question.shape = tg_mpi_shape_of(name);
    question.form = find_form(question.shape);
    question.is_fortran = tg_mpi_is_of_fortran(name);
    question.is_mpich = strstr(stack->frames[question.entry].module, "mpich") != NULL;
    if (question.form == NULL || !find_array(&question, &array, &requests->count))
        return false;
    requests->needs_all = question.form->needs_all;
    requests->is_one = question.form->count == NONE;
    bool is_read = question.is_mpich ? read_mpich(&question, array, requests)
                                     : read_open_mpi(&question, array, requests);
    uint64_t world = question.is_mpich ? (uint64_t)TG_MPICH_WORLD : asking->variables->world;
    requests->is_of_world = requests->comm != 0 && requests->comm == world;
    return is_read;
}

static bool find_number(const struct tg_mpi_values *values, const char *name, int32_t *number)
{
    for (size_t i = 0; i < values->count; i++)
        if (strcmp(values->values[i].name, name) == 0) {
            *number = (int32_t)values->values[i].value;
            return true;
        }
    return false;
}

/* Puts NUMBER as NAME before value AT of VALUES, where there is room. */
static void insert(struct tg_mpi_values *values, size_t at, const char *name, int32_t number)
{
    char text[24];
    if (values->count == TG_MPI_MAX_VALUES)
        return;
    snprintf(text, sizeof text, "%" PRId32, number);
    for (size_t i = values->count++; i > at; i--) {
        memcpy(values->texts[i], values->texts[i - 1], sizeof values->texts[0]);
        values->values[i] = values->values[i - 1];
        values->values[i].text = values->texts[i];
    }
    memcpy(values->texts[at], text, sizeof text);
    values->values[at] = (struct tg_call_value){.name = name, .value = number, .text = values->texts[at]};
}

static size_t place_of(const struct tg_mpi_values *values, const char *name)
{
    for (size_t i = 0; i < values->count; i++)
        if (strcmp(values->values[i].name, name) == 0)
            return i;
    return 0;
}

/* The library's words of a call, and what is asked of them. */
struct search {
    bool is_mpich;
    struct tg_mpich_call mpich;
    struct tg_open_mpi_call open_mpi;
    const uint64_t *words;
    size_t n_words;
};

/* The message that is waited for, with TAG: sent, or received. */
static bool find_message(const struct search *search, bool sends, int32_t tag,
                         struct tg_mpi_message_request *message)
{
    if (search->is_mpich)
        return !sends && tg_mpich_receive_find(&search->mpich, tag, message);
    return tg_open_mpi_message_find(&search->open_mpi, search->words, search->n_words, sends, tag, message);
}

/* Adds the partner NAME of a call whose own code does not say it: by the message with the tag that it does say. */
static void add_partner(const struct search *search, bool sends, const char *name, const char *of_tag,
                        struct tg_mpi_values *values)
{
    struct tg_mpi_message_request message;
    int32_t tag;
    if (find_number(values, of_tag, &tag) && tag >= 0 && find_message(search, sends, tag, &message) &&
        message.peer >= 0 && message.tag == tag)
        insert(values, place_of(values, of_tag), name, message.peer);
}

static void add_exchange(const struct search *search, struct tg_mpi_values *values)
{
    int32_t source, tag;
    bool is_named = find_number(values, "source", &source);
    if (!is_named)
        add_partner(search, false, "source", "recvtag", values);
    if (!find_number(values, "source", &source) || !find_number(values, "recvtag", &tag) || source < 0 ||
        tag < 0 || values->count == TG_MPI_MAX_VALUES)
        return;
    bool is_receiving =
        !is_named || (search->is_mpich ? tg_mpich_is_receiving(&search->mpich, source, tag)
                                       : tg_open_mpi_is_receiving(&search->open_mpi, search->words,
                                                                  search->n_words, source, tag));
    if (is_receiving)
        tg_mpi_values_add(values, "receives", 1, "");
}

void tg_mpi_partners_find(const struct tg_mpi_asking *asking, const struct tg_inspect_memory *memory,
                          const struct tg_call_stack *stack, struct tg_mpi_values *values)
{
    struct question question = {.asking = asking, .memory = memory, .stack = stack};
    const struct tg_mpi_shape *shape = values->count > 0 ? tg_mpi_shape_of(values->function) : NULL;
    uint64_t words[MAX_WORDS];
    int32_t partner;
    bool receives = shape != NULL && strcmp(shape->name, "recv") == 0,
         sends = shape != NULL && (strcmp(shape->name, "send") == 0 || strcmp(shape->name, "ssend") == 0),
         exchanges = shape != NULL && strncmp(shape->name, "sendrecv", strlen("sendrecv")) == 0;
    if (!exchanges && (!(receives || sends) || find_number(values, shape->peer_name, &partner)))
        return;
    question.entry = tg_mpi_entry_find(stack);
    if (question.entry == SIZE_MAX)
        return;
    struct search search = {.is_mpich = strstr(stack->frames[question.entry].module, "mpich") != NULL,
                            .open_mpi = open_mpi_call(&question),
                            .words = words,
                            .n_words = gather_words(&question, words, MAX_WORDS)};
    search.mpich = (struct tg_mpich_call){.modules = asking->process->modules,
                                          .memory = memory,
                                          .comms = &asking->variables->mpich,
                                          .words = words,
                                          .n_words = search.n_words};
    if (exchanges)
        add_exchange(&search, values);
    else
        add_partner(&search, sends, shape->peer_name, "tag", values);
}
