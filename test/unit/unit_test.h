/*
 * unit_test.h
 *		Tests of what needs no server: results in the form of TAP, and the
 *		tests themselves, one a file.
 *
 * The program is linked with all of pg_pardump but its main().
 */
#ifndef UNIT_TEST_H
#define UNIT_TEST_H

#include "base/fe_compat.h"

/* One result each; what was expected and what was found follow a failure. */
extern void ok(bool passed, const char *what);
extern void is_number(int64 found, int64 expected, const char *what);
extern void is_text(const char *found, const char *expected, const char *what);

typedef void (*ChildCallback) (const void *arg);

/*
 * callback(arg), in a child process, which exits with 0 when it returns, ends
 * with this exit code and has written just this to standard output and error.
 * Two results.
 */
extern void child_ends(ChildCallback callback, const void *arg, int exit_code,
					   const char *output, const char *what);

extern void test_archive_layout(void);
extern void test_archive_name(void);
extern void test_backup_filter(void);
extern void test_backup_manifest(void);
extern void test_backup_plan(void);
extern void test_changed_blocks(void);
extern void test_chunk_plan(void);
extern void test_cleanup(void);
extern void test_cluster_map(void);
extern void test_compress_spec(void);
extern void test_crc32c(void);
extern void test_crc32c_combine(void);
extern void test_definition_jobs(void);
extern void test_difference_sketch(void);
extern void test_entry_names(void);
extern void test_estimate(void);
extern void test_extract(void);
extern void test_globals_script(void);
extern void test_identifier(void);
extern void test_index_attach(void);
extern void test_index_queue(void);
extern void test_job_queue(void);
extern void test_json_reader(void);
extern void test_json_text(void);
extern void test_manifest(void);
extern void test_object_groups(void);
extern void test_page_checksum(void);
extern void test_piece_ring(void);
extern void test_previous_table(void);
extern void test_printable(void);
extern void test_refused_jobs(void);
extern void test_load_order(void);
extern void test_retry(void);
extern void test_scale(void);
extern void test_script(void);
extern void test_sink(void);
extern void test_snapshot_text(void);
extern void test_tar_archive(void);
extern void test_tar_reader(void);
extern void test_task_plan(void);
extern void test_text_pieces(void);
extern void test_toc(void);
extern void test_units(void);

#endif							/* UNIT_TEST_H */
