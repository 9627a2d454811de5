/*
 * findings.c
 *		Counts and lists what is found before a run begins its work.
 */
#include "base/fe_compat.h"

#include "base/cleanup.h"
#include "base/event_log.h"
#include "base/findings.h"
#include "base/units.h"

/* Messages come from anywhere, so these are the process's. */
static int	n_errors;
static int	n_warnings;
static bool listed;				/* by --check */

static void
put(FILE *out, int level, int part, const char *text)
{
	static const char *const heads[] = {NULL, "  DETAIL: ", "  HINT: "};

	if (part == MESSAGE_PRIMARY)
		fputs(level >= PG_LOG_ERROR ? "error: " : "warning: ", out);
	else
		fputs(heads[part], out);
	/* the later lines of a printable_message() begin with a tab */
	for (; *text; text++)
		if (*text != '\n')
			fputc(*text == '\t' ? ' ' : *text, out);
	fputc('\n', out);
	fflush(out);				/* before a child has it, too */
}

bool
findings_take(int level, int part, const char *text)
{
	if (level < PG_LOG_WARNING)
		return false;
	if (listed)
		put(event_log_text_output(), level, part, text);
	if (part == MESSAGE_PRIMARY && level >= PG_LOG_ERROR)
		n_errors++;
	else if (part == MESSAGE_PRIMARY)
		n_warnings++;
	return listed;
}

void
findings_note(const char *text)
{
	FILE	   *out = event_log_text_output();

	if (!listed)
		return;
	fprintf(out, "%s\n", text);
}

static void
put_sum(void *arg)
{
	FILE	   *out = event_log_text_output();
	Event	   *event = event_new("check");

	fprintf(out, "%d error%s, %d warning%s\n", n_errors, units_plural(n_errors),
			n_warnings, units_plural(n_warnings));
	event_add_number(event, "errors", n_errors);
	event_add_number(event, "warnings", n_warnings);
	event_write(event);
}

void
findings_begin_list(void)
{
	listed = true;
	cleanup_push(put_sum, NULL);
}

void
findings_begin_process(void)
{
	n_errors = n_warnings = 0;
	listed = false;
}

void
findings_settle(void)
{
	if (n_errors > 0 && !listed)
		exit(1);
}

void
findings_end(void)
{
	if (n_errors > 0)
		exit(1);
	cleanup_forget_all();
	put_sum(NULL);
}
