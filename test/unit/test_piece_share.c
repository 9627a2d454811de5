/*
 * test_piece_share.c
 *		Processes share a text's pieces: each is used exactly once, whoever
 *		of them dies, and when.
 *
 * The text is numbers, and what is used is added up in shared memory, as a
 * commit would: a process dies before that or, where it says so, after it.
 */
#include "base/fe_compat.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/shared_memory.h"
#include "stream/piece_share.h"
#include "unit_test.h"

#define MAX_PIECES 4096
#define MAX_PLACES 5
#define RANGE_BYTES 5000

/*
 * Whoever does something for the so manieth time, of all together, kills
 * itself: as often as it says.
 */
typedef struct Death
{
	int			n;				/* still to come */
	int			every;
	int			n_events;
} Death;

typedef struct Deaths
{
	Death		in_piece;		/* before it has used it up */
	Death		after_piece;	/* used up, and not said so */
	Death		in_read;		/* of the text */
} Deaths;

/* What has come of the piece at a place, as a restore notes its commits. */
typedef struct Note
{
	uint64		piece;
	int			used;
} Note;

typedef struct Shared
{
	Note		notes[MAX_PLACES];
	int			n_wrong_notes;
	int			used[MAX_PIECES];
	uint64		sum;
	uint64		lines;
	int			told;
	int			used_by[8];
	int			n_dead;
	Deaths		deaths;			/* still to come */
} Shared;

typedef struct Sharing
{
	Shared	   *shared;
	PieceRing  *ring;
	uint64		n_lines;
	size_t		long_every;		/* every so many lines a long one; 0 = none */
	size_t		long_bytes;
	uint64		error_at;		/* line that cannot be read; 0 = none */
	int			lane;
	int			use_us;			/* to use a piece */
	bool		careless;		/* stops after the first bytes of a piece */
} Sharing;

typedef struct Numbers
{
	const Sharing *sharing;
	uint64		next;
	char	   *line;			/* what of it is not read yet */
	size_t		left;
	char		text[100000];
} Numbers;

static void
maybe_die(Death *death)
{
	int			n = __atomic_add_fetch(&death->n_events, 1, __ATOMIC_SEQ_CST);

	if (death->n > 0 && n % death->every == 0 &&
		__atomic_sub_fetch(&death->n, 1, __ATOMIC_SEQ_CST) >= 0)
		kill(getpid(), SIGKILL);
}

static void *
numbers_open(void *arg)
{
	Numbers    *numbers = pg_malloc0(sizeof(Numbers));

	numbers->sharing = arg;
	return numbers;
}

static bool
next_line(Numbers *numbers)
{
	const Sharing *sharing = numbers->sharing;
	int			len;

	if (numbers->next > sharing->n_lines)
		return false;
	if (numbers->next == sharing->n_lines)
		len = sprintf(numbers->text, "\\.\n\n\n");
	else
	{
		len = sprintf(numbers->text, UINT64_FORMAT " ", numbers->next);
		if (sharing->long_every && numbers->next % sharing->long_every == 1)
		{
			memset(numbers->text + len, 'x', sharing->long_bytes);
			len += sharing->long_bytes;
		}
		numbers->text[len++] = '\n';
	}
	numbers->line = numbers->text;
	numbers->left = len;
	numbers->next++;
	return true;
}

static ssize_t
numbers_read(void *arg, void *buf, size_t size)
{
	Numbers    *numbers = arg;
	Sharing    *sharing = unconstify(Sharing *, numbers->sharing);
	size_t		done = 0;

	size = Min(size, 3000);
	maybe_die(&sharing->shared->deaths.in_read);
	while (done < size && (numbers->left > 0 || next_line(numbers)))
	{
		size_t		part = Min(numbers->left, size - done);

		memcpy((char *) buf + done, numbers->line, part);
		numbers->line += part;
		numbers->left -= part;
		done += part;
	}
	if (sharing->error_at > 0 && numbers->next > sharing->error_at)
		return -1;
	return done;
}

static void
numbers_close(void *text)
{
	free(text);
}

static bool
use_piece(void *arg, SharedPiece *piece)
{
	Sharing    *sharing = arg;
	Shared	   *shared = sharing->shared;
	uint64		number = piece_share_number(piece);
	Note	   *note = &shared->notes[piece_share_place(piece)];
	uint64		sum = 0;
	uint64		lines = 0;
	uint64		value = 0;
	bool		in_number = true;
	const char *data;
	ssize_t		len;

	if (piece_share_again(piece) && note->piece == number && note->used)
		return true;
	/* who had it before may have died before he noted anything */
	if (shared->used[number] > 0)
		__atomic_add_fetch(&shared->n_wrong_notes, 1, __ATOMIC_SEQ_CST);
	note->used = 0;
	note->piece = number;
	while ((len = piece_share_next(piece, &data)) > 0)
	{
		maybe_die(&shared->deaths.in_piece);
		for (ssize_t i = 0; i < len; i++)
		{
			if (data[i] == '\n')
			{
				sum += value;
				lines++;
				value = 0;
			}
			in_number = data[i] == '\n' || (in_number && data[i] != ' ');
			if (in_number && data[i] != '\n')
				value = value * 10 + data[i] - '0';
		}
		if (sharing->careless)
			break;
	}
	if (len < 0)
		return false;
	if (sharing->use_us > 0)
		pg_usleep(sharing->use_us);
	__atomic_add_fetch(&shared->sum, sum, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&shared->lines, lines, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&shared->used_by[sharing->lane], 1, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&shared->used[number], 1, __ATOMIC_SEQ_CST);
	note->used = 1;
	maybe_die(&shared->deaths.after_piece);
	return true;
}

static void
tell(void *arg, const char *problem)
{
	Sharing    *sharing = arg;

	__atomic_add_fetch(&sharing->shared->told, 1, __ATOMIC_SEQ_CST);
}

static pid_t
start_lane(Sharing *sharing, int lane)
{
	PieceWork	work = {
		.arg = sharing,.range_bytes = RANGE_BYTES,.open = numbers_open,
		.read = numbers_read,.close = numbers_close,.use = use_piece,.tell = tell
	};
	pid_t		pid;

	fflush(stdout);
	pid = fork();
	if (pid < 0)
		pg_fatal("could not start a child process: %m");
	if (pid > 0)
		return pid;
	sharing->lane = lane;
	_exit(piece_share_run(sharing->ring, lane, &work) ? 0 : 1);
}

/* All lanes, the dead replaced; how many said that the text has an error. */
static int
run_lanes(Sharing *sharing, int n_lanes)
{
	pid_t		pids[8];
	int			n_left = n_lanes;
	int			n_errors = 0;

	for (int i = 0; i < n_lanes; i++)
		pids[i] = start_lane(sharing, i);
	while (n_left > 0)
	{
		int			status;
		pid_t		pid = wait(&status);

		for (int i = 0; i < n_lanes; i++)
		{
			if (pids[i] != pid)
				continue;
			if (WIFSIGNALED(status))
			{
				sharing->shared->n_dead++;
				pids[i] = start_lane(sharing, i);
			}
			else
			{
				n_left--;
				n_errors += WEXITSTATUS(status);
			}
		}
	}
	return n_errors;
}

static int
count_twice(const Shared *shared)
{
	int			n = 0;

	for (int i = 0; i < MAX_PIECES; i++)
		n += shared->used[i] > 1;
	return n;
}

static const Deaths nobody;

static Sharing
sharing_new(int n_lanes, int n_slots, size_t slot_bytes, Deaths deaths)
{
	Sharing		sharing = {.n_lines = 30000};

	sharing.shared = shared_memory_new(1, sizeof(Shared));
	sharing.shared->deaths = deaths;
	sharing.ring = piece_ring_new(n_lanes, n_slots, slot_bytes);
	return sharing;
}

static void
all_used_once(Sharing *sharing, int n_lanes, const char *what)
{
	const Shared *shared = sharing->shared;
	uint64		n = sharing->n_lines;

	is_number(run_lanes(sharing, n_lanes), 0, psprintf("%s: no error", what));
	is_number(shared->lines, n, psprintf("%s: all lines", what));
	is_number(shared->sum, n * (n - 1) / 2, psprintf("%s: what they say", what));
	is_number(count_twice(shared), 0, psprintf("%s: none twice", what));
	is_number(shared->told, 0, psprintf("%s: nothing told", what));
	is_number(shared->n_wrong_notes, 0, psprintf("%s: notes are found", what));
}

static void
check_deaths(const char *what, int n_lanes, int in_piece, int after_piece,
			 int in_read, size_t slot_bytes)
{
	for (int i = 0; i < 3; i++)
	{
		Deaths		deaths = {{in_piece, 9 + i}, {after_piece, 6 + i},
		{in_read, 25 + 10 * i}};
		Sharing		sharing = sharing_new(n_lanes, 4, slot_bytes, deaths);

		sharing.long_every = 1000;
		sharing.long_bytes = 20000;
		all_used_once(&sharing, n_lanes, psprintf("%s, round %d", what, i));
		is_number(sharing.shared->n_dead,
				  in_piece + after_piece + in_read,
				  psprintf("%s, round %d: the dead", what, i));
	}
}

/* ----------
 * What was lost, and is had again
 * ----------
 */

/* In a process of its own, which leaves nothing behind as it should. */
static int
run_and_die(PieceRing *ring, int lane, int (*work) (PieceRing *ring, int lane))
{
	int			status;
	pid_t		pid;

	fflush(stdout);
	pid = fork();
	if (pid < 0)
		pg_fatal("could not start a child process: %m");
	if (pid == 0)
	{
		piece_ring_join(ring, lane);
		_exit(work(ring, lane));
	}
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		pg_fatal("a child process did not end");
	return WEXITSTATUS(status);
}

/* A piece longer than its slot, and nobody there who could take it. */
static int
offer_too_much(PieceRing *ring, int lane)
{
	char		data[100] = {0};
	uint64		next;

	if (!piece_ring_lead(ring, &next) || !piece_ring_offer(ring, next))
		return 1;
	piece_ring_write(ring, lane, data, sizeof(data));
	piece_ring_end(ring);
	piece_ring_close(ring);
	return 0;
}

static int
take_one(PieceRing *ring, int lane)
{
	TakenPiece	taken;

	if (!piece_ring_take(ring, lane, false, &taken))
		return 9;
	return (taken.alone ? 2 : 0) + (taken.again ? 1 : 0);
}

/*
 * Who reads a lost piece alone may have used it up, too, before he dies:
 * whether his own lane finds that, or another one.
 */
static void
check_lost_again(int next_lane, const char *who)
{
	PieceRing  *ring = piece_ring_new(2, 1, 10);

	is_number(run_and_die(ring, 0, offer_too_much), 0,
			  psprintf("lost, for %s: offered", who));
	is_number(run_and_die(ring, 1, take_one), 2,
			  psprintf("lost, for %s: taken alone", who));
	is_number(run_and_die(ring, next_lane, take_one), 3,
			  psprintf("lost, for %s: taken alone, and again", who));
}

static void
check_errors(void)
{
	Sharing		sharing = sharing_new(3, 4, 2 * RANGE_BYTES, nobody);
	uint64		lines;

	sharing.error_at = 20000;
	is_number(run_lanes(&sharing, 3), 3, "a read error is the end for all");
	lines = sharing.shared->lines;
	ok(lines > 0 && lines < 20000, "a read error: what was before is used");
	is_number(count_twice(sharing.shared), 0, "a read error: none twice");
}

void
test_piece_share(void)
{
	size_t		wide = 2 * RANGE_BYTES;
	Sharing		sharing;

	sharing = sharing_new(1, 1, wide, nobody);
	all_used_once(&sharing, 1, "alone");

	sharing = sharing_new(3, 4, wide, nobody);
	sharing.use_us = 2000;
	all_used_once(&sharing, 3, "three");
	ok(sharing.shared->used_by[0] > 0 && sharing.shared->used_by[1] > 0 &&
	   sharing.shared->used_by[2] > 0, "three: all have used some");

	sharing = sharing_new(3, 4, 1000, nobody);
	all_used_once(&sharing, 3, "slots shorter than pieces");

	sharing = sharing_new(3, 4, wide, nobody);
	sharing.long_every = 500;
	sharing.long_bytes = 60000;
	all_used_once(&sharing, 3, "lines longer than slots");

	sharing = sharing_new(3, 2, 1000, nobody);
	sharing.careless = true;
	is_number(run_lanes(&sharing, 3), 0, "pieces not read to their ends");
	is_number(count_twice(sharing.shared), 0,
			  "pieces not read to their ends: none twice");

	check_deaths("dead takers", 3, 5, 0, 0, wide);
	check_deaths("dead takers of what is not in the slot", 3, 5, 0, 0, 1000);
	check_deaths("dead after use", 3, 0, 5, 0, wide);
	check_deaths("dead readers", 3, 0, 0, 3, wide);
	check_deaths("all of it", 3, 3, 2, 3, wide);
	check_deaths("all of it, in narrow slots", 3, 3, 2, 3, 1000);
	check_deaths("all of it, with one process", 1, 3, 2, 2, wide);
	check_lost_again(1, "the same lane");
	check_lost_again(0, "another lane");
	check_errors();
}
