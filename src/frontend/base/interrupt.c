/*
 * interrupt.c
 *		Signal handling in the leader and in workers, and the exit stack.
 *
 * The leader's handler only records the signal and cancels the current
 * statement.  All loops and all waits for the server then end soon, and the
 * program calls exit(), which runs the exit stack.  If the cancel request or
 * its answer is lost in the network, the connection is shut down, so that the
 * wait ends anyway.  A worker has nothing to undo except its statement, so
 * its handler cancels the statement and exits (compare pg_dump's
 * parallel.c:sigTermHandler).
 */
#include "base/fe_compat.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/buffer.h"
#include "base/interrupt.h"

/*
 * The longest time for a cancel request, and then for the statement to end.
 */
#define CANCEL_S 2

static const int handled_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

/* The state is global because signal handlers get no argument. */
typedef struct InterruptState
{
	PGcancel   *volatile cancel;
	volatile int socket;		/* of the same connection, or -1 */
	void		(*before_leaving) (void);	/* in a worker, or NULL */
	volatile sig_atomic_t signal_number;
	bool		exiting;		/* the exit stack is running */
	sigset_t	mask;			/* before signals were blocked */
	sigset_t	prompt_mask;	/* before a prompt */
	struct sigaction noted_actions[lengthof(handled_signals)];
	int			exit_code;
} InterruptState;

static InterruptState state = {.socket = -1,.exit_code = 1};

/*
 * Exit with the status that a shell reports for a process that a signal has
 * ended.
 */
static void
leave_by_signal(int signo)
{
	_exit(INTERRUPT_EXIT_BASE + state.signal_number);
}

/*
 * Request the server to cancel the statement.  Returns whether the server has
 * accepted the request.  PQcancel() is safe in signal handlers, but waits
 * without a limit for a server that does not answer, and continues to wait
 * when a signal interrupts it.  Only the end of the process can stop it, so
 * the alarm ends the process.  Callers exit afterwards.
 */
static bool
last_cancel(void)
{
	char		errbuf[256];
	sigset_t	mask;

	if (state.cancel == NULL)
		return false;
	signal(SIGALRM, leave_by_signal);
	sigemptyset(&mask);
	sigaddset(&mask, SIGALRM);
	alarm(CANCEL_S);
	sigprocmask(SIG_UNBLOCK, &mask, NULL);
	return PQcancel(state.cancel, errbuf, sizeof(errbuf)) != 0;
}

/*
 * Shut down the connection, so that code that waits for the server gets an
 * error.
 */
static void
interrupt_end_wait(int signo)
{
	if (state.socket >= 0)
		(void) shutdown(state.socket, SHUT_RDWR);
}

/*
 * Cancel the leader's statement.  A child does so, because last_cancel() may
 * end the process.  The leader waits for the child, so that a late request
 * cannot cancel its next statement.
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
		interrupt_end_wait(0);
}

static void
handle_leader_signal(int signo)
{
	int			save_errno = errno;

	state.signal_number = signo;
	cancel_statement();
	errno = save_errno;
}

static void
handle_worker_signal(int signo)
{
	state.signal_number = signo;

	/*
	 * First end a --pipe command that reads from this worker.  Otherwise, it
	 * would take the end of its input for the end of the file, and store a
	 * part.
	 */
	if (state.before_leaving)
		state.before_leaving();
	(void) last_cancel();
	leave_by_signal(signo);
}

static void
install(void (*handler) (int))
{
	struct sigaction action = {0};

	action.sa_handler = handler;

	/*
	 * Handle one signal at a time.  Without SA_RESTART, signals interrupt
	 * waits.
	 */
	sigfillset(&action.sa_mask);
	for (int i = 0; i < (int) lengthof(handled_signals); i++)
	{
		struct sigaction old;

		/* nohup ignores SIGHUP, and this must remain so in all processes. */
		if (handled_signals[i] == SIGHUP &&
			sigaction(SIGHUP, NULL, &old) == 0 && old.sa_handler == SIG_IGN)
			continue;
		sigaction(handled_signals[i], &action, NULL);
	}
}

void
interrupt_install_leader(void)
{
	signal(SIGALRM, interrupt_end_wait);
	install(handle_leader_signal);
}

void
interrupt_set_exit_code(int code)
{
	state.exit_code = code;
}

void
interrupt_install_worker(pid_t leader, void (*first) (void))
{
	/* A worker must not cancel the leader's statement. */
	state.cancel = NULL;
	state.socket = -1;
	state.before_leaving = first;
	install(handle_worker_signal);
	interrupt_end_with(leader);
}

void
interrupt_end_with(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGTERM);

	/*
	 * The parent may have ended before prctl() was called, and then sends no
	 * signal.
	 */
	if (getppid() != parent)
		_exit(1);
}

void
interrupt_begin_process(pid_t parent)
{
	interrupt_set_connection(NULL);
	state.signal_number = 0;
	state.exiting = false;
	state.before_leaving = NULL;
	install(SIG_DFL);
	signal(SIGALRM, SIG_DFL);
	interrupt_end_with(parent);
	/* This comes last, so that a blocked signal has its default action. */
	interrupt_release_signals();
}

void
interrupt_reset_signals(void)
{
	install(SIG_DFL);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
}

void
interrupt_hold_signals(void)
{
	sigset_t	all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &state.mask);
}

void
interrupt_release_signals(void)
{
	sigprocmask(SIG_SETMASK, &state.mask, NULL);
}

pid_t
interrupt_fork(void)
{
	pid_t		pid;

	/* what is buffered would be written by both processes */
	fflush(NULL);
	interrupt_hold_signals();
	pid = fork();
	if (pid == 0)
		return pid;
	interrupt_release_signals();
	if (pid < 0)
		pg_fatal("could not create child process: %m");
	return pid;
}

static void
note_signal(int signo)
{
	state.signal_number = signo;
}

void
interrupt_begin_notes(void)
{
	/* A signal that has already arrived ends the program now. */
	interrupt_check();
	for (int i = 0; i < (int) lengthof(handled_signals); i++)
		sigaction(handled_signals[i], NULL, &state.noted_actions[i]);
	install(note_signal);
}

void
interrupt_end_notes(void)
{
	for (int i = 0; i < (int) lengthof(handled_signals); i++)
		sigaction(handled_signals[i], &state.noted_actions[i], NULL);
	interrupt_check();
}

void
interrupt_begin_prompt(void)
{
	sigset_t	held;

	sigemptyset(&held);
	for (int i = 0; i < (int) lengthof(handled_signals); i++)
		sigaddset(&held, handled_signals[i]);
	sigprocmask(SIG_BLOCK, &held, &state.prompt_mask);
	interrupt_begin_notes();
}

void
interrupt_end_prompt(void)
{
	sigprocmask(SIG_SETMASK, &state.prompt_mask, NULL);
	interrupt_end_notes();
}

bool
interrupt_wait_input(int fd)
{
	struct pollfd input = {.fd = fd,.events = POLLIN};

	while (!interrupt_came())

		/*
		 * Signals arrive only within ppoll(), so none can get lost between
		 * the check and the wait.
		 */
		if (ppoll(&input, 1, NULL, &state.prompt_mask) >= 0 || errno != EINTR)
			return !interrupt_came();
	return false;
}

void
interrupt_set_connection(PGconn *conn)
{
	PGcancel   *old = state.cancel;

	/*
	 * PQgetCancel() copies all data that PQcancel() needs, so a handler does
	 * not use the PGconn, which the signal may have interrupted in the middle
	 * of a change.
	 */
	state.cancel = NULL;		/* handlers must not use it once freed */
	state.socket = conn ? PQsocket(conn) : -1;
	if (old)
		PQfreeCancel(old);
	if (conn)
		state.cancel = PQgetCancel(conn);
}

bool
interrupt_came(void)
{
	return state.signal_number != 0;
}

void
interrupt_check(void)
{
	if (state.signal_number == 0 || state.exiting)
		return;
	pg_log_error("terminated by user");
	pg_log_error_detail("Signal %d was received: %s.",
						(int) state.signal_number,
						strsignal(state.signal_number));
	exit(state.exit_code);
}

/* ----------
 * The exit stack.
 * ----------
 */

typedef struct Cleanup
{
	CleanupCallback callback;
	void	   *arg;
} Cleanup;

/* The stack is global because atexit() passes no argument. */
static Cleanup *stack;
static int	depth;
static pid_t owner;				/* process that registered the callbacks */

static void
run_stack(void)
{
	if (!cleanup_is_mine())
		return;					/* in a forked child, undo nothing */

	/*
	 * Callbacks may use connections, so signals no longer shut one down, and
	 * interrupt_check() does not interrupt the callbacks.
	 */
	state.socket = -1;
	state.exiting = true;
	while (depth > 0)
	{
		/*
		 * Remove the callback first: if it fails, it must not be called
		 * again.
		 */
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
	stack = array_room(stack, depth, sizeof(Cleanup));
	stack[depth].callback = callback;
	stack[depth].arg = arg;
	depth++;
}

void
cleanup_pop(CleanupCallback callback, void *arg)
{
	if (depth == 0 || stack[depth - 1].callback != callback ||
		stack[depth - 1].arg != arg)
		pg_fatal("internal error: an exit callback was removed before those that were added later");
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
	/* The child has inherited the registration with atexit(). */
	if (owner != 0)
		owner = getpid();
}

bool
cleanup_is_mine(void)
{
	return owner == getpid();
}
