/*
 * cluster.c
 *		The main paths of --all-databases: dump, copy, verify, restore.
 *
 * Each of them prepares a ClusterRun and has cluster_run() run this program
 * once for each database.  A callback gives the run of a database its
 * arguments.  Roles and tablespaces, which databases share, come first: they
 * own the databases.  Changes that must wait, for example the password of the
 * role that connects, come last.
 */
#include "base/fe_compat.h"

#include "base/buffer.h"
#include "base/interrupt.h"
#include "cluster/cluster.h"
#include "cluster/cluster_account.h"
#include "cluster/cluster_map.h"
#include "cluster/cluster_notes.h"
#include "cluster/globals.h"
#include "cluster/shared_snapshot.h"
#include "source/leader_session.h"
#include "status/metrics.h"
#include "status/run.h"
#include "stock/stock_pg_dump.h"

/* ----------
 * Steps that several commands share
 * ----------
 */

/*
 * How many times to try again if roles or tablespaces change while a snapshot
 * is taken.
 */
#define GLOBALS_TRIES 5

#define CAUSES_HINT "Fix the causes of the errors, and run the same command again."

/*
 * The end of a run.  The names are of databases that failed before, to which
 * those of this list are added.  Databases that were restored with errors are
 * not among them.
 */
static void
report_failed(const char *format, PQExpBuffer names, const ClusterList *list,
			  int n_failed, int n)
{
	cluster_list_add_failed(names, list);
	pg_log_error(format, n_failed, n);
	if (names->len > 0)
		pg_log_error_detail("Failed databases: %s.", names->data);
}

/*
 * Connect to the source of a dump or a copy, and find its databases.  There
 * are none with --globals-only; with --cluster-snapshot they are found later.
 * Exits with a message if the runs would fail.
 */
static PGconn *
open_source(const Options *options, PeerAddress **address, ClusterList *list,
			ClusterFilter **filter)
{
	PGconn	   *conn = cluster_session_open(&options->connection,
											options->password_command,
											"pg_pardump");

	interrupt_install_leader();
	*address = peer_address_new(conn, false, options->connection.dbname,
								options->password_command);
	leader_watchdog_watch(conn, *address, options);
	/* A pg_dump that the user has named is checked by each database's run. */
	if (options->pg_dump_path == NULL)
		stock_pg_dump_refuse_newer(PQserverVersion(conn) / 10000,
								   PG_MAJORVERSION_NUM);
	if (options->globals_only || options->roles_only ||
		options->tablespaces_only || options->cluster_snapshot)
		return conn;
	*list = cluster_list_read(conn, options);
	*filter = cluster_filter_read(conn, *address, list, options);
	cluster_check_source(conn, options, list);
	findings_report();
	return conn;
}

/* The script of the shared objects, or of the requested part; owned. */
static char *
read_globals(PGconn *conn, const PeerAddress *address, const Options *options,
			 const char *argv0)
{
	const char *part = options->roles_only ? GLOBALS_ROLES :
		options->tablespaces_only ? GLOBALS_TABLESPACES : GLOBALS_ALL;

	return globals_read(conn, address, part, options, argv0);
}

/* Compare two scripts, except for a key that pg_dumpall chooses at random. */
static bool
globals_are_equal(const char *one, const char *other)
{
	GlobalsScript *a = globals_script_parse(one);
	GlobalsScript *b = globals_script_parse(other);
	bool		result = a->n == b->n;

	for (int i = 0; result && i < a->n; i++)
		result = strcmp(a->statements[i], b->statements[i]) == 0;
	return result;
}

/*
 * Take one snapshot of all databases, and read the list of databases and the
 * shared objects of that moment.  pg_dumpall cannot import a snapshot, so it
 * reads before and after.
 */
static ClusterSnapshot *
take_snapshot(PGconn **conn, const PeerAddress *address, ClusterList *list,
			  ClusterFilter **filter, char **globals, const Options *options,
			  const char *argv0)
{
	/* --check and --dry-run only find out whether this would be possible. */
	if (options->dry_run || options->check)
	{
		/* This also shows whether the role may read passwords. */
		if (options->check)
			*globals = read_globals(*conn, address, options, argv0);
		return cluster_snapshot_take(conn, address, list, filter, options);
	}
	for (int n = 1;; n++)
	{
		char	   *before = read_globals(*conn, address, options, argv0);
		ClusterSnapshot *snapshot = cluster_snapshot_take(conn, address, list,
														  filter, options);
		bool		is_same;

		*globals = read_globals(*conn, address, options, argv0);
		is_same = globals_are_equal(before, *globals);
		free(before);
		if (is_same && cluster_snapshot_is_kept(snapshot))
			return snapshot;
		if (n == GLOBALS_TRIES)
		{
			pg_log_error("could not take a snapshot of all databases in %d attempts",
						 GLOBALS_TRIES);
			pg_log_error_detail(is_same ?
								"In the last attempt, a connection that kept the snapshot was lost." :
								"In the last attempt, roles or tablespaces were changed.");
			pg_fatal_hint(is_same ?
						  "Check the server and the network, and run the same command again." :
						  "Run the same command again while no roles or tablespaces are changed.");
		}
		free(*globals);
		cluster_snapshot_end(snapshot);
	}
}

/*
 * Create the shared objects, run the program for each database, and then make
 * the remaining changes.  No session is open while the runs are active;
 * afterwards globals->conn is a new one.  Returns how many databases failed.
 */
static int
load_databases(GlobalsApply *globals, const GlobalsScript *script,
			   const PeerAddress *target, const char *progname,
			   const ClusterRun *run, const Options *options)
{
	int			n_failed;

	globals_apply(globals, script);
	cluster_session_close(globals->conn);
	n_failed = cluster_run(run, options);
	globals->conn = connection_open_peer(target, progname);
	globals_apply_rest(globals);
	return n_failed;
}

/* ----------
 * Dump
 * ----------
 */

typedef struct ClusterDump
{
	const Options *options;
	PeerAddress *address;
	ClusterMap	map;
	ClusterFilter *filter;
	ClusterMap *previous;		/* --incremental; or NULL */
	ClusterSnapshot *snapshot;	/* --cluster-snapshot; or NULL */
	char	   *globals;
	ClusterOutput *output;		/* NULL with --check and --dry-run */
} ClusterDump;

/*
 * The database with this name in the previous dump, or NULL.  It may have
 * been dropped and created again since; the history in its archive shows
 * that, and then nothing is reused.  Where commands
 * copy files, %d is the directory in both dumps, so the database must have
 * the same OID.
 */
static const ClusterDatabase *
previous_of(const ClusterDump *dump, const ClusterDatabase *database)
{
	for (int i = 0; i < dump->previous->list.n; i++)
	{
		const ClusterDatabase *previous = &dump->previous->list.databases[i];

		if (strcmp(previous->name, database->name) == 0 && !previous->failed &&
			(dump->options->incremental_pipe == NULL ||
			 previous->oid == database->oid))
			return previous;
	}
	return NULL;
}

/*
 * Add the options for an incremental dump.  A database that is not in the
 * previous dump is dumped completely, with the data that the next run needs.
 */
static void
add_previous(const ClusterDump *dump, const ClusterDatabase *database,
			 SimpleStringList *args)
{
	const ClusterDatabase *previous = previous_of(dump, database);

	if (previous == NULL)
	{
		simple_string_list_append(args, "--manifest-fingerprints");
		return;
	}
	if (dump->options->incremental_pipe)
	{
		simple_string_list_append(args, psprintf("--incremental-pipe=%s",
												 cluster_map_pipe(dump->options->incremental_pipe,
																  previous)));
		simple_string_list_append(args, psprintf("--pipe-copy=%s",
												 cluster_map_pipe(dump->options->pipe_copy,
																  database)));
		return;
	}
	simple_string_list_append(args,
							  psprintf("--incremental=%s",
									   cluster_map_archive(dump->options->incremental,
														   previous)));
	if (dump->options->incremental_copy_method)
		simple_string_list_append(args,
								  psprintf("--incremental-copy-method=%s",
										   dump->options->incremental_copy_method));
}

/*
 * The arguments of a run contain passwords.  They are passed in memory to the
 * forked process, and are in no process's command line.
 */
static void
cluster_dump_add_args(void *arg, int no, SimpleStringList *args)
{
	const ClusterDump *dump = arg;
	const ClusterDatabase *database = &dump->map.list.databases[no];
	char	   *archive;

	server_expect_database(database->oid);
	cluster_session_add_args(args, dump->options,
							 cluster_list_conninfo(dump->address, database->name));
	cluster_filter_add_args(dump->filter, database, args);
	if (dump->snapshot)
		cluster_snapshot_add_args(dump->snapshot, no, args);
	if (dump->previous)
		add_previous(dump, database, args);
	if (dump->options->pipe_command)
		simple_string_list_append(args, psprintf("--pipe=%s",
												 cluster_map_pipe(dump->options->pipe_command,
																  database)));
	archive = dump->output ? cluster_output_archive(dump->output, database) : NULL;
	if (archive == NULL)
		return;
	simple_string_list_append(args, "-f");
	simple_string_list_append(args, archive);
}

/* A run has failed.  True if its archive is complete, and stays. */
static bool
cluster_dump_clean_up(void *arg, int no)
{
	const ClusterDump *dump = arg;

	return dump->output &&
		cluster_output_clean_up(dump->output, &dump->map.list.databases[no]);
}

/*
 * Is this quoted name also a word for a shell, and not an option?  A name of
 * a database that exists everywhere is none, because a copy does not create
 * it.
 */
static bool
is_plain_word(const char *quoted)
{
	return quoted[1] != '-' && strcmp(quoted, "\"postgres\"") != 0 &&
		strcmp(quoted, "\"template1\"") != 0 &&
		strspn(quoted + 1, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") == strlen(quoted) - 2;
}

static bool
any_is_complete(const ClusterDump *dump)
{
	for (int i = 0; i < dump->map.list.n; i++)
		if (!dump->map.list.databases[i].failed)
			return true;
	return false;
}

/*
 * Read the list of databases, and the shared objects: pg_dumpall reads them
 * before the databases are dumped, too.
 */
static void
read_cluster(ClusterDump *dump, const char *argv0)
{
	const Options *options = dump->options;
	PGconn	   *conn = open_source(options, &dump->address, &dump->map.list,
								   &dump->filter);

	dump->map.server_version = pg_strdup(PQparameterStatus(conn, "server_version"));
	if (options->cluster_snapshot)
	{
		dump->snapshot = take_snapshot(&conn, dump->address, &dump->map.list,
									   &dump->filter, &dump->globals, options,
									   argv0);
		dump->map.snapshot = cluster_snapshot_record(dump->snapshot);
	}
	/* --check finds out whether the role may read passwords, too. */
	else if (!options->dry_run)
		dump->globals = read_globals(conn, dump->address, options, argv0);
	if (options->check)
		cluster_account_note_connections(cluster_source_connections(conn, options,
																	&dump->map.list));
	cluster_session_close(conn);

	/* What prevents a run has been reported: nothing was made until now. */
	if (!options->dry_run && !options->check)
		dump->output = cluster_output_create(options);
}

/* The map of the previous dump, in its directory or by commands. */
static ClusterMap *
read_previous(const Options *options)
{
	Options		of_previous = *options;
	ClusterPlace place;

	interrupt_install_leader();
	of_previous.pipe_command = options->incremental_pipe;
	place = cluster_map_place(options->incremental, &of_previous);
	return cluster_map_read(&place);
}

int
cluster_dump(const Options *options, const char *argv0, ClusterProgram program)
{
	/* an exit callback uses it until the process ends */
	ClusterDump *dump = pg_malloc0(sizeof(ClusterDump));
	bool		only_looks = options->dry_run || options->check;
	ClusterRun	run = {
		.program = program,
		.argv0 = argv0,
		.failure = only_looks ? "check of database \"%s\" failed" :
		"could not dump database \"%s\"",
		.one_by_one = only_looks,
		.list = &dump->map.list,
		.arg = dump,
		.add_args = cluster_dump_add_args,
		.clean_up = cluster_dump_clean_up,
	};
	PQExpBufferData names = buffer_new();
	int			n_failed;

	dump->options = options;
	progress_begin(options->progress, options->no_progress);
	cluster_account_open(options, only_looks ? CLUSTER_CHECK : CLUSTER_DUMP);
	if (options->directory && !options->check)
		(void) archive_dir_check(options->directory, true);
	/* an unusable previous dump is reported before anything is created */
	if (options->incremental)
		dump->previous = read_previous(options);
	read_cluster(dump, argv0);
	if (dump->snapshot && only_looks)
	{
		/*
		 * The snapshot could be taken, which is all that --check wants to
		 * know.
		 */
		cluster_snapshot_end(dump->snapshot);
		dump->snapshot = NULL;
	}
	run.snapshot = dump->snapshot;
	if (dump->snapshot)
		cluster_account_note_snapshot(dump->map.snapshot);
	n_failed = cluster_run(&run, options);
	cluster_snapshot_end(dump->snapshot);
	if (options->check)
	{
		/* This comes last, because it may end the program. */
		if (options->directory)
			(void) archive_dir_check(options->directory, true);
		findings_end();
		return 0;
	}
	if (n_failed > 0 && !any_is_complete(dump))
	{
		pg_log_error("could not dump any database");
		pg_fatal_hint(CAUSES_HINT);
	}
	if (dump->output)
		cluster_output_publish(dump->output, &dump->map, dump->globals);
	if (n_failed == 0)
	{
		cleanup_forget_all();
		metrics_end(true);
		return 0;
	}
	report_failed(only_looks ?
				  ngettext("problems were found in %d of %d database",
						   "problems were found in %d of %d databases",
						   dump->map.list.n) :
				  ngettext("could not dump %d of %d database",
						   "could not dump %d of %d databases",
						   dump->map.list.n),
				  &names, &dump->map.list, n_failed, dump->map.list.n);
	if (!only_looks)
	{
		pg_log_error_detail("The archives of the other databases are complete.");
		pg_log_error_hint(options->cluster_snapshot ?
						  "Fix the cause, and dump all databases again into a new directory.  A dump of a single database would have another snapshot." :
						  "Fix the cause, and dump each failed database into a directory of its own: pg_pardump -f DIRECTORY %s",
						  n_failed == 1 && is_plain_word(names.data) ? names.data : "DATABASE");
	}
	return 1;
}

/* ----------
 * A snapshot for dumps that other programs start
 * ----------
 */

/*
 * The other programs also read roles and tablespaces, so these are not read
 * here.
 */
int
cluster_share_snapshot(const Options *options)
{
	ClusterList list = {0};
	ClusterFilter *filter;
	PeerAddress *address;
	PGconn	   *conn;
	ClusterSnapshot *snapshot;

	/* each dump has a log of its own */
	if (options->check)
		run_event_begin(options);
	conn = open_source(options, &address, &list, &filter);
	snapshot = cluster_snapshot_take(&conn, address, &list, &filter, options);
	cluster_session_close(conn);
	if (!options->check)
		shared_snapshot_keep(snapshot, &list, options->shared_snapshot);
	cluster_snapshot_end(snapshot);
	if (options->check)
		findings_end();
	else
		cleanup_forget_all();
	return 0;
}

/* ----------
 * Copy
 * ----------
 */

typedef struct ClusterCopy
{
	const Options *options;
	PeerAddress *source;
	PeerAddress *target;
	char	   *database;		/* database of the target from which new ones
								 * are created */
	ClusterList list;
	ClusterFilter *filter;
	ClusterSnapshot *snapshot;	/* --cluster-snapshot; or NULL */
	char	   *connections;	/* --check: the line about the source */
	GlobalsApply globals;
} ClusterCopy;

/*
 * postgres and template1 exist on every target; their contents are copied
 * into those.  Any other database is created, from a session in the target's
 * maintenance database.
 */
static void
cluster_copy_add_args(void *arg, int no, SimpleStringList *args)
{
	const ClusterCopy *copy = arg;
	const ClusterDatabase *database = &copy->list.databases[no];
	bool		is_there = cluster_list_is_initial(database);

	cluster_filter_add_args(copy->filter, database, args);
	if (copy->snapshot)
		cluster_snapshot_add_args(copy->snapshot, no, args);
	if (!is_there)
		simple_string_list_append(args, "--create");
	server_expect_database(database->oid);
	cluster_session_add_args(args, copy->options,
							 cluster_list_conninfo(copy->source, database->name));
	simple_string_list_append(args,
							  psprintf("--target=%s",
									   cluster_list_conninfo(copy->target,
															 is_there ? database->name :
															 copy->database)));
}

static void
open_target(ClusterCopy *copy)
{
	ConnParams	params = {.dbname = copy->options->target,
		.prompt_password = copy->options->connection.prompt_password
	};
	const char *command = copy->options->target_password_command;
	PGconn	   *conn = cluster_session_open(&params, command, "pg_pardump");

	copy->target = peer_address_new(conn, true, params.dbname, command);
	copy->database = pg_strdup(PQdb(conn));
	copy->globals.conn = conn;
	cluster_account_note_target(connection_server_name(conn));
}

static GlobalsScript *
read_source(ClusterCopy *copy, const char *argv0)
{
	PGconn	   *conn = open_source(copy->options, &copy->source, &copy->list,
								   &copy->filter);
	GlobalsScript *script;
	char	   *text;

	/* a target that cannot be reached is reported before the work begins */
	open_target(copy);
	interrupt_set_connection(conn);
	if (copy->options->cluster_snapshot)
		copy->snapshot = take_snapshot(&conn, copy->source, &copy->list,
									   &copy->filter, &text, copy->options, argv0);
	else
		text = read_globals(conn, copy->source, copy->options, argv0);
	script = globals_script_parse(text);
	if (copy->options->check)
		copy->connections = cluster_source_connections(conn, copy->options,
													   &copy->list);
	cluster_session_close(conn);
	interrupt_set_connection(copy->globals.conn);
	return script;
}

int
cluster_copy(const Options *options, const char *argv0, ClusterProgram program)
{
	ClusterCopy *copy = pg_malloc0(sizeof(ClusterCopy));
	ClusterRun	run = {
		.program = program,
		.argv0 = argv0,
		.failure = "could not copy database \"%s\"",
		.list = &copy->list,
		.arg = copy,
		.add_args = cluster_copy_add_args,
	};
	GlobalsScript *script;
	int			n_failed;

	copy->options = options;
	progress_begin(options->progress, options->no_progress);
	cluster_account_open(options, options->check ? CLUSTER_CHECK : CLUSTER_COPY);
	script = read_source(copy, argv0);
	cluster_list_refuse_existing(&copy->list, copy->globals.conn);
	cluster_check_target(copy->globals.conn, options, copy->list.n);
	if (options->check)
	{
		cluster_list_show_copy(copy->globals.conn, options, &copy->list,
							   globals_names(options), copy->connections);
		cluster_session_close(copy->globals.conn);
		cluster_snapshot_end(copy->snapshot);
		findings_end();
		return 0;
	}
	findings_report();
	/* up to here nothing has been made */
	run.snapshot = copy->snapshot;
	if (copy->snapshot)
		cluster_account_note_snapshot(cluster_snapshot_record(copy->snapshot));
	n_failed = load_databases(&copy->globals, script, copy->target,
							  "pg_pardump", &run, options);
	cluster_session_close(copy->globals.conn);
	cluster_snapshot_end(copy->snapshot);
	cleanup_forget_all();
	metrics_end(copy->globals.n_errors + n_failed == 0);
	if (copy->globals.n_errors > 0)
	{
		pg_log_error("could not create all roles and tablespaces");
		pg_log_error_detail(ngettext("%d statement failed, with the error above.",
									 "%d statements failed, with the errors above.",
									 copy->globals.n_errors),
							copy->globals.n_errors);
		pg_log_error_hint(FAILED_STATEMENTS_HINT);
	}
	if (n_failed > 0 && n_failed == copy->list.n)
	{
		pg_log_error("could not copy any database");
		pg_log_error_hint(CAUSES_HINT);
	}
	else if (n_failed > 0)
	{
		PQExpBufferData names = buffer_new();

		report_failed(ngettext("could not copy %d of %d database",
							   "could not copy %d of %d databases", copy->list.n),
					  &names, &copy->list, n_failed, copy->list.n);
		pg_log_error_detail("The copies of the other databases are complete.");
		pg_log_error_hint(options->cluster_snapshot ?
						  "Fix the cause, and copy all databases again into an empty cluster.  A copy of a single database would have another snapshot." :
						  "Fix the cause, and copy each failed database alone; --clean drops the database on the target first: pg_pardump --create --clean --target=CONNINFO %s",
						  n_failed == 1 && is_plain_word(names.data) ? names.data : "DATABASE");
	}
	return copy->globals.n_errors + n_failed > 0 ? 1 : 0;
}

/* ----------
 * Verify
 * ----------
 */

typedef struct ClusterVerify
{
	const Options *options;
	ClusterPlace place;
	ClusterMap *map;
} ClusterVerify;

static void
cluster_verify_add_args(void *arg, int no, SimpleStringList *args)
{
	const ClusterVerify *verify = arg;
	const ClusterDatabase *database = &verify->map->list.databases[no];

	toc_database_expect(database->oid, database->name);
	manifest_expect_snapshot(verify->map->snapshot);
	if (verify->place.commands)
	{
		simple_string_list_append(args, "--verify");
		simple_string_list_append(args, psprintf("--pipe=%s",
												 cluster_map_pipe(verify->options->pipe_command,
																  database)));
	}
	else
		simple_string_list_append(args, psprintf("--verify=%s",
												 cluster_map_archive(verify->place.directory,
																	 database)));
	simple_string_list_append(args, psprintf("--jobs=%d", verify->options->jobs));
	simple_string_list_append(args, "--no-progress");
}

/* A pattern without quotes is in lower case. */
static bool
is_plain_pattern(const char *name)
{
	return strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-") == strlen(name);
}

/*
 * Print the messages about the databases that failed.  The hint contains the
 * whole command only if the command is short.
 */
static void
report_verify(const ClusterVerify *verify, int n_failed)
{
	const ClusterList *list = &verify->map->list;
	PQExpBufferData damaged = buffer_new();
	PQExpBufferData failed = buffer_new();
	PQExpBufferData missing = buffer_new();
	PQExpBufferData exclude = buffer_new();
	bool		is_short = n_failed <= 5;

	for (int i = 0; i < list->n; i++)
	{
		const ClusterDatabase *database = &list->databases[i];

		if (!database->failed)
			continue;
		cluster_list_add_name(!database->run_failed ? &missing :
							  database->damaged ? &damaged : &failed, database);
		is_short = is_short && is_plain_pattern(database->name);
		appendPQExpBuffer(&exclude, " --exclude-database=%s", database->name);
	}
	pg_log_error(ngettext("verification of %d of %d database failed",
						  "verification of %d of %d databases failed", list->n),
				 n_failed, list->n);
	if (damaged.len > 0)
		pg_log_error_detail("Damaged archives: %s.", damaged.data);
	if (failed.len > 0)
		pg_log_error_detail("Archives that could not be verified: %s.", failed.data);
	if (missing.len > 0)
		pg_log_error_detail("Databases without an archive: %s.", missing.data);
	if (damaged.len > 0)
		pg_log_error_hint("Use another copy of the damaged archives.");
	if (n_failed < list->n)
		pg_log_error_hint("To restore the other databases, run \"pg_parrestore --all-databases%s -d CONNINFO %s\".",
						  is_short ? exclude.data : " --exclude-database=PATTERN",
						  verify->place.commands ? "--pipe=COMMAND" :
						  verify->place.directory);
}

int
cluster_verify(const Options *options, const char *argv0,
			   ClusterProgram program)
{
	ClusterVerify *verify = pg_malloc0(sizeof(ClusterVerify));
	ClusterRun	run = {
		.program = program,
		.argv0 = argv0,
		.failure = "verification of database \"%s\" failed",
		.one_by_one = true,
		.arg = verify,
		.add_args = cluster_verify_add_args,
	};
	int			n_failed;

	progress_begin(options->progress, options->no_progress);
	cluster_account_open(options, CLUSTER_VERIFY);
	interrupt_install_leader();
	verify->options = options;
	verify->place = cluster_map_place(options->verify, options);
	verify->map = cluster_map_read(&verify->place);
	free(cluster_map_read_globals(&verify->place, verify->map));
	cluster_map_put_failed_first(verify->map);
	cluster_account_note_snapshot(verify->map->snapshot);
	run.list = &verify->map->list;
	n_failed = cluster_run(&run, options);
	cleanup_forget_all();
	if (n_failed == 0 && verify->map->snapshot)
		fprintf(event_log_text_output(),
				"all databases are in one snapshot, which was taken at %s: %s\n",
				printable(verify->map->snapshot->time),
				printable(verify->map->snapshot->snapshot));
	if (n_failed == 0)
		return 0;
	report_verify(verify, n_failed);
	return 1;
}

/* ----------
 * Restore
 * ----------
 */

typedef struct ClusterRestore
{
	const Options *options;
	ClusterPlace place;
	ClusterMap *map;
	PeerAddress *address;
	char	   *database;		/* database in which new ones are created */
	GlobalsApply globals;
	ClusterNotes *notes;		/* notes about restored databases; NULL with
								 * --globals-only */
	int			n_missing;		/* databases that were not dumped */
	PQExpBufferData failed;		/* names of failed databases */
} ClusterRestore;

static void
cluster_restore_add_args(void *arg, int no, SimpleStringList *args)
{
	const ClusterRestore *restore = arg;
	const ClusterDatabase *database = &restore->map->list.databases[no];
	bool		is_there = cluster_list_is_initial(database);

	toc_database_expect(database->oid, database->name);
	cluster_notes_enter(restore->notes, database);

	/*
	 * Do not load into existing tables of other roles, whose triggers would
	 * run as this role.
	 */
	if (is_there || database->existed)
		simple_string_list_append(args, "--no-data-for-failed-tables");
	if (!is_there)
		simple_string_list_append(args, "--create");
	/* --resume also begins in an empty database. */
	if (database->todo == CLUSTER_TODO_RESUME ||
		(database->todo == CLUSTER_TODO_BEGIN && !is_there))
		simple_string_list_append(args, "--resume");
	cluster_session_add_args(args, restore->options,
							 cluster_list_conninfo(restore->address,
												   is_there ? database->name :
												   restore->database));
	if (restore->place.commands)
	{
		simple_string_list_append(args, psprintf("--pipe=%s",
												 cluster_map_pipe(restore->options->pipe_command,
																  database)));
		return;
	}
	simple_string_list_append(args, "--");
	simple_string_list_append(args,
							  cluster_map_archive(restore->place.directory,
												  database));
}

/*
 * Look for all archives before anything is created on the target.  Commands
 * return their tables of contents later, when the archives are identified.
 */
static void
check_archives(const ClusterRestore *restore)
{
	const ClusterList *list = &restore->map->list;

	for (int i = 0; i < list->n && restore->place.commands == NULL; i++)
	{
		char	   *toc = psprintf("%s/%s",
								   cluster_map_archive(restore->place.directory,
													   &list->databases[i]),
								   TOC_NAME);

		if (access(toc, R_OK) < 0)
			pg_fatal("could not open file \"%s\" of database \"%s\": %m", toc,
					 list->databases[i].name);
	}
}

/*
 * Read the map, and return the script of the globals.  --globals-only also
 * accepts a script without a map.
 */
static GlobalsScript *
read_dump(ClusterRestore *restore)
{
	const Options *options = restore->options;
	struct stat st;

	if (options->globals_only && options->pipe_command == NULL &&
		stat(options->restore, &st) == 0 && S_ISREG(st.st_mode))
	{
		restore->map = pg_malloc0(sizeof(ClusterMap));
		return globals_script_parse(globals_read_file(options->restore));
	}
	restore->place = cluster_map_place(options->restore, options);
	restore->map = cluster_map_read(&restore->place);
	return globals_script_parse(cluster_map_read_globals(&restore->place,
														 restore->map));
}

/*
 * Read the archive, and check the target: everything that can be known before
 * anything is created there.  Returns the script of the globals.
 */
static GlobalsScript *
open_restore(ClusterRestore *restore)
{
	const Options *options = restore->options;
	GlobalsScript *script = read_dump(restore);
	ClusterList *list = &restore->map->list;
	PGconn	   *conn;

	if (options->no_tablespaces)
		globals_script_drop_tablespaces(script);
	conn = cluster_session_open(&options->connection,
								options->password_command, "pg_parrestore");
	interrupt_install_leader();
	restore->globals.conn = conn;
	restore->globals.exit_on_error = options->exit_on_error;
	restore->address = peer_address_new(conn, true, options->connection.dbname,
										options->password_command);
	restore->database = pg_strdup(PQdb(conn));
	cluster_account_note_target(connection_server_name(conn));
	cluster_list_exclude(list, conn, options);
	restore->failed = buffer_new();
	restore->n_missing = cluster_map_leave_out_failed(restore->map,
													  &restore->failed);
	if (restore->n_missing > 0)
		pg_log_warning_hint("Dump the cluster again, or exclude databases without an archive with --exclude-database.");
	check_archives(restore);
	if (options->globals_only)
	{
		list->n = 0;
		return script;
	}
	if (!options->resume)
		cluster_list_refuse_existing(list, conn);
	cluster_map_identify(&restore->place, list);
	restore->notes = cluster_notes_read(conn, restore->address,
										restore->map->identity,
										options);
	cluster_notes_decide(restore->notes, conn, list);
	cluster_check_target(conn, options, list->n);
	return script;
}

/*
 * Print the messages at the end; n_left databases are incomplete according to
 * the notes.
 */
static void
report_restore(ClusterRestore *restore, int n_failed, int n_before, int n_left)
{
	int			n = restore->map->list.n + restore->n_missing + n_before;
	int			n_with_errors = 0;
	int			n_bad;

	for (int i = 0; i < restore->map->list.n; i++)
		n_with_errors += restore->map->list.databases[i].with_errors;
	n_bad = n_failed - n_with_errors + restore->n_missing;
	n_with_errors += n_before;
	if (restore->globals.n_errors > 0)
	{
		pg_log_warning("errors ignored on restore of roles and tablespaces: %d",
					   restore->globals.n_errors);
		pg_log_warning_hint(FAILED_STATEMENTS_HINT);
	}
	if (n_with_errors > 0)
		pg_log_error(ngettext("%d of %d database restored with errors",
							  "%d of %d databases restored with errors", n),
					 n_with_errors, n);
	if (n_bad > 0)
		report_failed(ngettext("could not restore %d of %d database",
							   "could not restore %d of %d databases", n),
					  &restore->failed, &restore->map->list, n_bad, n);
	if (n_bad > 0 && n_left > 0)
	{
		pg_log_error_detail("%s", cluster_notes_table_detail(restore->notes));
		pg_log_error_hint("Fix the cause, and run the same command with --resume.");
	}
	else if (n_left > 0)
	{
		/* For example those that this run has excluded. */
		pg_log_warning("databases of the dump that are not restored completely: %d",
					   n_left);
		pg_log_warning_detail("%s", cluster_notes_table_detail(restore->notes));
		pg_log_warning_hint("To restore all of them, run the command again with --resume and without --exclude-database.");
	}
	if (n_failed > 0)
		restore_stage_give_hint(restore->options, restore->globals.conn);
}

int
cluster_restore(const Options *options, const char *argv0,
				ClusterProgram program)
{
	ClusterRestore *restore = pg_malloc0(sizeof(ClusterRestore));
	ClusterRun	run = {
		.program = program,
		.argv0 = argv0,
		.failure = "could not restore database \"%s\"",
		.arg = restore,
		.add_args = cluster_restore_add_args,
	};
	GlobalsScript *script;
	int			n_failed;
	int			n_before = 0;
	int			n_left = 0;
	int			n_errors;

	restore->options = options;
	progress_begin(options->progress, options->no_progress);
	cluster_account_open(options, options->check ? CLUSTER_CHECK : CLUSTER_RESTORE);
	script = open_restore(restore);
	run.list = &restore->map->list;
	if (options->check)
	{
		cluster_notes_show(restore->notes, run.list,
						   cluster_target_connections(restore->globals.conn,
													  options, run.list));
		cluster_session_close(restore->globals.conn);
		findings_end();
		return 0;
	}
	findings_report();
	/* up to here nothing has been made */
	if (restore->notes)
		cluster_notes_begin(restore->notes, restore->globals.conn, run.list);
	n_failed = load_databases(&restore->globals, script, restore->address,
							  "pg_parrestore", &run, options);
	if (restore->notes)
		n_before = cluster_notes_end(restore->notes, restore->globals.conn,
									 &n_left);
	n_errors = restore->globals.n_errors + n_failed + restore->n_missing + n_before;
	cleanup_forget_all();
	metrics_end(n_errors == 0);
	report_restore(restore, n_failed, n_before, n_left);
	cluster_session_close(restore->globals.conn);
	return n_errors > 0 ? 1 : 0;
}
