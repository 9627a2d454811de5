/*
 * restore_definitions.h
 *		Makes the definitions of an archive, as often as it takes.
 *
 * Unlike what stock pg_restore makes, a lost session is one more retry;
 * nothing is made twice, nor again by --resume.
 */
#ifndef RESTORE_DEFINITIONS_H
#define RESTORE_DEFINITIONS_H

#include "job_log/job_log.h"
#include "target/restore_stage.h"

/*
 * Make all entries of a phase: RESTORE_PRE_DATA one after the other,
 * RESTORE_POST_DATA side by side.  stage is the progress'.  Errors are told
 * and counted; with --exit-on-error the first one ends the process.  When it
 * returns all is on the target's disk, and the leader's session is a new one.
 */
extern void restore_definitions_make(RestoreStages *stages,
									 const JobLog *log,
									 RestorePhase phase, const char *stage);

#endif							/* RESTORE_DEFINITIONS_H */
