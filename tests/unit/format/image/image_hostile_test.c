#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "format/image/image.h"
#include "tests/support/image_probe.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct content {
    uint8_t *bytes;
    size_t size;
};

static struct content read_image(const char *file)
{
    char path[512];
    snprintf(path, sizeof path, TG_IMAGES "/%s", file);
    FILE *stream = fopen(path, "re");
    assert_non_null(stream);
    assert_int_equal(fseek(stream, 0, SEEK_END), 0);
    struct content content = {.size = (size_t)ftell(stream)};
    rewind(stream);
    content.bytes = malloc(content.size);
    assert_non_null(content.bytes);
    assert_int_equal(fread(content.bytes, 1, content.size, stream), content.size);
    fclose(stream);
    return content;
}

static const char *const files[] = {"tiny.so", "tiny4.so", "tinysysv.so"};

static void a_file_cut_off_anywhere_is_survived(void **state)
{
    (void)state;
    int fd = memfd_create("cut", MFD_CLOEXEC);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct content content = read_image(files[i]);
        for (size_t size = 0; size < content.size; size += 64)
            tg_image_probe(fd, content.bytes, size);
        free(content.bytes);
    }
    close(fd);
}

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void changed_bytes_are_survived(void **state)
{
    (void)state;
    uint64_t random = 0x746f6c6c67617465;
    int fd = memfd_create("changed", MFD_CLOEXEC);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct content content = read_image(files[i]);
        uint8_t *copy = malloc(content.size);
        assert_non_null(copy);
        for (int round = 0; round < 1500; round++) {
            memcpy(copy, content.bytes, content.size);
            for (uint64_t n = 1 + next_random(&random) % 8; n > 0; n--) {
                static const uint8_t values[] = {0, 1, 0x7f, 0x80, 0xff};
                uint64_t value = next_random(&random);
                /* half of them in the headers and tables at the start */
                size_t range = value % 2 == 0 && content.size > 1024 ? 1024 : content.size;
                copy[next_random(&random) % range] =
                    value % 3 == 0 ? (uint8_t)(value >> 8) : values[value % 5];
            }
            tg_image_probe(fd, copy, content.size);
        }
        free(copy);
        free(content.bytes);
    }
    close(fd);
}

/* File offset of the content that TAG of the dynamic section points at (the first segment is mapped at 0). */
static uint64_t table_at(const struct content *content, int64_t tag)
{
    Elf64_Ehdr header;
    memcpy(&header, content->bytes, sizeof header);
    uint64_t dynamic = 0;
    for (size_t i = 0; i < header.e_phnum; i++) {
        Elf64_Phdr segment;
        memcpy(&segment, content->bytes + header.e_phoff + i * sizeof segment, sizeof segment);
        if (segment.p_type == PT_DYNAMIC)
            dynamic = segment.p_offset;
    }
    for (Elf64_Dyn entry;; dynamic += sizeof entry) {
        memcpy(&entry, content->bytes + dynamic, sizeof entry);
        assert_int_not_equal(entry.d_tag, DT_NULL);
        if (entry.d_tag == tag)
            return entry.d_un.d_ptr;
    }
}

static void chains_without_an_end_come_to_one(void **state)
{
    (void)state;
    int fd = memfd_create("chains", MFD_CLOEXEC);
    struct content content = read_image("tinysysv.so");
    uint64_t at = table_at(&content, DT_HASH);
    uint32_t n_buckets, n_chain;
    memcpy(&n_buckets, content.bytes + at, 4);
    memcpy(&n_chain, content.bytes + at + 4, 4);
    for (uint32_t i = 0; i < n_buckets + n_chain; i++) { /* all lead to symbol 1, which leads to itself */
        uint32_t one = 1;
        memcpy(content.bytes + at + 8 + 4 * i, &one, 4);
    }
    tg_image_probe(fd, content.bytes, content.size);
    free(content.bytes);

    content = read_image("tiny.so");
    at = table_at(&content, DT_GNU_HASH);
    uint32_t words[4];
    memcpy(words, content.bytes + at, sizeof words);
    memset(content.bytes + at + 16, 0xff, 8 * words[2]); /* the filter admits everything */
    for (uint32_t i = 0; i < words[0]; i++)
        memcpy(content.bytes + at + 16 + 8 * words[2] + 4 * i, &words[1], 4);
    uint64_t chain = at + 16 + 8 * words[2] + 4 * words[0];
    for (uint64_t i = chain; i + 4 < content.size && i < chain + 64; i += 4)
        content.bytes[i] &= 0xfe; /* no end */
    tg_image_probe(fd, content.bytes, content.size);
    free(content.bytes);
    close(fd);
}

static void a_file_that_shrinks_while_it_is_open_is_survived(void **state)
{
    (void)state;
    struct content content = read_image("plain.so");
    int fd = memfd_create("shrinks", MFD_CLOEXEC);
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    for (size_t left = 0; left < content.size; left += 997) {
        assert_int_equal(pwrite(fd, content.bytes, content.size, 0), content.size);
        struct tg_image *image = NULL;
        assert_null(tg_image_open(path, &image));
        assert_int_equal(ftruncate(fd, (off_t)left), 0);
        uint64_t found[4];
        (void)tg_image_find_function(image, "tgm_static", found, 4);
        (void)tg_image_find_line(image, "image_material.c", 30, found, 4);
        tg_image_unref(image);
    }
    close(fd);
    free(content.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_cut_off_anywhere_is_survived),
        cmocka_unit_test(changed_bytes_are_survived),
        cmocka_unit_test(chains_without_an_end_come_to_one),
        cmocka_unit_test(a_file_that_shrinks_while_it_is_open_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
