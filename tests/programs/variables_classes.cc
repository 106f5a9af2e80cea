/*
 * What C++ has beyond C. Says for each expression what its value is, EXPRESSION <tab> TEXT, then stops by a
 * breakpoint instruction.
 */
#include <complex>
#include <cstdio>
#include <string>
#include <utility>

namespace outer {
namespace inner {
int depth = 7;
}
inline namespace v1 {
int versioned = 11;
}
static int shared = 3;
} // namespace outer
namespace {
int hidden = 5;
}

struct base {
    int b = 1;
    static const int constant = 42;
    static int counted;
    virtual ~base() {}
    virtual int f() { return b; }
    int plain() { return b; }
};
int base::counted = 13;
struct other {
    int o = 2;
};
struct derived : base, other {
    int d = 3;
    bool flag = true;
    derived() {}
    int f() override { return d; }
};
struct shares : virtual base {
    int v = 4;
};
enum class color : unsigned char { red, green = 5 };
enum plain { ALPHA, BETA } kind = BETA;
template <class T, int N> struct holder {
    T items[N];
    static int many;
};
template <class T, int N> int holder<T, N>::many = 21;

static int twice(int x)
{
    return 2 * x;
}

holder<double, 3> three{{1.5, 2.5, 3.5}};
std::string text = "a string";
std::complex<double> turned(1, -2);
int derived::*member = &derived::d;
int (base::*virtual_member)() = &base::f;
int (base::*plain_member)() = &base::plain;
decltype(nullptr) nothing = nullptr;
color paint = color::green;
int (*function)(int) = twice;
const char *utf8 = "\xc3\xa4\x1b\x7f";

struct caller {
    int x = 10;
    __attribute__((noinline)) int call(const derived &given, derived *pointer, int &&moved, color tint)
    {
        int(&rows)[2][3] = *new int[1][2][3]{{{1, 2, 3}, {4, 5, 6}}};
        auto pair = std::pair<int, double>{1, 2.5};
        auto lambda = [&pair, count = 5](int q) { return pair.first + count + q; };
        shares virtually;
        color odd = (color)77;
        std::printf("this->x\t10\n");
        std::printf("x\t10\n");
        std::printf("given.d\t3\n");
        std::printf("&given.o\t(int *) %p\n", (const void *)&given.o);
        std::printf("given.b + pointer->o\t3\n");
        std::printf("moved\t(int &&) @%p: %d\n", (void *)&moved, moved);
        std::printf("rows[1][2]\t6\n");
        std::printf("pair\t{<__pair_base<int, double>> = {}, first = 1, second = 2.5}\n");
        std::printf("virtually.b\t1\n");
        std::printf("odd\t77\n");
        std::printf("tint\tcolor::red\n");
        std::printf("lambda.__count\t5\n");
        std::fflush(stdout);
        __asm__ volatile("int3" : : "r"(&rows), "r"(&pair), "r"(&lambda), "r"(&virtually), "r"(&odd), "r"(&tint) : "memory");
        return lambda(rows[0][0]);
    }
};

int main()
{
    derived object;
    std::printf("outer::inner::depth\t7\n");
    std::printf("outer::versioned\t11\n");
    std::printf("outer::v1::versioned\t11\n");
    std::printf("outer::shared\t%d\n", outer::shared);
    std::printf("hidden\t%d\n", hidden);
    std::printf("base::counted\t13\n");
    std::printf("base::constant\t42\n");
    std::printf("color::green\tcolor::green\n");
    std::printf("plain::BETA\tBETA\n");
    std::printf("paint\tcolor::green\n");
    std::printf("three\t{items = {1.5, 2.5, 3.5}}\n");
    std::printf("'holder<double, 3>::many'\t%d\n", holder<double, 3>::many);
    std::printf("sizeof(derived)\t%zu\n", sizeof(derived));
    std::printf("text._M_dataplus._M_p\t%p \"a string\"\n", (const void *)text.c_str());
    std::printf("turned._M_value\t1 - 2i\n");
    std::printf("member\t&derived::d\n");
    std::printf("virtual_member\t<virtual function 2>\n");
    std::printf("plain_member == 0\t0: not a number\n");
    std::printf("nothing\tnullptr\n");
    std::printf("function\t(int (*)(int)) %p <twice>\n", (void *)function);
    std::printf("utf8\t%p \"\xc3\xa4\\e\\177\"\n", (const void *)utf8);
    return caller().call(object, &object, 9, color::red) == 0;
}
