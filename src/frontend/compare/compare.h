/*
 * compare.h
 *		Makes sure, after a direct copy, that source and target have the same
 *		contents.
 */
#ifndef COMPARE_H
#define COMPARE_H

#include "source/source.h"
#include "status/run.h"
#include "target/target.h"

/*
 * Compare the number of rows of all tables that were copied, and a checksum
 * of them that does not depend on their order, in the snapshot of the copy,
 * and large objects likewise; and the positions of sequences with those of
 * the plan's TOC.  Both servers work at a time, and as many tables as there
 * are jobs.  Each difference is an error message; returns how many there are.
 */
extern int	compare_contents(Source *source, const Target *target,
							 const Run *run);

#endif							/* COMPARE_H */
