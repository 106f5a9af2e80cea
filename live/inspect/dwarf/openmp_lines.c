#include "live/inspect/dwarf/openmp_lines.h"

#include "format/base/array.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    MAX_DIRECTIVE = 512, /* bytes that are looked at */
    LINES_BEHIND = 3,    /* of the construct's statement, behind its directive */
};

/* ---- directives */

/* TEXT behind PREFIX and blanks; NULL where it begins otherwise. */
static const char *behind(const char *text, const char *prefix)
{
    text += strspn(text, " \t");
    size_t length = strlen(prefix);
    if (strncasecmp(text, prefix, length) != 0)
        return NULL;
    return text + length + strspn(text + length, " \t");
}

/* Whether TEXT has the word NAME outside of parentheses. */
static bool has_word(const char *text, const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    int depth = 0;
    for (size_t length; *text != '\0'; text += length) {
        length = strspn(text, letters);
        if (length > 0 && depth == 0 && length == strlen(name) && strncasecmp(text, name, length) == 0)
            return true;
        if (length > 0)
            continue;
        depth += (*text == '(') - (*text == ')');
        length = 1;
    }
    return false;
}

/* Whether the schedule is one that calls the runtime for iterations. */
static bool calls_runtime(const char *text)
{
    const char *schedule = strcasestr(text, "schedule");
    const char *kind = schedule == NULL ? NULL : strchr(schedule, '(');
    if (has_word(text, "ordered"))
        return true;
    return kind != NULL && (strcasestr(kind, "dynamic") != NULL || strcasestr(kind, "guided") != NULL ||
                            strcasestr(kind, "runtime") != NULL);
}

static enum tg_openmp_construct construct_of(const char *text, bool is_fortran)
{
    if (has_word(text, "parallel") || has_word(text, "end") || has_word(text, "declare") ||
        has_word(text, "cancel") || has_word(text, "cancellation"))
        return TG_OPENMP_CONSTRUCT_NONE;
    if (has_word(text, "master") || has_word(text, "masked"))
        return TG_OPENMP_CONSTRUCT_MASTER;
    if (!has_word(text, is_fortran ? "do" : "for") || has_word(text, "distribute") || calls_runtime(text))
        return TG_OPENMP_CONSTRUCT_NONE;
    return TG_OPENMP_CONSTRUCT_STATIC_LOOP;
}

/* Line NUMBER as a string, cut, without its mark of continuation: *GOES_ON. */
static void take_line(const struct tg_source_text *text, uint64_t number, char *line, size_t size,
                      bool *goes_on)
{
    size_t length = 0;
    const char *bytes = tg_source_text_line(text, number, &length);
    length = length < size - 1 ? length : size - 1;
    memcpy(line, bytes, length);
    while (length > 0 && (line[length - 1] == ' ' || line[length - 1] == '\t' || line[length - 1] == '\r'))
        length--;
    *goes_on = length > 0 && (line[length - 1] == '\\' || line[length - 1] == '&');
    line[length - *goes_on] = '\0';
}

enum tg_openmp_construct tg_openmp_directive(const struct tg_source_text *text, uint64_t number,
                                             uint64_t *last)
{
    char line[MAX_DIRECTIVE], whole[2 * MAX_DIRECTIVE];
    bool goes_on;
    *last = number;
    take_line(text, number, line, sizeof line, &goes_on);
    const char *fortran = behind(line, "!$omp"), *words = fortran;
    if (words == NULL && (words = behind(line, "#")) != NULL && (words = behind(words, "pragma")) != NULL)
        words = behind(words, "omp");
    if (words == NULL || (fortran != NULL && *fortran == '&'))
        return TG_OPENMP_CONSTRUCT_NONE;
    snprintf(whole, sizeof whole, "%s", words);
    while (goes_on && *last < text->n_lines) {
        take_line(text, ++*last, line, sizeof line, &goes_on);
        const char *more = fortran == NULL ? line : behind(line, "!$omp");
        size_t length = strlen(whole);
        snprintf(whole + length, sizeof whole - length, " %s", more == NULL ? "" : more);
    }
    return construct_of(whole, fortran != NULL);
}

/* ---- units */

/* GCC says among its options how it compiled. */
static bool is_meant(Dwarf_Die *unit)
{
    Dwarf_Attribute attribute;
    const char *producer =
        dwarf_attr(unit, DW_AT_producer, &attribute) != NULL ? dwarf_formstring(&attribute) : NULL;
    if (producer == NULL || strncmp(producer, "GNU ", 4) != 0 || strstr(producer, " -fopenmp") == NULL)
        return false;
    const char *level = NULL;
    for (const char *option = producer; (option = strstr(option, " -O")) != NULL; option += 3)
        level = option;
    return level != NULL && level[3] != '0';
}

struct finding {
    struct tg_debug_info *info;
    Dwarf_Lines *rows;
    size_t n_rows;
    struct tg_openmp_lines *lines;
};

static struct tg_error *add(const struct finding *finding, enum tg_openmp_construct construct,
                            const char *file, uint64_t line, uint64_t address)
{
    const char *name;
    uint64_t offset;
    struct tg_openmp_lines *lines = finding->lines;
    if (!tg_debug_info_symbol_at(finding->info, address, &name, &offset))
        return NULL;
    for (size_t i = 0; i < lines->count; i++)
        if (lines->lines[i].line == line && strcmp(lines->lines[i].function, name) == 0 &&
            strcmp(lines->lines[i].file, file) == 0)
            return NULL;
    const struct tg_openmp_line found = {.construct = construct,
                                         .file = strdup(file),
                                         .line = line,
                                         .function = strdup(name),
                                         .is_body = strstr(name, "._omp_fn.") != NULL};
    struct tg_error *error = found.file == NULL || found.function == NULL
                                 ? tg_error_no_memory()
                                 : TG_ARRAY_APPEND(lines->lines, lines->count, lines->max, found);
    if (error != NULL) {
        free(found.file);
        free(found.function);
    }
    return error;
}

/* The functions with code of FILE's lines [FIRST, LAST]. */
static struct tg_error *add_functions(const struct finding *finding, enum tg_openmp_construct construct,
                                      const char *file, uint64_t first, uint64_t last)
{
    struct tg_error *error = NULL;
    for (size_t i = 0; error == NULL && i < finding->n_rows; i++) {
        Dwarf_Line *row = dwarf_onesrcline(finding->rows, i);
        const char *of = dwarf_linesrc(row, NULL, NULL);
        Dwarf_Addr address;
        int line;
        if (of == NULL || dwarf_lineno(row, &line) != 0 || (uint64_t)line < first || (uint64_t)line > last ||
            strcmp(of, file) != 0 || dwarf_lineaddr(row, &address) != 0)
            continue;
        error = add(finding, construct, file, first, address - tg_debug_info_delta(finding->info));
    }
    return error;
}

static struct tg_error *look_into_file(const struct finding *finding, struct tg_source_lines *sources,
                                       const char *program, const char *file)
{
    const struct tg_source_text *text;
    struct tg_error *error = tg_source_lines_find(sources, file, program, &text);
    if (error != NULL) { /* the source file is not here */
        tg_error_destroy(error);
        return NULL;
    }
    uint64_t last = 0;
    for (uint64_t number = 1; error == NULL && number <= text->n_lines; number = last + 1) {
        enum tg_openmp_construct construct = tg_openmp_directive(text, number, &last);
        if (construct != TG_OPENMP_CONSTRUCT_NONE)
            error = add_functions(finding, construct, file, number, last + LINES_BEHIND);
    }
    return error;
}

/* Each file that the rows name, once. */
static struct tg_error *look_into_files(const struct finding *finding, struct tg_source_lines *sources,
                                        const char *program)
{
    const char **files = NULL;
    size_t n_files = 0, max_files = 0;
    struct tg_error *error = NULL;
    for (size_t i = 0; error == NULL && i < finding->n_rows; i++) {
        const char *file = dwarf_linesrc(dwarf_onesrcline(finding->rows, i), NULL, NULL);
        bool is_new = file != NULL;
        for (size_t k = n_files; is_new && k-- > 0;)
            is_new = files[k] != file && strcmp(files[k], file) != 0;
        if (!is_new)
            continue;
        error = TG_ARRAY_APPEND(files, n_files, max_files, file);
        if (error == NULL)
            error = look_into_file(finding, sources, program, file);
    }
    free(files);
    return error;
}

struct tg_error *tg_openmp_lines_find(struct tg_modules *modules, struct tg_source_lines *sources,
                                      struct tg_openmp_lines *lines)
{
    struct tg_error *error = NULL;
    for (size_t i = 0; error == NULL && i < tg_modules_count(modules); i++) {
        const struct tg_module *module = tg_modules_at(modules, i);
        struct finding finding = {.lines = lines};
        uint64_t bias;
        finding.info = tg_modules_debug_info(modules, module, &bias);
        Dwarf *dwarf = finding.info == NULL ? NULL : tg_debug_info_dwarf(finding.info);
        Dwarf_CU *unit = NULL;
        Dwarf_Die die;
        while (error == NULL && dwarf != NULL &&
               dwarf_get_units(dwarf, unit, &unit, NULL, NULL, &die, NULL) == 0)
            if (is_meant(&die) && dwarf_getsrclines(&die, &finding.rows, &finding.n_rows) == 0)
                error = look_into_files(&finding, sources, module->path);
    }
    return error;
}

void tg_openmp_lines_deinit(struct tg_openmp_lines *lines)
{
    for (size_t i = 0; i < lines->count; i++) {
        free(lines->lines[i].file);
        free(lines->lines[i].function);
    }
    free(lines->lines);
    *lines = (struct tg_openmp_lines){0};
}
