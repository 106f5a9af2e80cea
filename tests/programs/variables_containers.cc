/*
 * libstdc++'s containers. Says for each expression what its value is, EXPRESSION <tab> TEXT, then stops by a
 * breakpoint instruction.
 */
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <deque>
#include <forward_list>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <set>
#include <stack>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

struct point {
    int x, y;
};
template <class T> struct vector_of_mine {
    T first;
};
namespace mine
{
template <class T> struct vector {
    T only;
};
} // namespace mine

static void say(const char *expression, const char *text)
{
    std::printf("%s\t%s\n", expression, text);
}

int main()
{
    std::vector<int> numbers{1, 2, 3}, none, same(20, 7);
    std::vector<std::string> words{"a", "bc"};
    std::vector<point> points{{1, 2}, {3, 4}};
    std::vector<bool> bits{true, false, true};
    std::vector<std::vector<double>> rows{{1.5}, {}, {2.5, 3.5}};
    std::array<short, 3> three{{4, 5, 6}};
    std::string shorter = "short", longer(30, 'x'), zero("a\0b", 3), empty;
    std::string_view view(shorter.data(), 2);
    std::map<std::string, int> ages{{"bob", 3}, {"amy", 4}, {"eve", 5}};
    std::map<int, long double> wide{{1, 2.5L}};
    std::map<int, int> nothing;
    auto *circle = new std::map<int, int>; /* never destroyed */
    for (int i = 0; i < 3; i++)
        (*circle)[i] = i;
    /* the last node's right child is the first one: its elements never end, and its number is not to be believed */
    auto *header = reinterpret_cast<uintptr_t *>(circle) + 1;
    auto *last = reinterpret_cast<uintptr_t *>(header[3]);
    last[3] = header[2];
    reinterpret_cast<uintptr_t *>(circle)[5] = 7;
    std::multimap<char, int> twice{{'b', 2}, {'a', 1}, {'b', 3}};
    std::set<int> ordered{3, 1, 2};
    std::unordered_map<int, std::string> hashed{{5, "five"}};
    std::unordered_set<double> reals{0.5};
    std::list<int> linked{1, 2};
    std::forward_list<int> forward{8, 9};
    std::deque<int> deque;
    for (int i = 0; i < 150; i++)
        deque.push_back(i);
    for (int i = 0; i < 140; i++)
        deque.pop_front();
    deque.push_front(-1);
    std::stack<int> stack;
    stack.push(1);
    stack.push(2);
    std::priority_queue<int> queue;
    queue.push(5);
    auto shared = std::make_shared<point>(point{7, 8});
    auto other = shared;
    std::weak_ptr<point> weak = shared;
    std::shared_ptr<int> null;
    auto unique = std::make_unique<int>(42);
    std::optional<int> some = 6, no;
    const std::vector<int> &reference = numbers;
    mine::vector<int> own{3};
    vector_of_mine<int> own_too{4};

    say("numbers", "std::vector of 3 = {1, 2, 3}");
    say("numbers[1]", "2");
    say("numbers[1:2]", "{2, 3}");
    say("*numbers", "1");
    say("reference[2] + 1", "4");
    say("none", "std::vector of 0 = {}");
    say("same", "std::vector of 20 = {7 <repeats 20 times>}");
    say("words", "std::vector of 2 = {\"a\", \"bc\"}");
    say("words[1]", "\"bc\"");
    say("points", "std::vector of 2 = {{x = 1, y = 2}, {x = 3, y = 4}}");
    say("points[1].y", "4");
    say("bits", "std::vector of 3 = {true, false, true}");
    say("rows[2]", "std::vector of 2 = {2.5, 3.5}");
    say("rows[2][1]", "3.5");
    say("rows", "std::vector of 3 = {std::vector of 1 = {1.5}, std::vector of 0 = {}, std::vector of 2 = "
                "{2.5, 3.5}}");
    say("three", "std::array of 3 = {4, 5, 6}");
    say("shorter", "\"short\"");
    say("shorter[1]", "104 'h'");
    say("longer", "'x' <repeats 30 times>");
    say("zero", "\"a\\000b\"");
    say("empty", "\"\"");
    say("view", "\"sh\"");
    say("ages", "std::map of 3 = {[\"amy\"] = 4, [\"bob\"] = 3, [\"eve\"] = 5}");
    say("wide", "std::map of 1 = {[1] = 2.5}");
    say("nothing", "std::map of 0 = {}");
    say("twice", "std::multimap of 3 = {[97 'a'] = 1, [98 'b'] = 2, [98 'b'] = 3}");
    say("ordered", "std::set of 3 = {1, 2, 3}");
    say("hashed", "std::unordered_map of 1 = {[5] = \"five\"}");
    say("reals", "std::unordered_set of 1 = {0.5}");
    say("linked", "std::list of 2 = {1, 2}");
    say("forward", "std::forward_list = {8, 9}");
    say("deque", "std::deque of 11 = {-1, 140, 141, 142, 143, 144, 145, 146, 147, 148, 149}");
    say("stack", "std::stack of 2 = {1, 2}");
    say("queue", "std::priority_queue of 1 = {5}");
    say("shared->y", "8");
    say("*other", "{x = 7, y = 8}");
    std::printf("weak\tstd::weak_ptr (use count 2, weak count 1) = (element_type *) %p\n",
                (void *)shared.get());
    std::printf("null\tstd::shared_ptr = (element_type *) 0x0\n");
    say("*unique", "42");
    say("some", "std::optional = 6");
    say("no", "std::optional with no value");
    say("own", "{only = 3}");
    say("own_too", "{first = 4}");

    /* damaged ones: a beginning behind its end, a tree that is a circle, a number of elements that cannot be */
    alignas(std::vector<int>) unsigned char storage[sizeof(std::vector<int>)];
    auto &damaged = *reinterpret_cast<std::vector<int> *>(storage);
    const uintptr_t wrong[3] = {64, 32, 16};
    std::memcpy(storage, wrong, sizeof wrong);
    say("*circle", "std::map of 7 = {[0] = 0, [1] = 1, [2] = 2, [0] = 0, [1] = 1, [2] = 2, [0] = 0}");
    std::printf("damaged\t(vector<int, std::allocator<int> > &) @%p: std::vector <error: not constructed "
                "here, or damaged: "
                "its beginning, end and capacity do not agree>\n",
                (void *)storage);
    std::fflush(stdout);
    __asm__ volatile("int3" : : "r"(&damaged), "r"(&own), "r"(&own_too), "r"(&reference) : "memory");
    return 0;
}
