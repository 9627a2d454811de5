/*
 * test_piece_ring.c
 *		Processes share a text's pieces: each is used exactly once, whichever
 *		processes die, and when.
 *
 * The text is numbers, and what is used is added up in shared memory, as a
 * commit would: a process dies before that or, where it says so, after it.
 */
#include "base/fe_compat.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/shared_memory.h"
#include "shared/crc32c.h"
#include "stream/piece_ring.h"
#include "unit_test.h"

#define MAX_PIECES 4096
#define MAX_PLACES 5
#define RANGE_BYTES 5000

/*
 * The process that does something for the every-th time, of all processes
 * together, kills itself; up to n processes do.
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
	pg_crc32c	crcs[MAX_PIECES];	/* of used pieces */
	PieceSums	sums;			/* of the same */
	int			compared[MAX_PIECES];	/* pieces of an earlier run */
	int			n_different;	/* of these */
	uint64		sum;
	uint64		lines;
	uint64		n_lines;		/* of the text, when its end has been read */
	int			reported;
	int			used_by[8];
	int			n_dead;
	Deaths		deaths;			/* still to come */
	uint64		offset;			/* of the last read of the text */

	/* check_lost_again() */
	int			leading;		/* lane 0 is the reader */
	int			started;		/* lane 1 has */
	uint64		held;			/* piece + 1 that it holds; 0 = none */
	int			again[2];		/* of the piece behind that, by attempt */
} Shared;

typedef struct Sharing
{
	Shared	   *shared;
	PieceRing  *ring;
	uint64		n_lines;
	int			until_used_by;	/* the text is longer, until this number of
								 * lanes has used a piece; 0 = it is not */
	size_t		long_every;		/* every n-th line is long; 0 = none */
	size_t		long_bytes;
	uint64		error_at;		/* line that cannot be read; 0 = none */
	int			lane;
	int			use_us;			/* to use a piece */
	bool		careless;		/* stops after the first bytes of a piece */
	bool		(*use) (void *arg, SharedPiece *piece);
	bool		(*begin) (void *arg);
	bool		(*is_done) (void *arg, uint64 piece);
	bool		changes;		/* another text after each death */
} Sharing;

typedef struct Numbers
{
	const Sharing *sharing;
	uint64		next;
	uint64		more;			/* what is added to each number */
	bool		ended;
	uint64		offset;
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
	if (numbers->sharing->changes)
		numbers->more = numbers->sharing->shared->n_dead;
	return numbers;
}

/*
 * Does the text end here?  A machine may be so busy that a lane begins only
 * when a short text has been used up by the others, so the text waits for it;
 * but not for a lane that never gets a piece.
 */
static bool
ends_here(const Numbers *numbers)
{
	const Sharing *sharing = numbers->sharing;

	if (numbers->next < sharing->n_lines)
		return false;
	if (numbers->offset / RANGE_BYTES < MAX_PIECES - 2)
		for (int i = 0; i < sharing->until_used_by; i++)
			if (__atomic_load_n(&sharing->shared->used_by[i], __ATOMIC_SEQ_CST) == 0)
				return false;
	return true;
}

static bool
next_line(Numbers *numbers)
{
	const Sharing *sharing = numbers->sharing;
	int			len;

	if (numbers->ended)
		return false;
	if (ends_here(numbers))
	{
		numbers->ended = true;
		sharing->shared->n_lines = numbers->next;
		len = sprintf(numbers->text, "\\.\n\n\n");
	}
	else
	{
		len = sprintf(numbers->text, UINT64_FORMAT " ",
					  numbers->next + numbers->more);
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
	__atomic_store_n(&sharing->shared->offset, numbers->offset, __ATOMIC_SEQ_CST);
	maybe_die(&sharing->shared->deaths.in_read);
	while (done < size && (numbers->left > 0 || next_line(numbers)))
	{
		size_t		part = Min(numbers->left, size - done);

		memcpy((char *) buf + done, numbers->line, part);
		numbers->line += part;
		numbers->left -= part;
		done += part;
	}
	numbers->offset += done;
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
	uint64		number = piece->number;
	Note	   *note = &shared->notes[piece->slot];
	uint64		sum = 0;
	uint64		lines = 0;
	uint64		value = 0;
	bool		in_number = true;
	pg_crc32c	crc;
	const char *data;
	ssize_t		len;

	if (piece->again && note->piece == number && note->used)
		return true;
	/* the process that had it before may have died without a note */
	if (shared->used[number] > 0)
		__atomic_add_fetch(&shared->n_wrong_notes, 1, __ATOMIC_SEQ_CST);
	note->used = 0;
	note->piece = number;
	INIT_CRC32C(crc);
	while ((len = shared_piece_next(piece, &data)) > 0)
	{
		maybe_die(&shared->deaths.in_piece);
		crc = crc32c_add(crc, data, len);
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
	FIN_CRC32C(crc);
	shared->crcs[number] = crc;
	__atomic_add_fetch(&shared->sums.n, 1, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&shared->sums.crcs, crc, __ATOMIC_SEQ_CST);
	note->used = 1;
	maybe_die(&shared->deaths.after_piece);
	return true;
}

static void
compare(void *arg, uint64 piece, pg_crc32c crc)
{
	Sharing    *sharing = arg;
	Shared	   *shared = sharing->shared;

	__atomic_add_fetch(&shared->compared[piece], 1, __ATOMIC_SEQ_CST);
	if (!EQ_CRC32C(crc, shared->crcs[piece]))
		__atomic_add_fetch(&shared->n_different, 1, __ATOMIC_SEQ_CST);
}

static void
report(void *arg, const char *problem)
{
	Sharing    *sharing = arg;

	__atomic_add_fetch(&sharing->shared->reported, 1, __ATOMIC_SEQ_CST);
}

static pid_t
start_lane(Sharing *sharing, int lane)
{
	PieceWork	work = {
		.arg = sharing,.range_bytes = RANGE_BYTES,.begin = sharing->begin,
		.open = numbers_open,
		.read = numbers_read,.close = numbers_close,.is_done = sharing->is_done,
		.compare = compare,.use = sharing->use,.report = report
	};
	pid_t		pid;

	fflush(stdout);
	pid = fork();
	if (pid < 0)
		pg_fatal("could not start a child process: %m");
	if (pid > 0)
		return pid;
	sharing->lane = lane;
	if (lane == 1)
		__atomic_store_n(&sharing->shared->started, 1, __ATOMIC_SEQ_CST);
	_exit(piece_ring_run(sharing->ring, lane, &work) ? 0 : 1);
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

static const Deaths no_deaths;

static Sharing
sharing_new(int n_lanes, int n_slots, size_t slot_bytes, Deaths deaths)
{
	Sharing		sharing = {.n_lines = 30000,.use = use_piece};

	sharing.shared = shared_memory_new(1, sizeof(Shared));
	sharing.shared->deaths = deaths;
	sharing.ring = piece_ring_new(n_lanes, n_slots, slot_bytes);
	return sharing;
}

static void
all_used_once(Sharing *sharing, int n_lanes, const char *what)
{
	const Shared *shared = sharing->shared;
	uint64		n;

	is_number(run_lanes(sharing, n_lanes), 0, psprintf("%s: no error", what));
	n = shared->n_lines;
	ok(n >= sharing->n_lines, psprintf("%s: the text was read to its end", what));
	is_number(shared->lines, n, psprintf("%s: all lines", what));
	is_number(shared->sum, n * (n - 1) / 2, psprintf("%s: what they say", what));
	is_number(count_twice(shared), 0, psprintf("%s: none twice", what));
	is_number(piece_ring_sums(sharing->ring).n, shared->sums.n,
			  psprintf("%s: the reader's number of pieces", what));
	is_number(piece_ring_sums(sharing->ring).crcs, shared->sums.crcs,
			  psprintf("%s: the reader's CRCs", what));
	is_number(shared->reported, 0, psprintf("%s: nothing reported", what));
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
 * A lost piece that a dead process may have used up
 * ----------
 */

/*
 * A slot has room for a part of a piece, and a read of the text is shorter.
 * So lane 1 can hold a piece until lane 0 waits for room in the slot of the
 * next one.  Then lane 1 dies, and that piece is lost before it was taken.
 */
#define NARROW_BYTES 4000

static void
wait_for(const int *flag)
{
	while (!__atomic_load_n(flag, __ATOMIC_SEQ_CST))
		pg_usleep(1000);
}

static void
hold_piece(Shared *shared, SharedPiece *piece)
{
	uint64		next = piece->number + 1;
	const char *data;

	while (shared_piece_next(piece, &data) > 0)
		;
	__atomic_store_n(&shared->held, next, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&shared->offset, __ATOMIC_SEQ_CST) <
		   next * RANGE_BYTES + 100)
		pg_usleep(1000);
	kill(getpid(), SIGKILL);
}

/* In lane 0, up to the piece that is lost: the first attempt dies with it. */
static bool
use_and_die(void *arg, SharedPiece *piece)
{
	Sharing    *sharing = arg;
	Shared	   *shared = sharing->shared;

	if (sharing->lane == 1 && shared->held == 0)
		hold_piece(shared, piece);
	__atomic_store_n(&shared->leading, 1, __ATOMIC_SEQ_CST);
	wait_for(&shared->started);
	if (!__atomic_load_n(&shared->held, __ATOMIC_SEQ_CST))
		pg_usleep(1000);
	else if (piece->number == shared->held)
	{
		shared->again[shared->n_dead] = piece->again;
		if (shared->n_dead++ == 0)
			kill(getpid(), SIGKILL);
	}
	return true;
}

static pid_t
start_lost_lane(Sharing *sharing, int lane)
{
	sharing->use = use_and_die;
	return start_lane(sharing, lane);
}

/*
 * A process that takes a lost piece may use it up before it dies: the process
 * that takes it next must know, whether it has the same lane or another one.
 */
static void
check_lost_again(int next_lane, const char *who)
{
	Sharing		sharing = sharing_new(2, 2, NARROW_BYTES, no_deaths);
	Shared	   *shared = sharing.shared;
	pid_t		pids[2];
	int			status;

	sharing.n_lines = 2000000;
	pids[0] = start_lost_lane(&sharing, 0);
	wait_for(&shared->leading);
	pids[1] = start_lost_lane(&sharing, 1);
	for (int i = 0; i < 2; i++)
		if (waitpid(pids[i], &status, 0) != pids[i] || !WIFSIGNALED(status))
			pg_fatal("lane %d did not die", i);
	is_number(shared->n_dead, 1, psprintf("lost, for %s: taken once", who));
	pids[0] = start_lost_lane(&sharing, next_lane);
	if (waitpid(pids[0], &status, 0) != pids[0])
		pg_fatal("could not wait for a child process: %m");
	is_number(status, 0, psprintf("lost, for %s: no error", who));
	is_number(shared->n_dead, 2, psprintf("lost, for %s: taken twice", who));
	is_number(shared->again[0], 0, psprintf("lost, for %s: no process had it before", who));
	is_number(shared->again[1], 1, psprintf("lost, for %s: then it is had again", who));
}

/* ----------
 * Texts that are not the same each time
 * ----------
 */
static void
check_changed_text(void)
{
	Deaths		deaths = {.in_read = {1, 30}};
	Sharing		sharing = sharing_new(1, 4, 2 * RANGE_BYTES, deaths);
	const Shared *shared = sharing.shared;

	sharing.changes = true;
	is_number(run_lanes(&sharing, 1), 0, "another text after a death: no error");
	is_number(shared->n_dead, 1, "another text after a death: the dead");
	ok(piece_ring_sums(sharing.ring).crcs != shared->sums.crcs,
	   "another text after a death: the CRCs show it");
}

static bool
every_other(void *arg, uint64 piece)
{
	return piece % 2 == 0;
}

/* Pieces of an earlier run are compared; what was used then is not used. */
static void
check_earlier_run(int n_lanes)
{
	Sharing		sharing = sharing_new(n_lanes, 4, 2 * RANGE_BYTES, no_deaths);
	Shared	   *shared = sharing.shared;
	const char *what = psprintf("%d lanes, resumed", n_lanes);
	int			n = 0;
	int			n_compared = 0;
	int			n_used = 0;

	all_used_once(&sharing, n_lanes, psprintf("%d lanes, first run", n_lanes));
	for (int i = 0; i < MAX_PIECES; i++)
		n += shared->used[i];
	memset(shared->used, 0, sizeof(shared->used));
	piece_ring_restart(sharing.ring);
	sharing.is_done = every_other;
	is_number(run_lanes(&sharing, n_lanes), 0, psprintf("%s: no error", what));
	for (int i = 0; i < n; i++)
	{
		n_compared += shared->compared[i] == (i % 2 == 0);
		n_used += shared->used[i] == (i % 2 == 1);
	}
	is_number(n_compared, n, psprintf("%s: compared pieces", what));
	is_number(n_used, n, psprintf("%s: used pieces", what));
	is_number(shared->n_different, 0, psprintf("%s: the same text", what));
	is_number(piece_ring_sums(sharing.ring).n, n, psprintf("%s: all pieces are counted", what));

	/* as if the earlier run had used another text */
	shared->crcs[2]++;
	piece_ring_restart(sharing.ring);
	is_number(run_lanes(&sharing, n_lanes), 0, psprintf("%s again: no error", what));
	is_number(shared->n_different, 1, psprintf("%s again: one piece differs", what));
}

static void
check_errors(void)
{
	Sharing		sharing = sharing_new(3, 4, 2 * RANGE_BYTES, no_deaths);
	uint64		lines;

	sharing.error_at = 20000;
	is_number(run_lanes(&sharing, 3), 3, "a read error is the end for all");
	lines = sharing.shared->lines;
	ok(lines > 0 && lines < 20000, "a read error: what was before is used");
	is_number(count_twice(sharing.shared), 0, "a read error: none twice");
}

static bool
refuse(void *arg)
{
	return false;
}

/* After an error, slots with pieces of the text before are not free. */
static void
check_restart(void)
{
	Sharing		sharing = sharing_new(3, 4, 2 * RANGE_BYTES, no_deaths);

	sharing.begin = refuse;
	is_number(run_lanes(&sharing, 3), 3, "lanes that leave at once");
	is_number(sharing.shared->lines, 0, "lanes that leave at once: no piece is used");
	ok(!piece_ring_is_led(sharing.ring), "lanes that leave at once: no reader");
	sharing.begin = NULL;
	sharing.error_at = 20000;
	is_number(run_lanes(&sharing, 3), 3, "before another text: an error");
	ok(piece_ring_is_led(sharing.ring), "there has been a reader");
	ok(!piece_ring_is_used(sharing.ring), "no lane takes part");

	piece_ring_restart(sharing.ring);
	ok(!piece_ring_is_led(sharing.ring), "another text: no reader yet");
	ok(!piece_ring_is_done(sharing.ring), "another text: not done");
	memset(sharing.shared, 0, sizeof(Shared));
	sharing.error_at = 0;
	all_used_once(&sharing, 3, "another text");
	ok(piece_ring_is_done(sharing.ring), "another text: done");
}

void
test_piece_ring(void)
{
	size_t		wide = 2 * RANGE_BYTES;
	Sharing		sharing;

	sharing = sharing_new(1, 1, wide, no_deaths);
	all_used_once(&sharing, 1, "alone");

	sharing = sharing_new(3, 4, wide, no_deaths);
	sharing.use_us = 2000;
	sharing.until_used_by = 3;
	all_used_once(&sharing, 3, "three");
	ok(sharing.shared->used_by[0] > 0 && sharing.shared->used_by[1] > 0 &&
	   sharing.shared->used_by[2] > 0, "three: all have used some");

	sharing = sharing_new(3, 4, 1000, no_deaths);
	all_used_once(&sharing, 3, "slots shorter than pieces");

	sharing = sharing_new(3, 4, wide, no_deaths);
	sharing.long_every = 500;
	sharing.long_bytes = 60000;
	all_used_once(&sharing, 3, "lines longer than slots");

	sharing = sharing_new(3, 2, 1000, no_deaths);
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
	check_lost_again(0, "the same lane");
	check_lost_again(1, "another lane");
	check_changed_text();
	check_earlier_run(1);
	check_earlier_run(3);
	check_errors();
	check_restart();
}
