// Every form of operator new and delete a hundred times, with sizes of its own.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>

static void *volatile kept;

template <class T> static T *keep(T *block)
{
    kept = block;
    return static_cast<T *>(kept);
}

struct alignas(128) wide {
    char room[6144];
};

template <size_t N> struct sized {
    char room[N];
};

struct deep {
    char room[6280];
    deep()
    {
        kept = this;
    }
    ~deep()
    {
        kept = this;
    }
};

int main()
{
    for (int i = 0; i < 100; i++) {
        delete keep(new sized<6010>);
        delete[] keep(new char[6020 + i % 2]);
        delete keep(new (std::nothrow) sized<6030>);
        delete[] keep(new (std::nothrow) char[6040]);
        delete keep(new wide);
        delete[] keep(new wide[2]);
        ::operator delete(keep(::operator new(6060)), std::size_t(6060));
        ::operator delete[](keep(::operator new[](6070)), std::nothrow);
        delete[] keep(new deep[2]);
        delete static_cast<char *>(nullptr);
    }
    volatile size_t huge = size_t(1) << 60;
    for (int i = 0; i < 3; i++) {
        try {
            keep(new char[huge]);
            std::puts("huge");
        } catch (const std::bad_alloc &error) {
            std::puts(error.what());
        }
        std::free(keep(std::malloc(6090))); // not the operator's, though one ended by an exception
    }
    std::puts(new (std::nothrow) char[huge] == nullptr ? "null" : "huge");
    volatile size_t most = SIZE_MAX; // libstdc++ 12 rounds it up to a block of no bytes
    void *rounded = keep(::operator new(most, std::align_val_t(1024), std::nothrow));
    ::operator delete(rounded, std::align_val_t(1024));
    return 6;
}
