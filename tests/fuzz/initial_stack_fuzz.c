/* Any bytes as the initial stack of a program, in this process's own memory: read, looked at, and where that
 * works enlarged; then what was there and what was added must both be in the image.
 *
 * A word whose upper two bytes are 0x5354 ("TS" in memory) stands for an address: its lower four bytes are an
 * offset from the stack pointer. */
#include "fuzz.h"
#include "recorder/process/initial_stack.h"

#include <assert.h>
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096, ROOM = 64 * PAGE };

/* Memory that ends where nothing can be read: behind the end of a file, for /proc/PID/mem reads what is
 * merely protected. */
static unsigned char *get_area(void)
{
    static unsigned char *area;
    if (area == NULL) {
        int fd = memfd_create("stack", MFD_CLOEXEC);
        if (fd < 0 || ftruncate(fd, ROOM) != 0)
            abort();
        area = mmap(NULL, ROOM + PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (area == MAP_FAILED)
            abort();
        close(fd);
    }
    return area;
}

/* Puts DATA at the end of the area, aligned; returns where. */
static unsigned char *put(const uint8_t *data, size_t size)
{
    unsigned char *end = get_area() + ROOM;
    unsigned char *start = end - ((size + 15) & ~(size_t)15);
    memset(start, 0, (size_t)(end - start));
    if (size > 0)
        memcpy(start, data, size);
    uint64_t *words = (uint64_t *)(void *)start;
    for (size_t i = 0; i < size / sizeof *words; i++)
        if (words[i] >> 48 == 0x5354)
            words[i] = (uint64_t)(uintptr_t)start + (uint32_t)words[i];
    return start;
}

/* Former words keep their order, and the variables are behind all others. */
static void check_image(const struct tg_initial_stack *stack, const struct tg_stack_image *image,
                        const char *const *added, size_t count)
{
    const uint64_t *words = image->bytes;
    size_t before = stack->variables + stack->n_variables;
    assert(image->address % 16 == 0 && image->address < stack->address);
    assert(image->address + image->size == stack->address + stack->n_words * sizeof(uint64_t));
    assert(memcmp(words, stack->words, before * sizeof(uint64_t)) == 0);
    assert(memcmp(words + before + count, stack->words + before,
                  (stack->n_words - before) * sizeof(uint64_t)) == 0);
    for (size_t i = 0; i < count; i++) {
        uint64_t offset = words[before + i] - image->address;
        assert(offset >= (stack->n_words + count) * sizeof(uint64_t));
        assert(offset + strlen(added[i]) < image->size);
        assert(strcmp((const char *)image->bytes + offset, added[i]) == 0);
    }
}

static void enlarge(const struct tg_initial_stack *stack)
{
    static const char one[] = "LD_PRELOAD=/opt/lib/agent.so", two[] = "TOLLGATE_AGENT=/dev/shm/x";
    const char *const added[] = {one, two, "GLIBC_TUNABLES=glibc.rtld.optional_static_tls=2048", two};
    struct tg_stack_image image;
    struct tg_error *error = tg_initial_stack_add(stack, added, 4, &image);
    if (error != NULL) {
        tg_error_destroy(error);
        return;
    }
    check_image(stack, &image, added, 4);
    free(image.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tg_initial_stack stack;
    if (size > ROOM)
        return 0;
    unsigned char *start = put(data, size);
    struct tg_error *error = tg_initial_stack_read(getpid(), (uint64_t)(uintptr_t)start, &stack);
    if (error != NULL) {
        tg_error_destroy(error);
        return 0;
    }
    assert(stack.variables + stack.n_variables < stack.auxv && stack.auxv + 2 <= stack.n_words);
    assert(stack.words[stack.n_words - 2] == AT_NULL);
    const char *preload = tg_initial_stack_variable(&stack, "LD_PRELOAD");
    assert(preload == NULL || strlen(preload) + strlen("LD_PRELOAD=") <= stack.n_strings);
    (void)tg_initial_stack_auxiliary(&stack, AT_RANDOM);
    enlarge(&stack);
    tg_initial_stack_deinit(&stack);
    return 0;
}
