#include "recorder/agent/heap/quick.h"

struct tg_heap_quick tg_heap_quick;
