/*
 * findings.h
 *		Collects all findings before a run begins its work.
 *
 * A check reports what would make the run fail by pg_log_error(), what may by
 * pg_log_warning(), and continues; the run ends when all checks were made.
 * Every such message is a finding: message.c passes each message of this
 * process here to be counted, so that no check has to return how much it
 * found, and none can forget to.  With --check the findings are lines of a
 * list instead of messages.
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

/* With --check: a line of the list that is not a finding. */
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
