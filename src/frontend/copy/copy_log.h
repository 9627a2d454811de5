/*
 * copy_log.h
 *		Names of lines in the log of a copy by tasks (job_log/job_log.h).
 *
 * Of a job there is one line, by which it is done once, and some that say
 * what has been copied: whoever has done it may be lost before he tells.
 */
#ifndef COPY_LOG_H
#define COPY_LOG_H

#include "progress/file_result.h"

/* Of a job of the queue; owned. */
extern char *copy_log_job(int job);

/* Of a data file of the plan; owned. */
extern char *copy_log_rows(int file, const FileResult *result);

/* Of the first large object of a group, with the sum of all; owned. */
extern char *copy_log_objects(int first_object, uint64 bytes);

/*
 * What these two have: false if it is another line.  *number is that of the
 * file, or of the object, which may be none that there is.
 */
extern bool copy_log_read_rows(const char *name, int *number, uint64 *rows,
							   uint64 *bytes);
extern bool copy_log_read_objects(const char *name, int *number,
								  uint64 *bytes);

#endif							/* COPY_LOG_H */
