/*
 * report_group.h
 *		The tables of a report, partitions together under the table that they
 *		are part of.
 */
#ifndef REPORT_GROUP_H
#define REPORT_GROUP_H

#include "report/report_data.h"

/* A table, all large objects, or at least two partitions of one table. */
typedef struct ReportGroup
{
	ReportTable sum;			/* name borrowed; no filters, if several */
	const ReportTable **tables; /* the one with most raw bytes first */
	int			n_tables;
} ReportGroup;

typedef struct ReportGroups
{
	ReportGroup *groups;		/* the one with most raw bytes first */
	int			n_groups;
} ReportGroups;

/* What the result refers to is the data's. */
extern ReportGroups *report_groups_new(const ReportData *data);

/* Add what a table has to a sum of several. */
extern void report_group_add(ReportTable *sum, const ReportTable *table);

#endif							/* REPORT_GROUP_H */
