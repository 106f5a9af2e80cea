/* C expressions over the variables of a stopped thread.
 *
 *   names         x, ns::x, 'file.c'::x, 'holder<int>::x', $rip ... $r15, $eax, $pc, $sp, $fp; .omp_data_i
 *   of values     a.b  p->b  a[i]  a[i:j] (both included; a[:] a[i:] a[:j])  a(i, j) (Fortran's order)  *p &x
 *                 (type)x  sizeof x  sizeof(type)  x@n (n of them, from x on)  struct%member (Fortran)
 *   arithmetic    + - * / % << >> & | ^ ~ ! && || == != < <= > >= ?: as in C
 *   in Fortran    ** /= .eq. .ne. .lt. .le. .gt. .ge. .and. .or. .eqv. .neqv. .not.; % is never a remainder
 *   literals      12 0x1f 017 1.5e3 'c', with C's suffixes
 *
 * Nothing of the program is changed, and none of its functions is called. */
#ifndef TG_LIVE_INSPECT_EXPRESSION_EXPRESSION_H
#define TG_LIVE_INSPECT_EXPRESSION_EXPRESSION_H

#include "live/inspect/value/value.h"

/* Parsed once, evaluated in any scene. Not thread-safe: it remembers what names were found to be. */
struct tg_expression;

/* Errors: USAGE, LIMIT. *POSITION (may be NULL) is then the byte of TEXT where it is wrong. */
struct tg_error *tg_expression_parse(const char *text, struct tg_expression **expression, size_t *position);
/* NULL is accepted. */
void tg_expression_destroy(struct tg_expression *expression);

/* The value of EXPRESSION in SCENE, valid as long as both. Errors, with *POSITION as above: NOT_FOUND (a
 * name; similar ones are told), USAGE (what cannot be asked of such a value), TARGET (memory or a register
 * that cannot be read). */
struct tg_error *tg_expression_evaluate(struct tg_expression *expression, const struct tg_scene *scene,
                                        struct tg_value *value, size_t *position);

/* Whether all names of EXPRESSION are known in SCENE, of whose frame only the pc has to be known: no value is asked for, and
 * members are not looked at. NOT_FOUND errors, with *POSITION as above. */
struct tg_error *tg_expression_check_names(struct tg_expression *expression, const struct tg_scene *scene,
                                           size_t *position);

/* Whether $NAME is a register. */
bool tg_expression_is_register(const char *name);

#endif
