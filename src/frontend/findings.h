/*
 * findings.h
 *		What is found before a run begins its work, all of it.
 *
 * Whoever looks for what would make a run fail tells of it by pg_log_error(),
 * or of what may by pg_log_warning(), and goes on.  message.c counts these
 * here, so that a run ends when all of them have been told.
 */
#ifndef FINDINGS_H
#define FINDINGS_H

/* A message of this level (of common/logging.h) is told. */
extern void findings_count(int level);

/* End the process, with exit status 1, if an error has been told. */
extern void findings_settle(void);

#endif							/* FINDINGS_H */
