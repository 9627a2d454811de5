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

#define MEMBER(name) offsetof(Options, name)

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

/* What must hold between two options. */
typedef enum OptionRuleKind
{
	EXCLUDES,
	NEEDS
} OptionRuleKind;

/* Options are named as messages do: "--target", "-f/--file". */
typedef struct OptionRule
{
	const char *option;
	OptionRuleKind kind;
	const char *others;			/* each of them; a space in between */
	const char *why;			/* detail of the message; NULL = none */
} OptionRule;

/*
 * Check the rules in their order.  find returns the row of an option by
 * its long name, without the dashes.
 */
extern void option_rules_check(const Options *options, const OptionRule *rules,
							   int n, const OptionRow *(*find) (const char *name));

/*
 * Read -j, -v, -w and -W, which mean the same in all programs; false for
 * other letters.
 */
extern bool option_read_common(Options *options, int letter, const char *arg);

/* ----------
 * Values.  option is the option's name in messages, where several options
 * have such values.
 * ----------
 */

/* A whole number within limits. */
extern int64 option_value_number(const char *arg, const char *option,
								 int64 min, int64 max);

/*
 * Bytes a second, given as in pg_basebackup.c:parse_max_rate(): kilobytes, or
 * with a suffix k or M.
 */
extern uint64 option_value_rate(const char *arg, const char *option);

/*
 * Where and how to compress: [{client|server}-]METHOD[:DETAIL], "place" if
 * the text does not name one.
 */
extern void option_value_compress(Options *options, const char *arg,
								  CompressPlace place);

/* Of --toast-compression, and of --manifest-checksums; either may be NULL. */
extern void option_value_check_toast(const char *method);
extern void option_value_check_checksums(const char *algorithm);

/*
 * Of --slot: the names that the server takes (slot.c:
 * ReplicationSlotValidateName), so that statements need no quotes.
 */
extern void option_value_check_slot(const char *name);

/* Of --subscription-conninfo. */
extern void option_value_check_conninfo(const char *conninfo);

/* Of --pipe: every file must have a name of its own. */
extern void option_value_check_pipe(const char *pattern);

/*
 * Of --metrics and --metrics-label: a label has a name that Prometheus takes
 * and no other label has, and needs a file.
 */
extern void option_value_check_metrics(const Options *options);

/* Of --password-command or the like; command may be NULL. */
extern void option_value_check_password_command(const Options *options,
												const char *command,
												const char *option);

#endif							/* OPTION_TABLE_H */
