/* Variables of all kinds. Says for each expression what its value is, EXPRESSION <tab> TEXT, then stops by a
 * breakpoint instruction, in look() or, argument "inlined", in a function that is inlined into it. */
#include <complex.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum color { RED, GREEN = 5, BLUE };
enum flags { FLAG_A = 1, FLAG_B = 2, FLAG_C = 4 };

struct point {
    int x, y;
};

typedef struct node {
    struct node *next;
    const char *name;
    struct point at;
    union {
        int as_int;
        float as_float;
    };
    unsigned narrow : 3;
    int negative : 5;
    bool flag : 1;
} node_t;

typedef int (*operation_t)(int, int);

struct everything {
    node_t node;
    char text[16];
    double reals[3];
    enum color color;
    operation_t operation;
    struct point points[2];
};

struct only_declared;

static int add(int a, int b)
{
    return a + b;
}

enum flags flags = FLAG_B;
int counter = 41;
static int hidden __attribute__((used)) = -7;
volatile unsigned long long wide = 0xfedcba9876543210ULL;
__thread int per_thread = 77;
static __thread long thread_array[3] __attribute__((used)) = {1, 2, 3};
struct only_declared *opaque;
int zeros[200];
int grid[2][3] = {{1, 2, 3}, {4, 5, 6}};
const char *greeting = "hello \"you\"\n\x1b[31m";
char buffer[12] = "abc";
struct everything all = {
    .node = {.name = "first", .at = {3, -4}, .as_int = 0x40490fdb, .narrow = 5, .negative = -3, .flag = true},
    .text = "some text",
    .reals = {0.5, -1.25, 1e300},
    .color = BLUE,
    .operation = add,
    .points = {{1, 2}, {3, 4}}};
node_t second = {.name = NULL, .next = &all.node};

static void say(const char *expression, const char *value)
{
    printf("%s\t%s\n", expression, value);
}

#define SAY(expression, ...)                                                                                 \
    do {                                                                                                     \
        char value_[256];                                                                                    \
        snprintf(value_, sizeof value_, __VA_ARGS__);                                                        \
        say(expression, value_);                                                                             \
    } while (0)

static void say_globals(void)
{
    SAY("counter", "%d", counter);
    SAY("&counter", "(int *) %p <counter>", (void *)&counter);
    SAY("&grid[1][0]", "(int *) %p <grid+12>", (void *)&grid[1][0]);
    SAY("hidden", "%d", hidden);
    SAY("'variables.c'::hidden", "%d", hidden);
    SAY("wide", "%llu", wide);
    SAY("per_thread", "%d", per_thread);
    SAY("thread_array", "{%ld, %ld, %ld}", thread_array[0], thread_array[1], thread_array[2]);
    SAY("&per_thread", "(int *) %p", (void *)&per_thread);
    SAY("zeros", "{0 <repeats 200 times>}");
    SAY("grid", "{{1, 2, 3}, {4, 5, 6}}");
    SAY("grid[1]", "{4, 5, 6}");
    SAY("grid[1][2]", "6");
    SAY("grid[0:1][1:2]", "{{2, 3}, {5, 6}}");
    SAY("grid[1][0:1]", "{4, 5}");
    SAY("*grid[1]@2", "{4, 5}");
    SAY("sizeof grid", "%zu", sizeof grid);
    SAY("sizeof(struct everything)", "%zu", sizeof(struct everything));
    SAY("sizeof(node_t)", "%zu", sizeof(node_t));
    SAY("buffer", "\"abc\\000\\000\\000\\000\\000\\000\\000\\000\"");
    SAY("buffer[1]", "98 'b'");
    SAY("all.node.at", "{x = 3, y = -4}");
    SAY("all.node.as_float", "%.9g", (double)all.node.as_float);
    SAY("all.node.narrow", "5");
    SAY("all.node.negative", "-3");
    SAY("all.node.flag", "true");
    SAY("all.color", "BLUE");
    SAY("all.points[1].y", "4");
    SAY("all.reals", "{0.5, -1.25, %.17g}", 1e300);
    SAY("second.next->at.x", "3");
    SAY("second.next->next", "(struct node *) 0x0");
    SAY("*second.next->name", "102 'f'");
    SAY("second.name", "0x0");
    SAY("(enum color)5", "GREEN");
    SAY("(enum flags)5", "(FLAG_A | FLAG_C)");
    SAY("(enum flags)9", "(FLAG_A | unknown: 0x8)");
    SAY("BLUE", "BLUE");
    SAY("counter + 1", "42");
    SAY("counter * 2 - hidden % 4 == 85", "1");
    SAY("counter / 2.0", "20.5");
    SAY("-counter >> 1", "%d", -counter >> 1);
    SAY("(unsigned char)300", "44 ','");
    SAY("(unsigned)-1 > 0", "1");
    SAY("wide & 0xff", "16");
    SAY("counter > 40 && hidden < 0 ? 'y' : 'n'", "121 'y'");
    SAY("&grid[1][0] - &grid[0][0]", "3");
    SAY("*(&counter)", "41");
    SAY("((struct point *)&all.points)[1].x", "3");
    SAY("(node_t *)second.next == second.next", "1");
    SAY("(size_t)counter", "41");
    SAY("(long)-counter", "-41");
    SAY("!counter", "0");
    SAY("~counter", "%d", ~counter);
    SAY("0x10 + 010 + 1.5e1", "39");
}

static inline __attribute__((always_inline)) int inlined(int number, const char *mode)
{
    int twice = number * 2;
    if (strcmp(mode, "inlined") == 0) {
        SAY("number", "%d", number);
        SAY("twice", "%d", twice);
        fflush(stdout);
        __asm__ volatile("int3" : : "r"(twice), "r"(number));
    }
    return twice;
}

__attribute__((noinline)) static int look(int argument, const char *mode, double real, const node_t *node,
                                          long size)
{
    static volatile int calls = 10;
    char letters[size];
    float complex turned = 1.5f - 2.0f * I;
    long double longer = 2.5L;
    bool truth = argument > 0;
    __int128 huge = (__int128)argument << 80;
    operation_t operation = add;
    signed char small = -5;
    int result = 0;
    memset(letters, 'z', (size_t)size);
    calls += argument;
    result = inlined(argument, mode);
    if (strcmp(mode, "inlined") != 0) {
        int argument_inside = argument + 1;
        int shadowed = 1;
        {
            int shadowed = 2;
            SAY("argument", "%d", argument);
            SAY("calls", "%d", calls);
            SAY("real", "%.17g", real);
            SAY("node->at.y", "%d", node->at.y);
            SAY("sizeof letters", "%ld", size);
            SAY("letters[3]", "122 'z'");
            SAY("turned", "1.5 - 2i");
            SAY("longer", "2.5");
            SAY("truth", "true");
            SAY("(long)(huge == 0)", "0");
            SAY("small", "-5 '\\373'");
            SAY("argument_inside", "%d", argument_inside);
            SAY("shadowed", "2");
            SAY("operation == add", "1");
            fflush(stdout);
            __asm__ volatile("int3"
                             :
                             : "r"(&shadowed), "r"(&turned), "r"(&longer), "r"(&truth), "r"(&huge),
                               "r"(&operation), "r"(&small), "r"(argument_inside));
        }
        result += shadowed;
    }
    return result + argument + (int)real + node->at.x + letters[0];
}

int main(int argc, char **argv)
{
    say_globals();
    int status = look(argc + 1, argc > 1 ? argv[1] : "", 6.25 + argc, &all.node, argc + 5);
    return status == 0 ? 1 : 0;
}
