/*
 * message.h
 *		Messages on standard error for people, and the event log for programs.
 *
 * fe_compat.h lets pg_log_error() and its like, pg_fatal() included, call
 * message_log() instead of common/logging.c directly, and the linker does the
 * same with PostgreSQL's libraries, so that errors and warnings become events
 * of the log, too, and command no terminal.  With --check they are lines of a
 * list instead.
 */
#ifndef MESSAGE_H
#define MESSAGE_H

/* ----------
 * Text of unknown origin in messages.
 *
 * Names come from a server or an archive that others may have filled.  They
 * must not end a line of the log and begin one of their own, nor command a
 * terminal.
 * ----------
 */

/*
 * A name with every control character written as \xNN: the text itself if it
 * has none, else a copy that is never freed.
 */
extern const char *printable(const char *text);

/*
 * A message that may have several lines, as a server's have: the second and
 * later ones begin with a tab, so that none of them looks like one of ours.
 * Owned.
 */
extern char *printable_message(const char *text);

/* ----------
 * Collects all findings before a run begins its work.
 *
 * A check reports what would make the run fail by pg_log_error(), what may by
 * pg_log_warning(), and continues; the run ends when all checks were made.
 * Every such message is a finding: message.c passes each message of this
 * process here to be counted, so that no check has to return how much it
 * found, and none can forget to.  With --check the findings are lines of a
 * list instead of messages.
 * ----------
 */

/*
 * --check: from now on errors and warnings, and each detail and hint, are a
 * line of a list.  It is written to event_log_text_output() when the process
 * ends, also after an error, so that it follows what the check says of the
 * plan; the last line is their number, or "no problems found".  The latter is
 * left out for one of several databases.
 */
extern void findings_begin_list(void);

/* In a child that is a run of its own: nothing has been found yet. */
extern void findings_begin_process(void);

/*
 * --check of one of several databases: the title of its list, owned by the
 * caller.  findings_take_title() returns it once, and NULL from then on; if
 * it has not been called, the title is the first line of the list.
 */
extern void findings_set_title(const char *text);
extern const char *findings_take_title(void);

/* With --check: a line that is not a finding, which is written at once. */
extern void findings_note(const char *text);

/*
 * All that belongs together has been looked for.  End the process, with exit
 * status 1, if an error has been told since it began; with --check there may
 * be more to find.
 */
extern void findings_report(void);

/* --check is done: end the process in that way, or tell that all is well. */
extern void findings_end(void);

typedef enum MessagePart
{
	MESSAGE_PRIMARY,			/* the values of pg_log_part */
	MESSAGE_DETAIL,
	MESSAGE_HINT
} MessagePart;

/* Tell it (arguments as of printf), and note errors and warnings. */
extern void message_log(int level, int part, const char *format,...)
			pg_attribute_printf(3, 4);

/*
 * pg_fatal() for errors that have more parts: the last part, after
 * pg_log_error() has reported the error.
 */
#define pg_fatal_detail(...) \
	do { pg_log_error_detail(__VA_ARGS__); exit(1); } while (0)
#define pg_fatal_hint(...) \
	do { pg_log_error_hint(__VA_ARGS__); exit(1); } while (0)

/*
 * A hint that belongs to no message, which is shown at each level of
 * messages.
 */
extern void message_hint(const char *text);

/*
 * A cause, which may be a message of libpq, as the sentence of a detail: with
 * a capital letter, and with a period unless it has several lines.  Owned.
 */
extern char *message_sentence(const char *cause);

/* The SQLSTATE of the next error or warning to be told; NULL for none. */
extern void message_set_sqlstate(const char *sqlstate);

/*
 * Something is about to be written to standard error: by message_log(), or by
 * a caller that says so.  A progress line is cleared first, by the function
 * that was set, in the process that set it.
 */
extern void message_before_output(void);
extern void message_set_before_output(void (*function) (void));

/*
 * While a library may write the text of others to standard error by itself:
 * libpq does so with a server's notices before the connection is made, when
 * it has no notice processor yet.  It is shown as messages are.  The first
 * message ends that, too.
 */
extern void message_guard_begin(void);
extern void message_guard_end(void);

/*
 * One of several runs, in a process of its own: this is its database, which
 * its messages name, "pg_pardump:shop: error: ...".  Borrowed.
 */
extern void message_set_database(const char *database);

/* That database, for what is told in another way; NULL for none. */
extern const char *message_database(void);

/* ----------
 * --log-json: what happens, as one JSON object a line, for programs.
 *
 * Every event has "time" (UTC, ISO 8601), "pid", "run_id", which is the run's
 * and no other's, and "event", its kind; the manual lists the kinds.  Leader
 * and workers write to one open file, each event in one write() of at most
 * PIPE_BUF bytes, so that lines of several processes do not mix; long texts
 * are cut for that.
 *
 * Without a log event_new() returns NULL, which the other functions pass
 * over.
 * ----------
 */

typedef struct Event Event;

/*
 * What programs that read the log may rely on.  It grows when a member or a
 * kind of event is taken away or means something else, not when one is added.
 */
#define EVENT_SCHEMA_VERSION 1

/*
 * Append events to this file, "-" for standard output, from now on, in this
 * process and those it forks.  The first is "start"; command is what the
 * program is to do, and database is the one whose run this is of several, or
 * NULL.
 */
extern void event_log_open(const char *path, const char *command,
						   const char *database);

/*
 * Where text for people goes: standard output, or standard error if the
 * former has the log.
 */
extern FILE *event_log_text_output(void);

/* An event of this kind, e.g. "stage", to be filled and written. */
extern Event *event_new(const char *kind);

/* Add a member; a NULL text is left out. */
extern void event_add_text(Event *event, const char *key, const char *text);
extern void event_add_number(Event *event, const char *key, uint64 number);
extern void event_add_seconds(Event *event, const char *key, double seconds);

/*
 * Write the event and free it.  Should the log not take it, a warning is the
 * last that is heard of the log: a dump does not fail for it.
 */
extern void event_write(Event *event);

#endif							/* MESSAGE_H */
