/*
 * verify_finding.h
 *		What is known of a file, and what is found to be wrong with it.
 */
#ifndef VERIFY_FINDING_H
#define VERIFY_FINDING_H

#include "archive/manifest.h"

/* What a file is known to be. */
typedef struct VerifyFile
{
	const char *name;			/* in the directory; borrowed */
	ManifestFileKind kind;
	const char *table;			/* whose rows it has, as SQL names it; NULL if
								 * that is not known */
	bool		has_copy_rows;	/* COPY text, with its end mark */
	const ManifestFile *want;	/* NULL without a manifest */
	uint64		size;			/* as the directory was listed */
} VerifyFile;

/* Findings kept as text, of one worker. */
#define VERIFY_TEXT_BYTES 4096

/* What was found in it. */
typedef struct VerifyCounts
{
	uint64		rows;
	uint64		raw_bytes;
	uint64		stored_bytes;
	volatile uint64 bytes_read; /* as it goes, of what is stored */
	volatile int files;			/* that are done */
	volatile int findings;
	char		text[VERIFY_TEXT_BYTES];	/* as many as fit, a line each */
} VerifyCounts;

/*
 * Log and count a finding about a file, which is named with its table, or
 * about one of which only the name is known.
 */
extern void verify_finding_file(VerifyCounts *counts, const VerifyFile *file,
								const char *format,...) pg_attribute_printf(3, 4);
extern void verify_finding(VerifyCounts *counts, const char *name,
						   const char *format,...) pg_attribute_printf(3, 4);

#endif							/* VERIFY_FINDING_H */
