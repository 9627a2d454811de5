/*
 * job_log_schema.h
 *		The schema on the target in which everything of a log is.
 */
#ifndef JOB_LOG_SCHEMA_H
#define JOB_LOG_SCHEMA_H

#define JOB_LOG_SCHEMA "pardump_restore"

#endif							/* JOB_LOG_SCHEMA_H */
