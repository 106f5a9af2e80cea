/* Real numbers where compilers keep them. Says for each expression what its value is, EXPRESSION <tab> TEXT,
 * then stops by a breakpoint instruction. */
#include <complex.h>
#include <stdio.h>

static volatile double sink;

struct pair {
    double a;
    float b;
};

__attribute__((noinline)) static double leaf(double d, float f, double complex z, float complex w,
                                             long double l, struct pair p, int n)
{
    double twice = d * 2;
    printf("d\t2.25\nf\t2.5\nz\t1.5 + 2.5i\nw\t0.5 - 1i\nl\t3.25\np\t{a = 7, b = 8}\nn\t9\ntwice\t4.5\nd + "
           "f\t4.75\n");
    fflush(stdout);
    __asm__ volatile("int3" : "+x"(twice) : "x"(d), "x"(f), "x"(p.a), "r"(n), "m"(l));
    sink = twice + f + creal(z) + cimag(z) + creal(w) + (double)l + p.a + p.b + n + d;
    return twice;
}

int main(int argc, char **argv)
{
    (void)argv;
    double r = leaf(argc + 0.25, 2.5F, 1.5 + 2.5 * I, 0.5F - 1.0F * I, 3.25L, (struct pair){7, 8}, 9);
    return r == 0;
}
