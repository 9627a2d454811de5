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
	COMPRESS_WHERE_BEST,		/* see dump_plan.c */
	COMPRESS_ON_CLIENT,
	COMPRESS_ON_SERVER
} CompressPlace;

/* Which write-ahead log goes into a base backup. */
typedef enum BackupWal
{
	BACKUP_WAL_NONE,			/* an archive has it */
	BACKUP_WAL_FETCH,			/* after the files */
	BACKUP_WAL_STREAM			/* as its segments are complete */
} BackupWal;

typedef struct Options
{
	/* The archive */
	const char *directory;		/* NULL with --pipe, or for a dry run */
	const char *pipe_command;	/* as sink_pipe_new() has it, or NULL */
	int			jobs;
	bool		jobs_given;		/* else one, by default */
	bool		verbose;
	bool		compress_given; /* else the default of pg_dump's major */
	CompressSpec compress;
	CompressPlace compress_place;
	SyncMethod	sync_method;
	const char *verify;			/* the archive to be verified, or NULL */
	bool		clean_output;
	const char *manifest_checksums; /* NULL = CRC32C */
	bool		manifest_fingerprints;
	const char *incremental;	/* the previous archive, a directory or the
								 * command below; NULL = dump all */
	const char *incremental_pipe;	/* as pipe_command, to read it; or NULL */
	const char *pipe_copy;		/* the same with %o, to copy its files */
	const char *incremental_copy_method;	/* NULL = link */
	const char *incremental_by; /* fingerprints, or wal-summaries too; NULL =
								 * fingerprints */
	SimpleStringList also_from; /* further standbys, how to connect to them */
	bool		pause_synchronous;	/* also those that commits wait for */
	uint64		retries;		/* of what a lost connection interrupted */
	uint64		stall_timeout;	/* seconds, 0 = never */
	uint64		standby_snapshot_timeout;	/* seconds, see
											 * source/standby_overflow.h */
	bool		allow_affected_standby; /* that cannot be checked for it */
	uint64		max_rate;		/* bytes a second, 0 = no limit */

	/* By many hosts */
	uint64		tasks;			/* how many; 0 = this program has workers */
	const char *run_tasks;		/* the command that runs them */
	const char *plan;			/* the file that a task has its plan from; or
								 * that the leader writes, NULL = in the
								 * archive's directory */
	const char *task;			/* I/N; NULL = not a task */

	/* All databases of a cluster */
	bool		all_databases;
	SimpleStringList exclude_databases; /* patterns */
	bool		cluster_snapshot;	/* one for all of them */
	const char *shared_snapshot;	/* the file that describes it for runs of
									 * other programs; NULL = not shared */
	bool		lock_later;		/* tables, when the turn of their database
								 * comes */
	bool		globals_only;
	bool		roles_only;
	bool		tablespaces_only;
	bool		no_role_passwords;
	const char **run_args;		/* what the run for each database is given of
								 * the command line, but for the patterns */
	int			n_run_args;
	SimpleStringList run_tables;	/* that must match somewhere; also where,
									 * sample and mask below */
	SimpleStringList run_tables_and_children;
	SimpleStringList run_schemas;
	bool		one_of_all;		/* this is such a run */

	/* Which rows, of tables that match a pattern: TABLE:... */
	SimpleStringList where;
	SimpleStringList sample;
	SimpleStringList mask;		/* TABLE.COLUMN:..., those of files too */
	SimpleStringList mask_files;

	/* What the user is told */
	bool		progress;
	bool		no_progress;
	const char *log_json;		/* a file, or "-"; NULL = no events */
	const char *report;			/* a file; NULL = none is made */
	const char *report_history; /* a directory of records of runs, or NULL */
	const char *metrics;		/* likewise */
	SimpleStringList metrics_labels;	/* NAME=VALUE, all of them right */
	bool		check;			/* only look, and tell what is found */
	bool		dry_run;
	uint64		expected_rate;	/* bytes a second; 0 = not given */

	bool		allow_rewritten;	/* tables whose files are not the
									 * snapshot's */

	/* How tables are split */
	bool		trust_owners;	/* run what their queries call */
	bool		no_chunks;
	bool		no_extension;
	bool		with_pardump_extension; /* keep its entry in the archive */
	bool		chooses_extensions; /* by -e */
	bool		foreign_data;	/* rows of foreign tables, too */
	bool		selects_tables; /* a dump: not all of them */
	bool		selects_entries;	/* a restore: not of all definitions */
	SimpleStringList name_filters;	/* of a restore: each pg_restore's letter
									 * and the name */
	bool		strict_names;
	bool		allow_existing; /* restore into tables that have rows */
	uint64		chunk_bytes;	/* 0 = by rule, see chunk_plan.h */
	uint64		segment_pages;	/* 0 = not asked for */

	/* Direct copy; what of pg_dump's options concerns pg_restore, too */
	const char *target;			/* NULL = an archive is made */
	const char *copy_format;	/* auto, raw, binary or text; NULL = auto */
	const char *wire_compression;	/* of raw tuples: auto, or as
									 * compress_spec_parse() takes it; NULL =
									 * auto */
	const char *toast_compression;	/* default, lz4 or pglz; NULL = default */
	uint64		index_jobs;		/* 0 = as many as jobs */
	bool		no_analyze;
	bool		no_fast_index;	/* the target builds all indexes itself */
	bool		roles;			/* those that the database needs, too */
	bool		compare;		/* source and target, after the copy */
	const char *compare_with;	/* of a restore, the source, how to connect to
								 * it; else that, or an archive, and nothing
								 * is dumped; NULL = compare with none */
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
	const char *restore;		/* the archive that it restores, or the
								 * command of --pipe; NULL in pg_pardump */
	bool		list;			/* pg_restore's -l */
	uint64		own_given;		/* bits for the options that are not
								 * pg_restore's: they were given */
	bool		verify_first;
	bool		resume;			/* continue the run before, which is not
								 * complete */
	bool		exit_on_error;
	bool		if_exists;
	bool		no_data_for_failed_tables;
	const char *superuser;		/* to disable triggers as; or NULL */
	const char *pg_restore_path;	/* NULL = search */
	const char *by_stock;		/* why stock pg_restore is to do it all, an
								 * empty text if that is not surprising; NULL
								 * = it is not */
	const char **pg_restore_args;	/* all that are pg_restore's, and the
									 * archive; all three NULL terminated */
	const char **list_args;		/* those of them that select entries */
	const char **make_args;		/* those that tell how to make definitions */

	/* pg_parbasebackup; what it makes is in the directory above */
	bool		backup;			/* it is this program that runs */
	const char *extract;		/* the directory of a backup in tar format, to
								 * be extracted; NULL = one is taken */
	bool		tar_format;
	BackupWal	wal_method;
	bool		fast_checkpoint;
	const char *label;
	SimpleStringList tablespace_mappings;	/* OLD=NEW, as it was given */
	const char *wal_directory;	/* for pg_wal; NULL = in the data directory */
	bool		write_recovery_conf;
	bool		no_clean;
	bool		no_sync;
	bool		no_slot;
	bool		no_manifest;
	bool		no_verify_checksums;

	/* The session, as pg_dump's setup_connection() has it */
	ConnParams	connection;
	const char *password_command;	/* prints the password; or NULL */
	const char *target_password_command;	/* the same for target, or for the
											 * other side of a comparison */
	const char *role;
	const char *encoding;
	const char *snapshot;
	const char *lock_wait_timeout;
	bool		serializable_deferrable;
	bool		create_slot;
	const char *slot;			/* its name; NULL without create_slot */
	const char *slot_plugin;	/* NULL = pgoutput */
	const char *create_subscription;	/* its name; NULL = none is made */
	SimpleStringList publications;	/* see logical_slot.h */
	const char *subscription_conninfo;	/* NULL = by the source's address */
	bool		enable_row_security;
	bool		quote_all_identifiers;
	const char *extra_float_digits;

	/* Stock pg_dump */
	const char *pg_dump_path;	/* NULL = search */
	const char **pg_dump_args;	/* what it is given as the user wrote it */
	int			n_pg_dump_args;
	int			needed_major;	/* pg_dump's, at least; 0 if any will do */
	const char *needed_for;		/* by this option, without its dashes */
} Options;

#endif							/* OPTIONS_H */
