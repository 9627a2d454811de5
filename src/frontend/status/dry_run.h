/*
 * dry_run.h
 *		Shows the plan of a dump instead of executing it.
 */
#ifndef DRY_RUN_H
#define DRY_RUN_H

#include "plan/dump_plan.h"

/*
 * Print to event_log_text_output() how each table would be dumped, and why
 * so, what it comes to, and how long it would take at the rate the options
 * expect, if any.  The plan is that which workers would be given; the
 * output has its encoding.
 */
extern void dry_run_print(const Options *options, const DumpPlan *plan);

#endif							/* DRY_RUN_H */
