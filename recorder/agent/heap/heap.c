#include "recorder/agent/heap/heap.h"

#include "recorder/agent/heap/quick.h"

struct tg_heap tg_heap;
struct tg_heap_quick tg_heap_quick;
__thread struct tg_heap_thread tg_heap_thread __attribute__((tls_model("initial-exec")));
