/* Decoding. Capstone says what is an instruction and how long it is. How its bytes are laid out (prefixes,
 * opcode, ModRM) is worked out here, from the Intel SDM volume 2, chapter 2 and appendix A: a displaced copy
 * needs it to the bit, and Capstone 4's account of it is incomplete for VEX and EVEX. */
#include "recorder/process/insn.h"

#include "recorder/process/insn_internal.h"

#include <capstone/capstone.h>
#include <stdlib.h>
#include <string.h>

struct tg_insn_decoder {
    csh handle64, handle32; /* 0: not opened yet, with ROOM NULL */
    cs_insn *room;          /* Capstone's result; reused */
};

struct tg_error *tg_insn_decoder_create(struct tg_insn_decoder **decoder)
{
    *decoder = calloc(1, sizeof **decoder);
    return *decoder == NULL ? tg_error_no_memory() : NULL;
}

/* Capstone is loaded here: most recordings plant breakpoints on nothing but instructions that are emulated. */
static struct tg_error *open_capstone(struct tg_insn_decoder *decoder)
{
    cs_err failed = CS_ERR_OK;
    if (decoder->room != NULL)
        return NULL;
    if (decoder->handle64 == 0)
        failed = cs_open(CS_ARCH_X86, CS_MODE_64, &decoder->handle64);
    if (failed == CS_ERR_OK && decoder->handle32 == 0)
        failed = cs_open(CS_ARCH_X86, CS_MODE_32, &decoder->handle32);
    if (failed != CS_ERR_OK)
        return tg_error_create(TG_ERROR_UNSUPPORTED, "Capstone cannot decode x86: %s", cs_strerror(failed));
    decoder->room = cs_malloc(decoder->handle64);
    return decoder->room == NULL ? tg_error_no_memory() : NULL;
}

void tg_insn_decoder_destroy(struct tg_insn_decoder *decoder)
{
    if (decoder == NULL)
        return;
    if (decoder->room != NULL)
        cs_free(decoder->room, 1);
    if (decoder->handle32 != 0)
        cs_close(&decoder->handle32);
    if (decoder->handle64 != 0)
        cs_close(&decoder->handle64);
    free(decoder);
}

/* ---- layout: prefixes, opcode map, ModRM ---- */

enum encoding { ENCODING_LEGACY, ENCODING_VEX, ENCODING_EVEX, ENCODING_XOP };
enum map { MAP_ONE_BYTE, MAP_0F, MAP_0F38, MAP_0F3A };

struct layout {
    const uint8_t *bytes; /* TG_INSN_MAX_BYTES and 16 zero bytes behind: reads of operands stay inside */
    enum encoding encoding;
    unsigned bits;
    unsigned map; /* enum map; as encoded for VEX, EVEX and XOP (1..3 mean the same) */
    unsigned opcode_index;
    uint8_t opcode;
    bool data16, addr32, repne, rep, lock;
    uint8_t rex;         /* 0 none */
    unsigned rex_index;  /* valid where rex != 0 */
    unsigned base_index; /* VEX, EVEX, XOP: the byte with the inverted B bit (0x20), 0 none */
    unsigned vvvv;       /* the register that VEX.vvvv names, low three bits; 0 where there is none */
    bool has_modrm;
    uint8_t modrm;
};

static bool one_byte_has_modrm(uint8_t opcode, unsigned bits)
{
    if (opcode < 0x40)
        return (opcode & 7) < 4;
    if (opcode == 0x62 || opcode == 0xc4 || opcode == 0xc5)
        return bits == 32; /* bound, les, lds; in 64-bit mode these are prefixes */
    return opcode == 0x63 || opcode == 0x69 || opcode == 0x6b || (opcode >= 0x80 && opcode <= 0x8f) ||
           opcode == 0xc0 || opcode == 0xc1 || opcode == 0xc6 || opcode == 0xc7 ||
           (opcode >= 0xd0 && opcode <= 0xd3) || (opcode >= 0xd8 && opcode <= 0xdf) || opcode == 0xf6 ||
           opcode == 0xf7 || opcode == 0xfe || opcode == 0xff;
}

static bool two_byte_has_modrm(uint8_t opcode)
{
    if (opcode >= 0x04 && opcode <= 0x0e)
        return opcode == 0x0d; /* prefetchw */
    return !((opcode >= 0x30 && opcode <= 0x37) || opcode == 0x77 || (opcode >= 0x80 && opcode <= 0x8f) ||
             (opcode >= 0xa0 && opcode <= 0xa2) || (opcode >= 0xa8 && opcode <= 0xaa) ||
             (opcode >= 0xc8 && opcode <= 0xcf));
}

/* Reads legacy prefixes and REX into LAYOUT, returns the index of the byte behind them. */
static unsigned read_prefixes(struct layout *layout)
{
    for (unsigned i = 0; i < TG_INSN_MAX_BYTES; i++) {
        uint8_t byte = layout->bytes[i];
        switch (byte) {
        case 0x66:
            layout->data16 = true;
            break;
        case 0x67:
            layout->addr32 = true;
            break;
        case 0xf0:
            layout->lock = true;
            break;
        case 0xf2:
            layout->repne = true;
            break;
        case 0xf3:
            layout->rep = true;
            break;
        case 0x26:
        case 0x2e:
        case 0x36:
        case 0x3e:
        case 0x64:
        case 0x65:
            break;
        default:
            if (layout->bits == 64 && (byte & 0xf0) == 0x40) {
                layout->rex = byte;
                layout->rex_index = i;
                continue;
            }
            return i;
        }
        layout->rex = 0; /* a REX counts only right before the opcode */
    }
    return TG_INSN_MAX_BYTES;
}

static void read_opcode(struct layout *layout, unsigned at)
{
    const uint8_t *b = layout->bytes + at;
    bool vector = layout->bits == 64 || (b[1] & 0xc0) == 0xc0; /* else bound, les, lds */
    if (b[0] == 0xc5 && vector) {
        layout->encoding = ENCODING_VEX;
        layout->map = MAP_0F;
        layout->vvvv = (~b[1] >> 3) & 7;
        layout->opcode_index = at + 2;
    } else if ((b[0] == 0xc4 && vector) || (b[0] == 0x8f && (b[1] & 0x1f) >= 8)) {
        layout->encoding = b[0] == 0xc4 ? ENCODING_VEX : ENCODING_XOP;
        layout->map = b[1] & 0x1f;
        layout->base_index = at + 1;
        layout->vvvv = (~b[2] >> 3) & 7;
        layout->opcode_index = at + 3;
    } else if (b[0] == 0x62 && vector) {
        layout->encoding = ENCODING_EVEX;
        layout->map = b[1] & 7;
        layout->base_index = at + 1;
        layout->vvvv = (~b[2] >> 3) & 7;
        layout->opcode_index = at + 4;
    } else if (b[0] == 0x0f) {
        bool three = b[1] == 0x38 || b[1] == 0x3a;
        layout->map = b[1] == 0x38 ? MAP_0F38 : b[1] == 0x3a ? MAP_0F3A : MAP_0F;
        layout->opcode_index = at + (three ? 2 : 1);
    } else {
        layout->opcode_index = at;
    }
    layout->opcode = layout->bytes[layout->opcode_index];
    if (layout->encoding != ENCODING_LEGACY)
        layout->has_modrm = !(layout->encoding == ENCODING_VEX && layout->map == MAP_0F &&
                              layout->opcode == 0x77); /* vzeroupper, vzeroall */
    else if (layout->map == MAP_ONE_BYTE)
        layout->has_modrm = one_byte_has_modrm(layout->opcode, layout->bits);
    else
        layout->has_modrm = layout->map != MAP_0F || two_byte_has_modrm(layout->opcode);
    layout->modrm = layout->has_modrm ? layout->bytes[layout->opcode_index + 1] : 0;
}

/* Bytes that ModRM takes with its SIB and displacement (32- or 64-bit addressing). */
static unsigned modrm_length(const struct layout *layout)
{
    unsigned mod = layout->modrm >> 6, rm = layout->modrm & 7;
    if (mod == 3)
        return 1;
    unsigned length = 1;
    uint8_t sib = layout->bytes[layout->opcode_index + 2];
    if (rm == 4)
        length++;
    if (mod == 1)
        length += 1;
    else if (mod == 2 || rm == 5 || (rm == 4 && (sib & 7) == 5))
        length += 4;
    return length;
}

/* Length of an instruction that Capstone does not know. Only where the encoding says it without knowing the
 * instruction: VEX and EVEX, and the three-byte maps. 0 elsewhere. */
static unsigned regular_length(const struct layout *layout)
{
    if (!layout->has_modrm || (layout->addr32 && layout->bits == 32))
        return 0;
    bool immediate = layout->map == MAP_0F3A;
    if (layout->encoding == ENCODING_LEGACY) {
        if (layout->map != MAP_0F38 && layout->map != MAP_0F3A)
            return 0;
    } else if (layout->encoding == ENCODING_XOP || layout->map <= MAP_0F) {
        return 0;
    }
    return layout->opcode_index + 1 + modrm_length(layout) + (immediate ? 1 : 0);
}

/* ---- instructions that can be emulated ---- */

static int64_t signed_at(const struct layout *layout, unsigned index, unsigned size)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < size; i++)
        value |= (uint64_t)layout->bytes[index + i] << (8 * i);
    return size == 8 ? (int64_t)value : (int64_t)(value << (64 - 8 * size)) >> (64 - 8 * size);
}

/* Operand bytes start here. */
static unsigned behind_opcode(const struct layout *layout)
{
    return layout->opcode_index + 1;
}

static unsigned modrm_reg(const struct layout *layout)
{
    return ((layout->modrm >> 3) & 7) | (layout->rex & 4) << 1;
}

static unsigned modrm_rm(const struct layout *layout)
{
    return (layout->modrm & 7) | (layout->rex & 1) << 3;
}

/* An immediate of the operand size, but of at most 4 bytes. Returns the index behind it. */
static unsigned take_immediate(const struct layout *layout, unsigned index, unsigned size,
                               struct tg_insn *insn)
{
    insn->immediate = signed_at(layout, index, size);
    insn->source = TG_INSN_NO_REGISTER;
    return index + size;
}

static const uint8_t group1[8] = {
    [0] = TG_INSN_ADD, [1] = TG_INSN_OR,  [4] = TG_INSN_AND,
    [5] = TG_INSN_SUB, [6] = TG_INSN_XOR, [7] = TG_INSN_CMP,
};

/* Opcodes below 0x40, of two registers or of rax and an immediate, with the operands at AT. Returns the end,
 * 0: neither. */
static unsigned classify_group1(const struct layout *layout, unsigned at, bool registers,
                                struct tg_insn *insn)
{
    insn->operation = group1[layout->opcode >> 3];
    switch (layout->opcode & 7) {
    case 1: /* r/m, r */
        return registers ? at + 1 : 0;
    case 3: /* r, r/m */
        insn->reg = (uint8_t)modrm_reg(layout);
        insn->source = (uint8_t)modrm_rm(layout);
        return registers ? at + 1 : 0;
    case 5: /* rax, immediate */
        insn->reg = 0;
        return take_immediate(layout, at, 4, insn);
    default:
        return 0;
    }
}

/* add, or, and, sub, xor, cmp, test, mov without a memory operand. Returns the end, 0: not one of these. */
static unsigned classify_arithmetic(const struct layout *layout, struct tg_insn *insn)
{
    uint8_t opcode = layout->opcode;
    unsigned at = behind_opcode(layout);
    bool registers = layout->has_modrm && layout->modrm >> 6 == 3;
    if (insn->width == 2)
        return 0;
    insn->reg = (uint8_t)modrm_rm(layout);
    insn->source = (uint8_t)modrm_reg(layout);
    if (opcode < 0x40 && group1[opcode >> 3] != TG_INSN_OTHER)
        return classify_group1(layout, at, registers, insn);
    if (opcode == 0xa9) {
        insn->operation = TG_INSN_TEST;
        insn->reg = 0;
        return take_immediate(layout, at, 4, insn);
    }
    if (opcode >= 0xb8 && opcode <= 0xbf) {
        insn->operation = TG_INSN_MOV;
        insn->reg = (uint8_t)((opcode & 7) | (layout->rex & 1) << 3);
        return take_immediate(layout, at, insn->width, insn);
    }
    if (!registers)
        return 0;
    unsigned extension = (layout->modrm >> 3) & 7;
    switch (opcode) {
    case 0x81:
    case 0x83:
        insn->operation = group1[extension];
        return take_immediate(layout, at + 1, opcode == 0x81 ? 4 : 1, insn);
    case 0x85:
        insn->operation = TG_INSN_TEST;
        return at + 1;
    case 0x89:
        insn->operation = TG_INSN_MOV;
        return at + 1;
    case 0x8b:
        insn->operation = TG_INSN_MOV;
        insn->reg = (uint8_t)modrm_reg(layout);
        insn->source = (uint8_t)modrm_rm(layout);
        return at + 1;
    case 0xc7:
        insn->operation = TG_INSN_MOV;
        return extension == 0 ? take_immediate(layout, at + 1, 4, insn) : 0;
    case 0xf7:
        insn->operation = TG_INSN_TEST;
        return extension == 0 ? take_immediate(layout, at + 1, 4, insn) : 0;
    default:
        return 0;
    }
}

static unsigned classify_lea(const struct layout *layout, struct tg_insn *insn)
{
    unsigned mod = layout->modrm >> 6, rm = layout->modrm & 7;
    unsigned at = behind_opcode(layout) + 1;
    if (insn->width == 2 || layout->addr32 || mod == 3)
        return 0;
    insn->operation = TG_INSN_LEA;
    insn->reg = (uint8_t)modrm_reg(layout);
    insn->base = (uint8_t)modrm_rm(layout);
    insn->index = TG_INSN_NO_REGISTER;
    unsigned displacement = mod == 1 ? 1 : mod == 2 ? 4 : 0;
    if (rm == 4) {
        uint8_t sib = layout->bytes[at++];
        unsigned index = ((sib >> 3) & 7) | (layout->rex & 2) << 2;
        if (index != 4)
            insn->index = (uint8_t)index;
        insn->scale = sib >> 6;
        insn->base = (uint8_t)((sib & 7) | (layout->rex & 1) << 3);
        rm = sib & 7;
    }
    if (mod == 0 && rm == 5) { /* RIP-relative (USES_RIP tells) or absolute */
        insn->base = TG_INSN_NO_REGISTER;
        displacement = 4;
    }
    insn->immediate = displacement == 0 ? 0 : signed_at(layout, at, displacement);
    return at + displacement;
}

/* push, pop, pushf, leave, ret. */
static unsigned classify_stack(const struct layout *layout, struct tg_insn *insn)
{
    uint8_t opcode = layout->opcode;
    unsigned at = behind_opcode(layout);
    insn->width = (uint8_t)(layout->bits / 8);
    insn->reg = insn->source = (uint8_t)((opcode & 7) | (layout->rex & 1) << 3);
    if (opcode >= 0x50 && opcode <= 0x5f) {
        insn->operation = opcode < 0x58 ? TG_INSN_PUSH : TG_INSN_POP;
        return at;
    }
    switch (opcode) {
    case 0x68:
    case 0x6a:
        insn->operation = TG_INSN_PUSH;
        return take_immediate(layout, at, opcode == 0x68 ? 4 : 1, insn);
    case 0x9c:
        insn->operation = TG_INSN_PUSH_FLAGS;
        return at;
    case 0xc9:
        insn->operation = TG_INSN_LEAVE;
        return at;
    case 0xc2:
        insn->operation = TG_INSN_RET;
        at = take_immediate(layout, at, 2, insn);
        insn->immediate &= 0xffff;
        return at;
    case 0xc3:
        insn->operation = TG_INSN_RET;
        return at;
    default:
        return 0;
    }
}

/* Jumps and calls, relative or through a register. */
static unsigned classify_branch(const struct layout *layout, struct tg_insn *insn)
{
    uint8_t opcode = layout->opcode;
    unsigned at = behind_opcode(layout);
    insn->width = (uint8_t)(layout->bits / 8);
    insn->condition = opcode & 0xf;
    if (layout->map == MAP_0F) {
        insn->operation = TG_INSN_JUMP_IF;
        return take_immediate(layout, at, 4, insn);
    }
    if (opcode >= 0x70 && opcode <= 0x7f) {
        insn->operation = TG_INSN_JUMP_IF;
        return take_immediate(layout, at, 1, insn);
    }
    if (opcode >= 0xe0 && opcode <= 0xe3) {
        insn->operation = TG_INSN_LOOP;
        return layout->addr32 ? 0 : take_immediate(layout, at, 1, insn);
    }
    if (opcode == 0xe8 || opcode == 0xe9 || opcode == 0xeb) {
        insn->operation = opcode == 0xe8 ? TG_INSN_CALL : TG_INSN_JUMP;
        return take_immediate(layout, at, opcode == 0xeb ? 1 : 4, insn);
    }
    unsigned extension = (layout->modrm >> 3) & 7;
    if (opcode == 0xff && layout->modrm >> 6 == 3 && (extension == 2 || extension == 4)) {
        insn->operation = extension == 2 ? TG_INSN_CALL_REGISTER : TG_INSN_JUMP_REGISTER;
        insn->reg = (uint8_t)modrm_rm(layout);
        return at + 1;
    }
    return 0;
}

static bool is_branch(const struct layout *layout)
{
    uint8_t opcode = layout->opcode;
    if (layout->map == MAP_0F)
        return opcode >= 0x80 && opcode <= 0x8f;
    unsigned extension = (layout->modrm >> 3) & 7;
    return (opcode >= 0x70 && opcode <= 0x7f) || (opcode >= 0xe0 && opcode <= 0xe3) || opcode == 0xe8 ||
           opcode == 0xe9 || opcode == 0xeb || (opcode == 0xff && extension >= 2 && extension <= 5);
}

static bool is_stack(const struct layout *layout)
{
    uint8_t opcode = layout->opcode;
    return layout->map == MAP_ONE_BYTE &&
           ((opcode >= 0x50 && opcode <= 0x5f) || opcode == 0x68 || opcode == 0x6a || opcode == 0x9c ||
            opcode == 0xc2 || opcode == 0xc3 || opcode == 0xc9);
}

/* Finds out what INSN does where that is something simple; returns the index behind it, 0 where it is not. */
static unsigned classify(const struct layout *layout, struct tg_insn *insn)
{
    if (layout->encoding != ENCODING_LEGACY || layout->lock)
        return 0;
    uint8_t opcode = layout->opcode;
    if (layout->map == MAP_0F) {
        bool endbr = opcode == 0x1e && layout->rep && (layout->modrm == 0xfa || layout->modrm == 0xfb);
        if (endbr || opcode == 0x1f) {
            insn->operation = TG_INSN_NOP;
            return behind_opcode(layout) + modrm_length(layout);
        }
    }
    /* An operand-size prefix that REX.W does not override makes pushes 16 bits wide, and branches something
       that Intel and AMD disagree on. */
    bool narrow = layout->data16 && (layout->rex & 8) == 0;
    if (is_branch(layout))
        return narrow ? 0 : classify_branch(layout, insn);
    if (is_stack(layout))
        return narrow ? 0 : classify_stack(layout, insn);
    if (layout->map != MAP_ONE_BYTE)
        return 0;
    if (opcode == 0x90 && (layout->rex & 1) == 0) {
        insn->operation = TG_INSN_NOP;
        return behind_opcode(layout);
    }
    return opcode == 0x8d ? classify_lea(layout, insn) : classify_arithmetic(layout, insn);
}

/* ---- the displaced copy ---- */

static enum tg_insn_transfer find_transfer(const struct layout *layout, const struct tg_insn *insn)
{
    uint8_t opcode = layout->opcode;
    unsigned extension = (layout->modrm >> 3) & 7;
    if (layout->encoding != ENCODING_LEGACY)
        return TG_INSN_TO_NEXT;
    if (layout->map == MAP_0F) {
        if (opcode == 0x05 || opcode == 0x34) /* syscall, sysenter */
            return TG_INSN_TO_KERNEL;
        if (opcode == 0x07 || opcode == 0x35)
            return TG_INSN_TO_ABSOLUTE;
        return opcode >= 0x80 && opcode <= 0x8f ? TG_INSN_TO_EMULATED : TG_INSN_TO_NEXT;
    }
    if (layout->map != MAP_ONE_BYTE)
        return TG_INSN_TO_NEXT;
    switch (opcode) {
    case 0x9a:
        return TG_INSN_TO_CALLED;
    case 0xc2:
    case 0xc3:
    case 0xca:
    case 0xcb:
    case 0xcf:
    case 0xea:
        return TG_INSN_TO_ABSOLUTE;
    case 0xc7: /* xbegin */
        return layout->modrm == 0xf8 ? TG_INSN_TO_RELATIVE : TG_INSN_TO_NEXT;
    case 0xcd:
        return TG_INSN_TO_KERNEL;
    case 0xff:
        if (extension == 2 || extension == 3)
            return TG_INSN_TO_CALLED;
        return extension == 4 || extension == 5 ? TG_INSN_TO_ABSOLUTE : TG_INSN_TO_NEXT;
    default:
        if (insn->operation == TG_INSN_CALL)
            return TG_INSN_TO_PUSHED;
        if (insn->operation == TG_INSN_JUMP || insn->operation == TG_INSN_JUMP_IF ||
            insn->operation == TG_INSN_LOOP)
            return TG_INSN_TO_EMULATED;
        return is_branch(layout) ? TG_INSN_TO_RELATIVE : TG_INSN_TO_NEXT;
    }
}

/* A register that the instruction does not use. rsi and rdi are used implicitly by string instructions only,
 * rbx by those and cmpxchg16b, none of which comes here with both others taken: what can name registers
 * beside a RIP-relative operand is ModRM.reg and VEX.vvvv. */
static uint8_t free_register(unsigned first_used, unsigned second_used)
{
    static const uint8_t candidates[] = {6, 7, 3};
    for (size_t i = 0; i < sizeof candidates; i++)
        if (candidates[i] != (first_used & 7) && candidates[i] != (second_used & 7))
            return candidates[i];
    __builtin_unreachable();
}

static void make_displaced(const struct layout *layout, struct tg_insn *insn)
{
    uint8_t *copy = insn->displaced;
    memset(copy, 0xcc, sizeof insn->displaced);
    insn->scratch_reg = TG_INSN_NO_REGISTER;
    if (insn->transfer == TG_INSN_TO_EMULATED) {
        insn->displaced_length = 1;
        copy[0] = 0x90;
        return;
    }
    bool pushes_flags =
        layout->encoding == ENCODING_LEGACY && layout->map == MAP_ONE_BYTE && layout->opcode == 0x9c;
    if (insn->transfer == TG_INSN_TO_PUSHED || pushes_flags) {
        /* The value is known beforehand: a push of a register does the same, and neither the scratch address
           nor the TF of the single step is ever seen in memory. */
        insn->scratch_reg = free_register(0, 0);
        bool narrow = pushes_flags && layout->data16 && (layout->rex & 8) == 0;
        if (narrow)
            *copy++ = 0x66;
        *copy = (uint8_t)(0x50 + insn->scratch_reg);
        insn->displaced_length = narrow ? 2 : 1;
        return;
    }
    memcpy(copy, insn->bytes, insn->length);
    insn->displaced_length = insn->length;
    if (!insn->uses_rip)
        return;
    insn->scratch_reg = free_register(layout->modrm >> 3, layout->vvvv);
    copy[layout->opcode_index + 1] = (uint8_t)((layout->modrm & 0x38) | 0x80 | insn->scratch_reg);
    if (layout->rex != 0)
        copy[layout->rex_index] &= (uint8_t)~1;
    if (layout->base_index != 0)
        copy[layout->base_index] |= 0x20;
}

/* Instructions that no copy elsewhere can execute faithfully: why, else NULL. */
static const char *why_unsupported(const struct layout *layout)
{
    if (layout->encoding != ENCODING_LEGACY)
        return NULL;
    uint8_t opcode = layout->opcode;
    if (layout->map == MAP_ONE_BYTE && (opcode == 0xcc || opcode == 0xf1 ||
                                        (opcode == 0xcd && layout->bytes[layout->opcode_index + 1] == 3)))
        return "the program's own trap";
    if (layout->data16 && (layout->rex & 8) == 0 && layout->map <= MAP_0F && is_branch(layout))
        return "a branch with an operand-size prefix, which processors execute differently";
    return NULL;
}

/* The length of the instruction of LAYOUT, which has SIZE bytes; 0 where they are none. */
static struct tg_error *length_by_capstone(struct tg_insn_decoder *decoder, const struct layout *layout,
                                           uint64_t address, size_t size, unsigned *length)
{
    struct tg_error *error = open_capstone(decoder);
    if (error != NULL)
        return error;
    const uint8_t *code = layout->bytes;
    csh handle = layout->bits == 64 ? decoder->handle64 : decoder->handle32;
    *length = cs_disasm_iter(handle, &code, &size, &address, decoder->room) ? decoder->room->size
                                                                            : regular_length(layout);
    return NULL;
}

struct tg_error *tg_insn_decode(struct tg_insn_decoder *decoder, unsigned bits, uint64_t address,
                                const uint8_t *bytes, size_t size, struct tg_insn *insn)
{
    uint8_t padded[TG_INSN_MAX_BYTES + 16] = {0};
    if (size > TG_INSN_MAX_BYTES)
        size = TG_INSN_MAX_BYTES;
    memcpy(padded, bytes, size);
    struct layout layout = {.bytes = padded, .bits = bits};
    unsigned opcode_at = read_prefixes(&layout);
    if (opcode_at < TG_INSN_MAX_BYTES)
        read_opcode(&layout, opcode_at);

    struct tg_insn made = {.bits = (uint8_t)bits};
    made.width = layout.rex & 8 ? 8 : layout.data16 ? 2 : 4;
    /* Where it is one of those that are emulated Capstone need not be asked; version 4 miscounts branches with
     * superfluous prefixes. */
    unsigned length = opcode_at < TG_INSN_MAX_BYTES ? classify(&layout, &made) : 0;
    if (length == 0 && opcode_at < TG_INSN_MAX_BYTES) {
        made.operation = TG_INSN_OTHER;
        struct tg_error *error = length_by_capstone(decoder, &layout, address, size, &length);
        if (error != NULL)
            return error;
    }
    if (length == 0 || length > size)
        return tg_error_create(TG_ERROR_INPUT, "no instruction at %#llx", (unsigned long long)address);
    const char *why = why_unsupported(&layout);
    if (why != NULL)
        return tg_error_create(TG_ERROR_UNSUPPORTED, "the instruction at %#llx cannot hold a breakpoint: %s",
                               (unsigned long long)address, why);
    made.length = (uint8_t)length;
    memcpy(made.bytes, padded, length);
    made.uses_rip = bits == 64 && layout.has_modrm && (layout.modrm & 0xc7) == 5;
    made.transfer = (uint8_t)find_transfer(&layout, &made);
    made.runs_to_trap = made.transfer == TG_INSN_TO_NEXT || made.transfer == TG_INSN_TO_EMULATED ||
                        made.transfer == TG_INSN_TO_PUSHED;
    if (made.transfer == TG_INSN_TO_CALLED && layout.opcode == 0xff && ((layout.modrm >> 3) & 7) == 2)
        made.width = (uint8_t)(bits / 8); /* near calls push a whole pointer, far ones the operand size */
    make_displaced(&layout, &made);
    *insn = made;
    return NULL;
}
