/* The names of C++ functions, and of the procedures of Fortran's modules, in symbol tables, as far as who
 * looks for a function by its name needs them. Sources: the Itanium C++ ABI, "External Names (a.k.a.
 * Mangling)"; The GNU Fortran Compiler, "Naming conventions". */
#ifndef TG_FORMAT_IMAGE_MANGLED_NAME_H
#define TG_FORMAT_IMAGE_MANGLED_NAME_H

#include <stdbool.h>
#include <stddef.h>

enum { TG_MANGLED_MAX_PARTS = 16 };

/* A namespace, a class, a module or the function. */
struct tg_mangled_part {
    const char *text; /* in the symbol, not NUL-terminated */
    size_t length;
    const char *arguments; /* of a template, in the symbol, from its I to its E; NULL none */
    size_t arguments_length;
    bool is_destructor; /* written ~text */
};

struct tg_mangled_name {
    struct tg_mangled_part parts[TG_MANGLED_MAX_PARTS]; /* outermost first; the last one is the function */
    size_t count;
    size_t n_ordered; /* the first ones, which no parameters of a function are in front of */
};

/* Splits SYMBOL. False where it is not the symbol of a function with a name of its own: of operators,
 * lambdas, what is local to a function, parts of functions that are only jumped into (".cold"), other
 * manglings; and where there are more parts than that. Constructors have the name of their class. Any bytes
 * may come; linear. */
bool tg_mangled_name_parse(const char *symbol, struct tg_mangled_name *name);

/* Whether TEXT, parts with `::` between them, is the whole name or the end of it. Template arguments may be left out;
 * where they are not, they are as tg_mangled_name_words has them. */
bool tg_mangled_name_ends_with(const struct tg_mangled_name *name, const char *text);

/* The last part of TEXT, without a destructor's ~: what is in the symbol of whatever TEXT means. */
const char *tg_mangled_name_last(const char *text);

/* SYMBOL as people read it, for the caller to free: a::B<double, 3>::f of a C++ function, m::f of module m, with what the
 * compiler put behind the symbol (f._omp_fn.0); also of operators, of lambdas (f::{lambda#2}::operator(); with parameters
 * f::UliE0_::operator(), as in the symbol) and of what else is local to a function; any other symbol as it is. Template
 * arguments that are not understood stay as they are in the symbol (B<FvvE>), so that two instances are never one; but what
 * a standard container has by default is left out (std::vector<a::B>). NULL without memory. */
char *tg_mangled_name_words(const char *symbol);

#endif
