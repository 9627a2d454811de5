/*
 * option_table.h
 *		Tables of options: their names, and the members of Options that they
 *		set.
 */
#ifndef OPTION_TABLE_H
#define OPTION_TABLE_H

#include "getopt_long.h"

#include "options/options.h"

typedef enum OptionKind
{
	OPTION_FLAG,				/* bool, no argument */
	OPTION_TEXT,				/* const char *, as specified */
	OPTION_FILLED,				/* the same, must not be empty */
	OPTION_OPTIONAL,			/* the same, empty without an argument */
	OPTION_NUMBER,				/* uint64, within min and max */
	OPTION_SIZE,				/* uint64, bytes; with units as in settings */
	OPTION_RATE,				/* uint64, bytes per second */
	OPTION_LIST,				/* SimpleStringList, for an option that can be
								 * repeated */
	/* these two set a bool, if they have a member: it was specified */
	OPTION_BARE,				/* no argument */
	OPTION_WITH_VALUE
} OptionKind;

typedef struct OptionRow
{
	const char *name;
	OptionKind	kind;
	size_t		offset;			/* offset of the member in Options */
	int64		min;			/* limits of a number */
	int64		max;
} OptionRow;

#define MEMBER(name) offsetof(Options, name)

/* The rows for our options that pg_pardump and pg_parrestore share. */
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
	{"pipe-prefetch", OPTION_TEXT, MEMBER(pipe_prefetch)}, \
	{"report", OPTION_FILLED, MEMBER(report)}, \
	{"report-history", OPTION_FILLED, MEMBER(report_history)}, \
	{"retries", OPTION_NUMBER, MEMBER(retries), 0, 1000}, \
	{"stall-timeout", OPTION_NUMBER, MEMBER(stall_timeout), 0, 86400}, \
	{"standby-snapshot-timeout", OPTION_NUMBER, \
	MEMBER(standby_snapshot_timeout), 0, 86400}, \
	{"toast-compression", OPTION_TEXT, MEMBER(toast_compression)}, \
	{"trust-owners", OPTION_FLAG, MEMBER(trust_owners)}

/* An option of a stock program, which may also have a letter. */
typedef struct StockOption
{
	OptionRow	row;
	char		letter;			/* below ' ' without a short name */
	int			uses;			/* bits that the program defines */
	const char *refused;		/* why it is not supported; NULL = it is */
} StockOption;

/* All options of a program. */
typedef struct OptionTable
{
	const StockOption *stock;
	int			n_stock;
	const OptionRow *rows;		/* our options, which have no letter */
	int			n_rows;
} OptionTable;

/*
 * Return the options in the form for getopt_long(): the long names, and the
 * letters, each with a colon if the option takes a value.  Owned.
 */
extern struct option *option_table_names(const OptionTable *table);
extern char *option_table_letters(const OptionTable *table);

/*
 * Returns the row of the option for a result of getopt_long(), or NULL if it
 * is not an option.  *stock is NULL if the stock program does not have the
 * option.
 */
extern const OptionRow *option_table_find(const OptionTable *table, int c,
										  const StockOption **stock);

/* Set the member of an option that was specified with this argument. */
extern void option_table_store(Options *options, const OptionRow *row,
							   const char *arg);

/* Rules between two options. */
typedef enum OptionRuleKind
{
	EXCLUDES,
	NEEDS
} OptionRuleKind;

/* A rule.  The names are those in messages: "--target", "-f/--file". */
typedef struct OptionRule
{
	const char *option;
	OptionRuleKind kind;
	const char *others;			/* the rule applies to each of them; separated
								 * by spaces */
	const char *why;			/* detail of the message; NULL = none */
} OptionRule;

/*
 * Check the rules in their order.  Exits with a message if one is violated.
 */
extern void option_rules_check(const Options *options, const OptionRule *rules,
							   int n, const OptionTable *table);

/*
 * Read -j, -v, -w and -W, which have the same meaning in all programs.
 * Returns false for other letters.
 */
extern bool option_read_common(Options *options, int letter, const char *arg);

/* ----------
 * Values of options.  Functions exit with a message if a value is not valid.
 * "option" is the option's name in the message, if several options have such
 * values.
 * ----------
 */

/* Returns an integer within limits. */
extern int64 option_value_number(const char *arg, const char *option,
								 int64 min, int64 max);

/*
 * Returns the number of the word that the value is, ignoring case, or a
 * negative number if it is none of them.  NULL follows the last word.
 */
extern int	option_value_word(const char *arg, const char *const *words);

/*
 * Set where and how to compress: [{client|server}-]METHOD[:DETAIL].  "place"
 * is used if the text contains no place.
 */
extern void option_value_compress(Options *options, const char *arg,
								  CompressPlace place);

/*
 * Check --toast-compression, and --manifest-checksums; the value may be NULL.
 */
extern void option_value_check_toast(const char *method);
extern void option_value_check_checksums(const char *algorithm);

/*
 * Check --slot: the server must accept the name (slot.c:
 * ReplicationSlotValidateName).  Such a name needs no quotes in statements.
 */
extern void option_value_check_slot(const char *name);

/* Check --subscription-conninfo. */
extern void option_value_check_conninfo(const char *conninfo);

/*
 * Check --pipe and --incremental-pipe: the command must differ for different
 * file names and, with all_databases, for different directories.  In
 * --pipe-copy, this applies to old and new names.  The pattern may be NULL.
 */
extern void option_value_check_pipe(const char *option, const char *pattern,
									bool all_databases);
extern void option_value_check_pipe_copy(const char *pattern,
										 bool all_databases);

/*
 * Returns a worker's share of the commands that all workers together may
 * start early, from the value of --pipe-prefetch, which may be NULL.
 */
extern int	option_value_prefetch(const char *arg, int jobs);

/*
 * Check --metrics and --metrics-label.  Labels require --metrics.  Each label
 * must have a name that is valid in Prometheus and that no other label has.
 */
extern void option_value_check_metrics(const Options *options);

/*
 * Check --password-command or a similar option, which excludes -W; the
 * command may be NULL.
 */
extern void option_value_check_password_command(const Options *options,
												const char *command,
												const char *option);

#endif							/* OPTION_TABLE_H */
