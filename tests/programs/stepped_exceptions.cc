/* C++ exceptions to step over: caught in the call, in its caller, further out. */
#include <cstdio>
#include <stdexcept>

struct guard {
    int n;
    ~guard() { n = 0; }
};

static int leaf(int x)
{
    if (x > 2)
        throw std::runtime_error("leaf");
    return x;
}

/* Has something to clean up on the way. */
static int guarded(int x)
{
    guard kept{x};
    int r = leaf(x);
    return r + kept.n;
}

static int catches(int x)
{
    try {
        return guarded(x);
    } catch (const std::exception &) {
        return -1;
    }
}

static int middle(int x)
{
    int r = guarded(x); /* middle 1 */
    return r + 1;
}

static int work(int x)
{
    int sum = catches(5); /* work 1 */
    sum += catches(1);    /* work 2 */
    try {
        sum += guarded(x); /* work 3 */
        sum += 100;
    } catch (std::runtime_error &) { /* work 4 */
        sum += 1;                    /* work 5 */
    } /* caught one */
    try {
        sum += middle(x); /* work 6 */
        sum += 100;
    } catch (...) {
        sum += 2; /* work 7 */
    } /* caught two */
    try {
        sum += middle(x); /* work 8 */
    } catch (...) {
        sum += 3; /* work 9 */
    }
    return sum;
}

int main()
{
    std::printf("%d\n", work(3));
    return 0;
}
