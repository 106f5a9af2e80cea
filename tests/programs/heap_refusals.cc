// What each function of the heap answers where there cannot be a block: said by its text, the same with and without an observer.
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <malloc.h>
#include <new>
#include <sys/resource.h>

static void say(const char *what, const void *block)
{
    std::printf("%s: %s, %s\n", what, block == nullptr ? "none" : "a block", block == nullptr ? std::strerror(errno) : "");
    errno = 0;
}

static void ask(size_t size)
{
    say("malloc", malloc(size));
    say("calloc", calloc(size, 2));
    say("reallocarray", reallocarray(nullptr, size, 3));
    say("aligned_alloc", aligned_alloc(64, size));
    say("memalign", memalign(64, size));
    say("valloc", valloc(size));
    say("pvalloc", pvalloc(size));
    say("nothrow", ::operator new(size, std::nothrow));
    char *old = static_cast<char *>(malloc(10));
    std::strcpy(old, "kept");
    void *grown = realloc(old, size);
    say("realloc", grown);
    if (grown == nullptr) {
        std::puts(old);
        free(old);
    }
    void *untouched = &untouched;
    int result = posix_memalign(&untouched, 64, size);
    std::printf("posix_memalign: %s, %s\n", std::strerror(result), untouched == &untouched ? "untouched" : "changed");
    try {
        say("new", ::operator new(size));
    } catch (const std::bad_alloc &error) {
        std::puts(error.what());
    }
}

int main()
{
    volatile size_t sizes[] = {SIZE_MAX / 2, SIZE_MAX - 4095, SIZE_MAX};
    for (size_t size : sizes)
        ask(size);
    volatile size_t odd = 24;
    void *untouched = &untouched;
    std::printf("%d\n", posix_memalign(&untouched, odd, 8));
    std::set_new_handler([] {
        std::puts("handler");
        std::set_new_handler(nullptr);
    });
    ask(SIZE_MAX / 2);
    rlimit limit;
    getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = 1 << 30;
    setrlimit(RLIMIT_AS, &limit);
    ask(1 << 30); // the process may not have so much
    return 5;
}
