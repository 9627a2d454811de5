/*
 * cluster_restore.c
 *		The main path of a restore of all databases.
 */
#include "base/fe_compat.h"

#include <unistd.h>

#include "archive/archive_name.h"
#include "archive/toc.h"
#include "base/interrupt.h"
#include "base/message.h"
#include "base/units.h"
#include "cluster/cluster_list.h"
#include "cluster/cluster_map.h"
#include "cluster/cluster_restore.h"
#include "cluster/cluster_run.h"
#include "cluster/globals.h"
#include "load/restore_stage.h"
#include "process/progress.h"
#include "session/connection.h"
#include "source/source_check.h"
#include "status/metrics.h"
#include "stock/stock_pg_dump.h"

/* ----------
 * The main path of a copy of all databases.
 * ----------
 */

typedef struct ClusterCopy
{
	const Options *options;
	PeerAddress *source;
	PeerAddress *target;
	char	   *database;		/* of the target, that new ones are made from
								 * a session in */
	ClusterList *list;
	ClusterFilter *filter;
	GlobalsScript *script;
	GlobalsApply globals;
} ClusterCopy;

static void
add_args(void *arg, int no, SimpleStringList *args)
{
	const ClusterCopy *copy = arg;
	const ClusterDatabase *database = &copy->list->databases[no];
	bool		is_there = cluster_list_is_initial(database);

	cluster_filter_add_args(copy->filter, database, args);
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
read_source(ClusterCopy *copy, const char *argv0)
{
	const Options *options = copy->options;
	const char *part = options->roles_only ? GLOBALS_ROLES :
		options->tablespaces_only ? GLOBALS_TABLESPACES : GLOBALS_ALL;
	PGconn	   *conn = cluster_session_open(&options->connection,
											options->password_command,
											"pg_pardump");
	char	   *text;

	interrupt_install_leader();
	copy->source = peer_address_new(conn, false, options->connection.dbname,
									options->password_command);
	if (options->globals_only || options->roles_only || options->tablespaces_only)
		copy->list = pg_malloc0(sizeof(ClusterList));
	else
	{
		copy->list = cluster_list_read(conn, options);
		copy->filter = cluster_filter_read(conn, copy->source, copy->list,
										   options);
		cluster_check_source(conn, options->jobs, copy->list->n);
		findings_report();
	}
	text = globals_read(conn, copy->source, part, options, argv0);
	copy->script = globals_script_parse(text);
	free(text);
	cluster_session_close(conn);
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
	copy->globals.exit_on_error = false;
}

static int
run_databases(ClusterCopy *copy, const char *argv0, ClusterProgram program)
{
	ClusterRun	run = {
		.program = program,
		.argv0 = argv0,
		.doing = "copying",
		.jobs = copy->options->jobs,
		.shows = progress_is_shown(),
		.list = copy->list,
		.arg = copy,
		.add_args = add_args,
	};

	return cluster_run(&run, copy->options);
}

int
cluster_copy(const Options *options, const char *argv0, ClusterProgram program)
{
	ClusterCopy *copy = pg_malloc0(sizeof(ClusterCopy));
	int			n_failed;

	copy->options = options;
	progress_begin(options->progress, options->no_progress);
	cluster_report_begin(options);
	read_source(copy, argv0);
	open_target(copy);
	cluster_list_refuse_existing(copy->list, copy->globals.conn);
	cluster_check_target(copy->globals.conn, options, copy->list->n);
	findings_report();
	globals_apply(&copy->globals, copy->script);
	cluster_session_close(copy->globals.conn);
	n_failed = run_databases(copy, argv0, program);
	copy->globals.conn = connection_open_peer(copy->target, "pg_pardump");
	globals_apply_rest(&copy->globals);
	cluster_session_close(copy->globals.conn);
	cleanup_forget_all();
	metrics_end(copy->globals.n_errors + n_failed == 0);
	if (copy->globals.n_errors > 0)
		pg_log_error("%d error%s in making roles and tablespaces",
					 copy->globals.n_errors, units_plural(copy->globals.n_errors));
	if (n_failed > 0 && n_failed == copy->list->n)
		pg_log_error("all databases failed");
	else if (n_failed > 0)
		pg_log_error("%d of %d database%s failed; the others are complete",
					 n_failed, copy->list->n, units_plural(copy->list->n));
	return copy->globals.n_errors + n_failed > 0 ? 1 : 0;
}

/* ----------
 * The main path of the verification of a cluster's dump.
 * ----------
 */

typedef struct ClusterVerify
{
	const Options *options;
	ClusterMap *map;
} ClusterVerify;

static void
cluster_verify_add_args(void *arg, int no, SimpleStringList *args)
{
	const ClusterVerify *verify = arg;
	const ClusterDatabase *database = &verify->map->list.databases[no];
	char	   *archive = cluster_map_archive(verify->options->verify, database);

	toc_database_expect(database->oid, database->name);
	simple_string_list_append(args, psprintf("--verify=%s", archive));
	simple_string_list_append(args, psprintf("--jobs=%d", verify->options->jobs));
	simple_string_list_append(args, "--no-progress");
	free(archive);
}

int
cluster_verify(const Options *options, const char *argv0,
			   ClusterProgram program)
{
	ClusterVerify *verify = pg_malloc0(sizeof(ClusterVerify));
	ClusterRun	run = {
		.program = program,
		.argv0 = argv0,
		.doing = "verifying",
		.jobs = options->jobs,
		.one_by_one = true,
		.shows = true,
		.arg = verify,
		.add_args = cluster_verify_add_args,
	};
	int			n_missing;
	int			n_failed;

	cluster_report_begin(options);
	interrupt_install_leader();
	verify->options = options;
	verify->map = cluster_map_read(options->verify);
	free(cluster_map_read_globals(options->verify, verify->map));
	n_missing = cluster_map_leave_out_failed(verify->map);
	run.list = &verify->map->list;
	n_failed = cluster_run(&run, options) + n_missing;
	cleanup_forget_all();
	if (n_failed == 0)
		return 0;
	pg_log_error("%d of %d database%s failed", n_failed,
				 verify->map->list.n + n_missing,
				 units_plural(verify->map->list.n + n_missing));
	return 1;
}

/* ----------
 * The main path of a restore of all databases.
 * ----------
 */

typedef struct ClusterRestore
{
	const Options *options;
	ClusterMap *map;
	PeerAddress *address;
	char	   *database;		/* that new ones are made from a session in */
	GlobalsApply globals;
	int			n_missing;		/* databases that were not dumped */
} ClusterRestore;

static void
cluster_restore_add_args(void *arg, int no, SimpleStringList *args)
{
	const ClusterRestore *restore = arg;
	const ClusterDatabase *database = &restore->map->list.databases[no];
	bool		is_there = cluster_list_is_initial(database);

	toc_database_expect(database->oid, database->name);
	/* what is in one that is there is not loaded a second time */
	simple_string_list_append(args, is_there ? "--no-data-for-failed-tables" :
							  "--create");
	cluster_session_add_args(args, restore->options,
							 cluster_list_conninfo(restore->address,
												   is_there ? database->name :
												   restore->database));
	simple_string_list_append(args, "--");
	simple_string_list_append(args,
							  cluster_map_archive(restore->options->restore,
												  database));
}

/* Before anything is made. */
static void
check_archives(const ClusterRestore *restore)
{
	const ClusterList *list = &restore->map->list;

	for (int i = 0; i < list->n; i++)
	{
		char	   *archive = cluster_map_archive(restore->options->restore,
												  &list->databases[i]);
		char	   *toc = psprintf("%s/%s", archive, TOC_NAME);

		if (access(toc, R_OK) < 0)
			pg_fatal("could not open file \"%s\" of database \"%s\": %m", toc,
					 list->databases[i].name);
		free(toc);
		free(archive);
	}
}

static int
cluster_restore_run_databases(ClusterRestore *restore, const char *argv0, ClusterProgram program)
{
	ClusterRun	run = {
		.program = program,
		.argv0 = argv0,
		.doing = "restoring",
		.jobs = restore->options->jobs,
		.shows = progress_is_shown(),
		.list = &restore->map->list,
		.arg = restore,
		.add_args = cluster_restore_add_args,
	};

	return cluster_run(&run, restore->options);
}

int
cluster_restore(const Options *options, const char *argv0,
				ClusterProgram program)
{
	ClusterRestore *restore = pg_malloc0(sizeof(ClusterRestore));
	GlobalsScript *script;
	char	   *text;
	PGconn	   *conn;
	int			n_failed = 0;
	int			n_errors;

	restore->options = options;
	progress_begin(options->progress, options->no_progress);
	cluster_report_begin(options);
	restore->map = cluster_map_read(options->restore);
	text = cluster_map_read_globals(options->restore, restore->map);
	script = globals_script_parse(text);
	if (options->no_tablespaces)
		globals_script_drop_tablespaces(script);
	free(text);
	conn = cluster_session_open(&options->connection,
								options->password_command, "pg_parrestore");
	interrupt_install_leader();
	restore->address = peer_address_new(conn, true, options->connection.dbname,
										options->password_command);
	restore->database = pg_strdup(PQdb(conn));
	cluster_list_exclude(&restore->map->list, conn, options);
	restore->n_missing = cluster_map_leave_out_failed(restore->map);
	check_archives(restore);
	if (!options->globals_only)
	{
		cluster_list_refuse_existing(&restore->map->list, conn);
		cluster_check_target(conn, options, restore->map->list.n);
	}
	findings_report();
	/* up to here nothing has been made */
	restore->globals.conn = conn;
	restore->globals.exit_on_error = options->exit_on_error;
	globals_apply(&restore->globals, script);
	cluster_session_close(conn);
	if (!options->globals_only)
		n_failed = cluster_restore_run_databases(restore, argv0, program);
	restore->globals.conn = connection_open_peer(restore->address, "pg_parrestore");
	globals_apply_rest(&restore->globals);
	n_errors = restore->globals.n_errors + n_failed + restore->n_missing;
	cleanup_forget_all();
	metrics_end(n_errors == 0);
	if (restore->globals.n_errors > 0)
		pg_log_warning("errors ignored on restore of roles and tablespaces: %d",
					   restore->globals.n_errors);
	if (n_failed + restore->n_missing > 0)
		pg_log_error("%d of %d databases failed, or were restored with errors",
					 n_failed + restore->n_missing,
					 restore->map->list.n + restore->n_missing);
	if (n_failed > 0)
		restore_stage_give_hint(options, restore->globals.conn);
	cluster_session_close(restore->globals.conn);
	return n_errors > 0 ? 1 : 0;
}
