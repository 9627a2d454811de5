/*
 * verify_run.h
 *		A verification that is going on.
 */
#ifndef VERIFY_RUN_H
#define VERIFY_RUN_H

#include "pqexpbuffer.h"

#include "archive/manifest.h"
#include "verify/verify_list.h"

typedef struct VerifyRun
{
	const char *directory;
	Manifest   *manifest;		/* NULL without, or if it is damaged */
	VerifyCounts found;			/* by the leader */
	FileList   *list;
	VerifyFile **jobs;			/* files to be read, largest first */
	int			n_jobs;
	VerifyCounts *counts;		/* by worker, shared */
	int			worker;			/* in a worker: its number */
	int			n_workers;
	double		start;			/* of reading, as of run_clock_seconds() */
	uint64		expected_bytes; /* of all files to be read */
	PQExpBufferData findings;	/* of workers, the first of each */
} VerifyRun;

#endif							/* VERIFY_RUN_H */
