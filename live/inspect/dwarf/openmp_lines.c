#include "live/inspect/dwarf/openmp_lines.h"

#include "format/base/array.h"
#include "format/image/elf_object.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

enum {
    LINES_BEHIND = 3,       /* of a statement that cannot be made out, behind its directive */
    MAX_STRINGS = 64 << 20, /* bytes of names for the dynamic loader */
};

/* ---- units */

/* GCC says among its options how it compiled. */
static bool is_meant(Dwarf_Die *unit, bool all)
{
    Dwarf_Attribute attribute;
    const char *producer =
        dwarf_attr(unit, DW_AT_producer, &attribute) != NULL ? dwarf_formstring(&attribute) : NULL;
    if (producer == NULL || strncmp(producer, "GNU ", 4) != 0 || strstr(producer, " -fopenmp") == NULL)
        return false;
    const char *level = NULL;
    for (const char *option = producer; (option = strstr(option, " -O")) != NULL; option += 3)
        level = option;
    return all || (level != NULL && level[3] != '0');
}

static const char *directory_of(Dwarf_Die *unit)
{
    Dwarf_Attribute attribute;
    return dwarf_attr(unit, DW_AT_comp_dir, &attribute) == NULL ? NULL : dwarf_formstring(&attribute);
}

struct finding {
    struct tg_debug_info *info;
    const char *directory; /* in which the unit was compiled; NULL not known */
    Dwarf_Lines *rows;
    size_t n_rows;
    struct tg_openmp_lines *lines;
};

/* The symbol without what GCC adds to that of a part that it puts elsewhere. */
static char *name_of(const char *symbol)
{
    const char *cold = strstr(symbol, ".cold");
    return strndup(symbol, cold == NULL ? strlen(symbol) : (size_t)(cold - symbol));
}

/* The construct AS is in the function that has ADDRESS. */
static struct tg_error *add(const struct finding *finding, const struct tg_openmp_line *as, uint64_t address)
{
    const char *name;
    uint64_t offset;
    struct tg_openmp_lines *lines = finding->lines;
    struct tg_debug_units *units = tg_debug_info_units(finding->info);
    Dwarf_Die function;
    if (units == NULL || !tg_debug_units_function_at(units, address, &function) ||
        !tg_debug_info_symbol_at(finding->info, address, &name, &offset))
        return NULL;
    uint64_t function_at = dwarf_dieoffset(&function);
    for (size_t i = lines->count; i-- > 0;)
        if (lines->lines[i].line == as->line && lines->lines[i].function_at == function_at &&
            lines->lines[i].info == finding->info && strcmp(lines->lines[i].file, as->file) == 0)
            return NULL;
    struct tg_openmp_line found = *as;
    found.file = strdup(as->file);
    found.function = name_of(name);
    found.function_at = function_at;
    found.info = finding->info;
    found.is_body = strstr(name, "._omp_fn.") != NULL;
    struct tg_error *error = found.file == NULL || found.function == NULL
                                 ? tg_error_no_memory()
                                 : TG_ARRAY_APPEND(lines->lines, lines->count, lines->max, found);
    if (error != NULL) {
        free(found.file);
        free(found.function);
    }
    return error;
}

/* The functions with code of the construct AS. */
static struct tg_error *add_functions(const struct finding *finding, const struct tg_openmp_line *as)
{
    struct tg_error *error = NULL;
    for (size_t i = 0; error == NULL && i < finding->n_rows; i++) {
        Dwarf_Line *row = dwarf_onesrcline(finding->rows, i);
        const char *of = dwarf_linesrc(row, NULL, NULL);
        Dwarf_Addr address;
        int line;
        if (of == NULL || dwarf_lineno(row, &line) != 0 || (uint64_t)line < as->line ||
            (uint64_t)line > as->statement.end.line || strcmp(of, as->file) != 0 ||
            dwarf_lineaddr(row, &address) != 0)
            continue;
        error = add(finding, as, address + tg_debug_info_delta(finding->info));
    }
    return error;
}

/* The construct of DIRECTIVE, in FILE; PARTS NULL: of a text that cannot be taken apart. */
static struct tg_error *add_construct(const struct finding *finding,
                                      const struct tg_openmp_directive *directive,
                                      const struct tg_openmp_text *parts, const char *file)
{
    struct tg_openmp_line line = {.construct = directive->construct,
                                  .file = (char *)file,
                                  .line = directive->first,
                                  .directive = *directive,
                                  .rounds = tg_openmp_text_rounds(parts, directive->first)};
    if (!tg_openmp_text_statement(parts, directive, &line.statement)) {
        line.statement.end =
            (struct tg_source_position){directive->last + LINES_BEHIND, TG_SOURCE_LAST_COLUMN};
        line.rounds = TG_OPENMP_AGAIN;
    }
    return add_functions(finding, &line);
}

/* The text of FILE, which may be a name relative to where it was compiled. */
static struct tg_error *find_source(const struct finding *finding, struct tg_source_lines *sources,
                                    const char *program, const char *file, const struct tg_source_text **text)
{
    char *path = NULL;
    if (*file != '/' && finding->directory != NULL && asprintf(&path, "%s/%s", finding->directory, file) < 0)
        return tg_error_no_memory();
    struct tg_error *error = tg_source_lines_find(sources, path != NULL ? path : file, program, text);
    free(path);
    return error;
}

static struct tg_error *look_into_file(const struct finding *finding, struct tg_source_lines *sources,
                                       const char *program, const char *file)
{
    const struct tg_source_text *text;
    struct tg_error *error = find_source(finding, sources, program, file, &text);
    if (error != NULL) { /* the source file is not here */
        tg_error_destroy(error);
        return NULL;
    }
    struct tg_openmp_text *parts = NULL;
    struct tg_openmp_directive directive;
    for (uint64_t number = 1; error == NULL && number <= text->n_lines; number = directive.last + 1) {
        if (!tg_openmp_directive_read(text, number, &directive) ||
            directive.construct == TG_OPENMP_CONSTRUCT_NONE)
            continue;
        if (parts == NULL)
            error = tg_openmp_text_create(text, directive.is_fortran, &parts);
        if (error == NULL)
            error = add_construct(finding, &directive, parts, file);
    }
    tg_openmp_text_destroy(parts);
    return error;
}

/* ---- what is not known */

static const char *name_of_path(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

static struct tg_error *note_unknown(struct tg_openmp_lines *lines, const char *before, const char *path,
                                     const char *behind)
{
    if (lines->unknown != NULL)
        return NULL;
    if (asprintf(&lines->unknown, "%s%s%s", before, name_of_path(path), behind) >= 0)
        return NULL;
    lines->unknown = NULL;
    return tg_error_no_memory();
}

/* Whether the object of INFO calls GCC's runtime, and asks for the thread's number. */
static bool calls_gomp(const struct tg_debug_info *info)
{
    static const char asks[] = "\0omp_get_thread_num", calls[] = "\0GOMP_";
    struct tg_image *image = tg_debug_info_image(info);
    struct tg_elf_object *object = tg_image_object(image);
    const struct tg_elf_section *section = tg_elf_object_section(object, ".dynstr");
    uint8_t *strings =
        section == NULL ? NULL : tg_elf_object_read_new(object, section->offset, section->size, MAX_STRINGS);
    bool is_it = strings != NULL && memmem(strings, section->size, asks, sizeof asks) != NULL &&
                 memmem(strings, section->size, calls, sizeof calls - 1) != NULL;
    uint64_t address;
    free(strings);
    return is_it && tg_image_find_function(image, "omp_get_thread_num", &address, 1) == 0;
}

/* The unit's own source file is not here. */
static struct tg_error *check_source(const struct finding *finding, struct tg_source_lines *sources,
                                     const char *program, Dwarf_Die *unit)
{
    const struct tg_source_text *text;
    Dwarf_Files *files;
    size_t n_files;
    const char *name = dwarf_diename(unit), *path = name;
    if (name == NULL || dwarf_getsrcfiles(unit, &files, &n_files) != 0)
        return NULL;
    for (size_t i = 0; i < n_files && path == name; i++) {
        const char *file = dwarf_filesrc(files, i, NULL, NULL);
        size_t length = file == NULL ? 0 : strlen(file), size = strlen(name);
        if (length > size && file[length - size - 1] == '/' && strcmp(file + length - size, name) == 0)
            path = file;
    }
    struct tg_error *error = find_source(finding, sources, program, path, &text);
    if (error == NULL)
        return NULL;
    tg_error_destroy(error);
    return note_unknown(finding->lines, "the source file ", name, " is not here");
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

static bool was_looked_into(const struct tg_openmp_lines *lines, const struct tg_debug_info *info)
{
    for (size_t i = 0; i < lines->n_infos; i++)
        if (lines->infos[i] == info)
            return true;
    return false;
}

struct tg_error *tg_openmp_lines_find(struct tg_modules *modules, struct tg_source_lines *sources, bool all,
                                      struct tg_openmp_lines *lines)
{
    struct tg_error *error = NULL;
    for (size_t i = 0; error == NULL && i < tg_modules_count(modules); i++) {
        const struct tg_module *module = tg_modules_at(modules, i);
        uint64_t bias;
        struct finding finding = {.lines = lines, .info = tg_modules_debug_info(modules, module, &bias)};
        if (finding.info == NULL || was_looked_into(lines, finding.info))
            continue;
        error = TG_ARRAY_APPEND(lines->infos, lines->n_infos, lines->max_infos, finding.info);
        Dwarf *dwarf = tg_debug_info_dwarf(finding.info);
        Dwarf_CU *unit = NULL;
        Dwarf_Die die;
        if (error == NULL && dwarf == NULL && i == 0 && calls_gomp(finding.info))
            error = note_unknown(lines, "", module->path, " has no debug information");
        while (error == NULL && dwarf != NULL &&
               dwarf_get_units(dwarf, unit, &unit, NULL, NULL, &die, NULL) == 0) {
            if (!is_meant(&die, all) || dwarf_getsrclines(&die, &finding.rows, &finding.n_rows) != 0)
                continue;
            finding.directory = directory_of(&die);
            error = look_into_files(&finding, sources, module->path);
            if (error == NULL)
                error = check_source(&finding, sources, module->path, &die);
        }
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
    free(lines->infos);
    free(lines->unknown);
    *lines = (struct tg_openmp_lines){0};
}

bool tg_openmp_lines_is_llvm(const struct tg_modules *modules)
{
    bool is_llvm = false, is_gcc = false;
    for (size_t i = 0; i < tg_modules_count(modules); i++) {
        const char *name = name_of_path(tg_modules_at(modules, i)->path);
        is_llvm |= strncmp(name, "libomp", 6) == 0 || strncmp(name, "libiomp5", 8) == 0;
        is_gcc |= strncmp(name, "libgomp", 7) == 0;
    }
    return is_llvm && !is_gcc;
}
