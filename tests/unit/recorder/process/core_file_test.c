#include "recorder/process/core_file.h"

#include <elf.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/procfs.h>
#include <unistd.h>

#include <cmocka.h>

/* Core files are made of a header, one segment of notes and one of memory. */

enum { STACK = 0x7ffd0000, STACK_BYTES = 0x2000, NOTES_AT = 0x200, STACK_AT = 0x3000 };

struct notes {
    uint8_t bytes[0x2000];
    size_t size;
};

static void add_note(struct notes *notes, uint32_t type, const void *content, size_t size)
{
    const uint32_t head[] = {5, (uint32_t)size, type};
    memcpy(notes->bytes + notes->size, head, sizeof head);
    memcpy(notes->bytes + notes->size + sizeof head, "CORE", 5);
    memcpy(notes->bytes + notes->size + sizeof head + 8, content, size);
    notes->size += sizeof head + 8 + ((size + 3) & ~(size_t)3);
}

static void add_thread(struct notes *notes, pid_t tid, uint64_t rip)
{
    struct elf_prstatus status = {.pr_pid = tid};
    struct user_regs_struct registers = {.rip = rip};
    status.pr_cursig = SIGSEGV;
    memcpy(status.pr_reg, &registers, sizeof registers);
    add_note(notes, NT_PRSTATUS, &status, sizeof status);
}

static void make_notes(struct notes *notes, const uint64_t auxiliary[4])
{
    struct elf_prpsinfo process = {.pr_pid = 77, .pr_fname = "solve", .pr_psargs = "./solve 7"};
    siginfo_t info = {.si_signo = SIGSEGV, .si_code = SEGV_MAPERR};
    struct {
        uint64_t count, page, first[3];
        char name[8];
    } files = {1, 4096, {0x400000, 0x401000, 2}, "/a/b"};
    info.si_addr = (void *)0x10;
    add_thread(notes, 77, 0x401234);
    add_note(notes, NT_PRPSINFO, &process, sizeof process);
    add_note(notes, NT_SIGINFO, &info, sizeof info);
    add_note(notes, NT_AUXV, auxiliary, 32);
    add_note(notes, NT_FILE, &files, sizeof files);
    add_thread(notes, 78, 0x405678);
}

/* As the kernel leaves it: argc, argv, NULL, envp, NULL, the auxiliary vector, and strings. */
static void make_stack(uint8_t *stack, uint64_t auxiliary[4])
{
    static const char strings[] = "./solve\0PMI_RANK=3\0PMI_SIZE=4\0/a/b";
    uint64_t at = STACK + 0x1000, words[] = {1, at, 0, at + 8, at + 19, 0};
    auxiliary[0] = AT_EXECFN;
    auxiliary[1] = at + 30;
    auxiliary[2] = AT_RANDOM;
    auxiliary[3] = at - 16;
    memcpy(stack + 0x800, words, sizeof words);
    memcpy(stack + 0x800 + sizeof words, auxiliary, 32);
    memcpy(stack + 0x1000, strings, sizeof strings);
}

/* A descriptor of such a file, of which SIZE bytes are there. */
static int make_core(size_t size)
{
    static uint8_t bytes[STACK_AT + STACK_BYTES];
    struct notes notes = {.size = 0};
    uint64_t auxiliary[4];
    memset(bytes, 0, sizeof bytes);
    make_stack(bytes + STACK_AT, auxiliary);
    make_notes(&notes, auxiliary);
    Elf64_Ehdr header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                         .e_type = ET_CORE,
                         .e_machine = EM_X86_64,
                         .e_version = EV_CURRENT,
                         .e_phoff = sizeof header,
                         .e_ehsize = sizeof header,
                         .e_phentsize = sizeof(Elf64_Phdr),
                         .e_phnum = 2};
    const Elf64_Phdr segments[] = {{.p_type = PT_NOTE, .p_offset = NOTES_AT, .p_filesz = notes.size},
                                   {.p_type = PT_LOAD,
                                    .p_offset = STACK_AT,
                                    .p_vaddr = STACK,
                                    .p_filesz = STACK_BYTES,
                                    .p_memsz = STACK_BYTES}};
    memcpy(bytes, &header, sizeof header);
    memcpy(bytes + sizeof header, segments, sizeof segments);
    memcpy(bytes + NOTES_AT, notes.bytes, notes.size);
    int fd = memfd_create("core", MFD_CLOEXEC);
    assert_int_equal(write(fd, bytes, size), size);
    return fd;
}

static void test_whole(void **state)
{
    (void)state;
    struct tg_core_file *core;
    uint64_t word;
    size_t size;
    assert_null(tg_core_file_read(make_core(STACK_AT + STACK_BYTES), &core));
    assert_int_equal(core->pid, 77);
    assert_string_equal(core->program, "solve");
    assert_string_equal(core->command, "./solve 7");
    assert_int_equal(core->signal, SIGSEGV);
    assert_true(core->has_fault && core->fault == 0x10);
    assert_int_equal(core->n_threads, 2);
    assert_int_equal(core->threads[0].tid, 77);
    assert_int_equal(core->threads[0].registers.rip, 0x401234);
    assert_int_equal(core->threads[1].tid, 78);
    assert_int_equal(core->n_mappings, 1);
    assert_int_equal(core->mappings[0].offset, 2 * 4096);
    assert_string_equal(core->mappings[0].path, "/a/b");
    assert_int_equal(core->missing, 0);
    assert_int_equal(tg_core_file_memory(core, STACK + 0x800, &word, 8), 8);
    assert_int_equal(word, 1);
    assert_int_equal(tg_core_file_memory(core, STACK + STACK_BYTES - 4, &word, 8), 4);
    assert_int_equal(tg_core_file_memory(core, 0x1000, &word, 8), 0);
    assert_int_equal(tg_core_file_memory(core, UINT64_MAX - 3, &word, 8), 0);
    char *environment = tg_core_file_environment(core, &size);
    assert_non_null(environment);
    assert_memory_equal(environment, "PMI_RANK=3\0PMI_SIZE=4", 22);
    assert_int_equal(size, 22);
    free(environment);
    tg_core_file_close(core);
}

/* What was cut off is told apart from what never was in the file. */
static void test_cut(void **state)
{
    (void)state;
    struct tg_core_file *core;
    uint64_t word;
    assert_null(tg_core_file_read(make_core(STACK_AT + 0x900), &core));
    assert_int_equal(core->n_threads, 2);
    assert_int_equal(core->missing, STACK_BYTES - 0x900);
    assert_int_equal(tg_core_file_memory(core, STACK + 0x8fc, &word, 8), 4);
    assert_true(tg_core_file_is_cut(core, STACK + 0x900));
    assert_false(tg_core_file_is_cut(core, STACK + 0x800));
    assert_false(tg_core_file_is_cut(core, STACK + STACK_BYTES));
    tg_core_file_close(core);
    for (size_t size = 0; size < STACK_AT; size += 61) {
        struct tg_error *error = tg_core_file_read(make_core(size), &core);
        if (error == NULL)
            tg_core_file_close(core);
        else
            assert_int_equal(tg_error_code(error), TG_ERROR_INPUT);
        tg_error_destroy(error);
    }
}

static void test_refused(void **state)
{
    (void)state;
    struct tg_core_file *core;
    struct tg_error *error = tg_core_file_open("/proc/self/exe", &core);
    assert_string_equal(tg_error_message(error), "is not a core file");
    tg_error_destroy(error);
    assert_false(tg_core_file_is_one("/proc/self/exe"));
    assert_false(tg_core_file_is_one("/dev/zero"));
    assert_false(tg_core_file_is_one("/no/such/file"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_whole), cmocka_unit_test(test_cut),
                                       cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
