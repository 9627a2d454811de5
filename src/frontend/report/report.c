/*
 * report.c
 *		Writes the page of --report: a single HTML file that needs no other
 *		files.
 *
 * The page contains a head with the verdict, tables in HTML, and the same
 * tables in full as JSON, from which a script in the page draws charts.  The
 * rest of the page, including the script, is a template that is installed
 * with the program.  The page loads nothing else, so it can be mailed, and
 * opened years later.
 *
 * All names come from a database whose owners may be hostile, so each text
 * goes through report_table.c, which escapes it.
 *
 * The manifest may be an old one without some members, or may contain
 * impossible values.  The page may be wrong then, but it is written.  Its
 * texts are not freed, because it is the last output of a program.
 */
#include "base/fe_compat.h"

#include "common/file_utils.h"

#include "archive/archive_dir.h"
#include "base/buffer.h"
#include "base/interrupt.h"
#include "base/units.h"
#include "process/this_program.h"
#include "report/report.h"
#include "report/report_history.h"
#include "report/report_table.h"

#define TEMPLATE "pg_pardump_report.html"
#define TEMPLATE_HINT "Reinstall pg_pardump, or run the command without --report."

/*
 * The number of rows shown as HTML, and approximate limits for the JSON data.
 */
#define FINDINGS_SHOWN 20
#define ROWS_SHOWN 25
#define MAX_WORKERS 256
#define MAX_TABLES 20000
#define MAX_INDEXES 4000
#define MAX_SPANS 4000

/* The parts of the page in order, and their placeholders in the template. */
typedef enum ReportPart
{
	PART_TITLE,
	PART_HEAD,					/* what was run, and the verdict */
	PART_TABLES,
	PART_DATA,					/* JSON for the script */
	N_PARTS
} ReportPart;

static const char *const places[N_PARTS] = {
	"@TITLE@", "@HEAD@", "@TABLES@", "@DATA@"
};

struct Report
{
	char	   *path;
	char	   *temp_path;
	char	   *template[N_PARTS + 1];	/* the text before each part, and the
										 * end */
	FILE	   *stream;
	ReportHistory *history;		/* NULL = none */
};

/* ----------
 * The template.
 * ----------
 */

/* Read the template, and split it at the placeholders of the parts. */
static void
read_template(char *pieces[N_PARTS + 1])
{
	char	   *path = this_program_share_file(TEMPLATE);
	FILE	   *stream = fopen(path, "r");
	PQExpBufferData text = buffer_new();
	char		buf[8192];
	size_t		n;

	while (stream && (n = fread(buf, 1, sizeof(buf), stream)) > 0)
		appendBinaryPQExpBuffer(&text, buf, n);
	if (stream == NULL || ferror(stream))
	{
		pg_log_error("could not read the report template \"%s\": %m", path);
		pg_fatal_hint(TEMPLATE_HINT);
	}
	fclose(stream);
	pieces[0] = buffer_text(&text);
	for (ReportPart part = 0; part < N_PARTS; part++)
	{
		char	   *place = strstr(pieces[part], places[part]);

		if (place == NULL)
		{
			pg_log_error("invalid report template \"%s\": placeholder \"%s\" is missing",
						 path, places[part]);
			pg_fatal_hint(TEMPLATE_HINT);
		}
		*place = '\0';
		pieces[part + 1] = place + strlen(places[part]);
	}
}

/*
 * This is checked before a run begins, which would otherwise fail at its end,
 * after hours.
 */
void
report_check(const Options *options)
{
	char	   *pieces[N_PARTS + 1];

	read_template(pieces);
	(void) report_history_open(options->report_history, options->verify == NULL);
}

/* ----------
 * The head of the page.
 * ----------
 */

/*
 * Returns the kind of run for the script of the page. --verify counts as a
 * dump.
 */
static const char *
kind_of(const ReportCopy *copy)
{
	return copy == NULL ? "dump" : copy->is_backup ? "backup" :
		copy->archive ? "restore" : "copy";
}

/*
 * Append the first findings.  A damaged disk may cause thousands; the output
 * of --verify contains all of them.
 */
static void
append_findings(PQExpBuffer page, const ReportVerify *verify)
{
	char	   *lines = pg_strdup(verify->findings);
	int			n_shown = 0;

	appendPQExpBufferStr(page, "<ul class=\"findings\">\n");
	for (char *line = strtok(lines, "\n");
		 line && n_shown < FINDINGS_SHOWN; line = strtok(NULL, "\n"))
	{
		appendPQExpBufferStr(page, "<li>");
		report_table_text(page, line);
		appendPQExpBufferStr(page, "</li>\n");
		n_shown++;
	}
	if (n_shown < verify->n_findings)
		appendPQExpBuffer(page, "<li>and %d more</li>\n",
						  verify->n_findings - n_shown);
	appendPQExpBufferStr(page, "</ul>\n");
}

/*
 * Append the verdict of --verify.  It has a character as its mark because
 * some readers cannot distinguish the colors.
 */
static void
append_verification(PQExpBuffer page, const Manifest *manifest,
					const ReportVerify *verify)
{
	bool		bad = verify->n_findings > 0;
	int			n = bad ? verify->n_findings : verify->n_files;
	const char *verdict = bad ? ngettext("%s problem", "%s problems", n) :
		manifest ? ngettext("%s file equal to the manifest",
							"%s files equal to the manifest", n) :
		ngettext("%s file read without a problem",
				 "%s files read without a problem", n);

	appendPQExpBuffer(page, "<div class=\"verdict %s\" role=\"status\"><b>%s %s</b>",
					  bad ? "bad" : "good", bad ? "\342\234\227" : "\342\234\223",
					  psprintf(verdict, report_table_number(n)));
	appendPQExpBuffer(page, " \302\267 verified at %s in %s \302\267 rows: %s \302\267 %s read",
					  report_table_time(verify->end_us),
					  report_table_seconds((verify->end_us - verify->start_us) / 1e6),
					  report_table_number(verify->rows), units_size(verify->stored_bytes));
	if (manifest == NULL)
		appendPQExpBufferStr(page, " \302\267 there is no manifest to compare with, nor to draw charts from");
	if (bad)
		append_findings(page, verify);
	appendPQExpBufferStr(page, "</div>\n");
}

/*
 * Returns the verdict of a dump or a copy without --verify, as the end of a
 * tag and HTML.
 */
static const char *
verdict_of(const ReportCopy *copy)
{
	const char *bad = " bad\"><b>\342\234\227 ";
	const char *good = " good\"><b>\342\234\223 ";

	if (copy == NULL)
		return "\">The dump is complete. Its files have not been verified since; <code>pg_pardump --verify</code> does that.";
	if (copy->is_backup && copy->n_errors > 0)
		return psprintf("%sThe backup is complete, but pages have wrong checksums: %s.</b>",
						bad, report_table_number(copy->n_errors));
	if (copy->is_backup)
		return "\">The backup is complete. Its files have not been verified since; <code>pg_verifybackup</code> does that.";
	if (copy->n_errors > 0)
		return psprintf("%sThe restore continued after errors: %s.</b>", bad,
						report_table_number(copy->n_errors));
	if (copy->compared)
		return psprintf("%sSource and target have the same contents.</b>", good);
	if (copy->archive)
		return psprintf("%sThe restore is complete.</b>", good);
	return "\">The copy is complete. Source and target have not been compared; <code>--compare</code> does that.";
}

/*
 * The facts of a run for all databases with --cluster-snapshot; record may be
 * NULL.
 */
#define SNAPSHOT_FACTS(record) \
{"Snapshot of all databases",.notes = (record) ? (record)->snapshot : NULL}, \
{"Time of this snapshot",.notes = (record) ? (record)->time : NULL}, \
{"Timeline of this snapshot",.notes = (record) ? (record)->timeline : NULL}, \
{"WAL position of this snapshot, at most",.notes = (record) ? (record)->lsn : NULL}, \
{"Replay position of this snapshot",.notes = (record) ? (record)->replay_lsn : NULL}

/*
 * Append facts about the run.  Unknown facts are omitted, for example those
 * that manifests of earlier versions do not contain.
 */
static void
append_facts(PQExpBuffer page, const Manifest *manifest,
			 const ReportCopy *copy)
{
	ReportRow	facts[] = {
		{copy && copy->is_backup ? "Backup" : "Archive",.notes = copy ? copy->archive : NULL},
		{"Target",.notes = copy ? copy->target : NULL},
		{"Steps",.notes = copy ? copy->times : NULL},
		{"Restored by earlier runs",.notes = copy ? copy->before : NULL},
		{"Row formats",.notes = copy ? copy->formats : NULL},
		{"Server",.notes = manifest->server_version},
		{"Read from",.notes = manifest->servers},
		{"System identifier",.notes = manifest->system_identifier},
		{"pg_dump",.notes = manifest->pg_dump_version},
		{"pg_pardump",.notes = manifest->tool},
		{"Compression",.notes = manifest->compression},
		{"Checksums",.notes = copy ? NULL : pg_checksum_type_name(manifest->checksum_type)},
		{"Encoding",.notes = manifest->encoding},
		{"Snapshot",.notes = manifest->snapshot},
		{"WAL position",.notes = manifest->lsn},
		SNAPSHOT_FACTS(manifest->cluster_snapshot),
		{"Replication slot",.notes = manifest->slot},
		{"WAL position of this slot",.notes = manifest->slot_lsn},
	};

	report_table_facts(page, facts, lengthof(facts));
}

/* ----------
 * Rows about files.
 * ----------
 */

/*
 * Returns the blocks of a file, like "1,024 to 2,047" or "all"; NULL for a
 * large object.
 */
static const char *
blocks_of(const ManifestFile *file)
{
	if (file->kind != MANIFEST_ROWS)
		return NULL;
	if (file->end_block != MANIFEST_NO_END)
		return psprintf("%s to %s", report_table_number(file->start_block),
						report_table_number(Max(file->end_block, 1) - 1));
	return file->start_block > 0 ?
		psprintf("%s to end", report_table_number(file->start_block)) : "all";
}

/*
 * Returns which rows of the table the file contains, or NULL for all rows,
 * unmasked.
 */
static const char *
notes_of(const ManifestFile *file)
{
	PQExpBufferData notes = buffer_new();

	if (file->sample)
		units_list_add(&notes, psprintf("sample: %s %% of rows", printable(file->sample)));
	if (file->where)
		units_list_add(&notes, psprintf("rows where %s", printable(file->where)));
	if (file->masks)
		units_list_add(&notes, "masked columns");
	return notes.len > 0 ? buffer_text(&notes) : NULL;
}

/*
 * Returns the row for a file.  Its times are seconds since 1970; start is
 * negative if they are unknown.
 */
static ReportRow
row_of(const ManifestFile *file, const ReportCopy *copy)
{
	bool		timed = file->start_us > 0 && file->end_us >= file->start_us;
	bool		is_backup = copy && copy->is_backup;
	bool		is_copy = copy && !is_backup && copy->archive == NULL;

	return (ReportRow)
	{
		.name = file->kind == MANIFEST_LARGE_OBJECT ? "large objects" :
			file->schema ? manifest_name_table(file->schema, file->table) :
			file->table ? file->table : "",
			.table = file->root_table ?
			manifest_name_table(file->root_schema, file->root_table) : NULL,
			.piece = file->path,
			.blocks = blocks_of(file),
			.notes = notes_of(file),
			.worker = file->worker,
			.start = timed ? file->start_us / 1e6 : -1,
			.end = timed ? file->end_us / 1e6 : 0,
			.seconds = timed ? (file->end_us - file->start_us) / 1e6 : 0,
			.pieces = copy != NULL,
			.files = copy == NULL ? 1 : is_backup ? file->rows : 0,
			.reused = file->reused != NULL,
			.rows = is_backup ? 0 : file->rows,
			.raw_bytes = file->raw_bytes,
			.stored_bytes = copy ? 0 : file->stored_bytes,
			.wire_bytes = is_copy ? file->stored_bytes : 0,
			.reused_bytes = file->reused ? file->raw_bytes : 0,
	};
}

/* Add the numbers of a row to a sum.  The caller sets the start and end. */
static void
add_row(ReportRow *sum, const ReportRow *row)
{
	sum->seconds += row->seconds;
	sum->pieces += row->pieces;
	sum->files += row->files;
	sum->reused += row->reused;
	sum->rows += row->rows;
	sum->raw_bytes += row->raw_bytes;
	sum->stored_bytes += row->stored_bytes;
	sum->wire_bytes += row->wire_bytes;
	sum->reused_bytes += row->reused_bytes;
}

/*
 * Compare two numbers.  Their difference cannot be the result, because it
 * would be truncated to an int.
 */
static int
compare_numbers(double a, double b)
{
	return a < b ? -1 : a > b;
}

/* Compare by worker, and then by time. */
static int
compare_work(const void *a, const void *b)
{
	const ReportRow *r1 = a;
	const ReportRow *r2 = b;
	int			result = compare_numbers(r1->worker, r2->worker);

	return result != 0 ? result : compare_numbers(r1->start, r2->start);
}

/*
 * Compare by size, and then by name, so that pages of the same run are equal
 * on all systems: qsort() is not stable.
 */
static int
report_compare_sizes(const void *a, const void *b)
{
	int			result = compare_numbers(((const ReportRow *) b)->raw_bytes,
										 ((const ReportRow *) a)->raw_bytes);

	return result != 0 ? result : compare_strings(a, b);
}

static int
compare_seconds(const void *a, const void *b)
{
	int			result = compare_numbers(((const ReportRow *) b)->seconds,
										 ((const ReportRow *) a)->seconds);

	return result != 0 ? result : compare_strings(a, b);
}

/*
 * Combine files that a worker finished within width seconds to one span.  Two
 * consecutive spans of a worker take at least that long, which limits the
 * number of spans unless the times are impossible.  A span has the name of
 * the table that took longest.
 */
static int
make_spans(ReportRow *files, int n, double width)
{
	int			n_spans = 0;
	double		longest = 0;

	qsort(files, n, sizeof(ReportRow), compare_work);
	for (int i = 0; i < n; i++)
	{
		ReportRow  *span = &files[Max(n_spans, 1) - 1];
		ReportRow	file = files[i];

		if (file.worker >= MAX_WORKERS)
			break;
		if (n_spans == 0 || span->worker != file.worker ||
			file.end - span->start >= width)
		{
			if (n_spans == 4 * MAX_SPANS)
				break;
			files[n_spans++] = file;
			longest = file.seconds;
			continue;
		}
		if (file.seconds > longest)
		{
			longest = file.seconds;
			span->name = file.name;
		}
		add_row(span, &file);
		span->end = Max(span->end, file.end);
		span->piece = span->blocks = NULL;
	}
	return n_spans;
}

/* ----------
 * Tables and data.
 * ----------
 */

/*
 * The work of all workers.  Times are seconds from the start of the charts,
 * except for start.
 */
typedef struct ReportWork
{
	ReportRow  *files;			/* with rows and large objects */
	int			n_files;
	int			n_workers;		/* at most MAX_WORKERS */
	double		start;			/* start of the charts, since 1970 */
	double		begin;			/* start of the first file */
	double		end;			/* end of the last file */
	double		axis;			/* the end of the charts */
} ReportWork;

/*
 * Find the work of all workers.  The charts of a dump show the time in which
 * files were written; those of a copy show all its time, which includes
 * indexes and other stages.
 */
static ReportWork
find_work(const Manifest *manifest, const ReportCopy *copy)
{
	ReportWork	work = {.n_workers = manifest->jobs};
	double		first = -1;
	double		last = 0;

	work.files = pg_malloc0((manifest->n_files + 1) * sizeof(ReportRow));
	for (int i = 0; i < manifest->n_files; i++)
	{
		const ManifestFile *file = &manifest->files[i];
		ReportRow  *row = &work.files[work.n_files];

		if (file->kind != MANIFEST_ROWS && file->kind != MANIFEST_LARGE_OBJECT)
			continue;
		*row = row_of(file, copy);
		if (row->start >= 0 && (first < 0 || row->start < first))
			first = row->start;
		last = Max(last, row->end);
		work.n_workers = Max(work.n_workers, file->worker + 1);
		work.n_files++;
	}
	work.n_workers = Min(work.n_workers, MAX_WORKERS);

	/*
	 * The charts of a dump begin with its first file, those of a copy with
	 * its first stage.
	 */
	work.start = copy ? Min(first, manifest->start_us / 1e6) : first;
	work.begin = first - work.start;
	work.end = Max(last, first) - work.start;
	work.axis = copy ? Max(work.end, copy->end_us / 1e6 - work.start) : work.end;
	for (int i = 0; i < work.n_files; i++)
		if (work.files[i].start >= 0)
		{
			work.files[i].start -= work.start;
			work.files[i].end -= work.start;
		}
	return work;
}

/*
 * Append the tables.  The first row is the sum of all tables, which is also
 * copied to *total.  Returns the number of tables.
 */
static int
append_tables(PQExpBuffer page, PQExpBuffer json, const ReportWork *work,
			  const char *title, ReportRow *total)
{
	ReportRow  *sums = pg_malloc0((work->n_files + 1) * sizeof(ReportRow));
	int			n = 0;

	sums[0].name = "All";
	qsort(work->files, work->n_files, sizeof(ReportRow), compare_strings);
	for (int i = 0; i < work->n_files; i++)
	{
		const ReportRow *file = &work->files[i];

		if (n == 0 || compare_strings(&sums[n], file) != 0)
		{
			n++;
			sums[n].name = file->name;
			sums[n].table = file->table;
			sums[n].notes = file->notes;
		}
		add_row(&sums[0], file);
		add_row(&sums[n], file);
	}
	qsort(sums + 1, n, sizeof(ReportRow), report_compare_sizes);
	report_table_append(page, json, "tables", title, sums,
						1 + Min(n, MAX_TABLES), 1 + ROWS_SHOWN);
	*total = sums[0];
	return n;
}

/*
 * Append the slowest files.  This replaces the files by spans, the longest
 * first.
 */
static void
append_slowest(PQExpBuffer page, PQExpBuffer json, ReportWork *work,
			   const char *title)
{
	double		width = 0;
	int			n = 0;

	for (int i = 0; i < work->n_files; i++)
		if (work->files[i].start >= 0)
			work->files[n++] = work->files[i];

	/*
	 * This width limits the number of spans of all workers to about
	 * MAX_SPANS.
	 */
	if (n > MAX_SPANS)
		width = (work->end - work->begin) * work->n_workers / MAX_SPANS;
	work->n_files = make_spans(work->files, n, width);
	qsort(work->files, work->n_files, sizeof(ReportRow), compare_seconds);
	report_table_append(page, json, "slowest", title, work->files,
						work->n_files, ROWS_SHOWN);
}

/*
 * Set the times of a stage or index, which are not in the manifest, but have
 * the same clock.
 */
static void
set_times(ReportRow *row, const ReportWork *work, int64 start_us, int64 end_us)
{
	row->start = start_us / 1e6 - work->start;
	row->end = end_us / 1e6 - work->start;
	row->seconds = row->end - row->start;
}

/* Append the stages of a copy.  A stage ends when the next one begins. */
static void
append_stages(PQExpBuffer page, PQExpBuffer json, const ReportWork *work,
			  const ReportCopy *copy)
{
	int			n = copy->n_stages;
	ReportRow  *rows = pg_malloc0((n + 1) * sizeof(ReportRow));

	for (int i = 0; i < n; i++)
	{
		rows[i].name = copy->stages[i].name;
		set_times(&rows[i], work, copy->stages[i].start_us,
				  i + 1 < n ? copy->stages[i + 1].start_us : copy->end_us);
	}
	report_table_append(page, json, "stages", "Stages", rows, n, n);
}

/*
 * Append the slowest indexes.  The worker is the number of the process that
 * has built the index; these processes are not the workers that copy rows.
 */
static void
append_indexes(PQExpBuffer page, PQExpBuffer json, const ReportWork *work,
			   const ReportCopy *copy)
{
	int			n = copy->n_builds;
	ReportRow  *rows = pg_malloc0((n + 1) * sizeof(ReportRow));

	for (int i = 0; i < n; i++)
	{
		const ReportBuild *build = &copy->builds[i];

		rows[i].name = build->name;
		rows[i].table = manifest_name_table(build->schema, build->table);
		rows[i].worker = build->index_job;
		set_times(&rows[i], work, build->start_us, build->end_us);
	}
	qsort(rows, n, sizeof(ReportRow), compare_seconds);
	report_table_append(page, json, "indexes", "Slowest indexes", rows,
						Min(n, MAX_INDEXES), ROWS_SHOWN);
}

/* Returns a number as an integer; a manifest may contain impossible sizes. */
static uint64
whole_number(double number)
{
	return (uint64) Min(Max(number, 0), 1e18);
}

/*
 * Append the data of a run: an object with the numbers below, and each table
 * under its ID, as an array of rows, which are arrays with the values of all
 * columns.  Times are seconds from the start of the charts.
 */
static void
append_run(PQExpBufferData *parts, const Manifest *manifest,
		   const ReportCopy *copy, const ReportHistory *history, bool is_whole)
{
	PQExpBuffer page = &parts[PART_TABLES];
	bool		is_backup = copy && copy->is_backup;
	ReportWork	work = find_work(manifest, copy);
	ReportRow	total;
	ReportRun	own;
	PQExpBufferData json = buffer_new();
	int			n_tables;

	if (!is_backup)
		report_table_name_chunks(copy == NULL);
	appendPQExpBuffer(&json, "{\"kind\":\"%s\",\"whole\":%s,\"seconds\":%.6f,\"retries\":%d,\"lanes\":%d,\n"
					  "\"begin\":%.6f,\"end\":%.6f,\"axis\":%.6f",
					  kind_of(copy),
					  is_whole ? "true" : "false",
					  (manifest->end_us - manifest->start_us) / 1e6,
					  manifest->retries, work.n_workers,
					  work.begin, work.end, work.axis);
	n_tables = append_tables(page, &json, &work, is_backup ?
							 "Largest files" : "Largest tables", &total);
	own = (ReportRun)
	{
		.start_us = manifest->start_us,
			.end_us = Max(manifest->end_us, manifest->start_us),
			.work_us = work.start < 0 ? 0 :
			whole_number((work.end - work.begin) * 1e6),
			.files = whole_number(total.files),
			.reused_files = whole_number(total.reused),
			.rows = whole_number(total.rows),
			.raw_bytes = whole_number(total.raw_bytes),
			.reused_bytes = whole_number(total.reused_bytes),
			.stored_bytes = whole_number(total.stored_bytes),
	};
	if (work.start >= 0)
	{
		ReportRow	sums[MAX_WORKERS] = {0};

		append_slowest(page, &json, &work,
					   is_backup ? "Slowest pieces" : "Slowest chunks");

		/*
		 * The sum of a worker's work can be compared with the end of its last
		 * file: the worker spent the difference waiting.
		 */
		for (int i = 0; i < work.n_workers; i++)
		{
			sums[i].name = psprintf("worker %d", i);
			sums[i].worker = i;
		}
		for (int i = 0; i < work.n_files; i++)
		{
			ReportRow  *sum = &sums[(int) work.files[i].worker];

			add_row(sum, &work.files[i]);
			sum->end = Max(sum->end, work.files[i].end);
		}
		report_table_append(page, &json, "workers", "Workers", sums,
							work.n_workers, work.n_workers);
		if (copy)
		{
			append_stages(page, &json, &work, copy);
			append_indexes(page, &json, &work, copy);
		}
	}

	/*
	 * A base backup belongs to no database, and its label may be different
	 * each time, so it has neither in its record's name.  Archives of earlier
	 * versions may not contain the time.
	 */
	if (history && own.start_us > 0)
		report_history_append(history, is_backup ? "basebackup" : kind_of(copy),
							  is_backup ? NULL : manifest->database, &own,
							  is_whole, page, &json);
	appendPQExpBuffer(&json, ",\n\"allTables\":%d}", n_tables);
	report_table_script(&parts[PART_DATA], buffer_text(&json));
}

/*
 * Append all parts of the page.  Without a manifest, for example for an
 * incomplete archive, the page has no tables or charts.
 */
static void
append_parts(PQExpBufferData *parts, const ReportHistory *history,
			 const Manifest *manifest, const ReportVerify *verify,
			 const ReportCopy *copy)
{
	PQExpBuffer page = &parts[PART_HEAD];
	const char *database = manifest ? manifest->database : NULL;

	report_table_text(&parts[PART_TITLE], database ? database : "");
	appendPQExpBuffer(page, "<h1>%s <bdi>",
					  copy && copy->is_backup ? "Base backup" :
					  copy && copy->archive ? "Restore of database" :
					  copy ? "Copy of database" :
					  database ? "Dump of database" : "Verification of an archive");
	report_table_text(page, database ? database : "");
	appendPQExpBufferStr(page, "</bdi></h1>\n");
	if (manifest && manifest->start_us > 0)
		appendPQExpBuffer(page, "<p class=\"sub\">%s to %s</p>\n",
						  report_table_time(manifest->start_us),
						  report_table_time(manifest->end_us));
	if (verify)
		append_verification(&parts[PART_HEAD], manifest, verify);
	else
		appendPQExpBuffer(&parts[PART_HEAD], "<div class=\"verdict%s</div>\n",
						  verdict_of(copy));
	if (manifest)
	{
		append_run(parts, manifest, copy, history, verify == NULL);
		append_facts(&parts[PART_TABLES], manifest, copy);
	}
	else
		appendPQExpBufferStr(&parts[PART_DATA], "null");
	appendPQExpBufferStr(&parts[PART_TABLES], "<footer>Made by pg_pardump " PARDUMP_VERSION ". ");
	appendPQExpBufferStr(&parts[PART_TABLES], copy && copy->is_backup ?
						 "\"Data\" is the size of files on the server." :
						 copy ? "\"Data\" is the size of rows as they were read, and of large objects, before compression." :
						 "\"Data\" is the size of rows as COPY's text, and of large objects, before compression.");
	appendPQExpBufferStr(&parts[PART_TABLES], " 1 kB is 1024 bytes. Times are in UTC.</footer>\n");
}

/* ----------
 * The file of the page.
 * ----------
 */

/* An exit callback that removes the temporary file. */
static void
report_remove_temp_file(void *arg)
{
	unlink(((Report *) arg)->temp_path);
}

static void
check_place(const char *path, const char *directory)
{
	struct stat st;

	/* rename() must replace only a regular file, such as an earlier page. */
	if (lstat(path, &st) == 0 && !S_ISREG(st.st_mode))
		pg_fatal("\"%s\" is not a regular file", path);
	archive_dir_keep_out(directory, "--report", path);
}

Report *
report_begin(const Options *options, const char *directory)
{
	const char *path = options->report;
	Report	   *report;
	int			fd;

	if (path == NULL)
		return NULL;
	check_place(path, directory);
	report = pg_malloc0(sizeof(Report));
	read_template(report->template);
	/* The directory of records must not be an archive's either. */
	report->history = report_history_open(options->report_history,
										  options->verify == NULL);
	if (report->history)
		archive_dir_keep_out(directory, "--report-history",
							 psprintf("%s/record", options->report_history));
	report->path = pg_strdup(path);

	/*
	 * The temporary file is next to the page, because rename() requires the
	 * same file system.  It is created now, so that an error occurs before
	 * the run.
	 */
	report->temp_path = psprintf("%s.XXXXXX", path);
	fd = mkstemp(report->temp_path);
	if (fd < 0)
		pg_fatal("could not create file \"%s\": %m", path);
	cleanup_push(report_remove_temp_file, report);
	(void) fcntl(fd, F_SETFD, FD_CLOEXEC);
	report->stream = fdopen(fd, "w");
	if (report->stream == NULL)
		pg_fatal("could not open file \"%s\": %m", report->temp_path);
	return report;
}

/* Exit with a message that only the page is missing. */
static void
write_failed(const Report *report, const ReportCopy *copy, bool dumped)
{
	pg_log_error("could not write the report \"%s\": %m", report->path);
	if (copy)
		pg_log_error_detail(copy->is_backup ? "The backup is complete." :
							"The copy is complete.");
	else if (dumped)
	{
		pg_log_error_detail("The archive is complete.");
		pg_log_error_hint("To create the report, run pg_pardump --verify with --report.");
	}
	exit(1);
}

/* Write the file, and rename it.  Returns false, with errno, on failure. */
static bool
write_parts(const Report *report, PQExpBufferData *parts)
{
	FILE	   *stream = report->stream;

	for (ReportPart part = 0; part < N_PARTS; part++)
	{
		/* ferror() below detects errors of all writes. */
		fputs(report->template[part], stream);
		fputs(buffer_text(&parts[part]), stream);
	}
	fputs(report->template[N_PARTS], stream);
	if (fflush(stream) != 0 || ferror(stream) ||
		fsync(fileno(stream)) != 0 || fclose(stream) != 0 ||
		rename(report->temp_path, report->path) != 0)
		return false;

	/*
	 * The page exists: that a crash may lose its name is not worth an error.
	 */
	(void) fsync_parent_path(report->path);
	return true;
}

/*
 * This is the last step of a run.  All other results are complete, so an
 * error here must not undo them, and removes only the file of the page.
 */
void
report_end(Report *report, const Manifest *manifest,
		   const ReportVerify *verify, const ReportCopy *copy)
{
	PQExpBufferData parts[N_PARTS];

	if (report == NULL)
		return;

	/*
	 * Register the callback again: cleanup_forget_all() has removed it when
	 * the run was complete.
	 */
	cleanup_push(report_remove_temp_file, report);
	for (ReportPart part = 0; part < N_PARTS; part++)
		initPQExpBuffer(&parts[part]);
	append_parts(parts, report->history, manifest, verify, copy);
	if (!write_parts(report, parts))
		write_failed(report, copy, verify == NULL);
	cleanup_forget_all();
}

/* ----------
 * The page for all databases.
 * ----------
 */

/*
 * Append a number of the head, in the form that the template's script has for
 * a single run.
 */
static void
append_figure(PQExpBuffer page, const char *name, const char *value,
			  const char *more)
{
	appendPQExpBuffer(page, "<div><dt>%s</dt><dd class=\"value\">%s</dd><dd>%s</dd></div>\n",
					  name, value, more);
}

static void
append_cluster_figures(PQExpBuffer page, const ReportCluster *cluster,
					   const ReportRow *sum)
{
	double		seconds = (cluster->end_us - cluster->start_us) / 1e6;
	const char *rate = units_size((uint64) (sum->raw_bytes / Max(seconds, 0.001)));

	appendPQExpBufferStr(page, "<dl class=\"figures\">\n");
	append_figure(page, "Time", report_table_seconds(seconds), "in all");
	append_figure(page, "Databases", report_table_number(cluster->n),
				  psprintf("%d failed", cluster->n_failed));
	append_figure(page, "Rows", report_table_number(sum->rows),
				  psprintf(ngettext("%s table", "%s tables", sum->tables),
						   report_table_number(sum->tables)));
	append_figure(page, "Data", units_size((uint64) sum->raw_bytes),
				  psprintf("%s/s", rate));
	if (cluster->has_stored)
		append_figure(page, "Stored", units_size((uint64) sum->stored_bytes),
					  "in the archives");
	appendPQExpBufferStr(page, "</dl>\n");
}

static ReportRow
database_row(const ReportCluster *cluster, const ReportDatabase *database)
{
	const RunFigures *figures = database->figures;
	bool		timed = database->start_us > 0 && database->end_us > 0;

	return (ReportRow)
	{
		.name = database->name,
			.link = database->page,
			.notes = database->notes,
			.start = timed ? (database->start_us - cluster->start_us) / 1e6 : 0,
			.time = timed ? (database->end_us - database->start_us) / 1e6 : 0,
			.tables = figures->tables,
			.files = figures->files,
			.rows = figures->rows,
			.raw_bytes = figures->raw_bytes,
			.stored_bytes = cluster->has_stored ? figures->stored_bytes : 0,
	};
}

/*
 * Append the table of databases.  The first row is the sum of all databases.
 */
static void
append_cluster(PQExpBufferData *parts, const ReportCluster *cluster)
{
	PQExpBuffer head = &parts[PART_HEAD];
	ReportRow  *rows = pg_malloc0((cluster->n + 1) * sizeof(ReportRow));
	ReportRow	facts[] = {
		{"Archive",.notes = cluster->archive},
		{"pg_pardump",.notes = PARDUMP_VERSION},
		SNAPSHOT_FACTS(cluster->snapshot),
	};

	rows[0].name = "All";
	for (int i = 0; i < cluster->n; i++)
	{
		rows[i + 1] = database_row(cluster, &cluster->databases[i]);
		rows[0].tables += rows[i + 1].tables;
		add_row(&rows[0], &rows[i + 1]);
	}
	rows[0].time = (cluster->end_us - cluster->start_us) / 1e6;
	report_table_text(&parts[PART_TITLE], cluster->title);
	appendPQExpBuffer(head, "<h1>%s</h1>\n<p class=\"sub\">%s to %s</p>\n",
					  cluster->title, report_table_time(cluster->start_us),
					  report_table_time(cluster->end_us));
	if (cluster->n_failed > 0)
	{
		appendPQExpBuffer(head, ngettext("<div class=\"verdict bad\"><b>\342\234\227 %d of %d database failed: ",
										 "<div class=\"verdict bad\"><b>\342\234\227 %d of %d databases failed: ",
										 cluster->n), cluster->n_failed, cluster->n);
		report_table_text(head, cluster->failed);
		appendPQExpBufferStr(head, "</b></div>\n");
	}
	else
		appendPQExpBuffer(head, ngettext("<div class=\"verdict good\"><b>\342\234\223 %d database complete.</b></div>\n",
										 "<div class=\"verdict good\"><b>\342\234\223 %d databases complete.</b></div>\n",
										 cluster->n), cluster->n);
	append_cluster_figures(head, cluster, &rows[0]);
	report_table_append(&parts[PART_TABLES], NULL, "databases", "Databases",
						rows, cluster->n + 1, cluster->n + 1);
	report_table_facts(&parts[PART_TABLES], facts, lengthof(facts));
	appendPQExpBufferStr(&parts[PART_DATA], "null");
}

bool
report_end_cluster(Report *report, const ReportCluster *cluster)
{
	PQExpBufferData parts[N_PARTS];

	if (report == NULL)
		return true;
	for (ReportPart part = 0; part < N_PARTS; part++)
		initPQExpBuffer(&parts[part]);
	append_cluster(parts, cluster);
	if (write_parts(report, parts))
		return true;
	pg_log_error("could not write the report \"%s\": %m", report->path);
	return false;
}
