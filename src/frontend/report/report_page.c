/*
 * report_page.c
 *		What stands where on the page of --report.
 *
 * One file with all in it: the style sheet, charts as SVG, no scripts.
 * Should a name ever get through as HTML, the page's own policy lets it load
 * and run nothing.
 */
#include "base/fe_compat.h"

#include "report/report_data.h"
#include "report/report_page.h"
#include "report/report_style.h"
#include "report/report_table.h"
#include "report/report_text.h"
#include "report/report_throughput.h"
#include "report/report_timeline.h"

#define FINDINGS_SHOWN 20

static void
append_head(PQExpBuffer page, const Manifest *manifest, const ReportCopy *copy)
{
	char		start[REPORT_TEXT_BYTES];
	char		end[REPORT_TEXT_BYTES];
	const char *database = manifest ? manifest->database : NULL;

	appendPQExpBufferStr(page, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
						 "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
						 "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
						 "<meta name=\"color-scheme\" content=\"light dark\">\n<title>pg_pardump report ");
	report_append_text(page, database ? database : "");
	appendPQExpBufferStr(page, "</title>\n<style>\n");
	appendPQExpBufferStr(page, report_style);
	appendPQExpBufferStr(page, "</style></head>\n<body><main>\n<header><p class=\"kind\">pg_pardump report</p>\n<h1>");
	appendPQExpBufferStr(page, copy && copy->is_backup ? "Base backup " :
						 copy && copy->archive ? "Restore of database " :
						 copy ? "Copy of database " :
						 database ? "Dump of database " : "Verification of an archive");
	report_append_name(page, database ? database : "");
	appendPQExpBufferStr(page, "</h1>\n");
	if (manifest && manifest->start_us > 0)
		appendPQExpBuffer(page, "<p class=\"sub\">%s to %s</p>\n",
						  report_time(manifest->start_us, start),
						  report_time(manifest->end_us, end));
	appendPQExpBufferStr(page, "</header>\n");
}

static void
append_findings(PQExpBuffer page, const ReportVerify *verify)
{
	char	   *lines = pg_strdup(verify->findings);
	char		text[REPORT_TEXT_BYTES];
	int			n_shown = 0;

	appendPQExpBufferStr(page, "<ul class=\"findings\">\n");
	for (char *line = strtok(lines, "\n");
		 line && n_shown < FINDINGS_SHOWN; line = strtok(NULL, "\n"))
	{
		appendPQExpBufferStr(page, "<li>");
		report_append_text(page, line);
		appendPQExpBufferStr(page, "</li>\n");
		n_shown++;
	}
	if (n_shown < verify->n_findings)
		appendPQExpBuffer(page, "<li>and %s more</li>\n",
						  report_number(verify->n_findings - n_shown, text));
	appendPQExpBufferStr(page, "</ul>\n");
	free(lines);
}

static void
append_backup_verdict(PQExpBuffer page, const ReportCopy *copy)
{
	char		text[REPORT_TEXT_BYTES];

	if (copy->n_errors > 0)
		appendPQExpBuffer(page, "<p class=\"verdict bad\"><b>\342\234\227 The backup is complete, but the checksums of %s are wrong.</b></p>\n",
						  report_count(copy->n_errors, "page", text));
	else
		appendPQExpBufferStr(page, "<p class=\"verdict\">The backup is complete. Its files have not been verified since; <code>pg_verifybackup</code> does that.</p>\n");
}

static void
append_copy_verdict(PQExpBuffer page, const ReportCopy *copy)
{
	char		text[REPORT_TEXT_BYTES];

	if (copy->n_errors > 0)
		appendPQExpBuffer(page, "<p class=\"verdict bad\"><b>\342\234\227 The restore met %s, and went on.</b></p>\n",
						  report_count(copy->n_errors, "error", text));
	else if (copy->compared)
		appendPQExpBufferStr(page, "<p class=\"verdict good\"><b>\342\234\223 Source and target have the same contents.</b></p>\n");
	else if (copy->archive)
		appendPQExpBufferStr(page, "<p class=\"verdict good\"><b>\342\234\223 The restore is complete.</b></p>\n");
	else
		appendPQExpBufferStr(page, "<p class=\"verdict\">The copy is complete. Source and target have not been compared; <code>--compare</code> does that.</p>\n");
}

/* Is it good?  That is what is asked first. */
static void
append_verdict(PQExpBuffer page, const Manifest *manifest,
			   const ReportVerify *verify)
{
	char		text[REPORT_TEXT_BYTES];
	char		time[REPORT_TEXT_BYTES];

	if (verify == NULL)
	{
		appendPQExpBufferStr(page, "<p class=\"verdict\">The dump is complete. Its files have not been verified since; <code>pg_pardump --verify</code> does that.</p>\n");
		return;
	}
	appendPQExpBuffer(page, "<div class=\"verdict %s\" role=\"status\"><b>",
					  verify->n_findings > 0 ? "bad" : "good");
	if (verify->n_findings > 0)
		appendPQExpBuffer(page, "\342\234\227 %s",
						  report_count(verify->n_findings, "finding", text));
	else
		appendPQExpBuffer(page, "\342\234\223 %s %s",
						  report_count(verify->n_files, "file", text),
						  manifest ? "equal to the manifest" :
						  "read without a finding");
	appendPQExpBuffer(page, "</b> \302\267 verified at %s",
					  report_time(verify->end_us, time));
	appendPQExpBuffer(page, " in %s: ",
					  report_seconds((verify->end_us - verify->start_us) / 1e6,
									 time));
	appendPQExpBuffer(page, "%s, ", report_count(verify->rows, "row", text));
	appendPQExpBuffer(page, "%s read", units_size(verify->stored_bytes, text));
	if (manifest == NULL)
		appendPQExpBufferStr(page, "; there is no manifest to compare with, nor to draw charts from");
	if (verify->n_findings > 0)
		append_findings(page, verify);
	appendPQExpBufferStr(page, "</div>\n");
}

/* A number to be seen from afar; both texts are safe. */
static void
append_figure(PQExpBuffer page, const char *name, const char *value,
			  const char *note)
{
	appendPQExpBuffer(page, "<div><dt>%s</dt><dd class=\"value\">%s</dd><dd>%s</dd></div>\n",
					  name, value, note);
}

/* is_whole: the time is known to the end, which a manifest does not have. */
static void
append_figures(PQExpBuffer page, const ReportData *data, bool is_whole)
{
	const Manifest *manifest = data->manifest;
	const ReportTable *total = &data->total;
	double		work = report_data_seconds(data);
	char		value[REPORT_TEXT_BYTES];
	char		more[REPORT_TEXT_BYTES];
	char		note[3 * REPORT_TEXT_BYTES];

	appendPQExpBufferStr(page, "<dl class=\"figures\">\n");
	snprintf(note, sizeof(note), "%s for data",
			 report_seconds(data->n_timed > 0 ? work : 0, more));
	append_figure(page, is_whole ? "Time" : "Time before flushing",
				  report_seconds((manifest->end_us - manifest->start_us) / 1e6,
								 value), note);
	snprintf(note, sizeof(note), "%s",
			 report_count(data->n_tables - data->has_objects,
						  data->is_backup ? "name" : "table", more));
	append_figure(page, data->is_backup ? "Files" : "Rows",
				  report_short_number(total->rows, value), note);
	snprintf(note, sizeof(note), "in %s",
			 report_count(total->n_files, data->piece, more));
	append_figure(page, "Data", units_size(total->raw_bytes, value), note);
	if (!data->is_copy)
		append_figure(page, "Stored", units_size(total->stored_bytes, value),
					  report_ratio(total->raw_bytes, total->stored_bytes, note));
	append_figure(page, "Throughput",
				  data->n_timed > 0 ? report_rate(total->raw_bytes, work, value) : "?",
				  data->is_copy ? "as it crossed" : "before compression");
	snprintf(note, sizeof(note), "busy, %s",
			 manifest->retries == 0 ? "no retries" :
			 psprintf("%d %s", manifest->retries,
					  manifest->retries == 1 ? "retry" : "retries"));
	append_figure(page, report_count(data->n_workers, "worker", more),
				  report_percent(total->seconds, work * data->n_workers, value),
				  note);
	appendPQExpBufferStr(page, "</dl>\n");
}

/* Who was last, and what a file is to be compared with. */
static void
append_stragglers(PQExpBuffer page, const ReportData *data)
{
	char		text[REPORT_TEXT_BYTES];

	appendPQExpBuffer(page, "<p class=\"soft\">A worker read %s on average. ",
					  report_rate(data->total.raw_bytes, data->total.seconds,
								  text));
	appendPQExpBufferStr(page, "Finished last: ");
	report_append_text(page, data->last->file->path);
	appendPQExpBufferStr(page, ", of ");
	report_append_name(page, data->tables[data->last->table].name);
	appendPQExpBuffer(page, ", by worker %d.</p>\n", data->last->file->worker);
}

/*
 * What keeps a dump from being faster: workers that wait for the last ones.
 */
static void
append_end_of_work(PQExpBuffer page, const ReportData *data)
{
	double		waited = 0;
	char		text[REPORT_TEXT_BYTES];
	char		share[REPORT_TEXT_BYTES];

	for (int i = 0; i < data->n_workers; i++)
		if (data->workers[i].n_files > 0)
			waited += (data->end_us - data->workers[i].last_us) / 1e6;
	appendPQExpBuffer(page, "<p class=\"soft\">Waiting for the last %s to be finished took %s of workers' time together, ",
					  data->piece, report_seconds(waited, text));
	appendPQExpBuffer(page, "%s of all.%s</p>\n",
					  report_percent(waited, report_data_seconds(data) *
									 data->n_workers, share),
					  data->is_backup ? "" : " A shorter end needs smaller chunks (<code>--chunk-size</code>).");
}

static void
append_sections(PQExpBuffer page, const ReportData *data)
{
	PQExpBufferData curve;
	double		highest;
	char		text[REPORT_TEXT_BYTES];

	if (data->n_timed > 0)
	{
		appendPQExpBuffer(page, "<section><h2>Workers over time</h2>\n<p class=\"soft\">Each piece is %s, in the colour of its %s; the percentage is the %s's share of all work. <span class=\"screen\">Point at a piece to see more.</span></p>\n",
						  data->is_backup ? "a file, a part of one, or many small ones" :
						  data->is_copy ? "a table, a part of one, or a large object, or below the workers an index" : "a file",
						  data->table_word, data->table_word);
		report_table_append_legend(page, data);
		timeline_append(page, data);
		appendPQExpBufferStr(page, "</section>\n<section><h2>Throughput</h2>\n");
		initPQExpBuffer(&curve);
		highest = throughput_append(&curve, data);
		appendPQExpBuffer(page, "<p class=\"soft\">Bytes a second, as if those of each %s had come evenly; %s at the highest.</p>\n",
						  data->piece, report_rate(highest, 1, text));
		if (!data->is_copy)
			appendPQExpBufferStr(page, "<ul class=\"legend\"><li><svg class=\"swatch\" viewBox=\"0 0 10 10\" aria-hidden=\"true\"><rect class=\"raw\" width=\"10\" height=\"10\" rx=\"2\"/></svg>data</li><li><svg class=\"swatch\" viewBox=\"0 0 10 10\" aria-hidden=\"true\"><rect class=\"stored\" width=\"10\" height=\"10\" rx=\"2\"/></svg>stored</li></ul>\n");
		appendPQExpBufferStr(page, curve.data);
		termPQExpBuffer(&curve);
		appendPQExpBufferStr(page, "</section>\n");
	}
	appendPQExpBuffer(page, "<section><h2>Largest %ss</h2>\n",
					  data->table_word);
	if (data->n_filtered > 0)
		appendPQExpBuffer(page, "<p>Only some rows were %s of %s.</p>\n",
						  data->is_copy ? "copied" : "dumped",
						  report_count(data->n_filtered, "table", text));
	report_table_append_tables(page, data);
	appendPQExpBufferStr(page, "</section>\n");
	if (data->n_timed > 0)
	{
		appendPQExpBuffer(page, "<section><h2>Slowest %ss</h2>\n", data->piece);
		append_stragglers(page, data);
		report_table_append_slowest(page, data);
		appendPQExpBufferStr(page, "</section>\n<section><h2>Workers</h2>\n");
		append_end_of_work(page, data);
		report_table_append_workers(page, data);
		appendPQExpBufferStr(page, "</section>\n");
	}
}

static void
append_facts(PQExpBuffer page, const Manifest *manifest,
			 const ReportCopy *copy)
{
	const struct
	{
		const char *name;
		const char *value;
	}			facts[] = {
		{copy && copy->is_backup ? "Backup" : "Archive", copy ? copy->archive : NULL},
		{"Target", copy ? copy->target : NULL},
		{"Steps", copy ? copy->times : NULL},
		{"Done before", copy ? copy->before : NULL},
		{"Copied", copy ? copy->formats : NULL},
		{"Server", manifest->server_version},
		{"Read from", manifest->servers},
		{"System identifier", manifest->system_identifier},
		{"pg_dump", manifest->pg_dump_version},
		{"pg_pardump", manifest->tool},
		{"Compression", manifest->compression},
		{"Checksums", copy ? NULL : pg_checksum_type_name(manifest->checksum_type)},
		{"Encoding", manifest->encoding},
		{"Snapshot", manifest->snapshot},
		{"WAL position", manifest->lsn},
		{"Replication slot", manifest->slot},
		{"Its position", manifest->slot_lsn},
	};

	appendPQExpBufferStr(page, "<section><h2>Details</h2>\n<dl class=\"facts\">\n");
	for (int i = 0; i < (int) lengthof(facts); i++)
	{
		if (facts[i].value == NULL)
			continue;
		appendPQExpBuffer(page, "<dt>%s</dt><dd>", facts[i].name);
		report_append_name(page, facts[i].value);
		appendPQExpBufferStr(page, "</dd>\n");
	}
	appendPQExpBufferStr(page, "</dl></section>\n");
}

void
report_page_append(PQExpBuffer page, const Manifest *manifest,
				   const ReportVerify *verify, const ReportCopy *copy)
{
	append_head(page, manifest, copy);
	if (copy && copy->is_backup)
		append_backup_verdict(page, copy);
	else if (copy)
		append_copy_verdict(page, copy);
	else
		append_verdict(page, manifest, verify);
	if (manifest)
	{
		ReportData *data = report_data_new(manifest, copy);

		append_figures(page, data, verify == NULL);
		append_sections(page, data);
		append_facts(page, manifest, copy);
	}
	appendPQExpBuffer(page, "<footer>Made by pg_pardump " PARDUMP_VERSION
					  ". Data is %s; 1 kB is 1024 bytes. Times are in UTC.</footer>\n</main></body></html>\n",
					  copy && copy->is_backup ? "files as the server has them" :
					  copy ? "rows as they crossed, and large objects" :
					  "rows as COPY's text, and large objects, before compression");
}
