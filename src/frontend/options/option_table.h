/*
 * option_table.h
 *		Options as data: their names, and the members of Options that they
 *		set.
 */
#ifndef OPTION_TABLE_H
#define OPTION_TABLE_H

#include "getopt_long.h"

#include "options/options.h"

typedef enum OptionKind
{
	OPTION_FLAG,				/* bool, no argument */
	OPTION_TEXT,				/* const char *, as it was given */
	OPTION_NUMBER,				/* uint64, within the row's limits */
	OPTION_SIZE,				/* uint64, bytes; units as in settings */
	OPTION_LIST,				/* SimpleStringList, may be given again */
	OPTION_BARE,				/* sets nothing, no argument */
	OPTION_WITH_VALUE			/* sets nothing */
} OptionKind;

typedef struct OptionRow
{
	const char *name;
	OptionKind	kind;
	size_t		offset;			/* of the member in Options */
	int64		min;			/* of a number */
	int64		max;
} OptionRow;

/* Has it an argument? */
extern bool option_table_takes_value(const OptionRow *row);

/* An option of a stock program's, which may have a letter, too. */
typedef struct StockOption
{
	OptionRow	row;
	char		letter;			/* below ' ' if it has no short name */
	int			uses;			/* bits that the program defines */
	const char *refused;		/* why; NULL = it is ours to do */
} StockOption;

/*
 * getopt_long()'s table: those of another one, which may be NULL, then these
 * rows, for which it returns first and the numbers after it; owned.
 */
extern struct option *option_table_append(const struct option *before,
										  const OptionRow *rows, int n_rows,
										  int first);

/*
 * The same of these, none before them; and getopt_long()'s letters of them,
 * each with a colon if it takes a value.  Owned.
 */
extern struct option *option_table_names(const StockOption *options, int n,
										 int first);
extern char *option_table_letters(const StockOption *options, int n);

/* What getopt_long() has returned; NULL if it is none of them. */
extern const StockOption *option_table_find(const StockOption *options, int n,
											int first, int c);

/* The option is given, with this argument. */
extern void option_table_store(Options *options, const OptionRow *row,
							   const char *arg);

#endif							/* OPTION_TABLE_H */
