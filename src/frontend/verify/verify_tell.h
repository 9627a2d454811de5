/*
 * verify_tell.h
 *		What a verification tells: progress, events, the sum, the report.
 */
#ifndef VERIFY_TELL_H
#define VERIFY_TELL_H

#include "report/report.h"
#include "verify/verify_run.h"

/* The event of its beginning, when the files to be read are known. */
extern void verify_tell_run(const VerifyRun *run);

/* Show from now on how far the workers are; progress_end() ends it. */
extern void verify_tell_progress(VerifyRun *run);

/* The event of its end, and the line that sums up. */
extern void verify_tell_sum(const VerifyRun *run);

/* --report: complete the page. */
extern void verify_tell_report(const VerifyRun *run, Report *page);

#endif							/* VERIFY_TELL_H */
