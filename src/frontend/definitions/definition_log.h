/*
 * definition_log.h
 *		The lines of definitions in the log of a restore.
 *
 * As those of job_log.h, of which this has the names: an entry's own, or of
 * a part of one.  The session's user may be an entry's owner by then; the log
 * is that of whom the session began as.
 */
#ifndef DEFINITION_LOG_H
#define DEFINITION_LOG_H

#include "base/fe_compat.h"

#include "definitions/definition_session.h"
#include "job_log/job_log.h"

/*
 * In the session's transaction, before the entry is made: false if it is
 * done already.  *n_errors grows by the errors that it was done with.
 */
extern bool definition_log_claim(const JobLog *log,
								 DefinitionSession *session,
								 const ScriptEntry *entry,
								 volatile int *n_errors);

/*
 * The same with n entries, of which each has a line.  False if any is done
 * already: the session is to roll back then.
 */
extern bool definition_log_claim_all(const JobLog *log,
									 DefinitionSession *session,
									 const ScriptEntry *entries, int n);

/* The line of an entry that was claimed is to tell of so many errors. */
extern void definition_log_errors(const JobLog *log,
								  DefinitionSession *session,
								  const ScriptEntry *entry, int n_errors);

/*
 * The name of another line, of an entry that cannot be in a transaction: it
 * was begun, and may be done; owned.
 */
extern char *definition_log_name_begun(const TocEntry *entry);

#endif							/* DEFINITION_LOG_H */
