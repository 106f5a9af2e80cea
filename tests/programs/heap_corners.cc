// What a heap is rarely asked for. Prints what it sees, which is the same with and without an observer. usage: heap_corners CORNER
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <malloc.h>
#include <memory_resource>
#include <new>
#include <sys/resource.h>

static void *volatile kept; // the compiler must not know what becomes of a block

static void *hide(void *block)
{
    kept = block;
    return kept;
}

// The address space may grow by BYTES from now on.
static void limit_growth(size_t bytes)
{
    unsigned long pages = 0;
    FILE *file = std::fopen("/proc/self/statm", "r");
    if (file == nullptr || std::fscanf(file, "%lu", &pages) != 1)
        std::exit(1);
    std::fclose(file);
    const rlimit limit = {pages * 4096 + bytes, RLIM_INFINITY};
    setrlimit(RLIMIT_AS, &limit);
}

// Alignments that are none.
static void align()
{
    volatile size_t odd = 24;
    void *block = nullptr;
    std::printf("%d\n", posix_memalign(&block, odd, 100));
    std::printf("%d\n", posix_memalign(&block, 2 + odd % 2, 100));
    for (int i = 0; i < 3; i++) {
        block = hide(memalign(odd, 1001));
        std::printf("%s\n", block != nullptr ? "a block" : "none");
        std::free(block);
        block = hide(memalign(odd, 1002));
        block = hide(std::realloc(block, 1003));
        std::free(block);
    }
}

// Blocks that the wrong function releases, and some that the right one does.
static void mismatch()
{
    operator delete(hide(std::malloc(10)));
    std::free(hide(operator new(20)));
    operator delete(hide(operator new[](30)));
    operator delete[](hide(operator new(40)));
    std::free(hide(std::realloc(hide(operator new(50)), 60)));
    operator delete(hide(operator new(70)), static_cast<std::size_t>(35));
    operator delete(hide(operator new(80)), static_cast<std::size_t>(80));
    const auto wide = static_cast<std::align_val_t>(64), wider = static_cast<std::align_val_t>(128);
    operator delete(hide(operator new(90, wide)));
    operator delete[](hide(operator new[](91, wide, std::nothrow)), static_cast<std::size_t>(91));
    operator delete(hide(operator new(92)), static_cast<std::size_t>(92), wide);
    operator delete[](hide(operator new[](93, wide)), wider, std::nothrow);
    operator delete(hide(operator new[](94, wide)), wide);
    std::free(hide(operator new(95, wide)));
    operator delete(hide(aligned_alloc(64, 128)), wide);
    operator delete(hide(operator new(96, wide)), static_cast<std::size_t>(97), wide);
    operator delete[](hide(std::malloc(98)));
    std::free(hide(operator new[](99)));
    operator delete(hide(operator new(81, wide, std::nothrow)), wide, std::nothrow);
    operator delete[](hide(operator new[](82, wide)), static_cast<std::size_t>(82), wide);
    std::pmr::memory_resource *pool = std::pmr::new_delete_resource();
    pool->deallocate(hide(pool->allocate(83, 64)), 83, 64);
    pool->deallocate(hide(pool->allocate(0, 64)), 0, 64);
    static_cast<char *>(hide(operator new(84, wide)))[84] =
        1; // up to the next multiple of its alignment nobody else is there
    operator delete(kept, wide);
    std::puts("released");
}

// Memory that there is only once freed blocks are given back.
static void hoard()
{
    void *blocks[7];
    for (void *&block : blocks)
        block = hide(std::malloc(1000000));
    limit_growth(1 << 20);
    for (void *block : blocks)
        std::free(block);
    std::printf("%s\n", hide(std::malloc(4000000)) != nullptr ? "a block" : "none");
}

// A block that can grow where it is, in a process that may not have it twice.
static void grow()
{
    const size_t size = 100 << 20;
    char *block = static_cast<char *>(hide(std::malloc(size)));
    std::strcpy(block, "first");
    std::strcpy(block + size - 10, "last");
    limit_growth(size / 2);
    block = static_cast<char *>(hide(std::realloc(block, size + (10 << 20))));
    std::printf("%s %s\n", block == nullptr ? "none" : block, block == nullptr ? "" : block + size - 10);
    std::printf("%s\n", std::realloc(block, 4 * size) == nullptr ? "none" : "a block");
    std::printf("%s\n", block);
    std::free(block);
}

static std::jmp_buf out;

// Uses new, deeper in the stack than the operator that was left.
__attribute__((noinline)) static void use_new(int depth)
{
    volatile char room[200] = {};
    if (depth > 0)
        use_new(depth - 1 + room[0]);
    else
        for (int i = 0; i < 100; i++)
            operator delete(hide(operator new(50)));
}

// A new handler that is left by longjmp.
static void jump()
{
    volatile size_t huge = size_t(1) << 60;
    std::set_new_handler([] { std::longjmp(out, 1); });
    if (setjmp(out) == 0)
        hide(operator new(huge));
    use_new(10);
    std::puts("jumped");
}

// More blocks than a table has places for.
static void many()
{
    const size_t count = 1900000;
    void **blocks = static_cast<void **>(hide(std::malloc(count * sizeof(void *))));
    for (size_t i = 0; i < count; i++)
        blocks[i] = std::malloc(8);
    for (size_t i = 0; i < count; i += 16)
        blocks[i] = std::realloc(blocks[i], 40);
    for (size_t i = 0; i < count; i++)
        std::free(blocks[i]);
    std::free(blocks);
    std::puts("many");
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)();
    } corners[] = {{"align", align}, {"mismatch", mismatch}, {"hoard", hoard},
                   {"grow", grow},   {"jump", jump},         {"many", many}};
    for (const auto &corner : corners)
        if (argc > 1 && std::strcmp(corner.name, argv[1]) == 0)
            corner.run();
    return 6;
}
