/*
 * compare_tell.h
 *		Tells what a comparison has found: text for people, and events.
 */
#ifndef COMPARE_TELL_H
#define COMPARE_TELL_H

#include "compare/compare_rows.h"

/* The comparison begins. */
extern void compare_tell_run(CompareSide *const sides[2],
							 const CompareTables *tables,
							 const Options *options);

/* A line of each table, and of what differs in it. */
extern void compare_tell_tables(CompareSide *const sides[2],
								const CompareTables *tables,
								const CompareRows *rows);

/* Large objects; returns how many places differ: 0 or 1. */
extern int	compare_tell_objects(CompareSide *const sides[2],
								 const ObjectSum objects[2]);

/* One more line. */
extern void compare_tell_line(const char *line);

/* The last line. */
extern void compare_tell_sum(const CompareTables *tables, int n_sequences,
							 const ObjectSum objects[2], int n_different);

#endif							/* COMPARE_TELL_H */
