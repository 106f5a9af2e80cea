// What leaves bodies in unusual ways, and what tasks have to copy: the output is the same with and without
// agent.
#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <omp.h>
#include <pthread.h>
#include <stdexcept>
#include <string>

static int copies, destroyed, caught;

struct counted {
    std::string text;
    long padding[40];
    explicit counted(const char *t) : text(t)
    {
        memset(padding, 1, sizeof padding);
    }
    counted(const counted &other) : text(other.text)
    {
        memcpy(padding, other.padding, sizeof padding);
        __atomic_add_fetch(&copies, 1, __ATOMIC_SEQ_CST);
    }
    ~counted()
    {
        __atomic_add_fetch(&destroyed, 1, __ATOMIC_SEQ_CST);
    }
};

static void __attribute__((noinline)) fail(int i)
{
    if (i >= 0)
        throw std::runtime_error("thrown");
}

static void exceptions()
{
#pragma omp parallel num_threads(2)
    {
        try {
            fail(omp_get_thread_num());
        } catch (const std::exception &) {
#pragma omp atomic
            caught++;
        }
#pragma omp critical
        {
            try {
                fail(1);
            } catch (const std::exception &) {
                caught++;
            }
        }
#pragma omp for schedule(dynamic)
        for (int i = 0; i < 10; i++) {
            try {
                fail(i);
            } catch (const std::exception &) {
#pragma omp atomic
                caught++;
            }
        }
#pragma omp single
        for (int i = 0; i < 10; i++) {
#pragma omp task
            try {
                fail(i);
            } catch (const std::exception &) {
#pragma omp atomic
                caught++;
            }
        }
    }
}

static void jumps()
{
    int n = 0;
#pragma omp parallel num_threads(2) reduction(+ : n)
    for (int i = 0; i < 100; i++) {
        jmp_buf buffer;
        if (setjmp(buffer) == 0) {
#pragma omp critical(outside)
            n = n + 1;
            longjmp(buffer, 1);
        }
    }
    printf("jumps %d\n", n);
}

// Out of a region: what OpenMP forbids, and works with one thread. Nothing may be written where it was.
static jmp_buf out;
static void __attribute__((noinline)) scribbled(int depth)
{
    char bytes[512];
    memset(bytes, depth, sizeof bytes);
    asm volatile("" ::"r"(bytes) : "memory");
    if (depth > 0)
        scribbled(depth - 1);
#pragma omp barrier
    for (size_t i = 0; i < sizeof bytes; i++)
        if (bytes[i] != depth)
            printf("overwritten\n");
}

static void leave_by_jump()
{
    if (setjmp(out) == 0) {
#pragma omp parallel num_threads(1)
        longjmp(out, 1);
    }
    scribbled(8);
}

// A thread of the program's own that ends after a region, with the runtime's threads that it had.
static void *exits(void *)
{
#pragma omp parallel num_threads(2)
    {
#pragma omp critical
        caught++;
    }
    pthread_exit(nullptr);
}

static void threads()
{
    for (int i = 0; i < 3; i++) {
        pthread_t thread;
        pthread_create(&thread, nullptr, exits, nullptr);
        pthread_join(thread, nullptr);
    }
}

static void tasks()
{
    size_t length = 0;
    counted object("a text that is too long for a short string");
#pragma omp parallel num_threads(2)
#pragma omp single
    {
        for (int i = 0; i < 400; i++) {
#pragma omp task firstprivate(object)
            {
#pragma omp atomic
                length += object.text.size() + (size_t)object.padding[39] % 2;
            }
        }
#pragma omp task firstprivate(object) if (length > 1000000)
        {
#pragma omp atomic
            length += object.text.size();
        }
#pragma omp taskloop firstprivate(object) num_tasks(50)
        for (int i = 0; i < 100; i++) {
#pragma omp atomic
            length += object.text.size();
        }
    }
    printf("tasks %zu, copies as many as destroyed: %d\n", length, copies == destroyed);
}

int main()
{
    exceptions();
    jumps();
    threads();
    tasks();
    leave_by_jump();
    printf("caught %d\n", caught);
    return 0;
}
