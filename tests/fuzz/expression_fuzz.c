/* An expression that somebody typed: parsed, and evaluated where nothing is known but registers and zeroed
 * memory. */
#include "live/inspect/expression/expression.h"
#include "live/inspect/value/text.h"
#include "tests/fuzz/fuzz.h"

#include <assert.h>
#include <stdio.h>

static bool read_zeros(void *context, uint64_t address, void *buffer, size_t size)
{
    (void)context;
    if (address < 4096 || address > UINT64_C(1) << 47)
        return false;
    memset(buffer, 0, size);
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct tg_scene_ops ops = {0};
    struct tg_frame frame = {
        .registers = {.known = (1U << TG_REGISTER_COUNT) - 1}, .cfa = 1 << 20, .is_activation = true};
    const struct tg_scene scene = {.ops = &ops, .memory = {.read = read_zeros}, .frame = &frame};
    char *text = fuzz_string(data, size);
    struct tg_expression *expression = NULL;
    size_t position = 0;
    struct tg_value value;
    for (int i = 0; i < TG_REGISTER_COUNT; i++)
        frame.registers.value[i] = (uint64_t)i << 20;
    struct tg_error *error = tg_expression_parse(text, &expression, &position);
    assert(position <= strlen(text));
    if (error == NULL) {
        error = tg_expression_evaluate(expression, &scene, &value, &position);
        assert(position <= strlen(text));
        if (error == NULL) {
            char *shown = NULL;
            size_t length;
            FILE *out = open_memstream(&shown, &length);
            assert(out != NULL && tg_value_print(&scene, &value, &tg_value_style_default, out) == NULL);
            fclose(out);
            for (size_t i = 0; i < length; i++) /* nothing that a terminal obeys */
                assert((unsigned char)shown[i] >= ' ' || shown[i] == '\n');
            free(shown);
        }
    }
    tg_error_destroy(error);
    tg_expression_destroy(expression);
    free(text);
    return 0;
}
