#include "format/image/mangled_name.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_IDENTIFIER_DIGITS = 6, MAX_DEPTH = 256, MAX_NESTED_ARGUMENTS = 32, MAX_SUBSTITUTIONS = 64 };

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* A number at *AT and the bytes that it counts; NULL where they are not there. Moves on behind them. */
static const char *take_identifier(const char **at, size_t *length)
{
    size_t digits = strspn(*at, "0123456789");
    *length = 0;
    if (digits == 0 || digits > MAX_IDENTIFIER_DIGITS)
        return NULL;
    for (size_t i = 0; i < digits; i++)
        *length = 10 * *length + (size_t)((*at)[i] - '0');
    const char *text = *at + digits;
    if (*length == 0 || strnlen(text, *length) < *length)
        return NULL;
    *at = text + *length;
    return text;
}

/* Behind a substitution (S_, S1a_, St, Ss ...) or a template parameter (T_, T0_); NULL where it is none. */
static const char *skip_reference(const char *at)
{
    if (*at == 'S' && at[1] != '\0' && strchr("tabsiod", at[1]) != NULL)
        return at + 2;
    at += 1 + strspn(at + 1, *at == 'S' ? "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ" : "0123456789");
    return *at == '_' ? at + 1 : NULL;
}

/* Behind a literal template argument of a builtin type: Li5E, Lb1E, Lin3E. */
static const char *skip_literal(const char *at)
{
    if (at[1] < 'a' || at[1] > 'z')
        return NULL;
    const char *end = strchr(at, 'E');
    return end != NULL ? end + 1 : NULL;
}

/* Behind what begins with D and is no nesting: Dn, Dp, DF16_, Dv4_. */
static const char *skip_extended(const char *at)
{
    if (at[1] == '\0')
        return NULL;
    const char *next = at + 2;
    if (at[1] == 'F' || at[1] == 'v') {
        next += strspn(next, "0123456789");
        next += *next == '_' || *next == 'b' || *next == 'x';
    }
    return next;
}

/* Behind the number of a lambda, at AT: _, 0_, 17_. */
static const char *skip_lambda_number(const char *at)
{
    at += strspn(at, "0123456789");
    return *at == '_' ? at + 1 : NULL;
}

/* Behind the E that ends DEPTH lists which have begun before AT; with DEPTH 0 behind the list that begins there. What is
 * nested is counted, not understood: of types only names and references need care, because their letters could be taken for
 * something else. */
static const char *skip_nested(const char *at, size_t depth)
{
    size_t length;
    bool is_lambda[MAX_DEPTH + 1]; /* what has begun at each depth */
    is_lambda[depth] = false;
    do {
        char c = *at;
        if (c == '\0' || depth >= MAX_DEPTH)
            return NULL;
        if (is_digit(c)) {
            if (take_identifier(&at, &length) == NULL)
                return NULL;
        } else if (c == 'S' || c == 'T') {
            at = skip_reference(at);
        } else if (c == 'L') {
            at = skip_literal(at);
        } else if (c == 'A') { /* an array's extent */
            at += 1 + strspn(at + 1, "0123456789");
        } else if (c == 'D' && at[1] != 't' && at[1] != 'T') {
            at = skip_extended(at);
        } else if (c == 'E') {
            if (depth == 0)
                return NULL;
            at = is_lambda[depth--] ? skip_lambda_number(at + 1) : at + 1;
        } else {
            bool is_list = c == 'I' || c == 'J' || c == 'N' || c == 'F' || c == 'X' || c == 'D' || c == 'Z';
            bool begins_lambda = c == 'U' && at[1] == 'l';
            if (is_list || begins_lambda)
                is_lambda[++depth] = begins_lambda;
            at += c == 'D' || begins_lambda ? 2 : 1;
        }
        if (at == NULL)
            return NULL;
    } while (depth > 0);
    return at;
}

/* Behind the template arguments at AT, an I up to its E. */
static const char *skip_template_arguments(const char *at)
{
    return skip_nested(at, 0);
}

static bool add_part(struct tg_mangled_name *name, struct tg_mangled_part part)
{
    if (name->count == TG_MANGLED_MAX_PARTS)
        return false;
    name->parts[name->count++] = part;
    return true;
}

/* ---- names that only people read */

/* "operator[]" at AT, an operator's name; NULL: it is none. */
static const char *take_operator(const char **at, size_t *length)
{
    static const char *const names[] = {
        "nw operator new", "na operator new[]", "dl operator delete", "da operator delete[]",
        "pl operator+",    "mi operator-",      "ml operator*",       "dv operator/",
        "rm operator%",    "an operator&",      "or operator|",       "eo operator^",
        "aS operator=",    "pL operator+=",     "mI operator-=",      "mL operator*=",
        "dV operator/=",   "rM operator%=",     "aN operator&=",      "oR operator|=",
        "eO operator^=",   "ls operator<<",     "rs operator>>",      "lS operator<<=",
        "rS operator>>=",  "eq operator==",     "ne operator!=",      "lt operator<",
        "gt operator>",    "le operator<=",     "ge operator>=",      "ss operator<=>",
        "nt operator!",    "aa operator&&",     "oo operator||",      "pp operator++",
        "mm operator--",   "cm operator,",      "pm operator->*",     "pt operator->",
        "cl operator()",   "ix operator[]",     "co operator~",       "ng operator-",
        "ps operator+",    "ad operator&",      "de operator*"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(*at, names[i], 2) == 0) {
            *at += 2;
            *length = strlen(names[i]) - 3;
            return names[i] + 3;
        }
    return NULL;
}

/* A lambda without its parameters: the first of them in its function, the second, ... */
static const char *take_lambda(const char **at, size_t *length)
{
    static const char *const names[] = {"{lambda#1}", "{lambda#2}", "{lambda#3}", "{lambda#4}",
                                        "{lambda#5}", "{lambda#6}", "{lambda#7}", "{lambda#8}",
                                        "{lambda#9}", "{lambda#10}"};
    if (strncmp(*at, "UlvE", 4) != 0)
        return NULL;
    const char *number = *at + 4;
    size_t i = *number == '_' ? 0 : is_digit(*number) ? (size_t)(*number - '0') + 1 : SIZE_MAX;
    const char *end = skip_lambda_number(number);
    if (end == NULL || end - number > 2 || i >= sizeof names / sizeof *names)
        return NULL;
    *at = end;
    *length = strlen(names[i]);
    return names[i];
}

/* A lambda with parameters, as it is in the symbol, so that two of them are never one; and any other. */
static const char *take_local_part(const char **at, size_t *length)
{
    const char *text = *at, *end = strncmp(text, "Ul", 2) == 0 ? skip_nested(text + 2, 1) : NULL;
    const char *lambda = take_lambda(at, length);
    if (lambda != NULL || end == NULL || (end = skip_lambda_number(end)) == NULL)
        return lambda;
    *at = end;
    *length = (size_t)(end - text);
    return text;
}

/* ---- parts */

/* One part of a name: an identifier, or what constructs or destroys the part before it; FOR_PEOPLE, also an operator or a
 * lambda. */
static const char *take_part(const char *at, bool for_people, struct tg_mangled_name *name)
{
    struct tg_mangled_part part = {0};
    if ((*at == 'C' || *at == 'D') && is_digit(at[1]) && name->count > 0) {
        part = name->parts[name->count - 1];
        part.arguments = NULL;
        part.arguments_length = 0;
        part.is_destructor = *at == 'D';
        at += 2;
    } else if (for_people && *at == 'U') {
        part.text = take_local_part(&at, &part.length);
    } else if (for_people && *at >= 'a' && *at <= 'z') {
        part.text = take_operator(&at, &part.length);
    } else {
        at += *at == 'L'; /* internal linkage */
        part.text = take_identifier(&at, &part.length);
        size_t tag;
        while (part.text != NULL && *at == 'B') { /* ABI tags */
            at++;
            if (take_identifier(&at, &tag) == NULL)
                return NULL;
        }
    }
    const char *arguments = at;
    if (part.text != NULL && *at == 'I') {
        at = skip_template_arguments(at);
        part.arguments = arguments;
        part.arguments_length = at == NULL ? 0 : (size_t)(at - arguments);
    }
    return part.text == NULL || at == NULL || !add_part(name, part) ? NULL : at;
}

/* Clones have their function's code, cold parts have not. */
static bool is_jumped_into(const char *symbol)
{
    return strstr(symbol, ".cold") != NULL;
}

/* __MODULE_MOD_PROCEDURE of GNU Fortran, which writes names in small letters. */
static bool parse_fortran(const char *symbol, struct tg_mangled_name *name)
{
    static const char small[] = "abcdefghijklmnopqrstuvwxyz0123456789_", joint[] = "_MOD_";
    const char *module = symbol + 2, *end = module + strspn(module, small);
    const char *own =
        end + sizeof joint - 2; /* the first sign of what joins them is a letter of names as well */
    if (end - module < 2 || strncmp(end - 1, joint, sizeof joint - 1) != 0)
        return false;
    size_t length = strspn(own, small);
    if (length == 0 || (own[length] != '\0' && strchr(".@", own[length]) == NULL))
        return false;
    return add_part(name, (struct tg_mangled_part){.text = module, .length = (size_t)(end - 1 - module)}) &&
           add_part(name, (struct tg_mangled_part){.text = own, .length = length});
}

/* The name at AT, nested or not; NULL: it is none. */
static const char *take_name(const char *at, bool for_people, struct tg_mangled_name *name)
{
    static const char std[] = "std";
    bool nested = *at == 'N';
    if (nested)
        at += 1 + strspn(at + 1, "rVKRO"); /* of a member: qualifiers */
    if (at[0] == 'S' && at[1] == 't') {
        add_part(name, (struct tg_mangled_part){.text = std, .length = sizeof std - 1});
        at += 2;
    }
    do {
        at = take_part(at, for_people, name);
    } while (nested && at != NULL && *at != 'E');
    return at != NULL && nested ? at + 1 : at;
}

/* FOR_PEOPLE: also names of operators, of lambdas, and of what is local to a function. */
static bool parse(const char *symbol, bool for_people, struct tg_mangled_name *name)
{
    name->count = 0;
    name->n_ordered = TG_MANGLED_MAX_PARTS;
    if (symbol[0] != '_' || is_jumped_into(symbol))
        return false;
    if (symbol[1] == '_')
        return parse_fortran(symbol, name);
    if (symbol[1] != 'Z')
        return false;
    const char *at = symbol + 2;
    size_t n_functions = for_people ? strspn(at, "Z") : 0; /* one in another, around the name */
    for (at += n_functions; n_functions > 0 && at != NULL; n_functions--) {
        at = take_name(at, true, name);
        at = at == NULL ? NULL : skip_nested(at, 1); /* behind the parameters */
        name->n_ordered = name->count < name->n_ordered ? name->count : name->n_ordered;
    }
    return at != NULL && take_name(at, for_people, name) != NULL;
}

bool tg_mangled_name_parse(const char *symbol, struct tg_mangled_name *name)
{
    return parse(symbol, false, name);
}

/* Source spelling of a part, without a destructor's ~. */
static const char *words_of(const struct tg_mangled_part *part, size_t *length)
{
    static const char prefix[] = "_GLOBAL__N_", anonymous[] = "(anonymous namespace)";
    if (part->length >= sizeof prefix - 1 && memcmp(part->text, prefix, sizeof prefix - 1) == 0) {
        *length = sizeof anonymous - 1;
        return anonymous;
    }
    *length = part->length;
    return part->text;
}

/* ---- substitutions */

/* What S_, S0_, S1_ ... stand for: prefixes of names, templates and types, in the order in which the symbol has them. */
struct substitutions {
    char *texts[MAX_SUBSTITUTIONS];
    size_t count;
    bool is_lost; /* something was not understood: nobody knows what others stand for */
};

static void add_substitution(struct substitutions *known, const char *text, size_t length)
{
    if (known->is_lost || known->count == MAX_SUBSTITUTIONS)
        known->is_lost = true;
    else if ((known->texts[known->count] = strndup(text, length)) != NULL)
        known->count++;
    else
        known->is_lost = true;
}

static void forget_substitutions(struct substitutions *known)
{
    for (size_t i = 0; i < known->count; i++)
        free(known->texts[i]);
}

/* ---- template arguments */

/* Where a text is read and what is made of it. */
struct arguments {
    const char *at, *end;
    FILE *stream;
    char **written; /* what STREAM makes */
    struct substitutions *known;
    size_t n_references;
    unsigned depth;
};

/* What was printed behind FROM can be referred to from here on. */
static void note_substitution(struct arguments *arguments, long from)
{
    long end = ftell(arguments->stream);
    if (from >= 0 && end >= from && fflush(arguments->stream) == 0)
        add_substitution(arguments->known, *arguments->written + from, (size_t)(end - from));
    else
        arguments->known->is_lost = true;
}

/* S_, S0_, SA_: a number to the base of 36. */
static bool print_reference(struct arguments *arguments)
{
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    const char *at = arguments->at + 1, *end = skip_reference(arguments->at);
    size_t number = 0;
    if (end == NULL || end > arguments->end || end[-1] != '_' || arguments->known->is_lost)
        return false;
    for (; *at != '_' && number < MAX_SUBSTITUTIONS; at++)
        number = 36 * number + (size_t)(strchr(digits, *at) - digits) + (at[1] == '_');
    if (number >= arguments->known->count)
        return false;
    arguments->at = end;
    arguments->n_references++;
    fputs(arguments->known->texts[number], arguments->stream);
    return true;
}

static const char *builtin_type(char code)
{
    static const char *const names[] = {
        ['v' - 'a'] = "void",        ['w' - 'a'] = "wchar_t",
        ['b' - 'a'] = "bool",        ['c' - 'a'] = "char",
        ['a' - 'a'] = "signed char", ['h' - 'a'] = "unsigned char",
        ['s' - 'a'] = "short",       ['t' - 'a'] = "unsigned short",
        ['i' - 'a'] = "int",         ['j' - 'a'] = "unsigned int",
        ['l' - 'a'] = "long",        ['m' - 'a'] = "unsigned long",
        ['x' - 'a'] = "long long",   ['y' - 'a'] = "unsigned long long",
        ['n' - 'a'] = "__int128",    ['o' - 'a'] = "unsigned __int128",
        ['f' - 'a'] = "float",       ['d' - 'a'] = "double",
        ['e' - 'a'] = "long double", ['g' - 'a'] = "__float128",
    };
    size_t i = (size_t)(unsigned char)code - 'a';
    return i < sizeof names / sizeof names[0] ? names[i] : NULL;
}

static bool print_argument(struct arguments *arguments);

/* Behind what a container of the standard library has by default where nobody gives it (std::less<Key>), made from
 * arguments in front of it; NULL: it is something else. */
static const char *skip_default(const char *at)
{
    static const char *const names[] = {"Sa", "St4less", "St4hash", "St8equal_to", "St14default_delete"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t length = strlen(names[i]);
        if (strncmp(at, names[i], length) == 0 && at[length] == 'I')
            return skip_template_arguments(at + length);
    }
    return NULL;
}

/* I ... E. Defaults that refer to what is in front of them (std::allocator<S1_>) are left out, as people do. */
static bool print_list(struct arguments *arguments)
{
    fputc('<', arguments->stream);
    arguments->at++;
    for (bool is_first = true; arguments->at < arguments->end && *arguments->at != 'E'; is_first = false) {
        const struct arguments before = *arguments;
        long length = ftell(arguments->stream);
        fputs(is_first ? "" : ", ", arguments->stream);
        bool is_known = print_argument(arguments);
        const char *behind = is_first ? NULL : skip_default(before.at);
        if (is_known && (behind == NULL || arguments->n_references == before.n_references))
            continue;
        if (behind == NULL || behind > before.end || fseek(before.stream, length, SEEK_SET) != 0)
            return false;
        arguments->known->is_lost |= !is_known;
        *arguments = before;
        arguments->at = behind;
    }
    if (arguments->at >= arguments->end)
        return false;
    arguments->at++;
    fputc('>', arguments->stream);
    return true;
}

static bool print_identifier(struct arguments *arguments)
{
    size_t length;
    const char *text = take_identifier(&arguments->at, &length);
    if (text == NULL || arguments->at > arguments->end)
        return false;
    const struct tg_mangled_part part = {.text = text, .length = length};
    const char *words = words_of(&part, &length);
    fprintf(arguments->stream, "%.*s", (int)length, words);
    return true;
}

/* St6vector, Sa, Ss: what the ABI has abbreviations for. */
static bool print_standard(struct arguments *arguments)
{
    static const char *const names[] = {"t", "std", "a", "std::allocator", "s", "std::string"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i += 2) {
        if (arguments->end - arguments->at < 2 || arguments->at[1] != *names[i])
            continue;
        arguments->at += 2;
        fputs(names[i + 1], arguments->stream);
        if (*names[i] != 't')
            return true;
        fputs("::", arguments->stream);
        return print_identifier(arguments);
    }
    return false;
}

/* L TYPE VALUE E: 5, -3, true. */
static bool print_literal(struct arguments *arguments)
{
    const char *at = arguments->at + 1;
    bool is_bool = *at == 'b', is_negative = at[0] != '\0' && at[1] == 'n';
    const char *value = at + 1 + is_negative;
    size_t digits = builtin_type(*at) == NULL ? 0 : strspn(value, "0123456789");
    if (digits == 0 || value[digits] != 'E' || value + digits >= arguments->end)
        return false;
    if (is_bool && digits == 1)
        fputs(*value == '0' ? "false" : "true", arguments->stream);
    else
        fprintf(arguments->stream, "%s%.*s", is_negative ? "-" : "", (int)digits, value);
    arguments->at = value + digits + 1;
    return true;
}

/* A name, nested or not, with the arguments of its own templates. */
static bool print_name(struct arguments *arguments)
{
    bool is_nested = *arguments->at == 'N', is_first = true;
    long from = ftell(arguments->stream);
    arguments->at += is_nested;
    while (arguments->at < arguments->end && *arguments->at != 'E') {
        bool is_list = *arguments->at == 'I';
        if (is_list && is_first)
            return false;
        bool is_short = *arguments->at == 'S', is_new = !is_short || arguments->at[1] == 't';
        if (is_short && !is_first)
            return false;
        fputs(is_first || is_list ? "" : "::", arguments->stream);
        bool is_known = is_list                    ? print_list(arguments)
                        : is_short                 ? print_standard(arguments) || print_reference(arguments)
                        : is_digit(*arguments->at) ? print_identifier(arguments)
                                                   : false;
        if (!is_known)
            return false;
        if (is_new)
            note_substitution(arguments, from);
        is_first = false;
        if (!is_nested && !(arguments->at < arguments->end && *arguments->at == 'I'))
            return true;
    }
    arguments->at++;
    return is_nested && !is_first && arguments->at <= arguments->end;
}

static bool print_argument(struct arguments *arguments)
{
    static const char behind[] = "PRO";
    static const char *const signs[] = {"*", "&", "&&"};
    char code = *arguments->at;
    const char *sign = code == '\0' ? NULL : strchr(behind, code), *builtin = builtin_type(code);
    if (arguments->depth++ >= MAX_NESTED_ARGUMENTS)
        return false;
    bool is_known;
    long from = ftell(arguments->stream);
    if (sign != NULL || code == 'K') {
        arguments->at++;
        fputs(code == 'K' ? "const " : "", arguments->stream);
        is_known = arguments->at < arguments->end && print_argument(arguments);
        fputs(sign != NULL ? signs[sign - behind] : "", arguments->stream);
        note_substitution(arguments, from);
    } else if (builtin != NULL) {
        fputs(builtin, arguments->stream);
        arguments->at++;
        is_known = true;
    } else {
        is_known = code == 'L' ? print_literal(arguments) : print_name(arguments);
    }
    arguments->depth--;
    return is_known;
}

/* "<double, 3>" of PART, for the caller to free; what is not understood as it is in the symbol. NULL without memory. */
static char *spell_arguments(const struct tg_mangled_part *part, struct substitutions *known)
{
    char *words = NULL, *raw = NULL;
    size_t size;
    struct arguments arguments = {.at = part->arguments,
                                  .end = part->arguments + part->arguments_length,
                                  .stream = open_memstream(&words, &size),
                                  .written = &words,
                                  .known = known};
    bool is_known = arguments.stream != NULL && print_list(&arguments) && arguments.at == arguments.end;
    if (arguments.stream != NULL && fclose(arguments.stream) != 0)
        is_known = false;
    if (is_known)
        return words;
    free(words);
    known->is_lost = true;
    int length = part->arguments_length > 2 ? (int)(part->arguments_length - 2) : 0;
    if (length == 0)
        return strdup("");
    return asprintf(&raw, "<%.*s>", length, part->arguments + 1) < 0 ? NULL : raw;
}

/* The template arguments of each part of a name, NULL where it has none. */
struct spelling {
    char *arguments[TG_MANGLED_MAX_PARTS];
};

static void spelling_deinit(struct spelling *spelling)
{
    for (size_t i = 0; i < TG_MANGLED_MAX_PARTS; i++)
        free(spelling->arguments[i]);
}

/* What is in front of PART in a name's other parts, for the caller to free, or "::" with it. NULL without memory. */
static char *lengthen(char *prefix, const struct tg_mangled_part *part)
{
    size_t length;
    char *longer = NULL;
    const char *own = words_of(part, &length);
    if (asprintf(&longer, "%s%s%.*s", prefix == NULL ? "" : prefix, prefix == NULL ? "" : "::", (int)length,
                 own) < 0)
        longer = NULL;
    free(prefix);
    return longer;
}

static bool is_std(const struct tg_mangled_part *part)
{
    return part->length == 3 && memcmp(part->text, "std", 3) == 0;
}

static void spell(const struct tg_mangled_name *name, struct spelling *spelling)
{
    struct substitutions known = {.count = 0};
    char *prefix = NULL;
    *spelling = (struct spelling){{NULL}};
    for (size_t i = 0; i < name->count; i++) {
        const struct tg_mangled_part *part = &name->parts[i];
        bool has_arguments = part->arguments != NULL;
        prefix = lengthen(prefix, part);
        known.is_lost |= prefix == NULL || i >= name->n_ordered || *part->text == 'U';
        if (!known.is_lost && (i + 1 < name->count || has_arguments) && !(i == 0 && is_std(part)))
            add_substitution(&known, prefix, strlen(prefix));
        char *words = has_arguments ? spell_arguments(part, &known) : NULL, *longer = NULL;
        spelling->arguments[i] = words;
        if (words == NULL || prefix == NULL)
            continue;
        if (asprintf(&longer, "%s%s", prefix, words) < 0)
            longer = NULL;
        free(prefix);
        prefix = longer;
        if (prefix != NULL)
            add_substitution(&known, prefix, strlen(prefix));
    }
    free(prefix);
    forget_substitutions(&known);
}

/* Whether TEXT of *LENGTH ends with the template arguments of part I of NAME as they are printed; takes them off. */
static bool takes_off_arguments(const struct tg_mangled_name *name, size_t i, const char *text,
                                size_t *length)
{
    struct spelling spelling;
    spell(name, &spelling);
    const char *words = spelling.arguments[i];
    size_t size = words == NULL ? SIZE_MAX : strlen(words);
    bool matches = size <= *length && memcmp(text + *length - size, words, size) == 0;
    spelling_deinit(&spelling);
    *length -= matches ? size : 0;
    return matches;
}

bool tg_mangled_name_ends_with(const struct tg_mangled_name *name, const char *text)
{
    size_t left = name->count, length = strlen(text);
    while (left > 0) {
        const struct tg_mangled_part *part = &name->parts[--left];
        size_t own_length;
        const char *own = words_of(part, &own_length);
        if (part->arguments != NULL && length > 0 && text[length - 1] == '>' &&
            !takes_off_arguments(name, left, text, &length))
            return false;
        if (own_length > length || memcmp(text + length - own_length, own, own_length) != 0)
            return false;
        length -= own_length;
        if (part->is_destructor && (length == 0 || text[--length] != '~'))
            return false;
        if (length == 0)
            return true;
        if (length < 2 || text[length - 1] != ':' || text[length - 2] != ':')
            return false;
        length -= 2;
    }
    return false;
}

const char *tg_mangled_name_last(const char *text)
{
    const char *last = text;
    size_t depth = 0;
    for (const char *at = text; *at != '\0'; at++) {
        if (*at == '<')
            depth++;
        else if (*at == '>' && depth > 0)
            depth--;
        else if (depth == 0 && at[0] == ':' && at[1] == ':')
            last = ++at + 1;
    }
    return last + (*last == '~');
}

char *tg_mangled_name_words(const char *symbol)
{
    struct tg_mangled_name name;
    if (!parse(symbol, true, &name))
        return strdup(symbol);
    char *words = NULL;
    size_t size;
    FILE *stream = open_memstream(&words, &size);
    if (stream == NULL)
        return NULL;
    struct spelling spelling;
    spell(&name, &spelling);
    for (size_t i = 0; i < name.count; i++) {
        size_t length;
        const char *part = words_of(&name.parts[i], &length);
        fprintf(stream, "%s%s%.*s", i > 0 ? "::" : "", name.parts[i].is_destructor ? "~" : "", (int)length,
                part);
        if (spelling.arguments[i] != NULL) /* operator<< <int> */
            fprintf(stream, "%s%s", part[length - 1] == '<' ? " " : "", spelling.arguments[i]);
    }
    spelling_deinit(&spelling);
    fputs(symbol + strcspn(symbol, ".@"), stream);
    bool failed = ferror(stream) != 0;
    if (fclose(stream) == 0 && !failed)
        return words;
    free(words);
    return NULL;
}
