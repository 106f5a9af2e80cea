#include "live/inspect/dwarf/openmp_code.h"

#include "format/base/array.h"
#include "live/inspect/dwarf/code_graph.h"
#include "live/inspect/dwarf/openmp_statement.h"
#include "recorder/agent/gomp/site.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

enum {
    NOBODY = -1,
    MAX_LINES = INT16_MAX,
    MAX_DEPTH = 64,    /* of inlined copies */
    MAX_REGISTERS = 8, /* different sets of registers that keep the thread number */
    MAX_COPIES = 64,   /* inlined copies that have a construct */
};

/* What a node is a part of. */
struct part {
    int16_t line;      /* index in LINES: the statement, or its directive; NOBODY */
    bool is_body;      /* behind the loop's head */
    bool is_of_row;    /* so says the line table; else what it is inlined in is called there */
    bool is_nowhere;   /* code of no line, or of that of the function */
    bool is_site;      /* a call that the agent takes for a construct's beginning */
    int16_t site_line; /* the construct's; NOBODY */
    int32_t filter;    /* of a site: thread that it is for */
};

struct tg_openmp_code {
    struct tg_debug_info *info;
    enum tg_openmp_construct construct;
    Dwarf_Die function, unit;
    struct tg_code_graph graph;
    struct part *parts; /* one a node */
    const struct tg_openmp_line **lines;
    enum tg_openmp_rounds *rounds; /* one a line */
    size_t n_lines, max_lines;
};

/* ---- lines */

static struct tg_error *add_lines(struct tg_openmp_code *code, const struct tg_openmp_lines *lines,
                                  size_t first)
{
    const struct tg_openmp_line *as = &lines->lines[first];
    struct tg_error *error = NULL;
    for (size_t i = first; error == NULL && i < lines->count && code->n_lines < MAX_LINES; i++) {
        const struct tg_openmp_line *line = &lines->lines[i];
        if (line->info == as->info && line->function_at == as->function_at &&
            line->construct == as->construct)
            error = TG_ARRAY_APPEND(code->lines, code->n_lines, code->max_lines, line);
    }
    if (error != NULL)
        return error;
    code->rounds = calloc(code->n_lines, sizeof *code->rounds);
    if (code->rounds == NULL)
        return tg_error_no_memory();
    for (size_t i = 0; i < code->n_lines; i++)
        code->rounds[i] = code->lines[i]->rounds;
    return NULL;
}

/* Takes the place FILE:POSITION for PART. */
static void attribute(const struct tg_openmp_code *code, const char *file, struct tg_source_position at,
                      struct part *part)
{
    for (size_t i = 0; i < code->n_lines; i++) {
        const struct tg_openmp_line *line = code->lines[i];
        const struct tg_source_position header = line->statement.header, end = line->statement.end;
        if (at.line < line->line || at.line > end.line || strcmp(line->file, file) != 0 ||
            (at.column != 0 && tg_source_position_is_behind(at, end)))
            continue;
        part->line = (int16_t)i;
        /* without columns the head's own line is none of the body, unless that is all in it */
        part->is_body = at.column != 0 ? tg_source_position_is_behind(at, header)
                                       : at.line > header.line || end.line == header.line;
        return;
    }
}

/* Whether nothing goes on to what is behind NODE. */
static bool is_end(const struct tg_code_node *node)
{
    return node->flow == TG_CODE_JUMP || node->flow == TG_CODE_LEAVES || node->flow == TG_CODE_UNKNOWN;
}

static void attribute_rows(struct tg_openmp_code *code)
{
    uint64_t delta = tg_debug_info_delta(code->info);
    int first_line = 0;
    Dwarf_Line *last = NULL,
               *lost = NULL; /* LOST: a row that ends at a jump, though the table does not say so */
    for (size_t i = 0; i < code->graph.count; i++) {
        struct part *part = &code->parts[i];
        *part = (struct part){.line = NOBODY, .site_line = NOBODY};
        Dwarf_Line *row = dwarf_getsrc_die(&code->unit, code->graph.nodes[i].address - delta);
        if (i > 0 && row == last && is_end(&code->graph.nodes[i - 1]))
            lost = row;
        last = row;
        const char *file = row == NULL || row == lost ? NULL : dwarf_linesrc(row, NULL, NULL);
        int line = 0, column = 0;
        if (file != NULL && dwarf_lineno(row, &line) == 0 && dwarf_linecol(row, &column) == 0 && line > 0)
            attribute(code, file, (struct tg_source_position){(uint64_t)line, (uint32_t)column}, part);
        part->is_of_row = part->line != NOBODY;
        if (i == 0)
            first_line = line;
        part->is_nowhere = part->line == NOBODY && (line == 0 || line == first_line);
    }
}

/* ---- inlined copies: of functions that a construct's body calls, and of functions with constructs */

struct copies {
    struct tg_openmp_code *code;
    struct tg_source_lines *sources;
    struct copy {
        int16_t line;
        Dwarf_Off origin;
    } copies[MAX_COPIES];
    size_t n_copies;
};

/* Calls TAKE for each node of DIE's code. */
static void each_node(struct tg_openmp_code *code, Dwarf_Die *die,
                      void (*take)(void *context, struct part *part), void *context)
{
    Dwarf_Addr base, start, end;
    uint64_t delta = tg_debug_info_delta(code->info);
    for (ptrdiff_t at = 0; (at = dwarf_ranges(die, at, &base, &start, &end)) > 0;) {
        size_t i = tg_code_graph_find(&code->graph, start + delta);
        for (i = i == SIZE_MAX ? 0 : i; i < code->graph.count && code->graph.nodes[i].address < end + delta;
             i++)
            if (code->graph.nodes[i].address >= start + delta)
                take(context, &code->parts[i]);
    }
}

static void take_as_called(void *context, struct part *part)
{
    const struct part *call = context;
    if (part->line == NOBODY) {
        part->line = call->line;
        part->is_body = call->is_body;
        part->is_nowhere = false;
    }
}

static void note_line(void *context, struct part *part)
{
    bool *has = context;
    if (part->is_of_row && part->is_body)
        has[part->line] = true;
}

static enum tg_openmp_rounds worse(enum tg_openmp_rounds a, enum tg_openmp_rounds b)
{
    return a > b ? a : b;
}

/* Loops around a call in line NUMBER of FILE. */
static struct tg_error *rounds_at(const struct copies *copies, const char *file, uint64_t number,
                                  enum tg_openmp_rounds *rounds)
{
    const struct tg_source_text *text;
    struct tg_openmp_text *parts = NULL;
    *rounds = TG_OPENMP_AGAIN;
    struct tg_error *error = tg_source_lines_find(copies->sources, file, NULL, &text);
    if (error != NULL) {
        tg_error_destroy(error);
        return NULL;
    }
    error = tg_openmp_text_create(text, copies->code->lines[0]->directive.is_fortran, &parts);
    if (error == NULL)
        *rounds = tg_openmp_text_rounds(parts, number);
    tg_openmp_text_destroy(parts);
    return error;
}

/* A copy, called in line NUMBER of FILE, has the construct LINE: where there are several, they may follow each other. */
static struct tg_error *note_copy(struct copies *copies, Dwarf_Die *die, int16_t line, const char *file,
                                  int number)
{
    enum tg_openmp_rounds *rounds = &copies->code->rounds[line], around = TG_OPENMP_AGAIN;
    Dwarf_Attribute attribute;
    Dwarf_Die origin;
    struct tg_error *error = NULL;
    if (file != NULL)
        error = rounds_at(copies, file, (uint64_t)number, &around);
    *rounds = worse(*rounds, around);
    if (error != NULL || dwarf_attr(die, DW_AT_abstract_origin, &attribute) == NULL ||
        dwarf_formref_die(&attribute, &origin) == NULL)
        return error;
    const struct copy copy = {line, dwarf_dieoffset(&origin)};
    for (size_t i = 0; i < copies->n_copies; i++)
        if (copies->copies[i].line == copy.line && copies->copies[i].origin == copy.origin)
            *rounds = TG_OPENMP_AGAIN;
    if (copies->n_copies == MAX_COPIES)
        *rounds = TG_OPENMP_AGAIN;
    else
        copies->copies[copies->n_copies++] = copy;
    return NULL;
}

static struct tg_error *take_copy(struct copies *copies, Dwarf_Die *die)
{
    struct tg_openmp_code *code = copies->code;
    const char *file = NULL;
    int number = 0;
    struct tg_error *error = NULL;
    (void)tg_debug_units_call_site(die, &file, &number);
    bool *has = calloc(code->n_lines, sizeof *has);
    if (has == NULL)
        return tg_error_no_memory();
    each_node(code, die, note_line, has);
    for (size_t i = 0; error == NULL && i < code->n_lines; i++)
        if (has[i])
            error = note_copy(copies, die, (int16_t)i, file, number);
    free(has);
    struct part call = {.line = NOBODY};
    if (file != NULL)
        attribute(code, file, (struct tg_source_position){(uint64_t)number, 0}, &call);
    if (call.line != NOBODY)
        each_node(code, die, take_as_called, &call);
    return error;
}

/* Takes all copies in the function, those that others are in first. */
static struct tg_error *take_copies(struct copies *copies)
{
    Dwarf_Die path[MAX_DEPTH];
    size_t depth = 1;
    struct tg_error *error = NULL;
    if (dwarf_child(&copies->code->function, &path[0]) != 0)
        return NULL;
    while (error == NULL && depth > 0) {
        Dwarf_Die *die = &path[depth - 1];
        int tag = dwarf_tag(die);
        if (tag == DW_TAG_inlined_subroutine)
            error = take_copy(copies, die);
        if ((tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block) && depth < MAX_DEPTH &&
            dwarf_child(die, &path[depth]) == 0) {
            depth++;
            continue;
        }
        while (depth > 0 && dwarf_siblingof(&path[depth - 1], &path[depth - 1]) != 0)
            depth--;
    }
    return error;
}

/* ---- sites */

struct reading {
    const struct tg_openmp_code *code;
    uint64_t address; /* distance 0 */
};

static size_t read_code(void *context, int64_t at, uint8_t *buffer, size_t size)
{
    const struct reading *reading = context;
    return tg_code_graph_bytes(reading->code->info, reading->address + (uint64_t)at, buffer, size);
}

static struct tg_gomp_site read_site(const struct tg_openmp_code *code, size_t node,
                                     const struct tg_gomp_situation *situation)
{
    struct reading reading = {code, code->graph.nodes[node].next};
    return tg_gomp_site_read(situation, read_code, &reading);
}

enum { MAX_WALK = 128 };

/* The first construct that the code from ADDRESS on is of, up to the instruction that ends at END, or some. */
static int16_t line_from(const struct tg_openmp_code *code, uint64_t address, uint64_t end)
{
    const struct tg_code_graph *graph = &code->graph;
    size_t i = tg_code_graph_find(graph, address);
    for (size_t n = 0; i < graph->count && n < MAX_WALK; n++) {
        const struct tg_code_node *at = &graph->nodes[i];
        if (code->parts[i].line != NOBODY)
            return code->parts[i].line;
        if (at->next == end || at->flow == TG_CODE_CALL || at->flow == TG_CODE_LEAVES ||
            at->flow == TG_CODE_UNKNOWN)
            break;
        i = at->flow == TG_CODE_JUMP ? at->target : tg_code_graph_find(graph, at->next);
    }
    return NOBODY;
}

/* The construct that begins at SITE, behind NODE: the first one that the code up to the decision is of; else what follows it. */
static int16_t line_of_site(const struct tg_openmp_code *code, size_t node, const struct tg_gomp_site *site,
                            bool counts_call)
{
    uint64_t behind = code->graph.nodes[node].next, end = behind + (uint64_t)(int64_t)site->decided;
    if (counts_call && code->parts[node].line != NOBODY)
        return code->parts[node].line;
    int16_t line = line_from(code, behind, end);
    if (line != NOBODY)
        return line;
    return line_from(code, site->start > 0 ? behind + (uint64_t)site->start : end, 0);
}

static void take_site(struct tg_openmp_code *code, size_t node, const struct tg_gomp_site *site,
                      bool is_barrier)
{
    enum tg_gomp_construct wanted =
        code->construct == TG_OPENMP_CONSTRUCT_MASTER ? TG_GOMP_MASKED : TG_GOMP_STATIC_LOOP;
    struct part *part = &code->parts[node];
    if (site->construct != wanted)
        return;
    part->is_site = true;
    part->filter = site->filter;
    part->site_line = line_of_site(code, node, site, !is_barrier);
}

/* Behind these the agent looks whether a construct begins. */
static bool is_barrier(const struct tg_openmp_code *code, size_t node)
{
    static const char *const names[] = {"GOMP_barrier", "GOMP_barrier_cancel", "GOMP_loop_end",
                                        "GOMP_sections_end", NULL};
    for (size_t i = 0; names[i] != NULL; i++)
        if (tg_code_graph_calls(&code->graph, node, names[i]))
            return true;
    return false;
}

/* Behind NODE, a barrier: the same construct with each of the sets of registers, where there are several. */
static void take_barrier(struct tg_openmp_code *code, size_t node, const uint32_t *registers,
                         size_t n_registers)
{
    struct tg_gomp_site first = {0};
    for (size_t i = 0; i == 0 || i < n_registers; i++) {
        const struct tg_gomp_situation situation = {.asked = TG_GOMP_ASKED_NOTHING,
                                                    .numbers = n_registers == 0 ? 0 : registers[i]};
        struct tg_gomp_site site = read_site(code, node, &situation);
        if (i == 0)
            first = site;
        else if (site.construct != first.construct || site.filter != first.filter)
            return;
    }
    take_site(code, node, &first, true);
}

static void take_sites(struct tg_openmp_code *code)
{
    const struct tg_code_graph *graph = &code->graph;
    uint32_t registers[MAX_REGISTERS];
    size_t n_registers = 0;
    bool is_full = false;
    uint64_t paired = 0; /* numbers are asked for in this order in the code, too */
    for (size_t i = 0; i < graph->count; i++) {
        if (tg_code_graph_calls(graph, i, "omp_get_num_threads")) {
            const struct tg_gomp_situation situation = {.asked = TG_GOMP_ASKED_NUM_THREADS};
            struct tg_gomp_site site = read_site(code, i, &situation);
            paired = graph->nodes[i].next + (uint64_t)(int64_t)site.next_call;
            take_site(code, i, &site, false);
        } else if (tg_code_graph_calls(graph, i, "omp_get_thread_num")) {
            const struct tg_gomp_situation situation = {.asked = TG_GOMP_ASKED_THREAD_NUM,
                                                        .is_pair = paired == graph->nodes[i].next};
            struct tg_gomp_site site = read_site(code, i, &situation);
            take_site(code, i, &site, false);
            bool is_known = site.numbers == 0;
            for (size_t k = 0; k < n_registers; k++)
                is_known |= registers[k] == site.numbers;
            is_full |= !is_known && n_registers == MAX_REGISTERS;
            if (!is_known && !is_full)
                registers[n_registers++] = site.numbers;
        }
    }
    for (size_t i = 0; !is_full && i < graph->count; i++)
        if (is_barrier(code, i))
            take_barrier(code, i, registers, n_registers);
}

/* ---- making */

struct tg_error *tg_openmp_code_create(const struct tg_openmp_lines *lines, size_t first,
                                       struct tg_source_lines *sources, bool is_watched,
                                       struct tg_openmp_code **code)
{
    const struct tg_openmp_line *line = &lines->lines[first];
    struct tg_openmp_code *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    made->info = line->info;
    made->construct = line->construct;
    struct tg_error *error = add_lines(made, lines, first);
    Dwarf *dwarf = tg_debug_info_dwarf(line->info);
    bool is_there = error == NULL && dwarf_offdie(dwarf, line->function_at, &made->function) != NULL &&
                    dwarf_diecu(&made->function, &made->unit, NULL, NULL) != NULL;
    if (is_there)
        error = tg_code_graph_read(made->info, &made->function, &made->graph);
    if (error == NULL && made->graph.count > 0) {
        made->parts = calloc(made->graph.count, sizeof *made->parts);
        error = made->parts == NULL ? tg_error_no_memory() : NULL;
    }
    if (error == NULL && made->graph.count > 0) {
        struct copies copies = {.code = made, .sources = sources};
        attribute_rows(made);
        error = take_copies(&copies);
        if (is_watched)
            take_sites(made);
    }
    if (error != NULL) {
        tg_openmp_code_destroy(made);
        return error;
    }
    *code = made;
    return NULL;
}

void tg_openmp_code_destroy(struct tg_openmp_code *code)
{
    if (code == NULL)
        return;
    tg_code_graph_deinit(&code->graph);
    free(code->parts);
    free(code->lines);
    free(code->rounds);
    free(code);
}

struct tg_debug_info *tg_openmp_code_info(const struct tg_openmp_code *code)
{
    return code->info;
}

bool tg_openmp_code_has(const struct tg_openmp_code *code, uint64_t address)
{
    return tg_code_graph_find(&code->graph, address) != SIZE_MAX;
}

/* ---- where a thread may come to */

struct search {
    const struct tg_openmp_code *code;
    const struct tg_openmp_start *start;
    uint8_t *
        seen; /* one a state: 1 + the construct that the thread is in, and that is no news as long as it stays there, for each
                      node */
    size_t *queue; /* of states */
    size_t n_queued, n_states;
    bool *found; /* one a line */
};

static bool is_wanted(const struct search *search, int16_t line)
{
    const struct tg_openmp_line *of = search->code->lines[line];
    return of->construct == TG_OPENMP_CONSTRUCT_STATIC_LOOP || of->directive.filter < 0 ||
           (uint64_t)of->directive.filter == search->start->number;
}

/* Whether a thread that comes to the site NODE is stopped there. */
static bool is_stopped_at(const struct search *search, size_t node)
{
    const struct part *part = &search->code->parts[node];
    const struct tg_openmp_start *start = search->start;
    if (!part->is_site)
        return false;
    if (search->code->construct == TG_OPENMP_CONSTRUCT_MASTER)
        return part->filter >= 0 && (uint64_t)part->filter == start->number;
    return start->is_new == NULL || start->is_new(start->context, search->code->graph.nodes[node].next);
}

/* The construct LINE as one that the thread is in: NOBODY where the same may follow without more ado. */
static int16_t kept_inside(const struct search *search, int16_t line)
{
    return line != NOBODY && search->code->rounds[line] == TG_OPENMP_AGAIN ? NOBODY : line;
}

/* The thread comes to NODE, from inside of the construct INSIDE. */
static void come(struct search *search, size_t node, int16_t inside)
{
    const struct part *part = &search->code->parts[node];
    bool is_own = inside != NOBODY && part->line == inside;
    if (part->line != NOBODY && part->is_body && !is_own && is_wanted(search, part->line)) {
        search->found[part->line] = true;
        return;
    }
    if (inside != NOBODY && !is_own && !part->is_nowhere && search->code->rounds[inside] != TG_OPENMP_ONCE)
        inside = NOBODY;
    size_t state = (size_t)(inside + 1) * search->code->graph.count + node;
    if (search->seen[state] != 0)
        return;
    search->seen[state] = 1;
    search->queue[search->n_queued++] = state;
}

/* A switch: what it is a part of goes on anywhere in that, other code anywhere. */
static void come_anywhere(struct search *search, size_t from, int16_t inside)
{
    int16_t line = search->code->parts[from].line;
    for (size_t i = 0; i < search->code->graph.count; i++)
        if (line == NOBODY || search->code->parts[i].line == line)
            come(search, i, inside);
}

static void go_on(struct search *search, size_t node, int16_t inside)
{
    const struct tg_code_graph *graph = &search->code->graph;
    const struct tg_code_node *at = &graph->nodes[node];
    const struct part *part = &search->code->parts[node];
    if (is_stopped_at(search, node))
        return;
    if (inside != NOBODY && is_barrier(search->code, node) && search->code->rounds[inside] != TG_OPENMP_ONCE)
        inside = NOBODY;
    if (part->is_site && search->code->construct == TG_OPENMP_CONSTRUCT_STATIC_LOOP)
        inside = kept_inside(search, part->site_line); /* where others of its team are or were */
    bool jumps = at->flow == TG_CODE_JUMP || at->flow == TG_CODE_JUMP_IF;
    if (jumps && at->target != SIZE_MAX)
        come(search, at->target, inside);
    bool goes_on = at->flow == TG_CODE_ON || at->flow == TG_CODE_CALL || at->flow == TG_CODE_JUMP_IF;
    if (goes_on && node + 1 < graph->count && graph->nodes[node + 1].address == at->next)
        come(search, node + 1, inside);
    if (at->flow == TG_CODE_UNKNOWN)
        come_anywhere(search, node, inside);
}

static void begin(struct search *search)
{
    const struct tg_openmp_code *code = search->code;
    const struct tg_openmp_start *start = search->start;
    uint64_t entry;
    if (start->address == 0) {
        size_t node = SIZE_MAX;
        if (tg_debug_units_entry(tg_debug_info_units(code->info), (Dwarf_Die *)&code->function, &entry))
            node = tg_code_graph_find(&code->graph, entry);
        come(search, node == SIZE_MAX ? 0 : node, NOBODY);
        return;
    }
    size_t call = tg_code_graph_find(&code->graph, start->address - start->is_call);
    if (call == SIZE_MAX)
        return;
    const struct part *part = &code->parts[call];
    bool has_begun = start->is_call && part->is_site && start->is_inside;
    int16_t inside = has_begun                                  ? part->site_line
                     : start->is_call && is_barrier(code, call) ? NOBODY
                                                                : part->line;
    inside = kept_inside(search, inside);
    if (!start->is_call || (part->is_site && !has_begun))
        come(search, call, inside);
    else if (call + 1 < code->graph.count &&
             code->graph.nodes[call + 1].address == code->graph.nodes[call].next)
        come(search, call + 1, inside);
}

struct tg_error *tg_openmp_code_unseen(const struct tg_openmp_code *code, const struct tg_openmp_start *start,
                                       bool *found)
{
    size_t count = code->graph.count;
    struct search search = {
        .code = code, .start = start, .n_states = (code->n_lines + 1) * count, .found = found};
    memset(found, 0, code->n_lines * sizeof *found);
    if (count == 0) { /* not known */
        found[0] = start->address == 0;
        return NULL;
    }
    search.seen = calloc(search.n_states, 1);
    search.queue = calloc(search.n_states, sizeof *search.queue);
    struct tg_error *error = search.seen == NULL || search.queue == NULL ? tg_error_no_memory() : NULL;
    if (error == NULL)
        begin(&search);
    for (size_t i = 0; i < search.n_queued; i++)
        go_on(&search, search.queue[i] % count, (int16_t)(search.queue[i] / count - 1));
    free(search.seen);
    free(search.queue);
    return error;
}

size_t tg_openmp_code_line_count(const struct tg_openmp_code *code)
{
    return code->n_lines;
}

const struct tg_openmp_line *tg_openmp_code_line(const struct tg_openmp_code *code, size_t i)
{
    return code->lines[i];
}
