/*
 * message.h
 *		What is told on standard error goes through here.
 *
 * fe_compat.h lets pg_log_error() and its like, pg_fatal() included, call
 * message_log() instead of common/logging.c directly, and the linker does the
 * same with PostgreSQL's libraries, so that errors and warnings become events
 * of the log, too, and command no terminal.  With --check they are lines of a
 * list instead (findings.h).
 */
#ifndef MESSAGE_H
#define MESSAGE_H

typedef enum MessagePart
{
	MESSAGE_PRIMARY,			/* the values of pg_log_part */
	MESSAGE_DETAIL,
	MESSAGE_HINT
} MessagePart;

/* Tell it (arguments as of printf), and note errors and warnings. */
extern void message_log(int level, int part, const char *format,...)
			pg_attribute_printf(3, 4);

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

#endif							/* MESSAGE_H */
