/*
 * cleanup.c
 *		The exit stack.
 */
#include "base/fe_compat.h"

#include <unistd.h>

#include "base/cleanup.h"
#include "base/interrupt.h"

typedef struct Cleanup
{
	CleanupCallback callback;
	void	   *arg;
} Cleanup;

/* atexit() passes no argument: this is the process's. */
static Cleanup *stack;
static int	depth;
static int	room;
static pid_t owner;				/* the process that registered them */

static void
run_stack(void)
{
	if (!cleanup_is_mine())
		return;					/* a forked child: not its to undo */
	interrupt_begin_exit();
	while (depth > 0)
	{
		/* off first, so that one that fails itself is not called again */
		depth--;
		stack[depth].callback(stack[depth].arg);
	}
}

void
cleanup_push(CleanupCallback callback, void *arg)
{
	if (owner == 0)
	{
		owner = getpid();
		atexit(run_stack);
	}
	if (depth == room)
	{
		room = room * 2 + 8;
		stack = pg_realloc(stack, room * sizeof(Cleanup));
	}
	stack[depth].callback = callback;
	stack[depth].arg = arg;
	depth++;
}

void
cleanup_pop(CleanupCallback callback, void *arg)
{
	if (depth == 0 || stack[depth - 1].callback != callback ||
		stack[depth - 1].arg != arg)
		pg_fatal("exit callbacks are not removed in the order of their nesting");
	depth--;
}

void
cleanup_forget_all(void)
{
	depth = 0;
}

void
cleanup_begin_process(void)
{
	depth = 0;
	/* what atexit() was told the child has inherited */
	if (owner != 0)
		owner = getpid();
}

bool
cleanup_is_mine(void)
{
	return owner == getpid();
}
