/*
 * child_process.c
 *		The ends of child processes: awaited, asked for, and enforced.
 */
#include "base/fe_compat.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "base/interrupt.h"
#include "process/child_process.h"

/* How long children have to end when asked, and how often to look. */
#define END_CHILDREN_MS 5000
#define END_CHILDREN_LOOK_MS 5

/* Signal handlers and exit callbacks have no argument: this is theirs. */
static volatile pid_t fed_child;
static volatile pid_t asked_child;
static pid_t fed_by;			/* the process whose children they are */

/* Is it gone?  Without WNOHANG this waits until it is. */
static bool
reap(pid_t *pid, int options)
{
	pid_t		gone;

	if (*pid == 0)
		return true;
	do
		gone = waitpid(*pid, NULL, options);
	while (gone < 0 && errno == EINTR);
	if (gone == 0)
		return false;
	*pid = 0;
	return true;
}

bool
child_process_is_gone(pid_t *pid)
{
	return reap(pid, WNOHANG);
}

/* While SIGCHLD is blocked none is lost between the look and the wait. */
bool
child_process_wait(pid_t pid, int *status, int wait_ms)
{
	struct timespec wait = {.tv_sec = wait_ms / 1000,.tv_nsec = wait_ms % 1000 * 1000000L};
	sigset_t	child;
	sigset_t	before;
	bool		ended;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, &before);
	ended = waitpid(pid, status, WNOHANG) == pid;
	if (!ended && sigtimedwait(&child, NULL, &wait) == SIGCHLD)
		ended = waitpid(pid, status, WNOHANG) == pid;
	sigprocmask(SIG_SETMASK, &before, NULL);
	return ended;
}

void
child_process_end_all(pid_t *pids, int n_pids)
{
	int			waited_ms = 0;

	/* all of them first, so that they end side by side */
	for (int i = 0; i < n_pids; i++)
	{
		if (pids[i] == 0)
			continue;
		kill(pids[i], SIGTERM);
		kill(pids[i], SIGCONT); /* a stopped one takes no signal before */
	}
	/* all have the same time: a late one has had it, too */
	for (int i = 0; i < n_pids; i++)
	{
		while (!reap(&pids[i], WNOHANG) && waited_ms < END_CHILDREN_MS)
		{
			pg_usleep(END_CHILDREN_LOOK_MS * 1000L);
			waited_ms += END_CHILDREN_LOOK_MS;
		}
		if (pids[i] != 0)
		{
			kill(pids[i], SIGKILL);
			reap(&pids[i], 0);
		}
	}
}

/* ----------
 * The command of --pipe
 * ----------
 */

/*
 * SIGKILL, since a process that outlives it would see the end of its input
 * next.  What is left of the group then comes to this process, which is its
 * reaper.
 */
void
child_process_end_fed(void)
{
	static const char message[] = "pg_pardump: error: could not end a command of --pipe\n";
	pid_t		pid = fed_child;
	pid_t		gone;
	ssize_t		written pg_attribute_unused();

	if (fed_by != getpid())
		return;
	if (asked_child != 0)
	{
		/* it may not be its group's leader yet */
		kill(asked_child, SIGKILL);
		kill(-asked_child, SIGKILL);
	}
	if (pid == 0)
		return;
	kill(-pid, SIGKILL);
	kill(pid, SIGKILL);			/* should it not be a group's leader yet */
	kill(-pid, SIGKILL);		/* or have become it just now */
	for (int waited_ms = 0; waited_ms < END_CHILDREN_MS;)
	{
		gone = waitpid(-pid, NULL, WNOHANG);
		if (gone < 0 && errno != EINTR)
		{
			/* no process of the group is left */
			fed_child = 0;
			return;
		}
		if (gone != 0)
			continue;
		pg_usleep(END_CHILDREN_LOOK_MS * 1000L);
		waited_ms += END_CHILDREN_LOOK_MS;
	}
	written = write(STDERR_FILENO, message, strlen(message));
	if (!cleanup_is_mine())
		_exit(1);				/* a worker must not be replaced now */
}

/* The first of this process, whose parent may have had others? */
static void
begin_process(void)
{
	if (fed_by == getpid())
		return;
	atexit(child_process_end_fed);
#ifdef __linux__
	/* what a command leaves behind becomes this process's to reap */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
#endif
	fed_child = asked_child = 0;
	fed_by = getpid();
}

void
child_process_set_fed(pid_t pid)
{
	begin_process();
	fed_child = pid;
}

void
child_process_set_asked(pid_t pid)
{
	begin_process();
	asked_child = pid;
}
