#include "recorder/agent/gomp/x86_code.h"

#include <string.h>

enum {
    LEGACY_PREFIXES = 14,
    MODRM_REGISTER = 3,
    SIB = 4,
    NO_BASE = 5,
};

/* Rest of an instruction that is being read. */
struct reader {
    const uint8_t *code;
    size_t at, size;
    bool is_cut;        /* something was behind the end */
    bool is_half;       /* 16-bit operands: prefix 66 */
    bool short_address; /* prefix 67 */
    bool extends_reg;   /* bits of REX and of what stands for it */
    bool extends_rm;
};

static uint8_t take(struct reader *reader)
{
    if (reader->at >= reader->size) {
        reader->is_cut = true;
        return 0;
    }
    return reader->code[reader->at++];
}

/* N_BYTES in [0, 8], sign-extended. */
static int64_t take_number(struct reader *reader, unsigned n_bytes)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < n_bytes; i++)
        value |= (uint64_t)take(reader) << 8 * i;
    unsigned unused = 64 - 8 * n_bytes;
    return n_bytes == 0 ? 0 : (int64_t)(value << unused) >> unused;
}

/* ---- the maps of opcodes */

/* A set of opcodes: bit OPCODE % 64 of word OPCODE / 64. */
static bool is_in(const uint64_t set[4], uint8_t opcode)
{
    return (set[opcode / 64] >> opcode % 64 & 1) != 0;
}

#define BITS(first, last) ((UINT64_MAX >> (63 - ((last) - (first)))) << (first))
#define BIT(which)        (UINT64_C(1) << (which))
#define EIGHT_ROWS(bits)  ((uint64_t)(bits)*UINT64_C(0x0101010101010101))

static const uint64_t one_byte_modrm[4] = {
    EIGHT_ROWS(0x0f),
    BIT(0x23) | BIT(0x29) | BIT(0x2b),
    BITS(0x00, 0x0f),
    BITS(0x00, 0x01) | BITS(0x06, 0x07) | BITS(0x10, 0x13) | BITS(0x18, 0x1f) | BITS(0x36, 0x37) |
        BITS(0x3e, 0x3f),
};
/* not in 64-bit code; prefixes are taken before */
static const uint64_t one_byte_unknown[4] = {
    EIGHT_ROWS(0xc0),
    BITS(0x00, 0x0f) | BITS(0x20, 0x22),
    BIT(0x02) | BIT(0x1a),
    BITS(0x04, 0x05) | BIT(0x0e) | BITS(0x14, 0x16) | BIT(0x2a) | BITS(0x30, 0x31),
};
static const uint64_t two_byte_alone[4] = {
    BITS(0x05, 0x09) | BIT(0x0b) | BIT(0x0e) | BITS(0x30, 0x35) | BIT(0x37),
    BIT(0x37),
    BITS(0x00, 0x0f) | BITS(0x20, 0x22) | BITS(0x28, 0x2a),
    BITS(0x08, 0x0f),
};
static const uint64_t two_byte_unknown[4] = {
    BIT(0x04) | BIT(0x0a) | BIT(0x0c) | BIT(0x0f) | BITS(0x24, 0x27) | BIT(0x36) | BIT(0x39) |
        BITS(0x3b, 0x3f),
    BITS(0x38, 0x3b),
    BITS(0x26, 0x27),
    0,
};
static const uint64_t two_byte_immediate[4] = {
    0,
    BITS(0x30, 0x33),
    BIT(0x24) | BIT(0x2c) | BIT(0x3a),
    BIT(0x02) | BITS(0x04, 0x06),
};

/* Bytes of the immediate of a one-byte opcode, whose modrm has been read. */
static unsigned immediate_size(const struct reader *reader, const struct tg_x86_code *found)
{
    uint8_t opcode = found->opcode, full = reader->is_half ? 2 : 4;
    if (opcode < 0x40)
        return (opcode & 7) == 4 ? 1 : (opcode & 7) == 5 ? full : 0;
    if ((opcode >= 0x70 && opcode < 0x80) || (opcode >= 0xb0 && opcode < 0xb8) ||
        (opcode >= 0xe0 && opcode < 0xe8))
        return 1;
    if (opcode >= 0xa0 && opcode < 0xa4)
        return reader->short_address ? 4 : 8;
    if (opcode >= 0xb8 && opcode < 0xc0)
        return found->is_wide ? 8 : full;
    switch (opcode) {
    case 0x6a:
    case 0x6b:
    case 0x80:
    case 0x83:
    case 0xa8:
    case 0xc0:
    case 0xc1:
    case 0xc6:
    case 0xcd:
    case 0xeb:
        return 1;
    case 0x68:
    case 0x69:
    case 0x81:
    case 0xa9:
    case 0xc7:
        return full;
    case 0xe8:
    case 0xe9:
        return 4;
    case 0xc2:
    case 0xca:
        return 2;
    case 0xc8:
        return 3;
    case 0xf6:
        return (found->reg & 7) < 2 ? 1 : 0;
    case 0xf7:
        return (found->reg & 7) < 2 ? full : 0;
    default:
        return 0;
    }
}

static bool has_vector_immediate(const struct tg_x86_code *found)
{
    return found->map == 3 || (found->map == 1 && is_in(two_byte_immediate, found->opcode));
}

static void take_modrm(struct reader *reader, struct tg_x86_code *found)
{
    uint8_t modrm = take(reader), rm = modrm & 7;
    found->has_modrm = true;
    found->mod = modrm >> 6;
    found->reg = (uint8_t)((modrm >> 3 & 7) | (reader->extends_reg ? 8 : 0));
    found->rm = (uint8_t)(rm | (reader->extends_rm ? 8 : 0));
    if (found->mod == MODRM_REGISTER)
        return;
    unsigned displacement = found->mod == 1 ? 1 : found->mod == 2 ? 4 : 0;
    if (rm == SIB)
        rm = take(reader) & 7;
    if (found->mod == 0 && rm == NO_BASE)
        displacement = 4;
    take_number(reader, displacement);
}

/* ---- instructions by their prefix */

static uint8_t flow_of(const struct tg_x86_code *found)
{
    uint8_t opcode = found->opcode;
    if (found->is_vector || found->map > 1)
        return TG_X86_ON;
    if (found->map == 1)
        return opcode >= 0x80 && opcode < 0x90                      ? TG_X86_JUMP_IF
               : opcode == 0x0b || opcode == 0xb9 || opcode == 0xff ? TG_X86_LEAVES
                                                                    : TG_X86_ON;
    if ((opcode >= 0x70 && opcode < 0x80) || (opcode >= 0xe0 && opcode < 0xe4))
        return TG_X86_JUMP_IF;
    switch (opcode) {
    case 0xe8:
        return TG_X86_CALL;
    case 0xe9:
    case 0xeb:
        return TG_X86_JUMP;
    case 0xc2:
    case 0xc3:
    case 0xca:
    case 0xcb:
    case 0xcc:
    case 0xcd:
    case 0xcf:
    case 0xf4:
        return TG_X86_LEAVES;
    case 0xff:
        return (found->reg & 7) == 2 || (found->reg & 7) == 3   ? TG_X86_CALL
               : (found->reg & 7) == 4 || (found->reg & 7) == 5 ? TG_X86_LEAVES
                                                                : TG_X86_ON;
    default:
        return TG_X86_ON;
    }
}

/* FIRST is the first byte behind legacy prefixes: c4, c5 or 62. */
static bool decode_vector(struct reader *reader, uint8_t first, struct tg_x86_code *found)
{
    uint8_t bits = take(reader);
    found->is_vector = true;
    found->map = first == 0xc5 ? 1 : first == 0xc4 ? bits & 0x1f : bits & 7;
    reader->extends_reg = (bits & 0x80) == 0;
    if (first != 0xc5) {
        reader->extends_rm = (bits & 0x20) == 0;
        found->is_wide = (take(reader) & 0x80) != 0;
    }
    if (first == 0x62)
        take(reader);
    found->opcode = take(reader);
    if (found->map == 0 || found->map > 7)
        return false;
    if (first != 0x62 && found->map == 1 && found->opcode == 0x77)
        return true;
    take_modrm(reader, found);
    if (has_vector_immediate(found))
        found->operand = take_number(reader, 1);
    return true;
}

static bool decode_two_byte(struct reader *reader, struct tg_x86_code *found)
{
    found->map = 1;
    found->opcode = take(reader);
    if (found->opcode == 0x38 || found->opcode == 0x3a) {
        found->map = found->opcode == 0x38 ? 2 : 3;
        found->opcode = take(reader);
        take_modrm(reader, found);
        found->operand = take_number(reader, found->map == 3 ? 1 : 0);
        return true;
    }
    if (is_in(two_byte_unknown, found->opcode))
        return false;
    if (!is_in(two_byte_alone, found->opcode))
        take_modrm(reader, found);
    if (found->opcode >= 0x80 && found->opcode < 0x90)
        found->operand = take_number(reader, 4);
    else if (is_in(two_byte_immediate, found->opcode))
        found->operand = take_number(reader, 1);
    return true;
}

static bool decode_one_byte(struct reader *reader, uint8_t opcode, struct tg_x86_code *found)
{
    found->opcode = opcode;
    if (is_in(one_byte_unknown, opcode))
        return false;
    if (is_in(one_byte_modrm, opcode))
        take_modrm(reader, found);
    else
        found->rm = (uint8_t)((opcode & 7) | (reader->extends_rm ? 8 : 0));
    found->operand = take_number(reader, immediate_size(reader, found));
    return true;
}

static uint8_t take_prefixes(struct reader *reader)
{
    uint8_t byte = take(reader);
    for (int i = 0; i < LEGACY_PREFIXES; i++) {
        if (byte == 0x66)
            reader->is_half = true;
        else if (byte == 0x67)
            reader->short_address = true;
        else if (byte != 0xf0 && byte != 0xf2 && byte != 0xf3 && byte != 0x64 && byte != 0x65 &&
                 (byte & 0xe7) != 0x26)
            break;
        byte = take(reader);
    }
    return byte;
}

bool tg_x86_decode(const uint8_t *code, size_t size, struct tg_x86_code *instruction)
{
    struct reader reader = {.code = code, .size = size < 15 ? size : 15};
    struct tg_x86_code found = {.length = 0};
    uint8_t byte = take_prefixes(&reader);
    bool is_known, has_rex = (byte & 0xf0) == 0x40;
    if (has_rex) {
        found.is_wide = (byte & 8) != 0;
        reader.extends_reg = (byte & 4) != 0;
        reader.extends_rm = (byte & 1) != 0;
        byte = take(&reader);
    }
    if (!has_rex && (byte == 0xc4 || byte == 0xc5 || byte == 0x62))
        is_known = decode_vector(&reader, byte, &found);
    else if (byte == 0x0f)
        is_known = decode_two_byte(&reader, &found);
    else
        is_known = decode_one_byte(&reader, byte, &found);
    if (!is_known || reader.is_cut)
        return false;
    found.length = (uint8_t)reader.at;
    found.flow = flow_of(&found);
    *instruction = found;
    return true;
}
