/*
 * report_data.c
 *		What a report shows: a manifest, by table and by worker.
 *
 * A manifest may be an old one without some members, or say what cannot be:
 * the report may be nonsense then, but is made.
 */
#include "base/fe_compat.h"

#include "pqexpbuffer.h"

#include "archive/manifest_name.h"
#include "report/report_data.h"

double
report_data_seconds(const ReportData *data)
{
	return Max((data->end_us - data->start_us) / 1e6, 1e-6);
}

double
report_data_axis_seconds(const ReportData *data)
{
	return Max((data->axis_end_us - data->axis_start_us) / 1e6, 1e-6);
}

static bool
has_times(const ManifestFile *file)
{
	return file->start_us > 0 && file->end_us >= file->start_us;
}

double
report_data_file_seconds(const ManifestFile *file)
{
	return has_times(file) ? (file->end_us - file->start_us) / 1e6 : 0;
}

const char *
report_data_blocks(const ManifestFile *file, char buf[REPORT_TEXT_BYTES])
{
	char		first[REPORT_TEXT_BYTES];
	char		last[REPORT_TEXT_BYTES];

	report_number(file->start_block, first);
	if (file->kind != MANIFEST_ROWS)
		buf[0] = '\0';
	else if (file->end_block != MANIFEST_NO_END)
		snprintf(buf, REPORT_TEXT_BYTES, "%.20s to %.20s", first,
				 report_number(Max(file->end_block, 1) - 1, last));
	else if (file->start_block > 0)
		snprintf(buf, REPORT_TEXT_BYTES, "%.20s to end", first);
	else
		strlcpy(buf, "all", REPORT_TEXT_BYTES);
	return buf;
}

static bool
is_work(const ManifestFile *file)
{
	return file->kind == MANIFEST_ROWS || file->kind == MANIFEST_LARGE_OBJECT;
}

/* ----------
 * Tables
 * ----------
 */

static void
name_table(ReportTable *table, const ManifestFile *file)
{
	table->first = file;
	table->name = file->kind == MANIFEST_LARGE_OBJECT
		? pg_strdup("large objects")
		: file->schema ? manifest_name_table(file->schema, file->table)
		: pg_strdup(file->table ? file->table : "");
	if (file->root_table)
		table->root = manifest_name_table(file->root_schema, file->root_table);
}

static int
compare_text(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

/* Those of one table become neighbours; large objects come last. */
static int
compare_names(const void *a, const void *b)
{
	const ManifestFile *f1 = ((const ReportFile *) a)->file;
	const ManifestFile *f2 = ((const ReportFile *) b)->file;
	int			result = (int) f1->kind - (int) f2->kind;

	if (result == 0)
		result = compare_text(f1->schema, f2->schema);
	if (result == 0)
		result = compare_text(f1->table, f2->table);
	return result;
}

static void
add_file(ReportTable *table, const ManifestFile *file)
{
	table->n_files++;
	table->n_reused += file->reused != NULL;
	table->rows += file->rows;
	table->raw_bytes += file->raw_bytes;
	table->stored_bytes += file->stored_bytes;
	table->seconds += report_data_file_seconds(file);
}

/* The files must be in the order of names. */
static void
collect_tables(ReportData *data)
{
	data->tables = pg_malloc0((data->n_files + 1) * sizeof(ReportTable));
	for (int i = 0; i < data->n_files; i++)
	{
		ReportFile *file = &data->files[i];

		if (i == 0 || compare_names(file, file - 1) != 0)
		{
			name_table(&data->tables[data->n_tables], file->file);
			if (file->file->where || file->file->sample)
				data->n_filtered++;
			if (file->file->kind == MANIFEST_LARGE_OBJECT)
				data->has_objects = true;
			data->n_tables++;
		}
		file->table = data->n_tables - 1;
		add_file(&data->tables[file->table], file->file);
		add_file(&data->total, file->file);
	}
}

static int
compare_bytes(const void *a, const void *b)
{
	const ReportTable *t1 = *(const ReportTable *const *) a;
	const ReportTable *t2 = *(const ReportTable *const *) b;

	if (t1->raw_bytes != t2->raw_bytes)
		return t1->raw_bytes > t2->raw_bytes ? -1 : 1;
	return strcmp(t1->name, t2->name);
}

/* Those that kept the workers most have colours. */
static int
compare_seconds(const void *a, const void *b)
{
	const ReportTable *t1 = *(const ReportTable *const *) a;
	const ReportTable *t2 = *(const ReportTable *const *) b;

	if (t1->seconds != t2->seconds)
		return t1->seconds > t2->seconds ? -1 : 1;
	return compare_bytes(a, b);
}

/* Largest first; the files' tables follow. */
static void
sort_tables(ReportData *data)
{
	int			n = data->n_tables;
	ReportTable **order = pg_malloc((n + 1) * sizeof(ReportTable *));
	ReportTable *sorted = pg_malloc((n + 1) * sizeof(ReportTable));
	int		   *new_index = pg_malloc((n + 1) * sizeof(int));

	for (int i = 0; i < n; i++)
		order[i] = &data->tables[i];
	qsort(order, n, sizeof(ReportTable *), compare_seconds);
	for (int i = 0; i < n; i++)
		order[i]->color = i < REPORT_COLORS &&
			order[i]->seconds >= REPORT_COLOR_SHARE * data->total.seconds ?
			i : REPORT_COLORS;
	qsort(order, n, sizeof(ReportTable *), compare_bytes);
	for (int i = 0; i < n; i++)
	{
		sorted[i] = *order[i];
		new_index[order[i] - data->tables] = i;
	}
	for (int i = 0; i < data->n_files; i++)
		data->files[i].table = new_index[data->files[i].table];
	free(data->tables);
	free(order);
	free(new_index);
	data->tables = sorted;
}

/* ----------
 * Workers
 * ----------
 */
static int
compare_work(const void *a, const void *b)
{
	const ManifestFile *f1 = ((const ReportFile *) a)->file;
	const ManifestFile *f2 = ((const ReportFile *) b)->file;

	if (f1->worker != f2->worker)
		return f1->worker < f2->worker ? -1 : 1;
	if (f1->start_us != f2->start_us)
		return f1->start_us < f2->start_us ? -1 : 1;
	return strcmp(f1->path, f2->path);
}

static void
collect_workers(ReportData *data)
{
	data->n_workers = data->manifest->jobs;
	for (int i = 0; i < data->n_files; i++)
		data->n_workers = Max(data->n_workers, data->files[i].file->worker + 1);
	data->n_workers = Min(data->n_workers, REPORT_MAX_LANES);
	data->workers = pg_malloc0((data->n_workers + 1) * sizeof(ReportWorker));
	for (int i = 0; i < data->n_files; i++)
	{
		const ManifestFile *file = data->files[i].file;
		ReportWorker *worker;

		if (!has_times(file))
			continue;
		if (data->n_timed++ == 0 || file->start_us < data->start_us)
			data->start_us = file->start_us;
		if (file->end_us > data->end_us)
		{
			data->end_us = file->end_us;
			data->last = &data->files[i];
		}
		if (file->worker >= data->n_workers)
			continue;
		worker = &data->workers[file->worker];
		worker->n_files++;
		worker->raw_bytes += file->raw_bytes;
		worker->seconds += report_data_file_seconds(file);
		worker->last_us = Max(worker->last_us, file->end_us);
	}
}

static void
set_axis(ReportData *data)
{
	data->axis_start_us = data->start_us;
	data->axis_end_us = data->end_us;
	if (data->copy == NULL)
		return;
	data->axis_start_us = Min(data->start_us, data->manifest->start_us);
	data->axis_end_us = Max(data->end_us, data->copy->end_us);
}

static int
compare_table_names(const void *a, const void *b)
{
	const ReportTable *t1 = *(const ReportTable *const *) a;
	const ReportTable *t2 = *(const ReportTable *const *) b;

	return strcmp(t1->name, t2->name);
}

/* So that each of many is found fast. */
static void
sort_names(ReportData *data)
{
	data->by_name = pg_malloc((data->n_tables + 1) * sizeof(ReportTable *));
	for (int i = 0; i < data->n_tables; i++)
		data->by_name[i] = &data->tables[i];
	qsort(data->by_name, data->n_tables, sizeof(ReportTable *),
		  compare_table_names);
}

int
report_data_find(const ReportData *data, const char *name)
{
	ReportTable wanted = {.name = unconstify(char *, name)};
	const ReportTable *key = &wanted;
	ReportTable **found = bsearch(&key, data->by_name, data->n_tables,
								  sizeof(ReportTable *), compare_table_names);

	return found ? *found - data->tables : -1;
}

ReportData *
report_data_new(const Manifest *manifest, const ReportCopy *copy)
{
	ReportData *data = pg_malloc0(sizeof(ReportData));

	data->manifest = manifest;
	data->copy = copy;
	data->is_copy = copy != NULL;
	data->is_backup = copy && copy->is_backup;
	data->piece = copy ? "piece" : "file";
	data->table_word = data->is_backup ? "file" : "table";
	data->row_word = data->is_backup ? "file" : "row";
	data->files = pg_malloc0((manifest->n_files + 1) * sizeof(ReportFile));
	for (int i = 0; i < manifest->n_files; i++)
		if (is_work(&manifest->files[i]))
			data->files[data->n_files++].file = &manifest->files[i];
	qsort(data->files, data->n_files, sizeof(ReportFile), compare_names);
	collect_tables(data);
	sort_tables(data);
	sort_names(data);
	qsort(data->files, data->n_files, sizeof(ReportFile), compare_work);
	collect_workers(data);
	set_axis(data);
	return data;
}
