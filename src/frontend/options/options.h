/*
 * options.h
 *		The options of the command line, as parsed.
 */
#ifndef OPTIONS_H
#define OPTIONS_H

#include "fe_utils/connect_utils.h"
#include "fe_utils/simple_list.h"

#include "shared/compress.h"

typedef enum SyncMethod
{
	SYNC_NONE,					/* --no-sync */
	SYNC_FSYNC,					/* every file, then the directory */
	SYNC_SYNCFS					/* the whole file system at once */
} SyncMethod;

typedef enum CompressPlace
{
	COMPRESS_WHERE_BEST,		/* dump_plan.c decides */
	COMPRESS_ON_CLIENT,
	COMPRESS_ON_SERVER
} CompressPlace;

/* How WAL is included in a base backup. */
typedef enum BackupWal
{
	BACKUP_WAL_NONE,			/* none: the WAL is in a WAL archive */
	BACKUP_WAL_FETCH,			/* copied after the files */
	BACKUP_WAL_STREAM			/* copied when segments are complete */
} BackupWal;

/* The largest share of a worker in --pipe-prefetch. */
#define PIPE_PREFETCH_OF_WORKER 16

typedef struct Options
{
	/* The archive */
	const char *directory;		/* NULL with --pipe or --dry-run */
	const char *pipe_command;	/* see sink_pipe_command(); NULL without
								 * --pipe */
	const char *pipe_prefetch;	/* see option_value_prefetch() */
	int			jobs;
	bool		jobs_given;		/* jobs was specified; otherwise it is 1 */
	bool		verbose;
	bool		compress_given; /* otherwise the default of pg_dump's major
								 * version */
	CompressSpec compress;
	CompressPlace compress_place;
	SyncMethod	sync_method;
	const char *verify;			/* archive to verify, or NULL */
	bool		clean_output;
	const char *manifest_checksums; /* NULL = CRC32C */
	bool		manifest_fingerprints;
	const char *incremental;	/* previous archive: a directory, or the
								 * command below; NULL = dump all rows */
	const char *incremental_pipe;	/* the command that reads it, or NULL */
	const char *pipe_copy;		/* the same with %o, to copy its files */
	const char *incremental_copy_method;	/* NULL = link */
	const char *incremental_by; /* fingerprints, or wal-summaries; NULL =
								 * fingerprints */
	SimpleStringList also_from; /* connection strings of further standbys */
	bool		pause_synchronous;	/* also pause synchronous standbys */
	uint64		retries;		/* retries after a lost connection or a failed
								 * command */
	uint64		stall_timeout;	/* seconds, 0 = never */
	uint64		standby_snapshot_timeout;	/* seconds, see
											 * source/standby_overflow.h */
	bool		allow_affected_standby; /* accept a standby that cannot be
										 * checked */
	uint64		max_rate;		/* bytes per second, 0 = no limit */

	/* Distributed dumps */
	uint64		tasks;			/* number of tasks; 0 = not distributed */
	const char *run_tasks;		/* command that runs the tasks */
	const char *plan;			/* file from which a task reads the plan, and
								 * to which the leader writes it; NULL = the
								 * leader writes it into the archive's
								 * directory */
	const char *task;			/* I/N; NULL = not a task */

	/* All databases of a cluster */
	bool		all_databases;
	SimpleStringList exclude_databases; /* patterns */
	bool		cluster_snapshot;	/* one snapshot for all databases */
	const char *shared_snapshot;	/* file that describes the snapshot for
									 * other runs; NULL = not shared */
	bool		lock_later;		/* lock the tables of a database only when the
								 * database is dumped */
	bool		globals_only;
	bool		roles_only;
	bool		tablespaces_only;
	bool		no_role_passwords;
	const char **run_args;		/* arguments for the run of each database,
								 * without the patterns */
	int			n_run_args;
	SimpleStringList run_tables;	/* patterns that must match in some
									 * database; where, sample and mask are
									 * also such patterns */
	SimpleStringList run_tables_and_children;
	SimpleStringList run_schemas;
	bool		one_of_all;		/* this run is for one of all databases */

	/* Selected rows of tables that match a pattern: TABLE:... */
	SimpleStringList where;
	SimpleStringList sample;
	SimpleStringList mask;		/* TABLE.COLUMN:..., also from mask_files */
	SimpleStringList mask_files;

	/* Output */
	bool		progress;
	bool		no_progress;
	const char *log_json;		/* a file or "-"; NULL = no events */
	const char *report;			/* a file; NULL = no report */
	const char *report_history; /* directory with records of runs, or NULL */
	const char *metrics;		/* a file; NULL = no metrics */
	SimpleStringList metrics_labels;	/* valid NAME=VALUE texts */
	bool		check;			/* only check the prerequisites */
	bool		dry_run;
	uint64		expected_rate;	/* bytes per second; 0 = not specified */

	bool		allow_rewritten;	/* dump tables that were rewritten after
									 * the snapshot */

	/* How tables are split */
	bool		trust_owners;	/* call functions of table owners */
	bool		no_chunks;
	bool		no_extension;
	bool		with_pardump_extension; /* keep the extension's entry */
	bool		chooses_extensions; /* -e was specified */
	bool		foreign_data;	/* also dump rows of foreign tables */
	bool		selects_tables; /* in a dump: not all tables are selected */
	bool		selects_entries;	/* in a restore: not all definitions are
									 * selected */
	SimpleStringList name_filters;	/* in a restore: for each name, the letter
									 * of pg_restore's option and the name */
	bool		strict_names;
	bool		allow_existing; /* restore into tables that contain rows */
	uint64		chunk_bytes;	/* 0 = see chunk_plan.h */
	uint64		segment_pages;	/* 0 = not specified */

	/* Copies, and pg_dump's options that pg_restore has, too */
	const char *target;			/* NULL = dump to an archive */
	const char *copy_format;	/* auto, raw, binary or text; NULL = auto */
	const char *wire_compression;	/* compression of raw tuples: auto, or a
									 * text for compress_spec_parse(); NULL =
									 * auto */
	const char *toast_compression;	/* default, lz4 or pglz; NULL = default */
	uint64		index_jobs;		/* 0 = the same as jobs */
	bool		no_analyze;
	bool		no_fast_index;	/* the target builds all indexes itself */
	bool		roles;			/* also copy the roles that the database
								 * requires */
	bool		compare;		/* compare source and target after the copy */
	const char *compare_with;	/* in a restore: connection string of the
								 * source; in pg_pardump: a connection string
								 * or an archive, and nothing is dumped; NULL
								 * = no comparison */
	bool		clean;
	bool		create;
	bool		data_only;
	bool		disable_triggers;
	bool		no_owner;
	bool		no_privileges;
	bool		no_tablespaces;
	bool		no_comments;
	bool		no_security_labels;
	bool		no_table_access_method;
	bool		statistics;
	bool		use_session_authorization;

	/* pg_parrestore */
	const char *restore;		/* archive to restore, or the command of
								 * --pipe; NULL in pg_pardump */
	bool		list;			/* pg_restore's -l */
	uint64		own_given;		/* a bit for each option that pg_restore does
								 * not have: it was specified */
	bool		verify_first;
	bool		resume;			/* continue an earlier run that is not
								 * complete */
	bool		exit_on_error;
	bool		if_exists;
	bool		no_data_for_failed_tables;
	const char *superuser;		/* user who disables triggers, or NULL */
	const char *pg_restore_path;	/* NULL = search for it */
	const char *by_stock;		/* why stock pg_restore does all the work;
								 * empty if users expect that; NULL = it does
								 * not */
	const char *by_stock_option;	/* the argument that causes this */
	const char **pg_restore_args;	/* all options of pg_restore, and the
									 * archive; these three are
									 * NULL-terminated */
	const char **list_args;		/* those that select entries */
	const char **make_args;		/* those that determine how definitions are
								 * created */

	/* pg_parbasebackup, which writes into the directory above */
	bool		backup;			/* this is pg_parbasebackup */
	const char *extract;		/* directory of a backup in tar format to
								 * extract; NULL = take a backup */
	bool		tar_format;
	BackupWal	wal_method;
	bool		fast_checkpoint;
	const char *label;
	SimpleStringList tablespace_mappings;	/* OLD=NEW, as specified */
	const char *wal_directory;	/* for pg_wal; NULL = within the data
								 * directory */
	bool		write_recovery_conf;
	bool		no_clean;
	bool		no_sync;
	bool		no_slot;
	bool		no_manifest;
	bool		no_verify_checksums;

	/* The session, see setup_connection() of pg_dump */
	ConnParams	connection;
	const char *password_command;	/* command that prints the password, or
									 * NULL */
	const char *target_password_command;	/* the same for the target or the
											 * other side of a comparison */
	const char *role;
	const char *encoding;
	const char *snapshot;
	const char *lock_wait_timeout;
	bool		serializable_deferrable;
	bool		create_slot;
	const char *slot;			/* slot name; NULL without create_slot */
	const char *slot_plugin;	/* NULL = pgoutput */
	const char *create_subscription;	/* name of the subscription; NULL =
										 * none */
	SimpleStringList publications;	/* see logical_slot.h */
	const char *subscription_conninfo;	/* NULL = use the address of the
										 * source */
	bool		enable_row_security;
	bool		quote_all_identifiers;
	const char *extra_float_digits;

	/* Stock pg_dump */
	const char *pg_dump_path;	/* NULL = search for it */
	const char **pg_dump_args;	/* its arguments as the user wrote them */
	int			n_pg_dump_args;
	int			needed_major;	/* required major of pg_dump; 0 = any */
	const char *needed_for;		/* option that requires it, without dashes */
} Options;

#endif							/* OPTIONS_H */
