/*
 * cluster_dump.c
 *		The main path of a dump of all databases.
 */
#include "base/fe_compat.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/file_utils.h"

#include "archive/archive_clean.h"
#include "archive/archive_dir.h"
#include "archive/archive_name.h"
#include "base/interrupt.h"
#include "base/message.h"
#include "base/units.h"
#include "cluster/cluster_dump.h"
#include "cluster/cluster_list.h"
#include "cluster/cluster_map.h"
#include "cluster/cluster_run.h"
#include "cluster/globals.h"
#include "process/progress.h"
#include "session/connection.h"
#include "source/source_check.h"
#include "status/metrics.h"
#include "stock/stock_pg_dump.h"
#include "stream/sink.h"

typedef struct ClusterDump
{
	const Options *options;
	const char *argv0;
	PeerAddress *address;
	ClusterMap	map;
	ClusterFilter *filter;
	ClusterMap *previous;		/* --incremental; or NULL */
	char	   *globals;
	char	   *directory;		/* NULL: nothing is written */
	int			directory_fd;	/* open on it, as others may take its path */
	char	   *databases;		/* in that, of the archives */
	int			databases_fd;	/* the same of that */
	bool		made;			/* the directory, by us */
	Sink	   *map_sink;		/* claims it, until published */
	bool		whole;
} ClusterDump;

/* ----------
 * The directory
 * ----------
 */
static char *
file_path(const ClusterDump *dump, const char *name)
{
	return psprintf("%s/%s", dump->directory, name);
}

static void
remove_file(const ClusterDump *dump, const char *name)
{
	if (unlinkat(dump->directory_fd, name, 0) < 0 && errno != ENOENT)
		pg_log_warning("could not remove file \"%s/%s\": %m",
					   dump->directory, name);
}

/*
 * An exit callback: nothing looks like the dump of a cluster.  Archives that
 * are complete may have taken hours, and stay.
 */
static void
cluster_dump_remove_files(void *arg)
{
	ClusterDump *dump = arg;

	if (dump->whole)
		return;
	remove_file(dump, CLUSTER_MAP_NAME ".tmp");
	remove_file(dump, CLUSTER_GLOBALS_NAME ".tmp");
	remove_file(dump, CLUSTER_GLOBALS_NAME);
	if (unlinkat(dump->directory_fd, CLUSTER_DATABASES_NAME, AT_REMOVEDIR) < 0 &&
		errno != ENOENT)
	{
		pg_log_warning("complete archives of single databases are left in \"%s\"",
					   dump->databases);
		return;
	}
	if (dump->made && rmdir(dump->directory) < 0)
		pg_log_warning("could not remove directory \"%s\": %m", dump->directory);
}

/* By a file that one run can create only, as archive_dir_create() does. */
static void
create_directory(ClusterDump *dump)
{
	char	   *path = pg_strdup(dump->options->directory);

	canonicalize_path(path);
	dump->directory = path;
	dump->databases = file_path(dump, CLUSTER_DATABASES_NAME);
	dump->directory_fd = dirfd(archive_dir_open_new(path, &dump->made));
	dump->map_sink = sink_file_new(file_path(dump, CLUSTER_MAP_NAME ".tmp"));
	cleanup_push(cluster_dump_remove_files, dump);
	if (mkdirat(dump->directory_fd, CLUSTER_DATABASES_NAME, 0700) < 0)
		pg_fatal("could not create directory \"%s\": %m", dump->databases);
	dump->databases_fd = openat(dump->directory_fd, CLUSTER_DATABASES_NAME,
								O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dump->databases_fd < 0)
		pg_fatal("could not open directory \"%s\": %m", dump->databases);
}

static void
write_text(Sink *sink, const char *text)
{
	sink_write(sink, text, strlen(text));
	sink_finish(sink);
	sink_free(sink);
}

/* It is whole under another name: it gets its own. */
static void
publish(const ClusterDump *dump, const char *name)
{
	char	   *path = file_path(dump, name);
	char	   *temp_path = psprintf("%s.tmp", path);

	if (dump->options->sync_method != SYNC_NONE &&
		fsync_fname(temp_path, false) != 0)
		pg_fatal("could not flush \"%s\" to disk", temp_path);
	if (renameat(dump->directory_fd, temp_path + strlen(dump->directory) + 1,
				 dump->directory_fd, name) < 0)
		pg_fatal("could not rename file \"%s\" to \"%s\": %m", temp_path, path);
	free(temp_path);
	free(path);
}

/* All databases have had their turn. */
static void
finish_directory(ClusterDump *dump)
{
	char	   *text;

	dump->map.globals_checksum = cluster_map_checksum(dump->globals,
													  strlen(dump->globals));
	text = cluster_map_text(&dump->map);
	write_text(sink_file_new(file_path(dump, CLUSTER_GLOBALS_NAME ".tmp")),
			   dump->globals);
	write_text(dump->map_sink, text);
	if (dump->options->sync_method != SYNC_NONE)
		archive_sync_directory(dump->databases, true);
	interrupt_check();
	publish(dump, CLUSTER_GLOBALS_NAME);
	publish(dump, CLUSTER_MAP_NAME);
	if (dump->options->sync_method != SYNC_NONE)
		archive_sync_directory(dump->directory, dump->made);
	dump->whole = true;
	free(text);
}

/* ----------
 * Databases
 * ----------
 */

/*
 * By its name: it may have been dropped and made again, which its archive
 * shows.
 */
static const ClusterDatabase *
previous_of(const ClusterDump *dump, const ClusterDatabase *database)
{
	for (int i = 0; i < dump->previous->list.n; i++)
	{
		const ClusterDatabase *previous = &dump->previous->list.databases[i];

		if (strcmp(previous->name, database->name) == 0 && !previous->failed)
			return previous;
	}
	return NULL;
}

/* Whole, if it was not there, with what the next run needs. */
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
	simple_string_list_append(args,
							  psprintf("--incremental=%s",
									   cluster_map_archive(dump->options->incremental,
														   previous)));
	if (dump->options->incremental_copy_method)
		simple_string_list_append(args,
								  psprintf("--incremental-copy-method=%s",
										   dump->options->incremental_copy_method));
}

static void
cluster_dump_add_args(void *arg, int no, SimpleStringList *args)
{
	const ClusterDump *dump = arg;
	const ClusterDatabase *database = &dump->map.list.databases[no];

	server_expect_database(database->oid);
	cluster_session_add_args(args, dump->options,
							 cluster_list_conninfo(dump->address, database->name));
	cluster_filter_add_args(dump->filter, database, args);
	if (dump->previous)
		add_previous(dump, database, args);
	if (dump->directory == NULL)
		return;
	simple_string_list_append(args, "-f");
	simple_string_list_append(args, cluster_map_archive(dump->directory, database));
}

/* An archive with a table of contents is one, though its report failed. */
static bool
clean_up(void *arg, int no)
{
	const ClusterDump *dump = arg;
	const char *name;
	char	   *path;
	char	   *toc;
	bool		complete;

	if (dump->directory == NULL)
		return false;
	path = cluster_map_archive(dump->directory, &dump->map.list.databases[no]);
	name = last_dir_separator(path) + 1;
	toc = psprintf("%s/%s", name, TOC_NAME);
	complete = faccessat(dump->databases_fd, toc, F_OK, 0) == 0;
	if (!complete)
		archive_clean_directory_at(dump->databases_fd, name, path);
	free(toc);
	free(path);
	return complete;
}

static bool
any_is_complete(const ClusterDump *dump)
{
	for (int i = 0; i < dump->map.list.n; i++)
		if (!dump->map.list.databases[i].failed)
			return true;
	return false;
}

static int
run_databases(ClusterDump *dump, ClusterProgram program)
{
	const Options *options = dump->options;
	bool		only_looks = options->dry_run || options->check;
	ClusterRun	run = {
		.program = program,
		.argv0 = dump->argv0,
		.doing = only_looks ? "looking at" : "dumping",
		.jobs = options->jobs,
		.one_by_one = only_looks,
		.shows = only_looks || progress_is_shown(),
		.list = &dump->map.list,
		.arg = dump,
		.add_args = cluster_dump_add_args,
		.clean_up = clean_up,
	};

	return cluster_run(&run, options);
}

/* ----------
 * The main path
 * ----------
 */

/* Roles may be made after it: pg_dumpall reads them first, too. */
static void
read_cluster(ClusterDump *dump)
{
	const Options *options = dump->options;
	const char *part = options->roles_only ? GLOBALS_ROLES :
		options->tablespaces_only ? GLOBALS_TABLESPACES : GLOBALS_ALL;
	PGconn	   *conn = cluster_session_open(&options->connection,
											options->password_command,
											"pg_pardump");

	interrupt_install_leader();
	dump->address = peer_address_new(conn, false, options->connection.dbname,
									 options->password_command);
	dump->map.server_version = pg_strdup(PQparameterStatus(conn, "server_version"));
	if (!options->globals_only && !options->roles_only && !options->tablespaces_only)
	{
		dump->map.list = *cluster_list_read(conn, options);
		dump->filter = cluster_filter_read(conn, dump->address,
										   &dump->map.list, options);
		cluster_check_source(conn, options->jobs, dump->map.list.n);
		findings_report();
	}
	if (!options->dry_run && !options->check)
		create_directory(dump);
	/* --check is to find out whether the role may read passwords, too */
	if (!options->dry_run)
		dump->globals = globals_read(conn, dump->address, part, options,
									 dump->argv0);
	cluster_session_close(conn);
}

int
cluster_dump(const Options *options, const char *argv0, ClusterProgram program)
{
	/* an exit callback uses it until the process ends */
	ClusterDump *dump = pg_malloc0(sizeof(ClusterDump));
	int			n_failed;

	dump->options = options;
	dump->argv0 = argv0;
	progress_begin(options->progress, options->no_progress);
	cluster_report_begin(options);
	if (options->directory)
		(void) archive_dir_check(options->directory);
	/* a directory that is none is told before anything is made */
	if (options->incremental)
		dump->previous = cluster_map_read(options->incremental);
	read_cluster(dump);
	n_failed = run_databases(dump, program);
	if (n_failed > 0 && n_failed == dump->map.list.n && !any_is_complete(dump))
		pg_fatal("all databases failed");
	if (dump->directory)
		finish_directory(dump);
	if (n_failed == 0)
	{
		cleanup_forget_all();
		metrics_end(true);
		return 0;
	}
	pg_log_error("%d of %d database%s failed; the others are complete",
				 n_failed, dump->map.list.n, units_plural(dump->map.list.n));
	return 1;
}
