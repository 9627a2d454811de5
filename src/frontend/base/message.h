/*
 * message.h
 *		Messages for users on standard error, the findings of checks, and the
 *		event log for programs.
 *
 * Because of fe_compat.h, pg_log_error(), pg_fatal() and similar macros call
 * message_log() instead of the function of common/logging.c.  The linker does
 * the same for PostgreSQL's libraries.  So all errors and warnings are also
 * written to the event log, and control characters in them cannot affect a
 * terminal.  With --check, messages are lines of a list instead.
 */
#ifndef MESSAGE_H
#define MESSAGE_H

/* ----------
 * Text of unknown origin in messages.
 *
 * Names come from a server or an archive, which others may have filled.  A
 * name must not be able to begin a new line that looks like a message of
 * ours, or to control a terminal.
 * ----------
 */

/*
 * Returns a name with every control character as \xNN: the text itself if it
 * contains none, otherwise a copy that is never freed.
 */
extern const char *printable(const char *text);

/*
 * Returns a message that may have several lines, such as a server's, in the
 * same form.  The second and later lines begin with a tab, so that none of
 * them looks like a message of ours.  The caller owns it.
 */
extern char *printable_message(const char *text);

/* ----------
 * The findings of checks before a run begins its work.
 *
 * A check reports a problem that would make the run fail with pg_log_error(),
 * and a possible problem with pg_log_warning(), and continues.  The run ends
 * when all checks are complete.  Each such message is a finding.  message.c
 * counts all messages of this process, so that checks need not return the
 * number of their findings.  With --check, findings are lines of a list
 * instead of messages.
 * ----------
 */

/*
 * With --check: from now on, errors and warnings, and each detail and hint,
 * are lines of a list.  The list is written to event_log_text_output() when
 * the process ends, even after an error, so that it follows the output about
 * the plan.  The last line is the number of findings or "no problems found".
 */
extern void findings_begin_list(void);

typedef struct FindingCounts
{
	int			errors;
	int			warnings;
} FindingCounts;

/*
 * In a child that is a separate run: begin without findings.  With --check,
 * its list has no last line.  Its counts are stored in sum, in memory that
 * the parent shares.
 */
extern void findings_begin_process(FindingCounts *sum);

/*
 * In the parent: count the findings of children, which have listed them.  The
 * last line then contains the number of databases, unless it is 0.  If only
 * children have found errors, it also contains the names of the databases
 * with errors, unless names is NULL, because none or all have errors.
 */
extern void findings_add_databases(const FindingCounts *sum, int n_databases,
								   const char *names);

/*
 * Set the title of the list with --check for one of several databases, which
 * the caller owns.  findings_take_title() returns the title once, and NULL
 * from then on.  If it has not been called, the title is printed before the
 * list.
 */
extern void findings_set_title(const char *text);
extern const char *findings_take_title(void);

/*
 * Count a warning of the server or of another program, which is shown like
 * other messages, and is not in the list.
 */
extern void findings_count_warning(void);

/* With --check: print a line that is not a finding at once. */
extern void findings_note(const char *text);

/*
 * Call this after a group of checks.  Ends the process with exit status 1 if
 * an error was reported since the process began.  With --check, it continues,
 * since later checks may find more.
 */
extern void findings_report(void);

/* The same, but with --check, too: the next step requires these checks. */
extern void findings_require(void);

/*
 * Call this at the end of --check.  Ends the process with exit status 1 if
 * there are errors.  The list is printed in any case.
 */
extern void findings_end(void);

typedef enum MessagePart
{
	MESSAGE_PRIMARY,			/* same values as pg_log_part */
	MESSAGE_DETAIL,
	MESSAGE_HINT
} MessagePart;

/*
 * Print a message (arguments as for printf), and record errors and warnings.
 */
extern void message_log(int level, int part, const char *format,...)
			pg_attribute_printf(3, 4);

/*
 * Like pg_fatal(), for errors with several parts: call this for the last
 * part, after pg_log_error().
 */
#define pg_fatal_detail(...) \
	do { pg_log_error_detail(__VA_ARGS__); exit(1); } while (0)
#define pg_fatal_hint(...) \
	do { pg_log_error_hint(__VA_ARGS__); exit(1); } while (0)

/*
 * Print a hint without a message.  It is shown at every log level.  With
 * --check, it is a line of the list, but not a finding.
 */
extern void message_hint(const char *text);

/*
 * A cause, which may be a message of libpq, as the sentence of a detail: with
 * a capital letter, and with a period unless it has several lines.  Owned.
 */
extern char *message_sentence(const char *cause);

/* Set the SQLSTATE of the next error or warning, or NULL for none. */
extern void message_set_sqlstate(const char *sqlstate);

/*
 * Call this before writing to standard error directly; message_log() does so
 * itself.  It clears the progress line first, with the function that
 * message_set_before_output() has set, if this is the same process.
 */
extern void message_before_output(void);
extern void message_set_before_output(void (*function) (void));

/*
 * Call these around library functions that may write text of unknown origin
 * to standard error.  libpq writes a server's notices this way before the
 * connection is made, when it has no notice processor yet.  The text is shown
 * like messages.  The first message also ends the guard.
 */
extern void message_guard_begin(void);
extern void message_guard_end(void);

/*
 * Set the database of this process, which runs for one of several databases.
 * Messages contain it: "pg_pardump:shop: error: ...".  Borrowed.
 */
extern void message_set_database(const char *database);

/* Returns that database, or NULL, for output other than messages. */
extern const char *message_database(void);

/* ----------
 * The event log (--log-json): one JSON object per line, for programs.
 *
 * Each event has "time" (UTC, ISO 8601), "pid", "run_id", which is unique to
 * the run, and "event", its kind; the manual lists the kinds.  The leader and
 * the workers write to one open file.  They write each event in one write()
 * of at most PIPE_BUF bytes, so that lines of several processes do not mix.
 * Long texts are truncated for this purpose.
 *
 * Without a log, event_new() returns NULL, and the other functions do
 * nothing.
 * ----------
 */

typedef struct Event Event;

/*
 * The version of the log's format, for programs that read it.  It is
 * incremented when a member or a kind of event is removed or changes its
 * meaning, not when one is added.
 */
#define EVENT_SCHEMA_VERSION 1

/*
 * Append events to this file, or to standard output for "-", from now on, in
 * this process and those that it forks.  The first event is "start".  command
 * is the command of the program.  database is NULL, except in a run for one
 * of several databases.
 */
extern void event_log_open(const char *path, const char *command,
						   const char *database);

/*
 * Returns the file for text output: standard output, or standard error if the
 * log is written to standard output.
 */
extern FILE *event_log_text_output(void);

/* Begin an event of this kind, for example "stage". */
extern Event *event_new(const char *kind);

/* Add a member.  A NULL text is omitted. */
extern void event_add_text(Event *event, const char *key, const char *text);
extern void event_add_number(Event *event, const char *key, uint64 number);
extern void event_add_seconds(Event *event, const char *key, double seconds);

/*
 * Write the event, and free it.  If the write fails, the log is closed with a
 * warning, because a dump should not fail for this reason.
 */
extern void event_write(Event *event);

#endif							/* MESSAGE_H */
