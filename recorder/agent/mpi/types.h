/* Predefined datatypes and reduction operators, as numbers that are the same in every process: what a handle is
 * called is asked of the library once.
 *
 * Both sides include this. X(SYMBOL, "name behind MPI_"). Whatever changes the order here changes TG_AGENT_PROTOCOL. */
#ifndef TG_RECORDER_AGENT_MPI_TYPES_H
#define TG_RECORDER_AGENT_MPI_TYPES_H

#include <stdint.h>

/* clang-format off */
#define TG_MPI_TYPES(X)                                                                                      \
    X(CHAR, "CHAR") X(SIGNED_CHAR, "SIGNED_CHAR") X(UNSIGNED_CHAR, "UNSIGNED_CHAR") X(BYTE, "BYTE")          \
    X(PACKED, "PACKED") X(WCHAR, "WCHAR") X(SHORT, "SHORT") X(UNSIGNED_SHORT, "UNSIGNED_SHORT")              \
    X(INT, "INT") X(UNSIGNED, "UNSIGNED") X(LONG, "LONG") X(UNSIGNED_LONG, "UNSIGNED_LONG")                  \
    X(LONG_LONG, "LONG_LONG") X(LONG_LONG_INT, "LONG_LONG_INT")                                              \
    X(UNSIGNED_LONG_LONG, "UNSIGNED_LONG_LONG") X(FLOAT, "FLOAT") X(DOUBLE, "DOUBLE")                        \
    X(LONG_DOUBLE, "LONG_DOUBLE") X(C_BOOL, "C_BOOL")                                                        \
    X(INT8, "INT8_T") X(INT16, "INT16_T") X(INT32, "INT32_T") X(INT64, "INT64_T")                            \
    X(UINT8, "UINT8_T") X(UINT16, "UINT16_T") X(UINT32, "UINT32_T") X(UINT64, "UINT64_T")                    \
    X(AINT, "AINT") X(COUNT, "COUNT") X(OFFSET, "OFFSET")                                                    \
    X(C_COMPLEX, "C_COMPLEX") X(C_FLOAT_COMPLEX, "C_FLOAT_COMPLEX")                                          \
    X(C_DOUBLE_COMPLEX, "C_DOUBLE_COMPLEX") X(C_LONG_DOUBLE_COMPLEX, "C_LONG_DOUBLE_COMPLEX")                \
    X(CXX_BOOL, "CXX_BOOL") X(CXX_FLOAT_COMPLEX, "CXX_FLOAT_COMPLEX")                                        \
    X(CXX_DOUBLE_COMPLEX, "CXX_DOUBLE_COMPLEX") X(CXX_LONG_DOUBLE_COMPLEX, "CXX_LONG_DOUBLE_COMPLEX")        \
    X(FLOAT_INT, "FLOAT_INT") X(DOUBLE_INT, "DOUBLE_INT") X(LONG_INT, "LONG_INT") X(TWO_INT, "2INT")         \
    X(SHORT_INT, "SHORT_INT") X(LONG_DOUBLE_INT, "LONG_DOUBLE_INT")                                          \
    X(CHARACTER, "CHARACTER") X(LOGICAL, "LOGICAL") X(INTEGER, "INTEGER") X(REAL, "REAL")                    \
    X(DOUBLE_PRECISION, "DOUBLE_PRECISION") X(COMPLEX, "COMPLEX") X(DOUBLE_COMPLEX, "DOUBLE_COMPLEX")        \
    X(INTEGER1, "INTEGER1") X(INTEGER2, "INTEGER2") X(INTEGER4, "INTEGER4") X(INTEGER8, "INTEGER8")          \
    X(INTEGER16, "INTEGER16") X(REAL2, "REAL2") X(REAL4, "REAL4") X(REAL8, "REAL8") X(REAL16, "REAL16")      \
    X(COMPLEX8, "COMPLEX8") X(COMPLEX16, "COMPLEX16") X(COMPLEX32, "COMPLEX32")                              \
    X(TWO_INTEGER, "2INTEGER") X(TWO_REAL, "2REAL") X(TWO_DOUBLE_PRECISION, "2DOUBLE_PRECISION")

#define TG_MPI_OPS(X)                                                                                        \
    X(MAX, "MAX") X(MIN, "MIN") X(SUM, "SUM") X(PROD, "PROD") X(LAND, "LAND") X(BAND, "BAND") X(LOR, "LOR")  \
    X(BOR, "BOR") X(LXOR, "LXOR") X(BXOR, "BXOR") X(MINLOC, "MINLOC") X(MAXLOC, "MAXLOC")                    \
    X(REPLACE, "REPLACE") X(NO_OP, "NO_OP")
/* clang-format on */

enum tg_mpi_type {
    TG_MPI_TYPE_UNKNOWN, /* none, several, one that the program made, or one without a name here */
#define X(symbol, name) TG_MPI_TYPE_##symbol,
    TG_MPI_TYPES(X)
#undef X
        TG_MPI_TYPE_COUNT_,
};

enum tg_mpi_op {
    TG_MPI_OP_UNKNOWN, /* or none */
#define X(symbol, name) TG_MPI_OP_##symbol,
    TG_MPI_OPS(X)
#undef X
        TG_MPI_OP_OWN, /* one that the program made */
    TG_MPI_OP_COUNT_,
};

/* How much a call is about, in one word: bits 0-47 bytes, 48-55 enum tg_mpi_op, 56-63 enum tg_mpi_type. */
typedef uint64_t tg_mpi_amount_t;
enum { TG_MPI_AMOUNT_OP_SHIFT = 48, TG_MPI_AMOUNT_TYPE_SHIFT = 56 };
#define TG_MPI_AMOUNT_BYTES ((UINT64_C(1) << TG_MPI_AMOUNT_OP_SHIFT) - 1)

/* The first word of MPI_ENTER: bits 0-15 enum tg_mpi_call, then these. */
enum { TG_MPI_CALL_OP_SHIFT = 16, TG_MPI_CALL_TYPE_SHIFT = 24, TG_MPI_CALL_FROM_TYPE_SHIFT = 32 };
enum { TG_MPI_CALL_BITS = 16, TG_MPI_TYPE_BITS = 8 };

/* The first word of MPI_LEAVE: bits 0-15 enum tg_mpi_call, then enum tg_mpi_poll. */
enum { TG_MPI_CALL_POLL_SHIFT = 16, TG_MPI_POLL_BITS = 2 };
enum tg_mpi_poll_outcome { TG_MPI_POLL_NONE, TG_MPI_POLL_VAIN, TG_MPI_POLL_FINDS };

static inline tg_mpi_amount_t tg_mpi_amount_make(uint64_t bytes, enum tg_mpi_type type)
{
    return (bytes < TG_MPI_AMOUNT_BYTES ? bytes : TG_MPI_AMOUNT_BYTES) | (uint64_t)type
                                                                             << TG_MPI_AMOUNT_TYPE_SHIFT;
}

static inline uint64_t tg_mpi_amount_bytes(tg_mpi_amount_t amount)
{
    return amount & TG_MPI_AMOUNT_BYTES;
}

static inline uint64_t tg_mpi_amount_op(tg_mpi_amount_t amount)
{
    return amount >> TG_MPI_AMOUNT_OP_SHIFT & 0xff;
}

static inline uint64_t tg_mpi_amount_type(tg_mpi_amount_t amount)
{
    return amount >> TG_MPI_AMOUNT_TYPE_SHIFT;
}

/* Both together; of one type where they agree. */
static inline tg_mpi_amount_t tg_mpi_amount_add(tg_mpi_amount_t a, tg_mpi_amount_t b)
{
    if (tg_mpi_amount_bytes(a) == 0 || tg_mpi_amount_bytes(b) == 0)
        return tg_mpi_amount_bytes(a) == 0 ? b : a;
    uint64_t type = tg_mpi_amount_type(a) == tg_mpi_amount_type(b) ? tg_mpi_amount_type(a) : 0;
    return tg_mpi_amount_make(tg_mpi_amount_bytes(a) + tg_mpi_amount_bytes(b), (enum tg_mpi_type)type);
}

#endif
