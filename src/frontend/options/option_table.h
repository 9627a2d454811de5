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
	OPTION_FILLED,				/* the same, not empty */
	OPTION_OPTIONAL,			/* the same, empty if it has no argument */
	OPTION_NUMBER,				/* uint64, within the row's limits */
	OPTION_SIZE,				/* uint64, bytes; units as in settings */
	OPTION_RATE,				/* uint64, bytes a second */
	OPTION_LIST,				/* SimpleStringList, may be given again */
	/* the member of these two is a bool, "was it given?", or is missing */
	OPTION_BARE,				/* no argument */
	OPTION_WITH_VALUE
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

/* Rows for options of ours that pg_pardump and pg_parrestore have alike. */
#define SHARED_OPTIONS \
	{"all-databases", OPTION_FLAG, MEMBER(all_databases)}, \
	{"allow-affected-standby", OPTION_FLAG, MEMBER(allow_affected_standby)}, \
	{"check", OPTION_FLAG, MEMBER(check)}, \
	{"chunk-size", OPTION_SIZE, MEMBER(chunk_bytes)}, \
	{"exclude-database", OPTION_LIST, MEMBER(exclude_databases)}, \
	{"index-jobs", OPTION_NUMBER, MEMBER(index_jobs), 1, 4096}, \
	{"log-json", OPTION_TEXT, MEMBER(log_json)}, \
	{"metrics", OPTION_FILLED, MEMBER(metrics)}, \
	{"metrics-label", OPTION_LIST, MEMBER(metrics_labels)}, \
	{"no-analyze", OPTION_FLAG, MEMBER(no_analyze)}, \
	{"no-fast-index", OPTION_FLAG, MEMBER(no_fast_index)}, \
	{"no-progress", OPTION_FLAG, MEMBER(no_progress)}, \
	{"password-command", OPTION_FILLED, MEMBER(password_command)}, \
	{"pipe", OPTION_TEXT, MEMBER(pipe_command)}, \
	{"report", OPTION_FILLED, MEMBER(report)}, \
	{"report-history", OPTION_FILLED, MEMBER(report_history)}, \
	{"retries", OPTION_NUMBER, MEMBER(retries), 0, 1000}, \
	{"stall-timeout", OPTION_NUMBER, MEMBER(stall_timeout), 0, 86400}, \
	{"standby-snapshot-timeout", OPTION_NUMBER, \
	MEMBER(standby_snapshot_timeout), 0, 86400}, \
	{"toast-compression", OPTION_TEXT, MEMBER(toast_compression)}, \
	{"trust-owners", OPTION_FLAG, MEMBER(trust_owners)}

/* An option of a stock program's, which may have a letter, too. */
typedef struct StockOption
{
	OptionRow	row;
	char		letter;			/* below ' ' if it has no short name */
	int			uses;			/* bits that the program defines */
	const char *refused;		/* why; NULL = it is ours to do */
} StockOption;

/* All options of a program. */
typedef struct OptionTable
{
	const StockOption *stock;
	int			n_stock;
	const OptionRow *rows;		/* ours, which have no letter */
	int			n_rows;
} OptionTable;

/*
 * getopt_long()'s table of them, and its letters, each with a colon if it
 * takes a value.  Owned.
 */
extern struct option *option_table_names(const OptionTable *table);
extern char *option_table_letters(const OptionTable *table);

/*
 * What getopt_long() has returned; NULL if it is none of them.  *stock is
 * NULL if it is not an option of the stock program.
 */
extern const OptionRow *option_table_find(const OptionTable *table, int c,
										  const StockOption **stock);

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

/* Check the rules in their order. */
extern void option_rules_check(const Options *options, const OptionRule *rules,
							   int n, const OptionTable *table);

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
 * Which of these words it is, in any case of letters; the last one is NULL.
 * Less than 0 if it is none.
 */
extern int	option_value_word(const char *arg, const char *const *words);

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

/*
 * Of --pipe and --incremental-pipe: every file must have a name of its own,
 * also if each database has its own directory; and of --pipe-copy, where this
 * holds for old and new names.  The pattern may be NULL.
 */
extern void option_value_check_pipe(const char *option, const char *pattern,
									bool all_databases);
extern void option_value_check_pipe_copy(const char *pattern,
										 bool all_databases);

/*
 * Of --metrics and --metrics-label: a label has a name that Prometheus takes
 * and no other label has, and needs a file.
 */
extern void option_value_check_metrics(const Options *options);

/* Of --password-command or the like, which excludes -W; may be NULL. */
extern void option_value_check_password_command(const Options *options,
												const char *command,
												const char *option);

#endif							/* OPTION_TABLE_H */
