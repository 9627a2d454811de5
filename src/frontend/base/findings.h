/*
 * findings.h
 *		What is found before a run begins its work, all of it.
 *
 * Whoever looks for what would make a run fail tells of it by pg_log_error(),
 * or of what may by pg_log_warning(), and goes on; a run ends when all of
 * them have been told.  To be told is all it takes to be a finding: message.c
 * hands every message of this process over to be counted, so nobody returns
 * how much was found, and no path can forget to.  With --check they are no
 * messages but lines of a list.
 */
#ifndef FINDINGS_H
#define FINDINGS_H

#include "base/fe_compat.h"

/*
 * --check: from now on errors and warnings, and each detail and hint, are a
 * line of event_log_text_output().  Their sum is the last one, when the
 * process ends, also if something else ends it.
 */
extern void findings_begin_list(void);

/* In a child that is a run of its own: nothing has been found yet. */
extern void findings_begin_process(void);

/*
 * For message.c: a printable_message() of this level and part (of
 * common/logging.h) is told.  True if it is in the list, and that is all.
 */
extern bool findings_take(int level, int part, const char *text);

/* With --check: a line of the list that is no finding. */
extern void findings_note(const char *text);

/*
 * All that belongs together has been looked for.  End the process, with exit
 * status 1, if an error has been told since it began; with --check there may
 * be more to find.
 */
extern void findings_settle(void);

/* --check is done: end the process in that way, or tell that all is well. */
extern void findings_end(void);

#endif							/* FINDINGS_H */
