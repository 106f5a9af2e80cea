/* Any bytes as .debug_abbrev, .debug_str and .debug_info, asked for each name that the index has, plain and
 * qualified with another one. */
#include "recorder/dwarf/name_index.h"
#include "tests/fuzz/elf_of.h"
#include "tests/fuzz/fuzz.h"

#include <assert.h>
#include <stdio.h>

enum { HEAD = 4, MAX_NAMES = 64 };

static size_t count_of(const struct tg_name_index *index, const char *name)
{
    size_t at = 0, found = 0;
    enum tg_name_kind kind;
    Dwarf_Die die;
    while (tg_name_index_next(index, name, &at, &kind, &die)) {
        assert(kind >= TG_NAME_VARIABLE && kind <= TG_NAME_ENUMERATOR);
        assert(++found <= tg_name_index_count(index));
    }
    return found;
}

static void ask(const struct tg_name_index *index)
{
    size_t n = tg_name_index_count(index);
    for (size_t i = 0; i < n && i < MAX_NAMES; i++) {
        const char *name = tg_name_index_at(index, i), *before = tg_name_index_at(index, i * 7 % n);
        char *qualified = NULL;
        assert(name != NULL && before != NULL);
        size_t plain = count_of(index, name);
        if (asprintf(&qualified, "%s::%s", before, name) < 0)
            abort();
        size_t inside = count_of(index, qualified);
        assert(tg_name_index_simple(name) != name || tg_name_index_simple(before) != before ||
               inside <= plain);
        free(qualified);
    }
    (void)count_of(index, "");
    (void)count_of(index, "::a::b");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < HEAD)
        return 0;
    size_t left = size - HEAD, abbreviations = data[0] | data[1] << 8, strings = data[2] | data[3] << 8;
    abbreviations = abbreviations < left ? abbreviations : left;
    strings = strings < left - abbreviations ? strings : left - abbreviations;
    const uint8_t *begin = data + HEAD;
    const struct fuzz_section sections[] = {
        {".debug_abbrev", begin, abbreviations, 0},
        {".debug_str", begin + abbreviations, strings, 0},
        {".debug_info", begin + abbreviations + strings, left - abbreviations - strings, 0},
    };
    size_t length;
    uint8_t *image = fuzz_elf(sections, sizeof sections / sizeof *sections, &length);
    elf_version(EV_CURRENT);
    Elf *elf = elf_memory((char *)image, length);
    Dwarf *dwarf = elf == NULL ? NULL : dwarf_begin_elf(elf, DWARF_C_READ, NULL);
    struct tg_name_index *index = NULL;
    if (dwarf != NULL && tg_name_index_create(dwarf, &index) == NULL)
        ask(index);
    tg_name_index_destroy(index);
    dwarf_end(dwarf);
    elf_end(elf);
    free(image);
    return 0;
}
