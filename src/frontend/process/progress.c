/*
 * progress.c
 *		--progress: shows the stages of a run, on a terminal or as lines.
 */
#include "base/fe_compat.h"

#include <sys/ioctl.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/units.h"
#include "process/progress.h"
#include "process/run_figures.h"

/* ----------
 * One line of progress, made of fields, as wide as the terminal allows.
 * ----------
 */

#define SEPARATOR ", "

/* The largest number of bytes of a name that are shown. */
#define NAME_BYTES 40

void
progress_line_add(ProgressLine *line, int rank, const char *before,
				  const char *after, const char *format,...)
{
	ProgressField *field = &line->fields[line->n_fields++];
	va_list		args;
	char		text[256];

	Assert(line->n_fields <= PROGRESS_FIELDS);
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	field->before = before;
	field->number = pg_strdup(text);
	field->after = after;
	field->rank = rank;
	field->brief = field->left_out = false;
}

void
progress_line_add_name(ProgressLine *line, int rank, const char *name)
{
	const char *shown = printable(name);
	int			len = strlen(shown);
	bool		cut = len > NAME_BYTES;

	/* Do not cut within a UTF-8 character. */
	for (len = Min(len, NAME_BYTES); cut && len > 0; len--)
		if (((unsigned char) shown[len] & 0xC0) != 0x80)
			break;
	progress_line_add(line, rank, "", "", "%.*s%s", len, shown,
					  cut ? "..." : "");
}

/* The width in bytes, which is at least the number of columns. */
static int
width(const ProgressLine *line)
{
	int			result = 0;
	int			n = 0;

	for (int i = 0; i < line->n_fields; i++)
	{
		const ProgressField *field = &line->fields[i];

		if (field->left_out)
			continue;
		result += strlen(field->number);
		if (!field->brief)
			result += strlen(field->before) + strlen(field->after);
		n++;
	}
	return result + Max(n - 1, 0) * (int) strlen(SEPARATOR);
}

/*
 * Begin with the fields that must be shown, then add others while there is
 * room.
 */
static void
make_fit(ProgressLine *line, int columns)
{
	/*
	 * The width is that of bytes: a name in UTF-8 may get less room than
	 * there is, but the line never wraps.  A line that wraps could not be
	 * written over.
	 */
	for (int i = 0; i < line->n_fields; i++)
		line->fields[i].left_out = line->fields[i].rank > 0;
	for (int rank = 1; rank <= PROGRESS_RANKS; rank++)
		for (int i = 0; i < line->n_fields; i++)
		{
			ProgressField *field = &line->fields[i];

			if (field->rank != rank)
				continue;
			field->left_out = false;
			field->brief = width(line) > columns;
			field->left_out = width(line) > columns;
		}
}

/*
 * Write the line to buf, with at most this many columns (0 = no limit), and
 * free it.
 */
static void
progress_line_finish(ProgressLine *line, int columns, PQExpBuffer buf)
{
	size_t		begin = buf->len;

	if (columns > 0)
		make_fit(line, columns);
	for (int i = 0; i < line->n_fields; i++)
	{
		ProgressField *field = &line->fields[i];

		if (!field->left_out)
			appendPQExpBuffer(buf, "%s%s%s%s", buf->len > begin ? SEPARATOR : "",
							  field->brief ? "" : field->before, field->number,
							  field->brief ? "" : field->after);
		free(field->number);
	}
	line->n_fields = 0;
}

/* ----------
 * Stages.
 * ----------
 */

#define TERMINAL_SECONDS 1.0
#define PLAIN_SECONDS 10.0

/* A stage that shows a count. */
typedef struct Count
{
	const char *what;
	const char *noun;
	const volatile int *done;
	int			total;
	ProgressCompose detail;
	void	   *detail_arg;
} Count;

/*
 * The state of the process, because functions that print messages clear the
 * line without an argument.
 */
static struct
{
	bool		shown;
	bool		terminal;
	ProgressCompose compose;	/* of the stage; NULL between stages */
	void	   *arg;
	Count		count;
	bool		only_if_long;	/* show the last line only if there was one
								 * before */
	bool		stage_shown;
	double		last_shown;		/* time of run_clock_seconds() */
	int			line_width;		/* width of the line on the terminal, for
								 * clearing it; or 0 */
}			progress;

static void
clear_line(void)
{
	if (progress.line_width > 0)
		fprintf(stderr, "\r%*s\r", progress.line_width, "");
	progress.line_width = 0;
}

/*
 * The width of the terminal, because a line that wraps could not be
 * overwritten.
 */
static int
terminal_width(void)
{
	struct winsize size;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col == 0)
		return 80;
	return size.ws_col;
}

void
progress_begin(bool wanted, bool unwanted)
{
	/*
	 * A terminal gets progress by default.  A file or a pipe gets lines only
	 * if the user asks for them, as scripts compare what is on standard
	 * error.
	 */
	progress.terminal = isatty(STDERR_FILENO);
	progress.shown = !unwanted && (wanted || progress.terminal);
	if (progress.shown)
		message_set_before_output(clear_line);
}

static void
clear_line_of_parent(void)
{
	fprintf(stderr, "\r%*s\r", terminal_width() - 1, "");
}

void
progress_begin_process(void)
{
	if (progress.shown && progress.terminal)
		message_set_before_output(clear_line_of_parent);
	progress.shown = false;
	progress.compose = NULL;
}

bool
progress_is_shown(void)
{
	return progress.shown;
}

static bool
has_time(const ProgressLine *line)
{
	for (int i = 0; i < line->n_fields; i++)
		if (strcmp(line->fields[i].before, "time ") == 0)
			return true;
	return false;
}

static void
show_line(bool at_end)
{
	ProgressLine line = {.n_fields = 0};
	int			columns = progress.terminal ? terminal_width() - 1 : 0;
	PQExpBufferData text = buffer_new();

	progress.compose(progress.arg, &line, at_end);

	/* A log file must show when a run became slow. */
	if (!progress.terminal && !has_time(&line))
		progress_add_time(&line);
	progress_line_finish(&line, columns, &text);
	if (progress.terminal)
	{
		int			width = Min((int) text.len, columns);
		int			blank = Max(progress.line_width - width, 0);

		/* Spaces overwrite the rest of a longer line. */
		fprintf(stderr, "\r%.*s%*s", width, text.data, blank, "");
		progress.line_width = width;
	}
	else
		fprintf(stderr, "%s\n", text.data);
	progress.last_shown = run_clock_seconds();
	progress.stage_shown = true;
	termPQExpBuffer(&text);
}

void
progress_stage(ProgressCompose compose, void *arg)
{
	progress_end();
	if (!progress.shown)
		return;
	progress.compose = compose;
	progress.arg = arg;
	progress.only_if_long = progress.stage_shown = false;
	progress.last_shown = run_clock_seconds();
}

void
progress_tick(void)
{
	double		pause = progress.terminal ? TERMINAL_SECONDS : PLAIN_SECONDS;

	run_figures_tick();
	if (progress.compose && run_clock_seconds() - progress.last_shown >= pause)
		show_line(false);
}

void
progress_end(void)
{
	if (progress.compose == NULL)
		return;

	/*
	 * A stage that usually takes no time leaves no line if it ended before
	 * its first line was due.
	 */
	if (progress.stage_shown || !progress.only_if_long)
	{
		show_line(true);
		if (progress.terminal)
			fputc('\n', stderr);
	}
	progress.line_width = 0;
	progress.compose = NULL;
}

void
progress_add_time(ProgressLine *line)
{
	progress_line_add(line, 0, "time ", "", "%s",
					  units_duration(run_clock_seconds()));
}

double
progress_add_share(ProgressLine *line, const char *what, uint64 done,
				   uint64 total, double begun, bool at_end)
{
	double		seconds = Max(run_clock_seconds() - begun, 0.001);
	double		share = at_end ? 1 : Min((double) done / Max(total, 1), 0.999);

	progress_line_add(line, 0, "", "", "%s%3d%%", what, (int) (share * 100));
	if (at_end)
		progress_add_time(line);
	else if (share > 0)
		progress_line_add(line, 0, "", "", "ETA %s",
						  units_duration(seconds / share - seconds));
	return seconds;
}

/* ----------
 * Stages that count
 * ----------
 */
static void
compose_count(void *arg, ProgressLine *line, bool at_end)
{
	const Count *count = arg;

	if (count->done)
		progress_line_add(line, 0, "", "", "%s %d/%d%s", count->what,
						  *count->done, count->total, count->noun);
	else if (count->total > 0)
		progress_line_add(line, 0, "", "", "%s %d%s", count->what,
						  count->total, count->noun);
	else
		progress_line_add(line, 0, "", "", "%s", count->what);
	progress_add_time(line);
	if (count->detail && !at_end)
		count->detail(count->detail_arg, line, false);
}

void
progress_stage_count(const char *what, const char *noun,
					 const volatile int *done, int total)
{
	Count		count = {what, noun, done, total, NULL, NULL};

	progress_end();				/* the count of the last stage may be in the
								 * same memory */
	progress.count = count;
	progress_stage(compose_count, &progress.count);
}

void
progress_stage_if_long(const char *what)
{
	if (progress.compose == compose_count && progress.only_if_long &&
		strcmp(progress.count.what, what) == 0)
		return;
	progress_stage_count(what, "", NULL, 0);
	progress.only_if_long = true;
}

void
progress_set_detail(ProgressCompose detail, void *arg)
{
	progress.count.detail = detail;
	progress.count.detail_arg = arg;
}

/* ----------
 * A pool's leader
 * ----------
 */
static bool
progress_attend(void *arg, bool all_done)
{
	progress_tick();
	return true;
}

PoolWatch
progress_watch(void)
{
	PoolWatch	watch = worker_pool_no_watch;

	watch.attend = progress_attend;
	return watch;
}
