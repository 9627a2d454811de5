/*
 * test_cleanup.c
 *		The exit stack: what is undone, in which order, and by whom.
 */
#include "base/fe_compat.h"

#include <sys/wait.h>
#include <unistd.h>

#include "base/interrupt.h"
#include "unit_test.h"

static void
say(void *arg)
{
	fprintf(stderr, "%s ", (const char *) arg);
}

static void
push_three(void)
{
	cleanup_push(say, "first");
	cleanup_push(say, "second");
	cleanup_push(say, "third");
}

static void
fail(const void *arg)
{
	push_three();
	exit(3);
}

static void
succeed(const void *arg)
{
	push_three();
	cleanup_forget_all();
}

/* A child that ends, well or not, undoes nothing of its parent's. */
static void
fork_and_succeed(const void *arg)
{
	pid_t		pid;

	push_three();
	pid = fork();
	if (pid == 0)
		exit(1);
	waitpid(pid, NULL, 0);
	cleanup_forget_all();
	cleanup_push(say, "another");
}

/* What a step has done itself by then. */
static void
pop_last(const void *arg)
{
	char		third[] = "third";

	cleanup_push(say, "first");
	cleanup_push(say, third);
	cleanup_pop(say, third);
	cleanup_push(say, "second");
	exit(3);
}

static void
pop_other(const void *arg)
{
	char		first[] = "first";

	cleanup_push(say, first);
	cleanup_push(say, "second");
	cleanup_pop(say, first);
}

static void
push_many(const void *arg)
{
	for (int i = 0; i < *(const int *) arg; i++)
		cleanup_push(say, "x");
}

void
test_cleanup(void)
{
	const int	many = 100;
	char		said[2 * 100 + 1] = "";

	child_ends(fail, NULL, 3, "third second first ", "the last is undone first");
	child_ends(succeed, NULL, 0, "", "nothing is undone when all went well");
	child_ends(fork_and_succeed, NULL, 0, "another ", "not by a child");
	child_ends(pop_last, NULL, 3, "second first ", "nor what was removed");
	child_ends(pop_other, NULL, 1, "unit_test: error: internal error: an exit callback was removed before those that were added later\nsecond first ",
			   "none is removed out of turn");
	for (int i = 0; i < many; i++)
		strcat(said, "x ");
	child_ends(push_many, &many, 0, said, "as many as there are");
}
