#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "format/image/mangled_name.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "a::b::f" of SYMBOL, or "". */
static const char *join(const char *symbol)
{
    static char text[512];
    struct tg_mangled_name name;
    text[0] = '\0';
    if (!tg_mangled_name_parse(symbol, &name))
        return text;
    for (size_t i = 0; i < name.count; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s%.*s", i > 0 ? "::" : "",
                 name.parts[i].is_destructor ? "~" : "", (int)name.parts[i].length, name.parts[i].text);
    return text;
}

static void names_are_split(void **state)
{
    (void)state;
    assert_string_equal(join("_Z5solvei"), "solve");
    assert_string_equal(join("_ZL5solvei"), "solve");
    assert_string_equal(join("_Z5solveIdEvT_"), "solve");
    assert_string_equal(join("_ZN4mesh5solveEi"), "mesh::solve");
    assert_string_equal(join("_ZNK4mesh4grid4sizeEv"), "mesh::grid::size");
    assert_string_equal(join("_ZN4meshL6helperEv"), "mesh::helper");
    assert_string_equal(join("_ZN12_GLOBAL__N_15solveEv"), "_GLOBAL__N_1::solve");
    assert_string_equal(join("_ZN4mesh4gridC2Ei"), "mesh::grid::grid");
    assert_string_equal(join("_ZN4mesh4gridD1Ev"), "mesh::grid::~grid");
    assert_string_equal(join("_ZSt4sortIPiEvT_S1_"), "std::sort");
    assert_string_equal(join("_ZNSt6vectorIiSaIiEE9push_backERKi"), "std::vector::push_back");
    assert_string_equal(join("_ZN6holderINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEE3getEv"),
                        "holder::get");
    assert_string_equal(join("_ZN6matrixIdLi3ELb1EE3mulERKS0_"), "matrix::mul");
    assert_string_equal(join("_ZN6matrixIA4_dE3mulEv"), "matrix::mul");
    assert_string_equal(join("_ZN4callIFviEE2goEv"), "call::go");
    assert_string_equal(join("_ZN1aB5cxx111fEv"), "a::f");
    assert_string_equal(join("_Z5solvei.constprop.0"), "solve");
}

static void others_are_none(void **state)
{
    (void)state;
    static const char *const symbols[] = {
        "",
        "_",
        "_Z",
        "solve",
        "_Zsolve",
        "_Z5sol",
        "_Z0v",
        "_ZN",
        "_ZN4mesh",
        "_ZN4meshE",
        "_ZN4mesh5solve",
        "_ZN6holderI",
        "_ZN6holderIiE",
        "_ZN6holderIiE3get",
        "_ZN6holderIS",
        "_ZN6holderIL",
        "_ZN6holderID",
        "_ZN6holderILZ4mainEEE3getEv",
        "_ZZ4mainE1x",
        "_ZZ4mainENKUlvE_clEv",
        "_ZN4meshplERKS_",
        "_Z99999999x",
        "_Z5solvei.cold",
        "_ZTV4mesh",
        "_ZC1v",
        "_ZN1a1b1c1d1e1f1g1h1i1j1k1l1m1n1o1p1qEv",
    };
    struct tg_mangled_name name;
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++)
        if (tg_mangled_name_parse(symbols[i], &name) && strcmp(symbols[i], "_ZN4meshE") != 0)
            fail_msg("%s is split", symbols[i]);
}

static bool is_meant(const char *symbol, const char *text)
{
    struct tg_mangled_name name;
    return tg_mangled_name_parse(symbol, &name) && tg_mangled_name_ends_with(&name, text);
}

static void a_name_may_leave_out_what_is_around(void **state)
{
    (void)state;
    static const char grid[] = "_ZNK4mesh4grid4sizeEv";
    assert_true(is_meant(grid, "size"));
    assert_true(is_meant(grid, "grid::size"));
    assert_true(is_meant(grid, "mesh::grid::size"));
    assert_false(is_meant(grid, "ize"));
    assert_false(is_meant(grid, "rid::size"));
    assert_false(is_meant(grid, "mesh::size"));
    assert_false(is_meant(grid, "::mesh::grid::size"));
    assert_false(is_meant(grid, ":size"));
    assert_false(is_meant(grid, "grid"));
    assert_false(is_meant(grid, ""));
    assert_true(is_meant("_ZN4mesh4gridD1Ev", "~grid"));
    assert_true(is_meant("_ZN4mesh4gridD1Ev", "grid::~grid"));
    assert_false(is_meant("_ZN4mesh4gridD1Ev", "grid::grid"));
    assert_true(is_meant("_ZN4mesh4gridC1Ev", "grid::grid"));
    assert_true(is_meant("_ZN12_GLOBAL__N_15solveEv", "(anonymous namespace)::solve"));
    assert_true(is_meant("_ZN12_GLOBAL__N_15solveEv", "solve"));
    assert_true(is_meant("__fields_MOD_smooth", "smooth"));
    assert_true(is_meant("__fields_MOD_smooth", "fields::smooth"));
    assert_true(is_meant("__fields_MOD_smooth._omp_fn.0", "smooth"));
    assert_false(is_meant("__fields_MOD_smooth", "ields::smooth"));
    assert_false(is_meant("__fields_MOD_smooth", "fields"));
}

static void check_words(const char *symbol, const char *expected)
{
    char *words = tg_mangled_name_words(symbol);
    assert_non_null(words);
    assert_string_equal(words, expected);
    free(words);
}

static void words_are_for_people(void **state)
{
    (void)state;
    check_words("_ZN4mesh4grid5solveEi._omp_fn.0", "mesh::grid::solve._omp_fn.0");
    check_words("_ZN12_GLOBAL__N_15solveEv", "(anonymous namespace)::solve");
    check_words("_ZNSt6vectorIN3sim4AtomESaIS1_EE9push_backERKS1_", "std::vector<sim::Atom>::push_back");
    check_words("_ZNSt10unique_ptrIN3sim4GridESt14default_deleteIS1_EE5resetEPS1_",
                "std::unique_ptr<sim::Grid>::reset");
    check_words(
        "_ZNSt3mapINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEiSt4lessIS5_ESaISt4pairIKS5_"
        "iEEE2atERS9_",
        "std::map<std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char>>, int>::at");
    check_words("_ZN1aI1bSaIS0_E1cE1fEv", "a<b, c>::f");
    check_words("_ZN1aISaIS0_E1cE1fEv", "a<SaIS0_E1c>::f"); /* the first argument is nobody's default */
    check_words("_ZN1aI1bS0_E1fEv", "a<b, b>::f");
    check_words("__fields_MOD_smooth", "fields::smooth");
    check_words("__a_b1_MOD__c._omp_fn.0", "a_b1::_c._omp_fn.0");
    check_words("__fields_MOD_smooth.cold", "__fields_MOD_smooth.cold");
    check_words("__fields_MOD_Smooth", "__fields_MOD_Smooth");
    check_words("___MOD_smooth", "___MOD_smooth");
    check_words("__MOD_smooth", "__MOD_smooth");
    check_words("__fields_MOD_", "__fields_MOD_");
    check_words("__fields_MO", "__fields_MO");
    check_words("__", "__");
    check_words("_ZN4mesh4gridD1Ev", "mesh::grid::~grid");
    check_words("_ZNSt6vectorIiSaIiEE9push_backERKi@@V_3.4",
                "std::vector<int, std::allocator<int>>::push_back@@V_3.4");
    check_words("main._omp_fn.0", "main._omp_fn.0");
    check_words("", "");
}

static void operators_and_lambdas_have_names(void **state)
{
    (void)state;
    check_words("_ZNSt3mapIiN7Library14ArgumentChecksESt4lessIiESaISt4pairIKiS1_EEEixERS5_",
                "std::map<int, Library::ArgumentChecks, std::less<int>>::operator[]");
    check_words("_ZN4meshplERKS_", "mesh::operator+");
    check_words("_ZplRK4meshS1_", "operator+");
    check_words("_Znwm", "operator new");
    check_words("_ZN4meshlsIiEEvT_", "mesh::operator<< <int>");
    check_words("_ZNK4meshclIiEEvT_", "mesh::operator()<int>");
    check_words("_ZNK4meshcviEv", "_ZNK4meshcviEv"); /* a conversion: its name is a type */
    check_words("_ZZ4mainENKUlvE_clEv", "main::{lambda#1}::operator()");
    check_words("_ZZ4mainENKUlvE8_clEv", "main::{lambda#10}::operator()");
    check_words("_ZZ4mainENKUlvE9_clEv", "main::UlvE9_::operator()");
    check_words("_ZZN4mesh5solveEiRK4cellENKUliE0_clEi._omp_fn.0",
                "mesh::solve::UliE0_::operator()._omp_fn.0");
    check_words("_ZZZ4mainENKUlvE_clEvENKUlvE0_clEv", "main::{lambda#1}::operator()::{lambda#2}::operator()");
    check_words("_ZZ4mainE1x", "main::x");
    check_words("_ZZ4mainENK4task3runEv", "main::task::run");
    check_words("_ZNSt8functionIFvvEEclEv", "std::function<FvvE>::operator()");
    check_words("_ZN6holderIZ4mainEUlvE_E3getEv", "holder<Z4mainEUlvE_>::get");
    check_words("_ZN6holderIZN1a1bEvEUliE12_E9_M_invokeEv", "holder<ZN1a1bEvEUliE12_>::_M_invoke");
    check_words("_ZZ4mainENKUl", "_ZZ4mainENKUl");
    check_words("_ZZ4main", "_ZZ4main");
    check_words("_ZZZZZZ", "_ZZZZZZ");
}

static void instances_are_told_apart(void **state)
{
    (void)state;
    check_words("_ZN1SIdE5solveEv", "S<double>::solve");
    check_words("_ZN1SIfE5solveEv", "S<float>::solve");
    check_words("_Z5solveILi3EEvv", "solve<3>");
    check_words("_Z5solveILin3ELb1EEvv", "solve<-3, true>");
    check_words("_ZN4mesh4gridIPKdLj16EE5solveEv", "mesh::grid<const double*, 16>::solve");
    check_words("_ZN1SIN4mesh4cellIfEEE3runEv", "S<mesh::cell<float>>::run");
    check_words("_ZN1SISsSt6vectorI4cellSaIS1_EEE3runEv", "S<std::string, std::vector<cell>>::run");
    check_words("_ZN1SIdEC2Ev", "S<double>::S");
    check_words("_ZN1SIdED0Ev", "S<double>::~S");
    check_words("_ZN1SIJdiEE3runEv", "S<JdiE>::run");
    check_words("_ZN1SIFvvEE3runEv", "S<FvvE>::run");
    assert_true(is_meant("_ZN1SIdE5solveEv", "S::solve"));
    assert_true(is_meant("_ZN1SIdE5solveEv", "S<double>::solve"));
    assert_false(is_meant("_ZN1SIdE5solveEv", "S<float>::solve"));
    assert_false(is_meant("_ZN1S5solveEv", "S<float>::solve"));
    assert_string_equal(tg_mangled_name_last("S<mesh::cell>::solve"), "solve");
}

static void references_are_resolved(void **state)
{
    (void)state;
    check_words("_ZN6miniFE6daxpbyINS_6VectorIdiiEEEEvdRKT_dS4_.constprop.0",
                "miniFE::daxpby<miniFE::Vector<double, int, int>>.constprop.0");
    check_words("_ZN6miniFE10matvec_stdINS_9CSRMatrixIdiiEENS_6VectorIdiiEEEclERS2_S5_._omp_fn.0",
                "miniFE::matvec_std<miniFE::CSRMatrix<double, int, int>, miniFE::Vector<double, int, "
                "int>>::operator()._omp_fn.0");
    check_words("_ZN1aINS_1bEPKS0_RS1_E1fEv", "a<a::b, const a::b*, const a::b&>::f");
    check_words("_ZN1aIN1b1cENS0_1dEE1fEv", "a<b::c, b::d>::f");
    check_words("_Z1fI1aIiES1_Evv", "f<a<int>, a<int>>");
    check_words("_Z1fISt6vectorIiSaIiEES2_Evv", "f<std::vector<int, std::allocator<int>>, "
                                                "std::vector<int, std::allocator<int>>>");
    check_words("_ZZN1a5solveIiEEvvE4lock", "a::solve<int>::lock");
    check_words("_ZN1a1bIS_E1cIS0_EEvv", "a::b<a>::c<a::b>");
    check_words("_ZN1aIFvvENS_1bEE1fEv", "a<FvvENS_1bE>::f"); /* what is not understood counts, too */
    check_words("_ZN1aIFvvEE1bINS_1cEE1fEv", "a<FvvE>::b<NS_1cE>::f");
    check_words("_ZN1aINS9_1bEE1fEv", "a<NS9_1bE>::f");
    check_words("_ZN1aINSZZZZZZZZZZZZZZZZ_1bEE1fEv", "a<NSZZZZZZZZZZZZZZZZ_1bE>::f");
    check_words("_ZN1aINS_1bE", "_ZN1aINS_1bE");
    assert_true(is_meant("_ZN6miniFE3dotINS_6VectorIdiiEEEEvRKT_", "dot<miniFE::Vector<double, int, int>>"));
    assert_false(is_meant("_ZN6miniFE3dotINS_6VectorIdiiEEEEvRKT_", "dot<miniFE::Vector<float, int, int>>"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_split),
        cmocka_unit_test(others_are_none),
        cmocka_unit_test(a_name_may_leave_out_what_is_around),
        cmocka_unit_test(words_are_for_people),
        cmocka_unit_test(operators_and_lambdas_have_names),
        cmocka_unit_test(instances_are_told_apart),
        cmocka_unit_test(references_are_resolved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
