/*
 * cluster_copy.c
 *		The main path of a copy of all databases.
 */
#include "base/fe_compat.h"

#include "base/interrupt.h"
#include "base/message.h"
#include "base/units.h"
#include "cluster/cluster_check.h"
#include "cluster/cluster_copy.h"
#include "cluster/cluster_filter.h"
#include "cluster/cluster_report.h"
#include "cluster/cluster_session.h"
#include "globals/globals.h"
#include "progress/progress.h"
#include "session/connection.h"
#include "source/source_check.h"
#include "status/metrics.h"
#include "stock/stock_pg_dump.h"

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
		findings_settle();
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
	findings_settle();
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
