/*
 * copy_log.c
 *		Names of lines in the log of a copy by tasks.
 */
#include "base/fe_compat.h"

#include "copy/copy_log.h"

#define ROWS_FORMAT "chunk %d: " UINT64_FORMAT " rows, " UINT64_FORMAT " bytes"
#define OBJECTS_FORMAT "large objects from %d: " UINT64_FORMAT " bytes"

char *
copy_log_job(int job)
{
	return psprintf("job %d", job);
}

char *
copy_log_rows(int file, const FileResult *result)
{
	return psprintf(ROWS_FORMAT, file, result->rows, result->raw_bytes);
}

char *
copy_log_objects(int first_object, uint64 bytes)
{
	return psprintf(OBJECTS_FORMAT, first_object, bytes);
}

bool
copy_log_read_rows(const char *name, int *number, uint64 *rows, uint64 *bytes)
{
	return sscanf(name, ROWS_FORMAT, number, rows, bytes) == 3;
}

bool
copy_log_read_objects(const char *name, int *number, uint64 *bytes)
{
	return sscanf(name, OBJECTS_FORMAT, number, bytes) == 2;
}
