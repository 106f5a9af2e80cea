/* Three C++ programs in one, with leaks that they count themselves: each says on standard output "FUNCTION BLOCKS BYTES" of
 * what is lost, with what only that refers to. What they keep until the end is no leak. */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#define APART __attribute__((noinline))

static void say(const char *where, size_t blocks, size_t bytes)
{
    printf("%s %zu %zu\n", where, blocks, bytes);
    fflush(stdout);
}

/* Calls FUNCTION so far down the stack that nothing of what its calls leave there is among what is called at the end. */
APART static void below(void (*function)())
{
    volatile char room[65536];
    room[0] = room[sizeof room - 1] = 0;
    function();
    room[1] = 0;
}

/* ---- shapes: a destructor that is not virtual, a second base, arrays with a count in front */

struct shape {
    int kind = 1;
    ~shape()
    {
    }
};
struct polygon : shape {
    char *name = strdup("a polygon's name");
    ~polygon()
    {
        free(name);
    }
};
struct first {
    virtual ~first()
    {
    }
    long x = 1;
};
struct second {
    virtual ~second()
    {
    }
    long y = 2;
};
struct both : first, second {
    std::string text = std::string(100, 'b');
};
static second *volatile kept_second;
static std::string *volatile kept_array;
static void *volatile lost;

APART static void slice()
{
    shape *one = static_cast<shape *>(new polygon);
    delete one; /* not ~polygon: the name is lost */
    say("polygon", 1, sizeof "a polygon's name");
}
APART static void lose_array()
{
    lost = new both[3]; /* a block with a count, three strings that it refers to */
    lost = nullptr;
    say("lose_array", 1, sizeof(size_t) + 3 * sizeof(both));
    say("both", 3, 3 * 101);
}
static int shapes()
{
    kept_second = new both; /* a pointer into it */
    kept_array = new std::string[5];
    below(slice);
    below(lose_array);
    return 0;
}

/* ---- owners: shared pointers in a circle, one released, an exception between new and delete */

struct node {
    std::shared_ptr<node> next;
    char bytes[40] = {0};
};
static std::map<std::string, std::unique_ptr<node>> index_of_all;

APART static void circle()
{
    auto a = std::make_shared<node>();
    auto b = std::make_shared<node>();
    a->next = b;
    b->next = a;
    say("circle", 2, 2 * (sizeof(node) + 16)); /* with two counters and a table of functions */
}
APART static void release()
{
    auto one = std::make_unique<node>();
    lost = one.release();
    lost = nullptr;
    say("release", 1, sizeof(node));
}
APART static void fail(const char *what)
{
    throw std::runtime_error(what);
}
APART static void unwind()
{
    try {
        char *bytes = new char[321];
        lost = bytes;
        fail("an exception");
        delete[] bytes;
    } catch (const std::exception &) {
        lost = nullptr;
        say("unwind", 1, 321);
    }
}
static int owners()
{
    for (int i = 0; i < 50; i++)
        index_of_all["a key that does not fit into the string itself " + std::to_string(i)] =
            std::make_unique<node>();
    below(circle);
    below(release);
    below(unwind);
    return 0;
}

/* ---- containers: of plain pointers, cleared; a list by hand; placement */

struct item {
    item *next = nullptr;
    int value = 0;
};

APART static void clear_pointers()
{
    std::vector<item *> items;
    for (int i = 0; i < 20; i++)
        items.push_back(new item);
    say("clear_pointers", 20, 20 * sizeof(item));
}
APART static void lose_list()
{
    item *head = nullptr;
    for (int i = 0; i < 30; i++) {
        item *one = new item;
        one->next = head;
        head = one;
    }
    lost = head;
    lost = nullptr;
    say("lose_list", 30, 30 * sizeof(item));
}
APART static void place()
{
    void *room = malloc(2 * sizeof(item));
    lost = new (room) item;
    lost = nullptr;
    say("place", 1, 2 * sizeof(item));
}
static int containers()
{
    below(clear_pointers);
    below(lose_list);
    below(place);
    return 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)();
    } programs[] = {{"shapes", shapes}, {"owners", owners}, {"containers", containers}};
    for (const auto &program : programs)
        if (argc > 1 && strcmp(argv[1], program.name) == 0)
            exit(program.run());
    return 2;
}
