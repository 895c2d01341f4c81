/* The switch is setjmp() and longjmp() between stacks, which cost no system call; only the first
 * entry goes through makecontext(). glibc's fortified longjmp() takes that for an error. */
#undef _FORTIFY_SOURCE
#include "tests/sim/world/fiber.h"

#include <setjmp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "rpc/ensure.h"
#include "tests/sim/world/heap.h"

#if defined(__SANITIZE_ADDRESS__)
#define HAS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_ASAN 1
#endif
#endif
#ifndef HAS_ASAN
#define HAS_ASAN 0
#endif
#if HAS_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

enum { STACK_BYTES = HAS_ASAN ? 1024 * 1024 : 256 * 1024, GUARD_BYTES = 4096 };

struct stack {
    struct stack *next; /* of those kept */
    char *base;         /* behind the guard page */
};

struct fiber {
    void (*fn)(void *arg);
    void *arg;
    void *owner;
    struct stack *stack;
    bool is_begun;
    bool is_over;
    jmp_buf here; /* where it left */
#if HAS_ASAN
    void *fake_stack;
#endif
};

static struct fiber *running;
static struct stack *kept;
static jmp_buf outside;
static ucontext_t start;
#if HAS_ASAN
static void *outside_fake_stack;
static const void *outside_base;
static size_t outside_size;
#endif

static struct stack *take_stack(void)
{
    struct stack *stack = kept;
    if (stack != NULL) {
        kept = stack->next;
#if HAS_ASAN
        ASAN_UNPOISON_MEMORY_REGION(stack->base, STACK_BYTES);
#endif
        return stack;
    }
    stack = heap_world_calloc(sizeof *stack);
    char *memory = mmap(NULL, STACK_BYTES + GUARD_BYTES, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    ensure(memory != MAP_FAILED);
    ensure(mprotect(memory, GUARD_BYTES, PROT_NONE) == 0);
    stack->base = memory + GUARD_BYTES;
    return stack;
}

struct fiber *fiber_new(void (*fn)(void *arg), void *arg, void *owner)
{
    struct fiber *fiber = heap_world_calloc(sizeof *fiber);
    fiber->fn = fn;
    fiber->arg = arg;
    fiber->owner = owner;
    fiber->stack = take_stack();
    return fiber;
}

void fiber_free(struct fiber *fiber)
{
    ensure(fiber != running);
    fiber->stack->next = kept;
    kept = fiber->stack;
    heap_world_free(fiber);
}

void fiber_close_all(void)
{
    while (kept != NULL) {
        struct stack *stack = kept;
        kept = stack->next;
        munmap(stack->base - GUARD_BYTES, STACK_BYTES + GUARD_BYTES);
        heap_world_free(stack);
    }
}

struct fiber *fiber_running(void)
{
    return running;
}

void *fiber_owner(const struct fiber *fiber)
{
    return fiber->owner;
}

static void leave(struct fiber *fiber)
{
#if HAS_ASAN
    __sanitizer_start_switch_fiber(fiber->is_over ? NULL : &fiber->fake_stack, outside_base,
                                   outside_size);
#else
    (void)fiber;
#endif
    _longjmp(outside, 1);
}

/* The first frame of a fiber. */
static void begin(void)
{
    struct fiber *fiber = running;
#if HAS_ASAN
    __sanitizer_finish_switch_fiber(NULL, &outside_base, &outside_size);
#endif
    fiber->fn(fiber->arg);
    fiber->is_over = true;
    leave(fiber);
}

static void go(struct fiber *fiber)
{
#if HAS_ASAN
    __sanitizer_start_switch_fiber(&outside_fake_stack, fiber->stack->base, STACK_BYTES);
#endif
    if (fiber->is_begun) {
        _longjmp(fiber->here, 1);
    }
    fiber->is_begun = true;
    ensure(getcontext(&start) == 0);
    start.uc_stack.ss_sp = fiber->stack->base;
    start.uc_stack.ss_size = STACK_BYTES;
    start.uc_link = NULL;
    makecontext(&start, begin, 0);
    setcontext(&start);
}

bool fiber_enter(struct fiber *fiber)
{
    ensure(running == NULL && !fiber->is_over);
    running = fiber;
    if (_setjmp(outside) == 0) {
        go(fiber);
    }
#if HAS_ASAN
    __sanitizer_finish_switch_fiber(outside_fake_stack, NULL, NULL);
#endif
    bool is_over = running->is_over;
    running = NULL;
    return !is_over;
}

void fiber_leave(void)
{
    struct fiber *fiber = running;
    ensure(fiber != NULL);
    if (_setjmp(fiber->here) == 0) {
        leave(fiber);
    }
#if HAS_ASAN
    __sanitizer_finish_switch_fiber(fiber->fake_stack, &outside_base, &outside_size);
#endif
}
