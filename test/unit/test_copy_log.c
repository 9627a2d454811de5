/*
 * test_copy_log.c
 *		What a task has copied comes back from the log as it was, and no other
 *		line is taken for it.
 */
#include "base/fe_compat.h"

#include "copy/copy_log.h"
#include "unit_test.h"

static void
check_rows(int file, uint64 rows, uint64 bytes)
{
	FileResult	result = {.rows = rows,.raw_bytes = bytes,.stored_bytes = 1};
	char	   *name = copy_log_rows(file, &result);
	int			number = -1;
	uint64		found_rows = 0;
	uint64		found_bytes = 0;

	ok(copy_log_read_rows(name, &number, &found_rows, &found_bytes) &&
	   number == file && found_rows == rows && found_bytes == bytes, name);
	ok(!copy_log_read_objects(name, &number, &found_bytes),
	   "it is not of large objects");
	free(name);
}

static void
check_objects(int object, uint64 bytes)
{
	char	   *name = copy_log_objects(object, bytes);
	int			number = -1;
	uint64		rows = 0;
	uint64		found = 0;

	ok(copy_log_read_objects(name, &number, &found) && number == object &&
	   found == bytes, name);
	ok(!copy_log_read_rows(name, &number, &rows, &found), "it is not of rows");
	free(name);
}

void
test_copy_log(void)
{
	static const char *const others[] = {
		"", "job 1", "chunk", "chunk 1", "chunk 1: 2 rows", "chunk x: 1 rows, 1 bytes",
	"large objects from", "rows 1", "no crash"};
	char	   *job = copy_log_job(12);
	int			number;
	uint64		rows;
	uint64		bytes;

	is_text(job, "job 12", "a job");
	check_rows(0, 0, 0);
	check_rows(PG_INT32_MAX, PG_UINT64_MAX, PG_UINT64_MAX - 1);
	check_objects(0, 0);
	check_objects(PG_INT32_MAX, PG_UINT64_MAX);
	for (int i = 0; i < (int) lengthof(others); i++)
		ok(!copy_log_read_rows(others[i], &number, &rows, &bytes) &&
		   !copy_log_read_objects(others[i], &number, &bytes), others[i]);
	free(job);
}
