/*
 * event_log.h
 *		--log-json: what happens, as one JSON object a line, for programs.
 *
 * Every event has "time" (UTC, ISO 8601), "pid", "run_id", which is the run's
 * and no other's, and "event", its kind; the manual lists the kinds.  Leader
 * and workers write to one open file, each event in one write() of at most
 * PIPE_BUF bytes, so that lines of several processes do not mix; long texts
 * are cut for that.
 *
 * Without a log event_new() returns NULL, which the other functions pass
 * over.
 */
#ifndef EVENT_LOG_H
#define EVENT_LOG_H

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

#endif							/* EVENT_LOG_H */
