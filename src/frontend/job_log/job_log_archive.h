/*
 * job_log_archive.h
 *		Is it the same archive?
 */
#ifndef JOB_LOG_ARCHIVE_H
#define JOB_LOG_ARCHIVE_H

#include "archive/archive_open.h"

/*
 * A text that is another one if the archive is; owned.  One with a manifest
 * is told by that and the table of contents, which may be elsewhere the next
 * time; another directory by its table of contents and its files' names,
 * sizes and times, and a file in the custom format by its table of contents,
 * size and time.  Exits with a message if it cannot be read.
 */
extern char *job_log_archive(const Archive *archive);

/* The same of a list of numbers. */
extern char *job_log_numbers(const int *numbers, int n);

#endif							/* JOB_LOG_ARCHIVE_H */
