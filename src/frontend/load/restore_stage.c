/*
 * restore_stage.c
 *		Creates the target database, through stock pg_restore, and our own
 *		extension.
 *
 * pg_restore executes CREATE DATABASE, and the entries for the settings, the
 * comment and the privileges of the database.  Everything after that is
 * created in pg_pardump's own sessions.
 *
 * Our extension is a special case: an archive may contain it because the
 * source had it, but a target without its files, or without superuser, must
 * still be able to get everything else.
 */
#include "base/fe_compat.h"

#include <sys/file.h>

#include "base/interrupt.h"
#include "load/restore_stage.h"
#include "load/target_check.h"
#include "stream/regular_file.h"

/* An exit callback. */
static void
restore_stage_remove_directory(void *arg)
{
	RestoreStages *restore = arg;

	if (!rmtree(restore->setup.directory, true))
		pg_log_warning("could not remove directory \"%s\"", restore->setup.directory);
}

void
restore_stage_begin(RestoreStages *restore)
{
	char	   *path = directory_make_private();
	int			fd;

	restore->setup.directory = path;

	/*
	 * systemd-tmpfiles removes directories that were not used for some days,
	 * but no locked ones (tmpfiles.d(5)).  So lock the directory while this
	 * process or a child lives.  The restore need not fail without this lock.
	 */
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0)
		(void) flock(fd, LOCK_SH | LOCK_NB);
	cleanup_push(restore_stage_remove_directory, restore);
	cleanup_push(child_process_end, &restore->run.pid);
	restore->setup.address = target_restore_address(restore->target, "off");
}

/* Can our extension be created?  This requires its files and a superuser. */
static bool
can_make_extension(const RestoreStages *restore)
{
	PGconn	   *conn = restore->target->conn;
	const char *role = restore->setup.options->role;
	const char *is_superuser = PQparameterStatus(conn, "is_superuser");

	if (!target_has(conn, TARGET_EXTENSION_FILES, PARDUMP_EXTENSION))
		return false;
	/* the session may not have the role yet */
	if (role)
		return target_has(conn, TARGET_SUPERUSER, role);
	return is_superuser && strcmp(is_superuser, "on") == 0;
}

/*
 * Leave out the archive's entries for our extension if the target cannot have
 * it, or already has it: all other entries must be restored anyway.  pg_dump
 * dumps the extension's schema with an entry of its own, so the schema is
 * left out, too.  If the restore creates a database (new_name), this is a
 * copy of template0 and does not contain the extension, even if the database
 * of the current session does.
 */
void
restore_stage_leave_out_extension(RestoreStages *restore,
								  const char *new_name)
{
	RestoreSchedule *schedule = restore->schedule;

	/*
	 * Usually there is nothing to leave out: no entry has a name that
	 * contains this text, as those of the extension and its schema do.
	 */
	if (!restore_schedule_has_tag(schedule, PARDUMP_SCHEMA))
		return;
	if (new_name == NULL &&
		target_has(restore->target->conn, TARGET_EXTENSION, PARDUMP_EXTENSION))
		restore_schedule_leave_out_schema(schedule, PARDUMP_SCHEMA);
	else if (!can_make_extension(restore))
	{
		restore_schedule_leave_out(schedule, "pg_pardump");
		if (!restore_schedule_needs_schema(schedule, PARDUMP_SCHEMA))
			restore_schedule_leave_out_schema(schedule, PARDUMP_SCHEMA);
	}
}

void
restore_stage_make_extension(RestoreStages *restore)
{
	PGconn	   *conn = restore->target->conn;
	PGresult   *res;

	if (!restore->makes_extension ||
		target_has(conn, TARGET_EXTENSION, PARDUMP_EXTENSION) ||
		!can_make_extension(restore))
		return;
	/* a commit of this session waits for the disk */
	res = PQexec(conn, "CREATE EXTENSION " PARDUMP_EXTENSION);
	if (PQresultStatus(res) != PGRES_COMMAND_OK)
	{
		pg_log_warning("could not create extension " PARDUMP_EXTENSION " on the target: %s",
					   PQresultErrorMessage(res));
		pg_log_warning_detail("The database will not have the extension.  Everything else is restored.");
		pg_log_warning_hint("Fix the cause, and run CREATE EXTENSION " PARDUMP_EXTENSION " in the database after the restore.");
	}
}

void
restore_stage_end(RestoreStages *restore)
{
	restore_stage_remove_directory(restore);
}

/*
 * Return pg_restore's options to create the database; NULL terminated, never
 * freed.  A copy stops at the first error; a restore continues, as pg_restore
 * does.
 */
static const char *const *
create_args(const RestoreStages *restore)
{
	const Options *options = restore->setup.options;
	const char **args = pg_malloc0(5 * sizeof(char *));
	int			n = 0;

	if (!restore->as_pg_restore)
		args[n++] = "--exit-on-error";
	args[n++] = "--create";
	if (options->clean)
		args[n++] = "--clean";
	if (options->clean && options->if_exists)
		args[n++] = "--if-exists";
	return args;
}

void
restore_stage_give_hint(const Options *options, PGconn *conn)
{
	const char *is_superuser = PQparameterStatus(conn, "is_superuser");

	if (!options->no_owner && is_superuser && strcmp(is_superuser, "off") == 0)
		pg_log_error_hint("If the role is not a member of the roles that own the objects, use --no-owner.");
}

/*
 * Refuse a database that did not exist when the run of all databases began.
 * If another user has created it since then, the restore would execute that
 * user's triggers and functions.
 */
pg_noreturn static void
refuse_others_database(const char *name)
{
	pg_log_error("database \"%s\" on the target was created by another session during the run",
				 name);
	pg_fatal_hint("Drop the database or exclude it with --exclude-database, and run the same command with --resume.");
}

/*
 * The dependencies on roles of the objects in a database.  An expression with
 * the database's name follows.
 */
#define OBJECTS_OF \
"pg_catalog.pg_shdepend s JOIN pg_catalog.pg_database d" \
" ON d.oid OPERATOR(pg_catalog.=) s.dbid WHERE d.datname OPERATOR(pg_catalog.=) "

/*
 * Check a database after pg_restore reported an error.  If the restore has
 * created it from template0, it contains the same dependencies on roles as
 * template0.  Others show that another session has created the database.
 */
static void
refuse_filled_database(const RestoreStages *restore, const char *name)
{
	PGresult   *res = session_query(restore->target->conn,
									"SELECT s.classid, s.objid, s.refclassid, s.refobjid FROM " OBJECTS_OF "pg_catalog.current_database()"
									" EXCEPT SELECT s.classid, s.objid, s.refclassid, s.refobjid FROM " OBJECTS_OF "'template0' LIMIT 1");

	if (PQntuples(res) > 0)
		refuse_others_database(name);
}

void
restore_stage_database(RestoreStages *restore, const char *name)
{
	bool		one_of_all = toc_database_is_expected();
	int			n_entries;
	int			n_own;
	TocEntry   *entries = restore_schedule_entries(restore->schedule,
												   RESTORE_DATABASE,
												   &n_entries, &n_own);
	bool		ok = true;

	if (one_of_all && target_has_database(restore->target->conn, name))
		refuse_others_database(name);
	if (n_own > 0)
	{
		stock_pg_restore_start(&restore->run, &restore->setup, "database",
							   entries, n_entries, create_args(restore));
		ok = stock_pg_restore_wait(&restore->run);
	}
	if (!ok && (!restore->as_pg_restore || restore->setup.options->exit_on_error))
	{
		pg_log_error("pg_restore could not create database \"%s\" on the target",
					 printable(name));
		restore_stage_give_hint(restore->setup.options, restore->target->conn);
		exit(1);
	}
	target_enter(restore->target, name);
	if (!ok && one_of_all)
		refuse_filled_database(restore, name);
	restore->setup.address = target_restore_address(restore->target, "off");
}
