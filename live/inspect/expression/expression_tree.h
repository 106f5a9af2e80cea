/* The tree of an expression: expression.c parses text to it, evaluation.c finds its value. */
#ifndef TG_LIVE_INSPECT_EXPRESSION_EXPRESSION_TREE_H
#define TG_LIVE_INSPECT_EXPRESSION_EXPRESSION_TREE_H

#include "live/inspect/expression/arithmetic.h"

enum {
    TG_EXPRESSION_MAX_NODES = 256,
    TG_EXPRESSION_REMEMBERED = 4,
    TG_NO_NODE = -1,
};

enum tg_node_kind {
    TG_NODE_NUMBER,
    TG_NODE_NAME,     /* NAME, FILE */
    TG_NODE_REGISTER, /* NAME, without $ */
    TG_NODE_UNARY,    /* OPERATION A */
    TG_NODE_BINARY,   /* A OPERATION B */
    TG_NODE_CHOICE,   /* A ? B : C */
    TG_NODE_MEMBER,   /* A.NAME */
    TG_NODE_ARROW,    /* A->NAME */
    TG_NODE_INDEX,    /* A[B] */
    TG_NODE_SLICE,    /* A[B:C], either may be TG_NO_NODE */
    TG_NODE_ROUND,    /* A(...): B is the first of the arguments */
    TG_NODE_ARGUMENT, /* of ROUND: A, or A:B (either may be TG_NO_NODE) where OPERATION is RANGE; C is the
                         next */
    TG_NODE_CAST,     /* (TYPE)A */
    TG_NODE_SIZE,     /* sizeof A, or of TYPE where A is TG_NO_NODE */
};

/* A type as it is written in a cast. */
struct tg_type_words {
    bool is_basic;
    bool is_struct; /* NAME follows struct, union, enum or class */
    enum tg_basic_type basic;
    unsigned pointers;
};

/* Meaning of a name at one place. */
struct tg_remembered {
    uint64_t generation, place;
    unsigned inlined;
    struct tg_found found;
};

struct tg_node {
    enum tg_node_kind kind;
    enum tg_operation operation;
    size_t position;
    int a, b, c;
    const char *name, *file; /* of the expression's strings; a type's name too */
    struct tg_number number;
    struct tg_type_words type;
    bool is_parenthesized;            /* (NAME): it may be meant as a type */
    struct tg_remembered *remembered; /* of NAME: TG_EXPRESSION_REMEMBERED of them, or NULL */
};

struct tg_expression {
    char *strings; /* all names, each with an end */
    int root;      /* as C has it; TG_NO_NODE: it is none, ERROR says why */
    int fortran;   /* as Fortran has it, TG_NO_NODE: the same */
    struct tg_error *error;
    size_t error_position;
    int n_nodes;
    struct tg_node nodes[TG_EXPRESSION_MAX_NODES];
};

#endif
