/* TG_EACH(M, context, item...): M(context, item) for each of 1 to 18 items. */
#ifndef TG_FORMAT_EVENT_EACH_H
#define TG_FORMAT_EVENT_EACH_H

#define TG_EACH(M, context, ...)                                                                             \
    TG_EACH_PICK(__VA_ARGS__, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1)                 \
    (M, context, __VA_ARGS__)
#define TG_EACH_PICK(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, count, ...) TG_EACH_##count
#define TG_EACH_1(M, context, item)                                                    M(context, item)
#define TG_EACH_2(M, context, item, ...)                                               M(context, item) TG_EACH_1(M, context, __VA_ARGS__)
#define TG_EACH_3(M, context, item, ...)                                               M(context, item) TG_EACH_2(M, context, __VA_ARGS__)
#define TG_EACH_4(M, context, item, ...)                                               M(context, item) TG_EACH_3(M, context, __VA_ARGS__)
#define TG_EACH_5(M, context, item, ...)                                               M(context, item) TG_EACH_4(M, context, __VA_ARGS__)
#define TG_EACH_6(M, context, item, ...)                                               M(context, item) TG_EACH_5(M, context, __VA_ARGS__)
#define TG_EACH_7(M, context, item, ...)                                               M(context, item) TG_EACH_6(M, context, __VA_ARGS__)
#define TG_EACH_8(M, context, item, ...)                                               M(context, item) TG_EACH_7(M, context, __VA_ARGS__)
#define TG_EACH_9(M, context, item, ...)                                               M(context, item) TG_EACH_8(M, context, __VA_ARGS__)
#define TG_EACH_10(M, context, item, ...)                                              M(context, item) TG_EACH_9(M, context, __VA_ARGS__)
#define TG_EACH_11(M, context, item, ...)                                              M(context, item) TG_EACH_10(M, context, __VA_ARGS__)
#define TG_EACH_12(M, context, item, ...)                                              M(context, item) TG_EACH_11(M, context, __VA_ARGS__)
#define TG_EACH_13(M, context, item, ...)                                              M(context, item) TG_EACH_12(M, context, __VA_ARGS__)
#define TG_EACH_14(M, context, item, ...)                                              M(context, item) TG_EACH_13(M, context, __VA_ARGS__)
#define TG_EACH_15(M, context, item, ...)                                              M(context, item) TG_EACH_14(M, context, __VA_ARGS__)
#define TG_EACH_16(M, context, item, ...)                                              M(context, item) TG_EACH_15(M, context, __VA_ARGS__)
#define TG_EACH_17(M, context, item, ...)                                              M(context, item) TG_EACH_16(M, context, __VA_ARGS__)
#define TG_EACH_18(M, context, item, ...)                                              M(context, item) TG_EACH_17(M, context, __VA_ARGS__)

#endif
