#include "analyzer/verdict/interruption.h"

#include <signal.h>

bool tg_interruption_has(const struct tg_verdict_input *input, const struct tg_last_stack *stack)
{
    if (stack->reason == TG_STACK_LOOK)
        return input->look_ns != 0 && stack->time_ns >= input->look_ns;
    return stack->reason == TG_STACK_JOB_SIGNAL || stack->reason == TG_STACK_DETACH ||
           (stack->reason == TG_STACK_FATAL_SIGNAL &&
            (stack->signal == SIGINT || stack->signal == SIGTERM || stack->signal == SIGHUP ||
             stack->signal == SIGQUIT || stack->signal == SIGXCPU));
}
