/*
 * cluster_restore.c
 *		The main path of a restore of all databases.
 */
#include "base/fe_compat.h"

#include <unistd.h>

#include "archive/archive_name.h"
#include "base/interrupt.h"
#include "base/message.h"
#include "cluster/cluster_check.h"
#include "cluster/cluster_map.h"
#include "cluster/cluster_report.h"
#include "cluster/cluster_restore.h"
#include "cluster/cluster_session.h"
#include "globals/globals.h"
#include "progress/progress.h"
#include "session/connection.h"
#include "status/metrics.h"
#include "target/restore_stage.h"
#include "toc/toc.h"

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
add_args(void *arg, int no, SimpleStringList *args)
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
run_databases(ClusterRestore *restore, const char *argv0, ClusterProgram program)
{
	ClusterRun	run = {
		.program = program,
		.argv0 = argv0,
		.doing = "restoring",
		.jobs = restore->options->jobs,
		.shows = progress_is_shown(),
		.list = &restore->map->list,
		.arg = restore,
		.add_args = add_args,
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
	findings_settle();
	/* up to here nothing has been made */
	restore->globals.conn = conn;
	restore->globals.exit_on_error = options->exit_on_error;
	globals_apply(&restore->globals, script);
	cluster_session_close(conn);
	if (!options->globals_only)
		n_failed = run_databases(restore, argv0, program);
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
