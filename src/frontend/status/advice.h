/*
 * advice.h
 *		What costs a run time that it need not take.
 *
 * That is one worker for what several could share, if one was not asked for,
 * and tables that SQL reads for want of the extension.  Neither is said of a
 * run so small that it makes no difference, nor of what an option has chosen;
 * but an extension that is there, and may not be used or cannot be trusted,
 * is always worth one.
 */
#ifndef ADVICE_H
#define ADVICE_H

#include "plan/dump_plan.h"

/*
 * The plan is made: say it on standard error if progress is shown there, else
 * only to who asked for more words (-v).
 */
extern void advice_give(const Options *options, const DumpPlan *plan);

/* All is done: the same as lines of the summary. */
extern void advice_print(const Options *options, const DumpPlan *plan,
						 FILE *stream);

#endif							/* ADVICE_H */
