/*
 * fuzz_results.c
 *		The file of an attempt at a task, on any bytes: a line that is read is
 *		the same after it was written and read.
 */
#include "base/fe_compat.h"

#include <sys/mman.h>

#include "tasks/task_plan.h"

extern int	LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool
equal_texts(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool
equal_bytes(const uint8 *a, int a_len, const uint8 *b, int b_len, int max_len)
{
	return a_len >= 0 && a_len <= max_len && a_len == b_len &&
		memcmp(a, b, a_len) == 0;
}

static bool
equal_hashes(const FileHash *a, const FileHash *b)
{
	return equal_bytes(a->bytes, a->len, b->bytes, b->len, sizeof(a->bytes));
}

static bool
equal_lines(const TaskLine *a, const TaskLine *b)
{
	const FileResult *left = &a->result;
	const FileResult *right = &b->result;

	return a->kind == b->kind && equal_texts(a->run_id, b->run_id) &&
		a->number == b->number && left->server == right->server &&
		left->rows == right->rows && left->raw_bytes == right->raw_bytes &&
		left->stored_bytes == right->stored_bytes &&
		left->start_us == right->start_us && left->end_us == right->end_us &&
		equal_bytes(left->checksum, left->checksum_len,
					right->checksum, right->checksum_len,
					sizeof(left->checksum)) &&
		equal_hashes(&left->fingerprint, &right->fingerprint) &&
		equal_hashes(&left->first_fingerprint, &right->first_fingerprint) &&
		equal_hashes(&left->definition, &right->definition) &&
		equal_texts(left->reused, right->reused) &&
		equal_texts(left->new_reason, right->new_reason);
}

/* Write the line to a file in memory, and read it again. */
static void
check_round_trip(const TaskLine *line)
{
	static TaskResults results = {.path = "results",.fd = -1};
	TaskLine	again;
	char	   *text;

	if (results.fd < 0)
		results.fd = memfd_create("results", 0);
	results.written = 0;
	task_result_write(&results, line);
	text = pg_malloc(results.written);
	if (pread(results.fd, text, results.written, 0) != (ssize_t) results.written ||
		memchr(text, '\n', results.written) != text + results.written - 1 ||
		!task_result_read(text, results.written - 1, &again) ||
		!equal_lines(line, &again))
		abort();
	task_result_free(&again);
	free(text);
}

/* A line without its newline, as the leader reads it. */
static bool
try_line(const char *text, size_t len)
{
	TaskLine	line;
	bool		valid = task_result_read(text, len, &line);

	if (valid)
	{
		if (line.kind < TASK_LINE_RUN || line.kind > TASK_LINE_END ||
			line.result.server < 0)
			abort();
		check_round_trip(&line);
	}
	task_result_free(&line);
	return valid;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char	   *text = pg_malloc(size);
	char	   *pos = text;
	char	   *end = text + size;
	char	   *newline;

	memcpy(text, data, size);
	while ((newline = memchr(pos, '\n', end - pos)) != NULL &&
		   try_line(pos, newline - pos))
		pos = newline + 1;
	free(text);
	return 0;
}
