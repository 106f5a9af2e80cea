// Mangled names, and a Fortran function.
extern "C" int fortran_sum_(const int *x, const int *y);

namespace names {
struct shape {
    __attribute__((noinline)) int area(int x)
    {
        asm volatile("");
        return x;
    }
    __attribute__((noinline)) int area(double x)
    {
        asm volatile("");
        return static_cast<int>(x);
    }
};
} // namespace names

int main()
{
    names::shape shape;
    int sum = 0;
    for (int i = 0; i < 2; i++) {
        int x = shape.area(i), y = shape.area(0.5);
        sum += fortran_sum_(&x, &y);
    }
    int three = 3;
    return fortran_sum_(&three, &sum) == 0;
}
