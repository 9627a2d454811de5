/*
 * cleanup.c
 *		The exit stack, and what signals do in the leader and in a worker.
 *
 * The leader's handler only notes the signal and cancels the statement that
 * runs, so that all loops and all waits for the server come back soon and the
 * program ends by exit(), with its exit stack.  If the network does not carry
 * that, or not the answer, the connection is shut down, for the same end.  A
 * worker owns nothing that needs undoing but its statement, so its handler
 * cancels that and leaves (compare pg_dump's parallel.c:sigTermHandler).
 */
#include "base/fe_compat.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "base/cleanup.h"

/* How long a request to cancel may take, and then the statement to end. */
#define CANCEL_S 2

/* How long children have to end when asked, and how often to look. */
#define END_CHILDREN_MS 5000
#define END_CHILDREN_LOOK_MS 5

typedef struct Cleanup
{
	CleanupCallback callback;
	void	   *arg;
} Cleanup;

/* Signal handlers and exit callbacks have no argument: this is theirs. */
typedef struct ProcessState
{
	Cleanup    *stack;
	int			depth;
	int			room;
	pid_t		owner;			/* the process that registered them */
	PGcancel   *volatile cancel;
	volatile int socket;		/* of the same connection, or -1 */
	volatile pid_t fed_child;
	pid_t		fed_by;			/* the process whose child it is */
	volatile sig_atomic_t signal_number;
	sigset_t	mask;			/* as it was before signals were held back */
} ProcessState;

static ProcessState state = {.socket = -1};

static const int handled_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

static void
run_stack(void)
{
	if (state.owner != getpid())
		return;					/* a forked child: not its to undo */
	state.socket = -1;			/* no wait to end any more, and of use yet */
	while (state.depth > 0)
	{
		state.depth--;
		state.stack[state.depth].callback(state.stack[state.depth].arg);
	}
}

void
cleanup_push(CleanupCallback callback, void *arg)
{
	if (state.owner == 0)
	{
		state.owner = getpid();
		atexit(run_stack);
	}
	if (state.depth == state.room)
	{
		state.room = state.room * 2 + 8;
		state.stack = pg_realloc(state.stack, state.room * sizeof(Cleanup));
	}
	state.stack[state.depth].callback = callback;
	state.stack[state.depth].arg = arg;
	state.depth++;
}

void
cleanup_forget_all(void)
{
	state.depth = 0;
}

static void
leave(int signo)
{
	_exit(1);
}

/*
 * Has the server taken the request to cancel the statement?  PQcancel() is
 * made for handlers, but waits without a limit for a server that is silent,
 * and starts again when a signal interrupts it.  So only the end of the
 * process can stop it, and whoever calls this leaves afterwards.
 */
static bool
last_cancel(void)
{
	char		errbuf[256];
	sigset_t	mask;

	if (state.cancel == NULL)
		return false;
	signal(SIGALRM, leave);
	sigemptyset(&mask);
	sigaddset(&mask, SIGALRM);
	alarm(CANCEL_S);
	sigprocmask(SIG_UNBLOCK, &mask, NULL);
	return PQcancel(state.cancel, errbuf, sizeof(errbuf)) != 0;
}

/* Whatever waits for the server finds its connection closed. */
static void
end_wait(int signo)
{
	if (state.socket >= 0)
		(void) shutdown(state.socket, SHUT_RDWR);
}

/*
 * In a child, as the leader has to go on.  It is waited for, lest it cancels
 * what the leader does next.
 */
static void
cancel_statement(void)
{
	pid_t		pid;
	int			status;

	if (state.cancel == NULL)
		return;
	pid = fork();
	if (pid == 0)
		_exit(last_cancel() ? 0 : 1);
	if (pid > 0 && waitpid(pid, &status, 0) == pid && status == 0)
		alarm(CANCEL_S);
	else
		end_wait(0);
}

static void
handle_leader_signal(int signo)
{
	int			save_errno = errno;

	state.signal_number = signo;
	cancel_statement();
	errno = save_errno;
}

/*
 * SIGKILL, since whoever outlives it would see the end of its input next.
 * What is left of the group then comes to this process, which is its reaper.
 */
void
cleanup_end_fed_child(void)
{
	static const char message[] = "pg_pardump: error: could not end a command of --pipe\n";
	pid_t		pid = state.fed_child;
	pid_t		gone;
	ssize_t		written pg_attribute_unused();

	if (pid == 0 || state.fed_by != getpid())
		return;
	kill(-pid, SIGKILL);
	kill(pid, SIGKILL);			/* should it not be a group's leader yet */
	kill(-pid, SIGKILL);		/* or have become it just now */
	for (int waited_ms = 0; waited_ms < END_CHILDREN_MS;)
	{
		gone = waitpid(-pid, NULL, WNOHANG);
		if (gone < 0 && errno != EINTR)
		{
			state.fed_child = 0;
			return;
		}
		if (gone != 0)
			continue;
		pg_usleep(END_CHILDREN_LOOK_MS * 1000L);
		waited_ms += END_CHILDREN_LOOK_MS;
	}
	written = write(STDERR_FILENO, message, strlen(message));
	if (state.owner != getpid())
		_exit(1);				/* a worker must not be replaced now */
}

void
cleanup_set_fed_child(pid_t pid)
{
	if (state.fed_by != getpid())
	{
		atexit(cleanup_end_fed_child);
#ifdef __linux__
		prctl(PR_SET_CHILD_SUBREAPER, 1);
#endif
	}
	state.fed_by = getpid();
	state.fed_child = pid;
}

static void
handle_worker_signal(int signo)
{
	cleanup_end_fed_child();
	(void) last_cancel();
	_exit(1);
}

static void
install(void (*handler) (int))
{
	struct sigaction action = {0};

	action.sa_handler = handler;
	/* one at a time; and no SA_RESTART, so that waits end */
	sigfillset(&action.sa_mask);
	for (int i = 0; i < (int) lengthof(handled_signals); i++)
	{
		struct sigaction old;

		/* nohup has it ignored, and means it for all the processes */
		if (handled_signals[i] == SIGHUP &&
			sigaction(SIGHUP, NULL, &old) == 0 && old.sa_handler == SIG_IGN)
			continue;
		sigaction(handled_signals[i], &action, NULL);
	}
}

void
cleanup_set_process_signals(void)
{
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
}

void
cleanup_install_leader_signals(void)
{
	signal(SIGALRM, end_wait);
	install(handle_leader_signal);
}

void
cleanup_install_worker_signals(pid_t leader)
{
	/* the leader's statement is not this process's to cancel */
	state.cancel = NULL;
	state.socket = -1;
	install(handle_worker_signal);
#ifdef __linux__
	prctl(PR_SET_PDEATHSIG, SIGTERM);
#endif
	if (getppid() != leader)
		_exit(1);
}

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
cleanup_child_gone(pid_t *pid)
{
	return reap(pid, WNOHANG);
}

void
cleanup_end_children(pid_t *pids, int n_pids)
{
	int			waited_ms = 0;

	for (int i = 0; i < n_pids; i++)
	{
		if (pids[i] == 0)
			continue;
		kill(pids[i], SIGTERM);
		kill(pids[i], SIGCONT);
	}
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

void
cleanup_reset_signals(void)
{
	install(SIG_DFL);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
}

void
cleanup_hold_signals(void)
{
	sigset_t	all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &state.mask);
}

void
cleanup_release_signals(void)
{
	sigprocmask(SIG_SETMASK, &state.mask, NULL);
}

void
cancel_set_connection(PGconn *conn)
{
	PGcancel   *old = state.cancel;

	state.cancel = NULL;		/* no handler may see it freed */
	state.socket = conn ? PQsocket(conn) : -1;
	if (old)
		PQfreeCancel(old);
	if (conn)
		state.cancel = PQgetCancel(conn);
}

void
cleanup_check_interrupt(void)
{
	if (state.signal_number == 0)
		return;
	pg_log_error("terminated by user");
	pg_log_error_detail("Signal %d was received: %s.",
						(int) state.signal_number,
						strsignal(state.signal_number));
	exit(1);
}
