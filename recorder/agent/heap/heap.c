#include "recorder/agent/heap/heap.h"

struct tg_heap tg_heap;
__thread struct tg_heap_thread tg_heap_thread __attribute__((tls_model("initial-exec")));
