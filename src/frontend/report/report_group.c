/*
 * report_group.c
 *		The tables of a report, partitions together under the table that they
 *		are part of.
 */
#include "base/fe_compat.h"

#include "report/report_group.h"

void
report_group_add(ReportTable *sum, const ReportTable *table)
{
	sum->n_files += table->n_files;
	sum->n_reused += table->n_reused;
	sum->rows += table->rows;
	sum->raw_bytes += table->raw_bytes;
	sum->stored_bytes += table->stored_bytes;
	sum->seconds += table->seconds;
}

/* Partitions of one table become neighbours, the largest first. */
static int
compare_roots(const void *a, const void *b)
{
	const ReportTable *t1 = *(const ReportTable *const *) a;
	const ReportTable *t2 = *(const ReportTable *const *) b;
	int			result = strcmp(t1->root ? t1->root : "",
								t2->root ? t2->root : "");

	/* they stand in one array, sorted */
	return result != 0 ? result : t1 < t2 ? -1 : 1;
}

static int
compare_groups(const void *a, const void *b)
{
	const ReportGroup *g1 = a;
	const ReportGroup *g2 = b;

	if (g1->sum.raw_bytes != g2->sum.raw_bytes)
		return g1->sum.raw_bytes > g2->sum.raw_bytes ? -1 : 1;
	return strcmp(g1->sum.name, g2->sum.name);
}

/* Of the first of these tables, and its siblings that follow it. */
static ReportGroup
make_group(const ReportTable **tables, int n_left)
{
	ReportGroup group = {.sum = *tables[0],.tables = tables,.n_tables = 1};

	if (tables[0]->root == NULL)
		return group;
	while (group.n_tables < n_left &&
		   tables[group.n_tables]->root != NULL &&
		   strcmp(tables[group.n_tables]->root, tables[0]->root) == 0)
		report_group_add(&group.sum, tables[group.n_tables++]);
	if (group.n_tables > 1)
	{
		group.sum.name = tables[0]->root;
		group.sum.first = NULL;
	}
	return group;
}

ReportGroups *
report_groups_new(const ReportData *data)
{
	ReportGroups *result = pg_malloc0(sizeof(ReportGroups));
	const ReportTable **tables = pg_malloc((data->n_tables + 1) *
										   sizeof(ReportTable *));

	result->groups = pg_malloc((data->n_tables + 1) * sizeof(ReportGroup));
	for (int i = 0; i < data->n_tables; i++)
		tables[i] = &data->tables[i];
	qsort(tables, data->n_tables, sizeof(ReportTable *), compare_roots);
	for (int i = 0; i < data->n_tables;)
	{
		ReportGroup group = make_group(tables + i, data->n_tables - i);

		result->groups[result->n_groups++] = group;
		i += group.n_tables;
	}
	qsort(result->groups, result->n_groups, sizeof(ReportGroup), compare_groups);
	return result;
}
