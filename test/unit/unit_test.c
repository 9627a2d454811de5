/*
 * unit_test.c
 *		Runs all tests, or the one that is named, and counts and prints their
 *		results.
 */
#include "base/fe_compat.h"

#include <sys/wait.h>
#include <unistd.h>

#include "read_archive.h"
#include "unit_test.h"

typedef struct UnitTest
{
	const char *name;
	void		(*run) (void);
} UnitTest;

static const UnitTest tests[] = {
	{"archive_layout", test_archive_layout},
	{"archive_name", test_archive_name},
	{"backup_filter", test_backup_filter},
	{"backup_manifest", test_backup_manifest},
	{"backup_plan", test_backup_plan},
	{"changed_blocks", test_changed_blocks},
	{"chunk_plan", test_chunk_plan},
	{"cleanup", test_cleanup},
	{"cluster_map", test_cluster_map},
	{"compress_spec", test_compress_spec},
	{"crc32c", test_crc32c},
	{"crc32c_combine", test_crc32c_combine},
	{"definition_jobs", test_definition_jobs},
	{"difference_sketch", test_difference_sketch},
	{"entry_names", test_entry_names},
	{"estimate", test_estimate},
	{"extract", test_extract},
	{"globals_script", test_globals_script},
	{"identifier", test_identifier},
	{"index_attach", test_index_attach},
	{"index_queue", test_index_queue},
	{"job_queue", test_job_queue},
	{"json_reader", test_json_reader},
	{"json_text", test_json_text},
	{"manifest", test_manifest},
	{"object_groups", test_object_groups},
	{"page_checksum", test_page_checksum},
	{"piece_ring", test_piece_ring},
	{"previous_table", test_previous_table},
	{"printable", test_printable},
	{"refused_jobs", test_refused_jobs},
	{"load_order", test_load_order},
	{"retry", test_retry},
	{"scale", test_scale},
	{"script", test_script},
	{"sink", test_sink},
	{"snapshot_text", test_snapshot_text},
	{"tar_archive", test_tar_archive},
	{"tar_reader", test_tar_reader},
	{"task_plan", test_task_plan},
	{"text_pieces", test_text_pieces},
	{"toc", test_toc},
	{"units", test_units},
};

static const UnitTest *current;
static int	n_results;
static int	n_failed;

void
ok(bool passed, const char *what)
{
	printf("%sok %d - %s: %s\n", passed ? "" : "not ", ++n_results,
		   current->name, what);
	if (!passed)
		n_failed++;
}

void
is_number(int64 found, int64 expected, const char *what)
{
	ok(found == expected, what);
	if (found != expected)
		printf("# expected " INT64_FORMAT ", found " INT64_FORMAT "\n",
			   expected, found);
}

void
is_text(const char *found, const char *expected, const char *what)
{
	bool		equal = found && expected ? strcmp(found, expected) == 0 :
		found == expected;

	ok(equal, what);
	if (!equal)
		printf("# expected \"%s\", found \"%s\"\n",
			   expected ? expected : "NULL", found ? found : "NULL");
}

void
child_ends(ChildCallback callback, const void *arg, int exit_code,
		   const char *output, const char *what)
{
	char		found[4096];
	size_t		len = 0;
	ssize_t		got;
	int			fds[2];
	int			status;
	pid_t		pid;

	fflush(stdout);
	if (pipe(fds) < 0 || (pid = fork()) < 0)
		pg_fatal("could not start a child process: %m");
	if (pid == 0)
	{
		dup2(fds[1], STDOUT_FILENO);
		dup2(fds[1], STDERR_FILENO);
		close(fds[0]);
		close(fds[1]);
		callback(arg);
		exit(0);
	}
	close(fds[1]);
	while (len < sizeof(found) - 1 &&
		   (got = read(fds[0], found + len, sizeof(found) - 1 - len)) > 0)
		len += got;
	found[len] = '\0';
	close(fds[0]);
	waitpid(pid, &status, 0);
	is_number(WIFEXITED(status) ? WEXITSTATUS(status) : -1, exit_code, what);
	is_text(found, output, what);
}

int
main(int argc, char **argv)
{
	/* results before a crash are results, too */
	setvbuf(stdout, NULL, PG_IOLBF, 0);
	pg_logging_init(argv[0]);
	if (argc > 1 && argv[1][0] == '-')
		return read_archive_main(argc, argv);
	for (int i = 0; i < (int) lengthof(tests); i++)
	{
		if (argc > 1 && strcmp(argv[1], tests[i].name) != 0)
			continue;
		current = &tests[i];
		current->run();
	}
	printf("1..%d\n", n_results);
	return n_failed > 0 ? 1 : 0;
}
