/* A program with compressed debug information, inflated: it has what it had before it was compressed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "recorder/dwarf/inflated_file.h"
#include "tests/support/temporary.h"

#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { PLAIN, COMPRESSED, N_COPIES, SECTION_BYTES = 1 << 20 };
static struct temporary temporary;
static char *content, *copies[N_COPIES];

static void run(const char *format, ...)
{
    char command[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(command, sizeof command, format, arguments);
    va_end(arguments);
    if (system(command) != 0)
        fail_msg("%s", command);
}

/* Two large sections for debug information, unlike each other and not too regular. */
static void make_content(void)
{
    static unsigned char bytes[2 * SECTION_BYTES];
    uint64_t state = 1;
    for (size_t i = 0; i < sizeof bytes; i++) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
        bytes[i] = (unsigned char)(i % 16 == 0 ? state >> 56 : i >> 8);
    }
    temporary_write(content, bytes, sizeof bytes);
}

static int set_up(void **state)
{
    (void)state;
    (void)elf_version(EV_CURRENT);
    temporary_init(&temporary);
    content = temporary_path(&temporary, "content");
    copies[PLAIN] = temporary_path(&temporary, "plain");
    copies[COMPRESSED] = temporary_path(&temporary, "compressed");
    make_content();
    /* a file with clang's .debug_addr is left alone */
    run("objcopy --add-section .debug_first=%s --add-section .debug_second=/proc/%d/exe "
        "--decompress-debug-sections --remove-section .debug_addr"
        " /proc/%d/exe %s",
        content, (int)getpid(), (int)getpid(), copies[PLAIN]);
    run("objcopy --compress-debug-sections=zlib %s %s", copies[PLAIN], copies[COMPRESSED]);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    free(content);
    for (int i = 0; i < N_COPIES; i++)
        free(copies[i]);
    temporary_deinit(&temporary);
    return 0;
}

static int open_copy(int which)
{
    int fd = open(copies[which], O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    return fd;
}

/* Section NAME of ELF; NULL: there is none. */
static Elf_Scn *find(Elf *elf, const char *name, GElf_Shdr *header)
{
    size_t strings;
    assert_int_equal(elf_getshdrstrndx(elf, &strings), 0);
    for (Elf_Scn *section = elf_nextscn(elf, NULL); section != NULL; section = elf_nextscn(elf, section)) {
        assert_non_null(gelf_getshdr(section, header));
        if (strcmp(elf_strptr(elf, strings, header->sh_name), name) == 0)
            return section;
    }
    return NULL;
}

static void sections_are_as_before_they_were_compressed(void **state)
{
    (void)state;
    static const char *const sections[] = {".debug_first", ".debug_second", ".debug_info",
                                           ".debug_line",  ".symtab",       ".strtab"};
    int plain = open_copy(PLAIN), compressed = open_copy(COMPRESSED);
    struct tg_inflated_file *file = tg_inflated_file_create(compressed);
    close(compressed); /* not used any more */
    if (file == NULL)
        skip(); /* on one processor */
    Elf *expected = elf_begin(plain, ELF_C_READ, NULL), *elf = tg_inflated_file_elf(file);
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
        GElf_Shdr header, expected_header;
        Elf_Scn *section = find(elf, sections[i], &header),
                *original = find(expected, sections[i], &expected_header);
        assert_non_null(section);
        assert_non_null(original);
        assert_int_equal(header.sh_flags & SHF_COMPRESSED, 0);
        const Elf_Data *data = elf_rawdata(section, NULL), *same = elf_rawdata(original, NULL);
        assert_int_equal(data->d_size, same->d_size);
        assert_memory_equal(data->d_buf, same->d_buf, same->d_size);
    }
    elf_end(expected);
    tg_inflated_file_destroy(file);
    close(plain);
}

static void a_file_without_compressed_sections_is_left_alone(void **state)
{
    (void)state;
    int plain = open_copy(PLAIN);
    assert_null(tg_inflated_file_create(plain));
    close(plain);
}

/* On a busy machine what libc's debug information takes may be half a minute: who has a limit goes without it. */
static void what_takes_too_long_is_given_up(void **state)
{
    (void)state;
    bool is_late = false;
    int fd = open_copy(COMPRESSED);
    assert_null(tg_inflated_file_create_until(fd, 1, &is_late));
    assert_true(is_late);
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    struct tg_inflated_file *file =
        tg_inflated_file_create_until(fd, ((uint64_t)now.tv_sec + 600) * 1000000000, &is_late);
    assert_non_null(file); /* on one processor, too */
    assert_false(is_late);
    tg_inflated_file_destroy(file);
    close(fd);
    fd = open_copy(PLAIN); /* nothing is to be inflated */
    assert_null(tg_inflated_file_create_until(fd, 1, &is_late));
    assert_false(is_late);
    close(fd);
}

static void a_damaged_or_cut_section_is_not_inflated(void **state)
{
    (void)state;
    int fd = open_copy(COMPRESSED);
    Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
    GElf_Shdr header;
    assert_non_null(find(elf, ".debug_first", &header));
    elf_end(elf);
    off_t middle = (off_t)(header.sh_offset + header.sh_size / 2);
    assert_int_equal(pwrite(fd, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16, middle), 16);
    assert_null(tg_inflated_file_create(fd));
    assert_int_equal(ftruncate(fd, middle), 0);
    assert_null(tg_inflated_file_create(fd));
    close(fd);
}

static void what_is_no_object_file_is_left_alone(void **state)
{
    (void)state;
    int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    assert_null(tg_inflated_file_create(fd));
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sections_are_as_before_they_were_compressed),
        cmocka_unit_test(a_file_without_compressed_sections_is_left_alone),
        cmocka_unit_test(what_takes_too_long_is_given_up),
        cmocka_unit_test(what_is_no_object_file_is_left_alone),
        cmocka_unit_test(a_damaged_or_cut_section_is_not_inflated), /* last: changes the file */
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
