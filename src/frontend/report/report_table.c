/*
 * report_table.c
 *		The tables of a report.
 */
#include "base/fe_compat.h"

#include "report/report_group.h"
#include "report/report_table.h"
#include "report/report_text.h"

/* Rows shown one by one. */
#define TABLES_SHOWN 25
#define PARTITIONS_SHOWN 100	/* of one table */
#define SLOWEST_SHOWN 12

/* A small sign, so that a colour is never alone: its name is beside it. */
static void
append_swatch(PQExpBuffer page, int color)
{
	appendPQExpBuffer(page, "<svg class=\"swatch\" viewBox=\"0 0 10 10\" aria-hidden=\"true\"><rect class=\"c%d\" width=\"10\" height=\"10\" rx=\"2\"/></svg>",
					  color);
}

void
report_table_append_legend(PQExpBuffer page, const ReportData *data)
{
	char		text[REPORT_TEXT_BYTES];
	double		others = 0;
	int			n_others = 0;

	appendPQExpBufferStr(page, "<ul class=\"legend\">");
	for (int color = 0; color <= REPORT_COLORS; color++)
		for (int i = 0; i < data->n_tables; i++)
		{
			const ReportTable *table = &data->tables[i];

			if (table->color != color)
				continue;
			if (color == REPORT_COLORS)
			{
				others += table->seconds;
				n_others++;
				continue;
			}
			appendPQExpBufferStr(page, "<li>");
			append_swatch(page, color);
			report_append_name(page, table->name);
			appendPQExpBuffer(page, " <span class=\"soft\">%s</span></li>\n",
							  report_percent(table->seconds,
											 data->total.seconds, text));
		}
	if (n_others > 0)
	{
		appendPQExpBufferStr(page, "<li>");
		append_swatch(page, REPORT_COLORS);
		appendPQExpBuffer(page, "%s", report_count(n_others, "other", text));
		appendPQExpBuffer(page, " <span class=\"soft\">%s</span></li>\n",
						  report_percent(others, data->total.seconds, text));
	}
	appendPQExpBufferStr(page, "</ul>\n");
}

/* The head of a column of numbers. */
static void
append_head(PQExpBuffer page, const char *text)
{
	appendPQExpBuffer(page, "<th scope=\"col\" class=\"num\">%s</th>", text);
}

/* The same of a word, as a title. */
static void
append_title(PQExpBuffer page, const char *word, const char *ending)
{
	appendPQExpBuffer(page, "%c%s%s", pg_toupper((unsigned char) *word),
					  word + 1, ending);
}

/* The head of the column of names. */
static void
append_name_head(PQExpBuffer page, const ReportData *data)
{
	appendPQExpBufferStr(page, "<div class=\"wide\"><table><thead><tr><th scope=\"col\">");
	append_title(page, data->table_word, "</th>");
}

/* One cell with a number. */
static void
append_cell(PQExpBuffer page, const char *text)
{
	appendPQExpBuffer(page, "<td class=\"num\">%s</td>", text);
}

/* ----------
 * Tables of the database
 * ----------
 */

/* The cells that tables and sums of tables have. */
static void
append_sums(PQExpBuffer page, const ReportData *data, const ReportTable *sum)
{
	char		text[REPORT_TEXT_BYTES];
	bool		no_rows = sum->first &&
		sum->first->kind == MANIFEST_LARGE_OBJECT;

	append_cell(page, no_rows ? "" : report_number(sum->rows, text));
	append_cell(page, report_number(sum->n_files, text));
	append_cell(page, units_size(sum->raw_bytes, text));
	if (!data->is_copy)
	{
		append_cell(page, units_size(sum->stored_bytes, text));
		append_cell(page, report_ratio(sum->raw_bytes, sum->stored_bytes, text));
	}
	append_cell(page, report_seconds(sum->seconds, text));
}

/* How long its bytes are beside the largest's, and what is left of them. */
static void
append_bar(PQExpBuffer page, const ReportData *data, const ReportTable *table,
		   uint64 largest)
{
	double		raw = 100.0 * table->raw_bytes / Max(largest, 1);
	double		stored = data->is_copy ? 0 : 100.0 * table->stored_bytes / Max(largest, 1);

	appendPQExpBuffer(page, "<td class=\"bar\"><svg viewBox=\"0 0 100 10\" preserveAspectRatio=\"none\" aria-hidden=\"true\"><rect class=\"whole\" width=\"%.2f\" height=\"10\"/><rect class=\"kept\" width=\"%.2f\" height=\"10\"/></svg></td>",
					  raw, Min(stored, 100));
}

/* Which of its rows were dumped, if not all. */
static void
append_filter(PQExpBuffer page, const ManifestFile *file)
{
	if (file->where == NULL && file->sample == NULL)
		return;
	appendPQExpBufferStr(page, "<div class=\"soft\">only ");
	if (file->sample)
	{
		appendPQExpBufferStr(page, "a sample of ");
		report_append_name(page, file->sample);
		appendPQExpBufferStr(page, file->where ? " % of rows " : " % of rows");
	}
	if (file->where)
	{
		appendPQExpBufferStr(page, "where ");
		report_append_name(page, file->where);
	}
	appendPQExpBufferStr(page, "</div>");
}

static void
append_masks(PQExpBuffer page, const ManifestFile *file)
{
	if (file->masks)
		appendPQExpBufferStr(page, "<div class=\"soft\">with masked columns</div>");
}

/* How many of its files were not dumped anew. */
static void
append_reused(PQExpBuffer page, const ReportTable *table)
{
	char		reused[REPORT_TEXT_BYTES];
	char		all[REPORT_TEXT_BYTES];

	if (table->n_reused > 0)
		appendPQExpBuffer(page, "<div class=\"soft\">%s of %s from the previous archive</div>",
						  report_number(table->n_reused, reused),
						  report_count(table->n_files, "file", all));
}

static void
append_table(PQExpBuffer page, const ReportData *data,
			 const ReportTable *table, uint64 largest)
{
	appendPQExpBufferStr(page, "<tr><th scope=\"row\">");
	append_swatch(page, table->color);
	report_append_name(page, table->name);
	append_filter(page, table->first);
	append_masks(page, table->first);
	append_reused(page, table);
	appendPQExpBufferStr(page, "</th>");
	append_sums(page, data, table);
	append_bar(page, data, table, largest);
	appendPQExpBufferStr(page, "</tr>\n");
}

/* A row that sums up several tables. */
static void
append_sum_row(PQExpBuffer page, const ReportData *data, const char *what,
			   const ReportTable *sum)
{
	appendPQExpBuffer(page, "<tr class=\"sum\"><th scope=\"row\">%s", what);
	append_reused(page, sum);
	appendPQExpBufferStr(page, "</th>");
	append_sums(page, data, sum);
	appendPQExpBufferStr(page, "<td></td></tr>\n");
}

static void
append_table_heads(PQExpBuffer page, const ReportData *data)
{
	appendPQExpBufferStr(page, "<th scope=\"col\" class=\"num\">");
	append_title(page, data->row_word, "s</th>");
	append_head(page, data->is_copy ? "Pieces" : "Files");
	append_head(page, "Data");
	if (!data->is_copy)
	{
		append_head(page, "Stored");
		append_head(page, "Ratio");
	}
	append_head(page, "Work");
	appendPQExpBuffer(page, "<th scope=\"col\"><span class=\"hidden\">Data%s, as a bar</span></th></tr></thead><tbody>\n",
					  data->is_copy ? "" : " and what is stored of it");
}

/* A partitioned table, and its partitions for who opens them. */
static void
append_partitions(PQExpBuffer page, const ReportData *data,
				  const ReportGroup *group, uint64 largest)
{
	ReportTable others = {0};
	int			n_shown = Min(group->n_tables, PARTITIONS_SHOWN);
	char		text[REPORT_TEXT_BYTES];

	appendPQExpBufferStr(page, "<tr class=\"whole-of\"><th scope=\"row\">");
	report_append_name(page, group->sum.name);
	append_reused(page, &group->sum);
	appendPQExpBufferStr(page, "</th>");
	append_sums(page, data, &group->sum);
	append_bar(page, data, &group->sum, largest);
	appendPQExpBuffer(page, "</tr>\n<tr class=\"parts\"><td colspan=\"%d\"><details><summary>%s</summary><table><thead><tr><th scope=\"col\">Partition</th>",
					  data->is_copy ? 6 : 8,
					  report_count(group->n_tables, "partition", text));
	append_table_heads(page, data);
	for (int i = 0; i < group->n_tables; i++)
	{
		if (i < n_shown)
			append_table(page, data, group->tables[i], largest);
		else
			report_group_add(&others, group->tables[i]);
	}
	if (group->n_tables > n_shown)
		append_sum_row(page, data, report_count(group->n_tables - n_shown,
												"smaller one", text), &others);
	appendPQExpBufferStr(page, "</tbody></table></details></td></tr>\n");
}

void
report_table_append_tables(PQExpBuffer page, const ReportData *data)
{
	const ReportGroups *groups = report_groups_new(data);
	uint64		largest = groups->n_groups > 0 ? groups->groups[0].sum.raw_bytes : 0;
	ReportTable others = {0};
	int			n_others = 0;
	int			n_shown = Min(groups->n_groups, TABLES_SHOWN);
	char		text[REPORT_TEXT_BYTES];

	/* one that would be all of "others" is shown itself */
	if (groups->n_groups == TABLES_SHOWN + 1)
		n_shown++;
	append_name_head(page, data);
	append_table_heads(page, data);
	for (int i = 0; i < groups->n_groups; i++)
	{
		const ReportGroup *group = &groups->groups[i];

		if (i >= n_shown)
		{
			report_group_add(&others, &group->sum);
			n_others += group->n_tables;
		}
		else if (group->n_tables > 1)
			append_partitions(page, data, group, largest);
		else
			append_table(page, data, group->tables[0], largest);
	}
	if (n_others > 0)
		append_sum_row(page, data, report_count(n_others, "smaller one", text),
					   &others);
	append_sum_row(page, data, "All", &data->total);
	appendPQExpBufferStr(page, "</tbody></table></div>\n");
}

/* ----------
 * Workers
 * ----------
 */
void
report_table_append_workers(PQExpBuffer page, const ReportData *data)
{
	double		seconds = report_data_seconds(data);
	char		text[REPORT_TEXT_BYTES];

	appendPQExpBufferStr(page, "<div class=\"wide\"><table><thead><tr><th scope=\"col\">Worker</th>");
	append_head(page, data->is_copy ? "Pieces" : "Files");
	appendPQExpBufferStr(page, "<th scope=\"col\" class=\"num\">Data</th><th scope=\"col\" class=\"num\">Work</th><th scope=\"col\" class=\"num\">Busy</th><th scope=\"col\" class=\"num\">Data a second of work</th><th scope=\"col\" class=\"num\">Without work at the end</th></tr></thead><tbody>\n");
	for (int i = 0; i < data->n_workers; i++)
	{
		const ReportWorker *worker = &data->workers[i];

		appendPQExpBuffer(page, "<tr><th scope=\"row\">worker %d</th>", i);
		append_cell(page, report_number(worker->n_files, text));
		append_cell(page, units_size(worker->raw_bytes, text));
		append_cell(page, report_seconds(worker->seconds, text));
		append_cell(page, report_percent(worker->seconds, seconds, text));
		append_cell(page, worker->n_files == 0 ? "" :
					report_rate(worker->raw_bytes, worker->seconds, text));
		append_cell(page, worker->n_files == 0 ? "" :
					report_seconds((data->end_us - worker->last_us) / 1e6, text));
		appendPQExpBufferStr(page, "</tr>\n");
	}
	appendPQExpBufferStr(page, "</tbody></table></div>\n");
}

/* ----------
 * Files that took longest
 * ----------
 */
static int
compare_durations(const void *a, const void *b)
{
	const ManifestFile *f1 = (*(const ReportFile *const *) a)->file;
	const ManifestFile *f2 = (*(const ReportFile *const *) b)->file;
	double		s1 = report_data_file_seconds(f1);
	double		s2 = report_data_file_seconds(f2);

	if (s1 != s2)
		return s1 > s2 ? -1 : 1;
	return strcmp(f1->path, f2->path);
}

static void
append_slow_file(PQExpBuffer page, const ReportData *data,
				 const ReportFile *slow)
{
	const ManifestFile *file = slow->file;
	const ReportTable *table = &data->tables[slow->table];
	char		text[REPORT_TEXT_BYTES];
	double		seconds = report_data_file_seconds(file);
	double		mean = data->total.raw_bytes / Max(data->total.seconds, 1e-6);

	appendPQExpBufferStr(page, "<tr><th scope=\"row\">");
	append_swatch(page, table->color);
	report_append_name(page, table->name);
	appendPQExpBufferStr(page, "</th><td>");
	report_append_text(page, file->path);
	appendPQExpBufferStr(page, "</td>");
	append_cell(page, report_data_blocks(file, text));
	append_cell(page, report_number(file->worker, text));
	append_cell(page, report_seconds((file->start_us - data->axis_start_us) / 1e6,
									 text));
	append_cell(page, report_seconds(seconds, text));
	append_cell(page, units_size(file->raw_bytes, text));
	append_cell(page, report_rate(file->raw_bytes, seconds, text));
	append_cell(page, report_percent(file->raw_bytes / Max(seconds, 1e-6),
									 mean, text));
	appendPQExpBufferStr(page, "</tr>\n");
}

void
report_table_append_slowest(PQExpBuffer page, const ReportData *data)
{
	const ReportFile **order = pg_malloc((data->n_files + 1) *
										 sizeof(ReportFile *));

	for (int i = 0; i < data->n_files; i++)
		order[i] = &data->files[i];
	qsort(order, data->n_files, sizeof(ReportFile *), compare_durations);
	append_name_head(page, data);
	appendPQExpBuffer(page, "<th scope=\"col\">%s</th>",
					  data->is_copy ? "Piece" : "File");
	appendPQExpBufferStr(page, "<th scope=\"col\" class=\"num\">Blocks</th><th scope=\"col\" class=\"num\">Worker</th><th scope=\"col\" class=\"num\">Began after</th><th scope=\"col\" class=\"num\">Took</th><th scope=\"col\" class=\"num\">Data</th><th scope=\"col\" class=\"num\">Rate</th><th scope=\"col\" class=\"num\">Of mean rate</th></tr></thead><tbody>\n");
	for (int i = 0; i < Min(data->n_files, SLOWEST_SHOWN); i++)
		append_slow_file(page, data, order[i]);
	appendPQExpBufferStr(page, "</tbody></table></div>\n");
	free(order);
}
