#include "live/inspect/expression/condition.h"

#include "live/inspect/expression/condition_commands.h"
#include "live/inspect/expression/expression.h"
#include "live/inspect/value/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <tcl.h>

enum {
    MAX_TEXT = 4096,
    MAX_VARIABLES = 64,
    MAX_NESTED = 16, /* of commands in commands */
    MAX_SHIFTS = 64,
    MAX_CHARACTERS = 1024, /* of a text */
    MAX_READ = 16384,      /* of all texts that are read to decide it once: commands take their square */
};

/* One name in it: read when Tcl reads the variable. */
struct variable {
    struct tg_condition *condition;
    char *name;
    struct tg_expression *expression;
};

/* [start, end) of the text. */
struct span {
    size_t start, end;
};

struct tg_condition {
    char *text;
    Tcl_Interp *interp;
    Tcl_Obj *expression; /* Tcl keeps it compiled */
    struct variable variables[MAX_VARIABLES];
    size_t n_variables;
    struct span shifts[MAX_SHIFTS]; /* right-hand sides of shifts */
    size_t n_shifts;
    bool needs_frame;
    const struct tg_scene *scene; /* of the question */
    size_t n_read;                /* characters of texts, for that */
    struct tg_error *error;       /* the first one of a variable */
};

/* ---- variables */

/* The number as Tcl has it. */
static Tcl_Obj *number_object(const struct tg_number *number)
{
    char digits[32];
    if (number->is_real)
        return Tcl_NewDoubleObj((double)number->real);
    if (!number->is_unsigned || number->low <= INT64_MAX)
        return Tcl_NewWideIntObj((Tcl_WideInt)number->low);
    snprintf(digits, sizeof digits, "%" PRIu64, number->low);
    return Tcl_NewStringObj(digits, -1);
}

static bool is_text(const struct tg_value *value)
{
    enum tg_type_kind kind = tg_type_kind(&value->type);
    return value->n_dimensions == 1 && value->dimensions[0].has_count &&
           (kind == TG_TYPE_CHAR || kind == TG_TYPE_UNSIGNED_CHAR);
}

/* Characters up to the first NUL; bytes that are no ASCII as Latin-1. */
static struct tg_error *read_text(const struct tg_scene *scene, const struct tg_value *value,
                                  Tcl_Obj **object)
{
    uint8_t bytes[MAX_CHARACTERS];
    uint64_t count = value->dimensions[0].count;
    size_t size = count < sizeof bytes ? (size_t)count : sizeof bytes;
    struct tg_error *error = tg_value_read(scene, value, 0, size, bytes);
    if (error != NULL)
        return error;
    const uint8_t *end = memchr(bytes, 0, size);
    if (end != NULL)
        size = (size_t)(end - bytes);
    Tcl_DString text;
    Tcl_DStringInit(&text);
    for (size_t i = 0; i < size; i++) {
        char utf[TCL_UTF_MAX];
        int n = Tcl_UniCharToUtf(bytes[i], utf);
        Tcl_DStringAppend(&text, utf, n);
    }
    *object = Tcl_NewStringObj(Tcl_DStringValue(&text), Tcl_DStringLength(&text));
    Tcl_DStringFree(&text);
    return NULL;
}

static struct tg_error *read_variable(struct variable *variable, Tcl_Obj **object)
{
    struct tg_condition *condition = variable->condition;
    const struct tg_scene *scene = condition->scene;
    struct tg_value value;
    struct tg_number number;
    if (scene == NULL)
        return tg_error_create(TG_ERROR_TARGET, "no thread to evaluate the condition in");
    struct tg_error *error = tg_expression_evaluate(variable->expression, scene, &value, NULL);
    if (error == NULL)
        error = tg_value_follow(scene, &value);
    if (error != NULL)
        return error;
    if (is_text(&value)) {
        error = read_text(scene, &value, object);
        if (error != NULL)
            return error;
        condition->n_read += (size_t)Tcl_GetCharLength(*object);
        if (condition->n_read <= MAX_READ)
            return NULL;
        Tcl_DecrRefCount(*object);
        return tg_error_create(TG_ERROR_LIMIT, "the strings have more than %d characters together", MAX_READ);
    }
    error = tg_value_number(scene, &value, &number);
    if (error == NULL)
        *object = number_object(&number);
    return error;
}

/* Tcl is about to read a variable: sets it. */
static char *answer(ClientData data, Tcl_Interp *interp, const char *name, const char *index, int flags)
{
    struct variable *variable = data;
    struct tg_condition *condition = variable->condition;
    Tcl_Obj *object = NULL;
    static char message[] = "it cannot be read";
    if ((flags & TCL_INTERP_DESTROYED) != 0)
        return NULL;
    struct tg_error *error = read_variable(variable, &object);
    if (error == NULL) {
        (void)Tcl_SetVar2Ex(interp, name, index, object, 0);
        return NULL;
    }
    if (condition->error == NULL)
        condition->error = tg_error_prefix(error, "$%s", variable->name);
    else
        tg_error_destroy(error);
    return message;
}

static bool is_known(const struct tg_condition *condition, const char *name)
{
    for (size_t i = 0; i < condition->n_variables; i++)
        if (strcmp(condition->variables[i].name, name) == 0)
            return true;
    return false;
}

/* NAME, of LENGTH bytes at POSITION of the text. A register's name is a register. */
static struct tg_error *add_variable(struct tg_condition *condition, const char *name, size_t length,
                                     size_t *position)
{
    char *copy = strndup(name, length);
    char *text = NULL;
    size_t inside = 0;
    struct tg_expression *expression = NULL;
    if (copy == NULL)
        return tg_error_no_memory();
    if (is_known(condition, copy)) {
        free(copy);
        return NULL;
    }
    bool is_register = tg_expression_is_register(copy);
    if (condition->n_variables == MAX_VARIABLES) {
        free(copy);
        return tg_error_create(TG_ERROR_LIMIT, "a condition has at most %d variables", MAX_VARIABLES);
    }
    struct tg_error *error = asprintf(&text, "%s%s", is_register ? "$" : "", copy) < 0
                                 ? tg_error_no_memory()
                                 : tg_expression_parse(text, &expression, &inside);
    if (error != NULL) {
        *position += inside;
        free(copy);
        free(text);
        return error;
    }
    free(text);
    condition->needs_frame = condition->needs_frame || !is_register;
    struct variable *variable = &condition->variables[condition->n_variables++];
    *variable = (struct variable){.condition = condition, .name = copy, .expression = expression};
    if (Tcl_TraceVar2(condition->interp, copy, NULL, TCL_TRACE_READS, answer, variable) != TCL_OK)
        return tg_error_create(TG_ERROR_USAGE,
                               "'%s' cannot be a variable here: it is used with an index elsewhere", copy);
    return NULL;
}

/* ---- C's way of writing it */

static bool is_word_start(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_';
}

static bool is_word_byte(char byte)
{
    return is_word_start(byte) || (byte >= '0' && byte <= '9');
}

static bool is_tcls(const char *word, size_t length)
{
    static const char *const words[] = {"eq", "ne", "in", "ni"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strlen(words[i]) == length && strncmp(words[i], word, length) == 0)
            return true;
    return false;
}

/* The length of the variable with members and elements that TEXT begins with: "p->a[i].b", "space::x". */
static size_t variable_length(const char *text)
{
    size_t at = 0;
    for (;;) {
        while (is_word_byte(text[at]))
            at++;
        if (text[at] == '[') {
            size_t end = at, depth = 0;
            do {
                depth += text[end] == '[';
                depth -= text[end] == ']';
                end++;
            } while (depth > 0 && text[end] != '\0');
            if (depth > 0)
                return at;
            at = end;
        }
        size_t mark = text[at] == '.'                                                        ? 1
                      : strncmp(text + at, "->", 2) == 0 || strncmp(text + at, "::", 2) == 0 ? 2
                                                                                             : 0;
        if (text[at] == '[' && at > 0)
            continue;
        if (mark == 0 || !is_word_start(text[at + mark]))
            return at;
        at += mark;
    }
}

/* Bytes of what Tcl reads by itself: a string, a command, a variable with its '$', a number. */
static size_t tcls_length(const char *text)
{
    static const char opening[] = "\"{[", closing[] = "\"}]";
    const char *open = strchr(opening, *text);
    if (*text == '$' && text[1] == '{')
        return 1 + tcls_length(text + 1);
    if (*text == '$' || (*text >= '0' && *text <= '9')) {
        size_t at = 1;
        while (is_word_byte(text[at]) || (*text != '$' && text[at] == '.'))
            at++;
        return at;
    }
    if (*text == '\0' || open == NULL)
        return 0;
    char close = closing[open - opening];
    size_t depth = 0;
    for (size_t at = 0; text[at] != '\0'; at++) {
        if (text[at] == '\\' && text[at + 1] != '\0') {
            at++;
            continue;
        }
        depth += text[at] == *text && (at == 0 || *text != '"');
        if (text[at] == close && at > 0 && --depth == 0)
            return at + 1;
    }
    return strlen(text);
}

static bool is_word(const char *text, size_t length, const char *word)
{
    return strlen(word) == length && strncmp(text, word, length) == 0;
}

/* TEXT with its plain words as variables, as C has them: "n == 3 && p->next" is "${n} == 3 && ${p->next}". For
 * the caller to free; NULL: no memory. */
static char *translate_c(const char *text)
{
    char *made = NULL;
    size_t size;
    bool is_operand = true; /* one is expected: a '*' is no product */
    FILE *out = open_memstream(&made, &size);
    if (out == NULL)
        return NULL;
    while (*text != '\0') {
        size_t own = tcls_length(text), stars = 0;
        while (is_operand && own == 0 && text[stars] == '*')
            stars++;
        size_t length = is_word_start(text[stars]) ? stars + variable_length(text + stars) : 0;
        const char *behind = text + length + strspn(text + length, " \t");
        bool is_variable = length > 0 && *behind != '(' && !is_tcls(text, length);
        size_t taken = own > 0 ? own : length > 0 ? length : 1;
        if (is_word(text, length, "true") || is_word(text, length, "false"))
            fputc(*text == 't' ? '1' : '0', out);
        else
            fprintf(out, is_variable && own == 0 ? "${%.*s}" : "%.*s", (int)taken, text);
        if (strchr(" \t\n", *text) == NULL)
            is_operand = own == 0 && (!is_variable || is_tcls(text, length)) && *text != ')';
        text += taken;
    }
    if (fclose(out) == 0)
        return made;
    free(made);
    return NULL;
}

/* ---- what the text has */

static struct tg_error *take_script(struct tg_condition *condition, const char *script, int size,
                                    unsigned depth, size_t *position);

/* A token that begins with '$': NAME, {NAME}, NAME(INDEX). */
static struct tg_error *take_variable(struct tg_condition *condition, const Tcl_Token *token,
                                      size_t *position)
{
    const char *start = token->start + 1;
    size_t length = (size_t)token->size - 1;
    if (length >= 2 && *start == '{') {
        start++;
        length -= 2;
    }
    *position = (size_t)(start - condition->text);
    for (int i = 1; i <= token->numComponents; i++)
        if (token[i].type == TCL_TOKEN_VARIABLE || token[i].type == TCL_TOKEN_COMMAND)
            return tg_error_create(TG_ERROR_USAGE,
                                   "an index here must be a number; write ${a[i]} to index by a variable");
    return add_variable(condition, start, length, position);
}

/* A word that is an operator is a function, but for Tcl's four. Functions of the program are not called. */
static struct tg_error *take_function(struct tg_condition *condition, const char *name, size_t length)
{
    char command[MAX_TEXT + 32];
    Tcl_CmdInfo info;
    snprintf(command, sizeof command, "::tcl::mathfunc::%.*s", (int)length, name);
    if (Tcl_GetCommandInfo(condition->interp, command, &info) != 0)
        return NULL;
    return tg_error_create(TG_ERROR_USAGE, "Tcl has no function '%.*s'", (int)length, name);
}

/* The operator TOKEN, whose operands follow it. */
static struct tg_error *take_operator(struct tg_condition *condition, const Tcl_Token *token)
{
    if (is_word_start(*token->start) && !is_tcls(token->start, (size_t)token->size))
        return take_function(condition, token->start, (size_t)token->size);
    if (token->size != 2)
        return NULL;
    if (memcmp(token->start, "**", 2) == 0)
        return tg_error_create(TG_ERROR_USAGE, "'**' is not supported in conditions: it could take forever");
    if (memcmp(token->start, "<<", 2) != 0)
        return NULL;
    if (condition->n_shifts == MAX_SHIFTS)
        return tg_error_create(TG_ERROR_LIMIT, "a condition has at most %d shifts", MAX_SHIFTS);
    const Tcl_Token *left = token + 1, *right = left + 1 + left->numComponents;
    condition->shifts[condition->n_shifts++] =
        (struct span){(size_t)(right->start - condition->text),
                      (size_t)(right->start - condition->text) + (size_t)right->size};
    return NULL;
}

/* Whether TOKEN is a plain word that Tcl takes as a truth value: "n" as well as "no". In C it is a variable. */
static bool is_truth_word(const Tcl_Token *token)
{
    return token->type == TCL_TOKEN_SUB_EXPR && token->numComponents == 1 &&
           token[1].type == TCL_TOKEN_TEXT && token->size == token[1].size && is_word_start(*token->start) &&
           strchr("tfynoTFYNO", *token->start) != NULL &&
           !(token->size == 3 && strncasecmp(token->start, "nan", 3) == 0);
}

static struct tg_error *take_tokens(struct tg_condition *condition, const Tcl_Token *tokens, int n,
                                    unsigned depth, size_t *position)
{
    struct tg_error *error = NULL;
    for (int i = 0; error == NULL && i < n; i++) {
        const Tcl_Token *token = &tokens[i];
        *position = (size_t)(token->start - condition->text);
        if (token->type == TCL_TOKEN_VARIABLE) {
            error = take_variable(condition, token, position);
            i += token->numComponents;
        } else if (token->type == TCL_TOKEN_COMMAND) {
            error = take_script(condition, token->start + 1, token->size - 2, depth + 1, position);
        } else if (token->type == TCL_TOKEN_OPERATOR) {
            error = take_operator(condition, token);
        } else if (is_truth_word(token)) {
            error = tg_error_create(TG_ERROR_USAGE, "write ${%.*s} for a variable, 1 or 0 for a truth value",
                                    (int)token->size, token->start);
        }
    }
    return error;
}

static struct tg_error *take_command(struct tg_condition *condition, const Tcl_Parse *parse, unsigned depth,
                                     size_t *position)
{
    const Tcl_Token *first = parse->tokenPtr;
    if (parse->numWords == 0)
        return NULL;
    *position = (size_t)(first->start - condition->text);
    if (first->type != TCL_TOKEN_SIMPLE_WORD ||
        !tg_condition_commands_has(first[1].start, (size_t)first[1].size))
        return tg_error_create(TG_ERROR_USAGE, "a condition can only use the commands %s",
                               tg_condition_commands_list);
    return take_tokens(condition, parse->tokenPtr, parse->numTokens, depth, position);
}

static struct tg_error *take_script(struct tg_condition *condition, const char *script, int size,
                                    unsigned depth, size_t *position)
{
    struct tg_error *error = NULL;
    if (depth > MAX_NESTED)
        return tg_error_create(TG_ERROR_LIMIT, "commands are nested too deeply");
    while (error == NULL && size > 0) {
        Tcl_Parse parse;
        if (Tcl_ParseCommand(condition->interp, script, size, 0, &parse) != TCL_OK)
            return tg_error_create(TG_ERROR_USAGE, "%s", Tcl_GetStringResult(condition->interp));
        error = take_command(condition, &parse, depth, position);
        const char *next = parse.commandStart + parse.commandSize;
        size -= (int)(next - script);
        script = next;
        Tcl_FreeParse(&parse);
    }
    return error;
}

/* Place in TEXT of the error that MESSAGE of Tcl's tells of: it repeats the expression, or where that is long
 * a piece of it between dots, with a mark. 0 where there is none. */
static size_t find_mark(const char *text, const char *message)
{
    static const char mark[] = "_@_", head[] = "in expression \"", dots[] = "...";
    const char *begin = strstr(message, head);
    const char *at = begin == NULL ? NULL : strstr(begin, mark);
    if (at == NULL)
        return 0;
    begin += strlen(head);
    if (strncmp(begin, dots, strlen(dots)) == 0 && strncmp(text, dots, strlen(dots)) != 0)
        begin += strlen(dots);
    size_t before = (size_t)(at - begin), size = strlen(text);
    at += strlen(mark);
    for (size_t i = 0; i + before <= size; i++) {
        size_t after = 0;
        if (strncmp(text + i, begin, before) != 0)
            continue;
        while (text[i + before + after] != '\0' && text[i + before + after] == at[after])
            after++;
        if (text[i + before + after] == '\0' || strncmp(at + after, dots, strlen(dots)) == 0)
            return i + before;
    }
    return 0;
}

static struct tg_error *take_text(struct tg_condition *condition, size_t *position)
{
    Tcl_Parse parse;
    if (Tcl_ParseExpr(condition->interp, condition->text, -1, &parse) != TCL_OK) {
        static const char bare[] = "invalid bareword \"";
        const char *message = Tcl_GetStringResult(condition->interp);
        size_t length = strcspn(message, "\n");
        const char *at = strstr(message, " at _@_");
        if (at != NULL && (size_t)(at - message) < length)
            length = (size_t)(at - message);
        *position = find_mark(condition->text, message);
        bool is_bare = strncmp(message, bare, sizeof bare - 1) == 0;
        const char *word = is_bare ? message + sizeof bare - 1 : "";
        return tg_error_create(TG_ERROR_USAGE, "the condition is not a valid Tcl expression: %.*s%s%.*s",
                               (int)length, message,
                               is_bare ? "; a variable is written ${EXPRESSION}, as in ${p->n}, or $" : "",
                               (int)strcspn(word, "\""), word);
    }
    struct tg_error *error = take_tokens(condition, parse.tokenPtr, parse.numTokens, 0, position);
    Tcl_FreeParse(&parse);
    return error;
}

/* The text for Tcl: what it shifts by is looked at first. */
static Tcl_Obj *make_expression(const struct tg_condition *condition)
{
    Tcl_Obj *expression = Tcl_NewObj();
    for (size_t at = 0;; at++) {
        for (size_t i = 0; i < condition->n_shifts; i++)
            if (condition->shifts[i].end == at)
                Tcl_AppendToObj(expression, ")", 1);
        for (size_t i = 0; i < condition->n_shifts; i++)
            if (condition->shifts[i].start == at)
                Tcl_AppendToObj(expression, TG_CONDITION_SHIFT "(", -1);
        if (condition->text[at] == '\0')
            return expression;
        Tcl_AppendToObj(expression, &condition->text[at], 1);
    }
}

static struct tg_error *create(const char *text, struct tg_condition **result, size_t *position)
{
    size_t at = 0;
    if (strlen(text) > MAX_TEXT)
        return tg_error_create(TG_ERROR_LIMIT, "a condition is at most %d bytes long", MAX_TEXT);
    struct tg_condition *condition = calloc(1, sizeof *condition);
    if (condition == NULL)
        return tg_error_no_memory();
    condition->text = strdup(text);
    struct tg_error *error = condition->text == NULL ? tg_error_no_memory() : NULL;
    if (error == NULL) {
        condition->interp = Tcl_CreateInterp();
        if (Tcl_MakeSafe(condition->interp) != TCL_OK)
            error = tg_error_create(TG_ERROR_UNSUPPORTED, "Tcl has no safe interpreters here");
    }
    if (error == NULL)
        error = tg_condition_commands_add(condition->interp);
    if (error == NULL)
        error = take_text(condition, &at);
    if (error != NULL) {
        if (position != NULL)
            *position = at;
        tg_condition_destroy(condition);
        return error;
    }
    condition->expression = make_expression(condition);
    Tcl_IncrRefCount(condition->expression);
    *result = condition;
    return NULL;
}

/* TEXT as one expression: with what dprint takes and Tcl does not, as Fortran's ".and.". */
static struct tg_error *create_whole(const char *text, struct tg_condition **result)
{
    struct tg_expression *expression;
    char *whole;
    if (strpbrk(text, "${}\\") != NULL)
        return tg_error_create(TG_ERROR_USAGE, "it has Tcl's words");
    struct tg_error *error = tg_expression_parse(text, &expression, NULL);
    if (error != NULL)
        return error;
    tg_expression_destroy(expression);
    if (asprintf(&whole, "${%s}", text) < 0)
        return tg_error_no_memory();
    error = create(whole, result, NULL);
    free(whole);
    return error;
}

struct tg_error *tg_condition_create(const char *text, struct tg_condition **result, size_t *position)
{
    struct tg_error *error = create(text, result, position), *other = NULL;
    if (error == NULL || tg_error_code(error) != TG_ERROR_USAGE)
        return error;
    char *translated = translate_c(text);
    if (translated != NULL && strcmp(translated, text) != 0)
        other = create(translated, result, NULL);
    else
        other = tg_error_create(TG_ERROR_USAGE, "%s", "");
    free(translated);
    if (other != NULL) {
        tg_error_destroy(other);
        other = create_whole(text, result);
    }
    tg_error_destroy(other == NULL ? error : other);
    return other == NULL ? NULL : error;
}

void tg_condition_destroy(struct tg_condition *condition)
{
    if (condition == NULL)
        return;
    if (condition->expression != NULL)
        Tcl_DecrRefCount(condition->expression);
    if (condition->interp != NULL)
        Tcl_DeleteInterp(condition->interp);
    for (size_t i = 0; i < condition->n_variables; i++) {
        free(condition->variables[i].name);
        tg_expression_destroy(condition->variables[i].expression);
    }
    tg_error_destroy(condition->error);
    free(condition->text);
    free(condition);
}

struct tg_error *tg_condition_check_names(const struct tg_condition *condition, const struct tg_scene *scene)
{
    struct tg_error *error = NULL;
    for (size_t i = 0; error == NULL && i < condition->n_variables; i++)
        error = tg_expression_check_names(condition->variables[i].expression, scene, NULL);
    return error == NULL ? NULL : tg_error_prefix(error, "condition {%s}", condition->text);
}

bool tg_condition_needs_frame(const struct tg_condition *condition)
{
    return condition->needs_frame;
}

/* ---- evaluation */

/* The error as Tcl says it. */
static struct tg_error *complain(struct tg_condition *condition)
{
    struct tg_error *error = condition->error;
    condition->error = NULL;
    if (error == NULL) {
        const char *message = Tcl_GetStringResult(condition->interp);
        error = tg_error_create(TG_ERROR_USAGE, "%.*s", (int)strcspn(message, "\n"), message);
    }
    return tg_error_prefix(error, "condition {%s}", condition->text);
}

struct tg_error *tg_condition_decide(struct tg_condition *condition, const struct tg_scene *scene,
                                     bool *holds)
{
    Tcl_Obj *result = NULL;
    int truth = 0;
    condition->scene = scene;
    condition->n_read = 0;
    int code = Tcl_ExprObj(condition->interp, condition->expression, &result);
    if (code == TCL_OK) {
        code = Tcl_GetBooleanFromObj(condition->interp, result, &truth);
        Tcl_DecrRefCount(result);
    }
    struct tg_error *error = code == TCL_OK ? NULL : complain(condition);
    condition->scene = NULL;
    if (error == NULL)
        *holds = truth != 0;
    return error;
}
