/* Call sites as GCC 12 compiles them: what is read in the code behind the call. */
#include "recorder/agent/gomp/site.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
/* clang-format off */
#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>
/* clang-format on */

enum { R12 = 1 << 12 };

struct code {
    uint8_t bytes[256];
    size_t size;
};

static struct code from_hex(const char *text)
{
    struct code code = {.size = strlen(text) / 2};
    assert_true(code.size <= sizeof code.bytes);
    for (size_t i = 0; i < code.size; i++) {
        unsigned byte;
        assert_int_equal(sscanf(text + 2 * i, "%2x", &byte), 1);
        code.bytes[i] = (uint8_t)byte;
    }
    return code;
}

static size_t read_code(void *context, int64_t at, uint8_t *buffer, size_t size)
{
    const struct code *code = context;
    if (at < 0 || (size_t)at >= code->size)
        return 0;
    size_t n = code->size - (size_t)at < size ? code->size - (size_t)at : size;
    memcpy(buffer, code->bytes + at, n);
    return n;
}

static const struct sample {
    const char *name;
    struct tg_gomp_situation situation;
    const char *code; /* behind the call */
    struct tg_gomp_site expected;
} samples[] = {
    /* for (int i = 0; i < 1000; i++) */
    {"a loop, -O0",
     {TG_GOMP_ASKED_THREAD_NUM, true, 0},
     "89c6b8e803000099f7fb89c1b8e803000099f7fb89d039c67c290faff189f201d08d1c0839d87d258945ec8b45ec48984889c7"
     "e8000000008345ec01395dec7ceaeb0ab80000000083c101ebcd90488b5df8c9c3",
     {TG_GOMP_STATIC_LOOP, 0, 0, 77, 0, 0, 0}},
    {"a loop, -O2",
     {TG_GOMP_ASKED_THREAD_NUM, true, 0},
     "89c18b450099f7fb39d17c4f0fafc801ca8d0c1039ca7d3a4863ca89c0488d150000000048c1e103488d350000000048c1e003"
     "4801ce4801d131d2f20f100416f20f58c0f20f1104114883c2084839c275e94883c4085b5dc3669083c00131d2ebaa",
     {TG_GOMP_STATIC_LOOP, 0, 0, 82, 0, 0, 0}},
    /* with nowait, and a call in the body, which lies behind the function's end */
    {"a loop whose body lies apart, -O2",
     {TG_GOMP_ASKED_THREAD_NUM, true, 0},
     "4863f34863c8486305422e0000489948f7fe4839d17c4c480fafc84801d1488d34084839f17c24488d1d0d3e00004889dfe8"
     "3dfeffff8305362e0000014889df5be90dfeffff0f1f4400004889cf4883c101e85cffffff4839ce75efebc90f1f44000048"
     "83c00131d2ebac",
     {TG_GOMP_STATIC_LOOP, 0, 75, 94, 0, 0, 0}},
    {"a loop of longs with a step, -O2",
     {TG_GOMP_ASKED_THREAD_NUM, true, 0},
     "488b75004863c848b856555555555555554883c60248f7ee48c1fe3f4889d04829f0489948f7fb4839d17c3e480fafc84801ca"
     "4801d04839c27d20488d1c52488d2c400f1f80000000004889df4883c303e8000000004839dd7fef4883c4085b5dc30f1f8400"
     "000000004883c00131d2ebba",
     {TG_GOMP_STATIC_LOOP, 0, 0, 91, 0, 0, 0}},
    {"an unsigned loop, -O2",
     {TG_GOMP_ASKED_THREAD_NUM, true, 0},
     "4963cc31d24863d84889e848f7f14889c54839d37231480fafdd4801d34801dd4839eb731366904889df4883c301e800000000"
     "4839dd75ef5b5d415cc3662e0f1f8400000000004883c50131d2ebc7",
     {TG_GOMP_STATIC_LOOP, 0, 0, 56, 0, 0, 0}},
    {"chunks of one, -O2",
     {TG_GOMP_ASKED_THREAD_NUM, true, 0},
     "4139c47e2389c389c74531ed0f1f004863ff4183c501e80000000089ef410faffd01df4139fc7fe74883c4085b5d415c415dc3",
     {TG_GOMP_STATIC_LOOP, 0, 0, 40, 0, 0, 0}},
    {"the same where the numbers were not asked for together",
     {TG_GOMP_ASKED_THREAD_NUM, false, 0},
     "4139c47e2389c389c74531ed0f1f004863ff4183c501e80000000089ef410faffd01df4139fc7fe74883c4085b5d415c415dc3",
     {TG_GOMP_NO_CONSTRUCT, 0, 0, 0, 0, 0, 0}},
    {"chunks, -O0",
     {TG_GOMP_ASKED_THREAD_NUM, true, 0},
     "4189c741bc000000004489e0410fafc64401f8410fafc5428d142839da0f4fd38955b439d87d228945cc8b45cc48984889c7e8"
     "000000008345cc018b45b43945cc7ce74183c401ebc04883c4285b415c415d415e415f5dc3",
     {TG_GOMP_STATIC_LOOP, 0, 0, 73, 0, 1 << 15, 0}},
    {"the number of threads, which the thread number follows",
     {TG_GOMP_ASKED_NUM_THREADS, false, 0},
     "89c3e80000000089c18b450099f7fb39d17c4f0fafc801ca8d0c1039ca7d3a4863ca",
     {TG_GOMP_NO_CONSTRUCT, 0, 0, 0, 7, 0, 0}},
    {"the number of threads, where the thread number is known, -O2",
     {TG_GOMP_ASKED_NUM_THREADS, false, 0},
     "89c189e899f7f939d37c610fafd801d38d141839d37d224863db89c0488d2c180f1f8400000000004889df4883c301e8000000"
     "004839dd75ef4883c4085b5dc30f1f840000000000bf02000000e800000000bf03000000e800000000e80000000089c189e899"
     "f7f939d37d9f83c00131d2eb98",
     {TG_GOMP_STATIC_LOOP, 0, 0, 57, 0, 0, 0}},
    {"master, apart from the rest, -O0",
     {TG_GOMP_ASKED_THREAD_NUM, false, 0},
     "85c074598b5de8e8000000004189c4e80000000089c689d89941f7fc89c189d89941f7fc89d039c67c290faff189f201d08d1c"
     "0839d87d3b8945ec8b45ec48984889c7e8000000008345ec01395dec7ceaeb20b80000000083c101ebcdbf02000000e8000000"
     "00bf03000000e800000000eb91904883c4205b415c5dc3",
     {TG_GOMP_MASKED, 0, 93, 115, 0, 0, 0}},
    {"master with tasks, -O2",
     {TG_GOMP_ASKED_THREAD_NUM, false, 0},
     "85c0754f8b6d0085ed7e4889c34c8d6c240c4c8d25c5ffffff0f1f440000895c240c41b90100000031d24c89ee6a0041b80400"
     "0000b9040000004c89e76a0083c3016a006a00e8000000004883c42039dd75cb4883c4185b5d415c415dc3",
     {TG_GOMP_MASKED, 0, 4, 83, 0, 0, 0}},
    {"masked filter(1), -O0",
     {TG_GOMP_ASKED_THREAD_NUM, false, 0},
     "83f8017518bf02000000e800000000eb0cbf02000000e800000000ebde90488b5df8c9c3",
     {TG_GOMP_MASKED, 1, 5, 29, 0, 0, 0}},
    {"masked with a filter that is no constant",
     {TG_GOMP_ASKED_THREAD_NUM, false, 0},
     "39d87416e80000000083f8017518bf02000000e800000000eb0cbf02000000e800000000ebde90488b5df8c9c3",
     {TG_GOMP_NO_CONSTRUCT, 0, 0, 0, 0, 0, 0}},
    {"master behind a barrier, with the number in r12, -O2",
     {TG_GOMP_ASKED_NOTHING, false, R12},
     "4585e47424e8000000008b44240801c099f77c240c4139d40f8ca80000004189c5450fafec4101d5c3bf02000000e8000000"
     "00ebd0",
     {TG_GOMP_MASKED, 0, 41, 53, 0, 0, 0}},
    {"the same where no register has the number",
     {TG_GOMP_ASKED_NOTHING, false, 0},
     "4585e4742ce8000000008b44240801c099f77c240c4139d40f8ca80000004189c5450fafec4101d5",
     {TG_GOMP_NO_CONSTRUCT, 0, 0, 0, 0, 0, 0}},
    {"a loop behind a barrier, -O2",
     {TG_GOMP_ASKED_NOTHING, false, R12},
     "8b44240801c099f77c240c4139d40f8ca80000004189c5450fafec4101d5428d14284139d57d1e4d63ed89c04e8d34280f1f40"
     "004c89ef4983c501e8000000004d39ee75ef",
     {TG_GOMP_STATIC_LOOP, 0, 0, 69, 0, 0, 0}},
    {"a single, -O2",
     {TG_GOMP_ASKED_SINGLE, false, 0},
     "84c0740583c00190ffc3e800000000",
     {TG_GOMP_SINGLE, 0, 4, 9, 0, 0, 0}},
    {"a single, -O0",
     {TG_GOMP_ASKED_SINGLE, false, 0},
     "3c01750583c00190ffc3e800000000",
     {TG_GOMP_SINGLE, 0, 4, 9, 0, 0, 0}},
    {"a single whose body lies apart, -O1",
     {TG_GOMP_ASKED_SINGLE, false, 0},
     "84c07507e800000000c9c383c001ebf4",
     {TG_GOMP_SINGLE, 0, 11, 16, 0, 0, 0}},
    {"an answer that is not looked at",
     {TG_GOMP_ASKED_SINGLE, false, 0},
     "85c0740583c00190ffc3e800000000",
     {TG_GOMP_NO_CONSTRUCT, 0, 0, 0, 0, 0, 0}},
    {"iterations that the program shares out itself",
     {TG_GOMP_ASKED_NUM_THREADS, false, 0},
     "48634d004863f34863f8480faff14889f0489948f7ff4989c0488d0431489948f7ff4139c07d254963f84429c08d68ff488d5f"
     "014801dd",
     {TG_GOMP_NO_CONSTRUCT, 0, 0, 0, 0, 0, 0}},
    {"a call",
     {TG_GOMP_ASKED_THREAD_NUM, true, 0},
     "89c6e800000000",
     {TG_GOMP_NO_CONSTRUCT, 0, 0, 0, 7, 0, 0}},
    {"code that ends", {TG_GOMP_ASKED_THREAD_NUM, true, 0}, "89c6", {TG_GOMP_NO_CONSTRUCT, 0, 0, 0, 0, 0, 0}},
    {"no code", {TG_GOMP_ASKED_THREAD_NUM, true, 0}, "", {TG_GOMP_NO_CONSTRUCT, 0, 0, 0, 0, 0, 0}},
};

static void sites_are_what_the_code_behind_them_says(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        const struct sample *sample = &samples[i];
        struct code code = from_hex(sample->code);
        struct tg_gomp_site site = tg_gomp_site_read(&sample->situation, read_code, &code);
        const struct tg_gomp_site *expected = &sample->expected;
        if (site.construct != expected->construct || site.filter != expected->filter ||
            site.start != expected->start || site.end != expected->end ||
            site.next_call != expected->next_call || site.numbers != expected->numbers)
            fail_msg("%s: construct %d, filter %d, (%d, %d], next call %d, registers %#x", sample->name,
                     (int)site.construct, site.filter, site.start, site.end, site.next_call, site.numbers);
    }
}

/* Whatever the bytes are: nothing is read behind their end, and it comes to an end. */
static void any_bytes_are_read(void **state)
{
    (void)state;
    uint64_t random = 0x9e3779b97f4a7c15;
    long n_constructs = 0;
    for (int round = 0; round < 20000; round++) {
        struct code code = from_hex(samples[(size_t)round % (sizeof samples / sizeof *samples)].code);
        for (int i = 0; i < 1 + round % 5 && code.size > 0; i++) {
            random = random * 6364136223846793005U + 1442695040888963407U;
            code.bytes[(random >> 33) % code.size] = (uint8_t)(random >> 56);
        }
        const struct tg_gomp_situation situation = {
            .asked = (enum tg_gomp_asked)(round % 4), .is_pair = round % 2 == 0, .numbers = R12};
        struct tg_gomp_site site = tg_gomp_site_read(&situation, read_code, &code);
        n_constructs += site.construct != TG_GOMP_NO_CONSTRUCT;
        assert_true(site.end == TG_GOMP_SITE_OPEN || site.end <= INT32_MAX - 1);
    }
    assert_true(n_constructs > 100);
}

/* In this process: at the end of what is mapped, and remembered. */
static void sites_of_the_process_are_remembered(void **state)
{
    (void)state;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *code = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(code != MAP_FAILED);
    assert_int_equal(munmap(code + page, page), 0);
    struct code master = from_hex("83f8017502909090c3");
    uint8_t *at = code + page - master.size;
    memcpy(at, master.bytes, master.size);
    const struct tg_gomp_situation situation = {.asked = TG_GOMP_ASKED_THREAD_NUM};
    struct tg_gomp_site buffer;
    const struct tg_gomp_site *site = tg_gomp_site_find(at, &situation, &buffer);
    assert_non_null(site);
    assert_int_equal(site->construct, TG_GOMP_MASKED);
    assert_int_equal(site->filter, 1);
    assert_int_equal(munmap(code, page), 0);
    assert_ptr_equal(tg_gomp_site_find(at, &situation, &buffer), site);
    /* nothing there */
    site = tg_gomp_site_find(at - 1, &situation, &buffer);
    assert_true(site != NULL && site->construct == TG_GOMP_NO_CONSTRUCT);
    /* the table fills up, and says so */
    size_t n_refused = 0;
    for (uintptr_t i = 0; i < 8192; i++)
        n_refused += tg_gomp_site_find(at + 16 * i, &situation, &buffer) == NULL;
    assert_true(n_refused >= 8192 - 2048 && n_refused < 8192);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sites_are_what_the_code_behind_them_says),
        cmocka_unit_test(any_bytes_are_read),
        cmocka_unit_test(sites_of_the_process_are_remembered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
