/*
 * cluster_notes.c
 *		Notes on the target which databases have been restored.
 *
 * A completed restore leaves nothing in its database, so a database that was
 * created in another way could be mistaken for a complete one.  Therefore
 * only a note counts, and only one that no other role could have written: the
 * schema of the table is created and protected like that of the journal of a
 * single restore (load/restore_journal.h), and no other role gets a privilege
 * on it, even if default privileges grant one.
 *
 * The run of a database writes its notes in a separate session.  The parent
 * only has a session that keeps other runs away, with a lock on a view next
 * to the table (load/restore_journal_open.c).  Forked processes inherit that
 * session, so it lasts as long as they do.
 */
#include "base/fe_compat.h"

#include "base/interrupt.h"
#include "base/units.h"
#include "cluster/cluster_notes.h"
#include "cluster/globals.h"
#include "load/restore_journal_open.h"
#include "load/target_check.h"
#include "process/progress.h"
#include "session/session_lost.h"
#include "session/session_settings.h"

/* The state of a database according to earlier runs. */
typedef enum NoteState
{
	NOTE_NONE = 0,
	NOTE_BEGUN,
	NOTE_ENDING,
	NOTE_DONE
} NoteState;

static const char *const state_names[] = {"", "begun", "ending", "done"};

typedef struct Note
{
	Oid			source;			/* the OID of the database in the archive */
	Oid			target;			/* OID on the target; 0 = it did not exist */
	bool		existed;		/* did it exist when the first run began? */
	NoteState	state;
	const char *archive;		/* see ClusterDatabase.identity */
	int			errors;			/* errors that were ignored */
	bool		is_complete;	/* is the database complete now? */
} Note;

struct ClusterNotes
{
	const Options *options;
	const PeerAddress *address;
	const char *identity;
	char	   *database;		/* database with the table */
	PGconn	   *lock;			/* session with the lock, or NULL */
	bool		is_locked;
	bool		exists;			/* does the table of an earlier run exist? */
	bool		is_kept;		/* does this run keep the table? */
	bool		is_refused;		/* it cannot be continued */
	Note	   *notes;
	int			n_notes;
	int			n_done;			/* databases that earlier runs restored */
	int			n_with_errors;	/* those with errors among them */
};

/* The note of this process, if it is the run of a database. */
typedef struct RunNote
{
	const ClusterNotes *notes;
	const ClusterDatabase *database;
} RunNote;

/* ----------
 * Statements
 * ----------
 */

static const char objects[] = "{" CLUSTER_NOTES_SCHEMA ",running,run,databases}";

/*
 * The table has a key, because with publications FOR ALL TABLES a table
 * without a key cannot be updated.
 */
static const char make_command[] =
"CREATE SCHEMA " CLUSTER_NOTES_SCHEMA
" CREATE TABLE run ("
"archive pg_catalog.text COLLATE pg_catalog.\"C\" PRIMARY KEY,"
" begun pg_catalog.timestamptz NOT NULL DEFAULT pg_catalog.now())"
" CREATE TABLE databases ("
"source pg_catalog.oid PRIMARY KEY,"
" target pg_catalog.oid NOT NULL,"
" existed pg_catalog.bool NOT NULL,"
" state pg_catalog.text NOT NULL,"
" archive pg_catalog.text NOT NULL,"
" errors pg_catalog.int4 NOT NULL,"
" at pg_catalog.timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp())"
" CREATE VIEW running AS SELECT";

#define LOCK_VIEW CLUSTER_NOTES_SCHEMA ".running"

/* Roles to which default privileges have granted something. */
static const char grantees_query[] =
"SELECT DISTINCT CASE WHEN a.grantee OPERATOR(pg_catalog.=) 0 THEN 'PUBLIC'"
" ELSE pg_catalog.quote_ident(r.rolname) END"
" FROM pg_catalog.pg_namespace n"
" CROSS JOIN LATERAL pg_catalog.aclexplode(n.nspacl) a"
" LEFT JOIN pg_catalog.pg_roles r ON r.oid OPERATOR(pg_catalog.=) a.grantee"
" WHERE n.nspname OPERATOR(pg_catalog.=) '" CLUSTER_NOTES_SCHEMA "'"
" AND a.grantee OPERATOR(pg_catalog.<>) n.nspowner";

static const char begin_query[] =
"INSERT INTO " CLUSTER_NOTES_SCHEMA ".run (archive) VALUES ($1)";

static const char run_query[] =
"SELECT r.archive FROM " CLUSTER_NOTES_SCHEMA ".run r";

static const char notes_query[] =
"SELECT d.source, d.target, d.existed, d.state, d.archive, d.errors FROM " CLUSTER_NOTES_TABLE " d";

static const char add_query[] =
"INSERT INTO " CLUSTER_NOTES_TABLE " (source, target, existed, state, archive, errors)"
" VALUES ($1::pg_catalog.oid, $2::pg_catalog.oid, $4::pg_catalog.bool, 'begun', $3, 0)"
" ON CONFLICT (source) DO UPDATE SET target = excluded.target,"
" existed = excluded.existed, state = excluded.state, archive = excluded.archive,"
" errors = excluded.errors, at = excluded.at";

static const char set_query[] =
"UPDATE " CLUSTER_NOTES_TABLE " SET target = $2::pg_catalog.oid, state = $3,"
" archive = $6, errors = $4::pg_catalog.int4, at = pg_catalog.clock_timestamp()"
" WHERE source OPERATOR(pg_catalog.=) $1::pg_catalog.oid"
" AND EXISTS (SELECT FROM " CLUSTER_NOTES_SCHEMA ".run r"
" WHERE r.archive OPERATOR(pg_catalog.=) $5::pg_catalog.text)";

#define LOCK_COMMAND \
"LOCK TABLE " CLUSTER_NOTES_SCHEMA ".run, " CLUSTER_NOTES_TABLE " IN ROW EXCLUSIVE MODE"

#define DROP_COMMAND "DROP SCHEMA " CLUSTER_NOTES_SCHEMA " CASCADE"

static const char databases_query[] =
"SELECT d.oid, d.datname FROM pg_catalog.pg_database d";

/* Is it an object that belongs neither to the server nor to an extension? */
#define OWN_OBJECT(catalog, x) \
x ".oid OPERATOR(pg_catalog.>=) 16384 AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend e" \
" WHERE e.classid OPERATOR(pg_catalog.=) '" catalog "'::pg_catalog.regclass" \
" AND e.objid OPERATOR(pg_catalog.=) " x ".oid" \
" AND e.deptype OPERATOR(pg_catalog.=) 'e'::pg_catalog.\"char\")"

/*
 * Is a database without contents?  Extensions and the schema of the notes do
 * not count; rows of extensions do.
 */
static const char empty_query[] =
"SELECT NOT EXISTS (SELECT FROM pg_catalog.pg_namespace n WHERE "
OWN_OBJECT("pg_catalog.pg_namespace", "n")
" AND n.nspname OPERATOR(pg_catalog.<>) '" CLUSTER_NOTES_SCHEMA "'"
" AND n.nspname OPERATOR(pg_catalog.!~) '^pg_(toast_)?temp_'"
" AND NOT EXISTS (SELECT FROM pg_catalog.pg_extension e"
" WHERE e.extnamespace OPERATOR(pg_catalog.=) n.oid))"
" AND NOT EXISTS (SELECT FROM pg_catalog.pg_class c"
" JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace"
" WHERE c.relkind OPERATOR(pg_catalog.=) ANY (ARRAY['r', 'p', 'v', 'm', 'f', 'S', 'c']::pg_catalog.\"char\"[])"
" AND n.nspname OPERATOR(pg_catalog.<>) '" CLUSTER_NOTES_SCHEMA "' AND "
OWN_OBJECT("pg_catalog.pg_class", "c") ")"
" AND NOT EXISTS (SELECT FROM pg_catalog.pg_proc p WHERE "
OWN_OBJECT("pg_catalog.pg_proc", "p") ")"
" AND NOT EXISTS (SELECT FROM pg_catalog.pg_type y"
" WHERE y.typtype OPERATOR(pg_catalog.=) ANY (ARRAY['d', 'e', 'r']::pg_catalog.\"char\"[]) AND "
OWN_OBJECT("pg_catalog.pg_type", "y") ")"
" AND NOT EXISTS (SELECT FROM pg_catalog.pg_foreign_server s WHERE "
OWN_OBJECT("pg_catalog.pg_foreign_server", "s") ")"
" AND NOT EXISTS (SELECT FROM pg_catalog.pg_publication p WHERE "
OWN_OBJECT("pg_catalog.pg_publication", "p") ")"
" AND NOT EXISTS (SELECT FROM pg_catalog.pg_ts_config t WHERE "
OWN_OBJECT("pg_catalog.pg_ts_config", "t") ")"
" AND NOT EXISTS (SELECT FROM pg_catalog.pg_ts_dict t WHERE "
OWN_OBJECT("pg_catalog.pg_ts_dict", "t") ")"
" AND NOT EXISTS (SELECT FROM pg_catalog.pg_largeobject_metadata)";

/* ----------
 * The table
 * ----------
 */

/*
 * Does the schema exist, and belong to this role?  A schema of another role
 * could contain anything, so nothing in it is read.
 */
static bool
notes_exist(PGconn *conn)
{
	const RestoreJournalLook look = restore_journal_look(conn, objects);

	restore_journal_check_schema(conn, CLUSTER_NOTES_SCHEMA, &look);
	return look.exists;
}

/* A note must be on the disk before the journal is removed. */
static void
set_for_writing(PGconn *conn)
{
	PQclear(session_query(conn, SESSION_SET_LOCAL("synchronous_commit", "on")));
	/* Do not show notices that tables are dropped with their schema. */
	PQclear(session_query(conn, SESSION_SET_LOCAL("client_min_messages", "warning")));
}

/*
 * READ COMMITTED, because two runs that write notes at the same time must not
 * fail to serialize.
 */
static void
begin_writing(PGconn *conn)
{
	session_begin_unwatched(conn, "BEGIN; SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE");
	set_for_writing(conn);
}

/*
 * Exit because the table does not exist, or its notes cannot be relied on.
 * Only a restore from the start helps, without the notes that exist.
 */
pg_noreturn static void
refuse_notes(PGconn *conn, bool exist, const char *detail)
{
	pg_log_error("the restore of all databases cannot continue");
	pg_log_error_detail("%s", detail);
	if (!exist)
		pg_fatal_hint("End other restores of all databases, drop the databases that this restore has created, and run the command again without --resume.");
	pg_fatal_hint("End other restores of all databases, drop the databases that this restore has created, run " DROP_COMMAND " in database \"%s\", and run the command again without --resume.",
				  printable(PQdb(conn)));
}

/*
 * Lock the table in the caller's transaction.  This detects whether the table
 * was replaced.  A locked table keeps its owner until the end of the
 * transaction.
 */
static void
lock_notes(PGconn *conn)
{
	session_command(conn, LOCK_COMMAND);
	if (!notes_exist(conn))
		refuse_notes(conn, false,
					 psprintf("Table %s in database \"%s\" was dropped during the run.",
							  CLUSTER_NOTES_TABLE, printable(PQdb(conn))));
}

static void
revoke_all(PGconn *conn)
{
	PGresult   *res = session_query(conn, grantees_query);

	for (int i = 0; i < PQntuples(res); i++)
		session_command(conn, psprintf("REVOKE ALL ON SCHEMA " CLUSTER_NOTES_SCHEMA " FROM %s",
									   PQgetvalue(res, i, 0)));
}

pg_noreturn static void
refuse_other_run(void)
{
	pg_log_error("another pg_parrestore is restoring all databases of the target");
	pg_fatal_hint("Wait until the other run has ended, or end its sessions with pg_terminate_backend().");
}

/* Close the session with the lock. */
static void
close_lock(ClusterNotes *notes)
{
	session_close(notes->lock);
	notes->lock = NULL;
}

/*
 * Create the table.  Returns false, after a warning, if the role may not, or
 * an event trigger fails.  Another run may have created it meanwhile.
 */
static bool
make_table(const ClusterNotes *notes, PGconn *conn)
{
	const char *params[] = {notes->identity};
	PGresult   *res;
	bool		made;

	if (!restore_journal_look(conn, objects).may_make)
	{
		pg_log_warning("the restore of all databases cannot be resumed if it is interrupted");
		pg_log_warning_detail("The role may not create a schema in database \"%s\", where progress is recorded.",
							  printable(notes->database));
		restore_journal_grant_hint(conn);
		return false;
	}
	begin_writing(conn);
	res = PQexec(conn, make_command);
	made = PQresultStatus(res) == PGRES_COMMAND_OK;
	if (made)
	{
		revoke_all(conn);
		PQclear(target_query(conn, begin_query, 1, params));
		session_command(conn, "COMMIT");
	}
	else
	{
		if (session_is_lost(conn, res))
			session_failed(conn, res, "query failed", make_command);
		/* ERRCODE_DUPLICATE_SCHEMA, ERRCODE_UNIQUE_VIOLATION */
		if (session_error_is(res, "42P06 23505"))
			refuse_other_run();
		pg_log_warning("the restore of all databases cannot be resumed if it is interrupted");
		pg_log_warning_detail("Could not create table %s in database \"%s\": %s",
							  CLUSTER_NOTES_TABLE, printable(notes->database),
							  PQresultErrorMessage(res));
		session_command(conn, "ROLLBACK");
	}
	PQclear(res);
	return made;
}

/* Write a note in the session's transaction. */
static void
set_note(PGconn *conn, const char *identity, const Note *note)
{
	const char *params[] = {psprintf("%u", note->source),
		psprintf("%u", note->target), state_names[note->state],
	psprintf("%d", note->errors), identity, note->archive};
	PGresult   *res = target_query(conn, set_query, 6, params);

	if (strcmp(PQcmdTuples(res), "1") != 0)
		refuse_notes(conn, true,
					 psprintf("Table %s in database \"%s\" belongs to another restore.",
							  CLUSTER_NOTES_TABLE, printable(PQdb(conn))));
	PQclear(res);
}

/* ----------
 * Reading
 * ----------
 */
static NoteState
state_of(PGconn *conn, const char *name)
{
	for (int i = NOTE_BEGUN; i <= NOTE_DONE; i++)
		if (strcmp(name, state_names[i]) == 0)
			return (NoteState) i;
	refuse_notes(conn, true,
				 psprintf("Table %s in database \"%s\" contains the unknown state \"%s\".",
						  CLUSTER_NOTES_TABLE, printable(PQdb(conn)), printable(name)));
}

static void
read_rows(ClusterNotes *notes, PGconn *conn)
{
	PGresult   *res = session_query(conn, notes_query);

	notes->n_notes = PQntuples(res);
	notes->notes = pg_malloc0((notes->n_notes + 1) * sizeof(Note));
	for (int i = 0; i < notes->n_notes; i++)
	{
		Note	   *note = &notes->notes[i];

		note->source = (Oid) strtoul(PQgetvalue(res, i, 0), NULL, 10);
		note->target = (Oid) strtoul(PQgetvalue(res, i, 1), NULL, 10);
		note->existed = PQgetvalue(res, i, 2)[0] == 't';
		note->state = state_of(conn, PQgetvalue(res, i, 3));
		note->archive = pg_strdup(PQgetvalue(res, i, 4));
		note->errors = atoi(PQgetvalue(res, i, 5));
	}
}

/* Check that the notes of an earlier run belong to this restore. */
static void
check_run(ClusterNotes *notes, PGconn *conn)
{
	PGresult   *res = session_query(conn, run_query);

	notes->is_refused = true;
	if (!notes->options->resume)
	{
		pg_log_error("an unfinished restore of all databases was found on the target");
		pg_log_error_detail("Table %s of database \"%s\" shows which databases it has restored.",
							CLUSTER_NOTES_TABLE, notes->database);
		pg_log_error_hint("Use --resume to continue it, or " DROP_COMMAND " in database \"%s\" to start a new restore.",
						  notes->database);
	}
	else if (PQntuples(res) != 1 ||
			 strcmp(PQgetvalue(res, 0, 0), notes->identity) != 0)
	{
		pg_log_error("the restore of all databases cannot be resumed");
		pg_log_error_detail("The unfinished restore was started with another dump.");
		pg_log_error_hint("Specify that dump, or use " DROP_COMMAND " in database \"%s\" to start a new restore.",
						  notes->database);
	}
	else
		notes->is_refused = false;
	PQclear(res);
}

/*
 * Open the session before the remaining connections are counted.  Read the
 * notes of an earlier run only after this run has the lock.
 */
static void
open_lock(ClusterNotes *notes, PGconn *conn)
{
	notes->lock = connection_open_peer(notes->address, "pg_parrestore");
	cluster_session_set_up(notes->lock);
	session_command_settings(notes->lock,
							 SESSION_SET("default_transaction_read_only", "off") "; "
							 SESSION_SET("default_transaction_isolation", "read committed"));
	if (notes->exists && notes->options->resume && !notes->options->check)
	{
		if (restore_journal_lock_view_wait(notes->lock, LOCK_VIEW) == RESTORE_JOURNAL_HELD)
			refuse_other_run();
		notes->exists = notes->is_locked = notes_exist(conn);
	}
	interrupt_set_connection(conn);
}

ClusterNotes *
cluster_notes_read(PGconn *conn, const PeerAddress *address,
				   const char *identity, const Options *options)
{
	ClusterNotes *notes = pg_malloc0(sizeof(ClusterNotes));

	notes->options = options;
	notes->address = address;
	notes->identity = identity;
	notes->database = pg_strdup(PQdb(conn));
	notes->exists = notes_exist(conn);
	open_lock(notes, conn);
	if (!notes->exists)
		return notes;
	check_run(notes, conn);
	read_rows(notes, conn);
	return notes;
}

/* ----------
 * Decisions
 * ----------
 */
static Note *
find_note(const ClusterNotes *notes, Oid source)
{
	for (int i = 0; i < notes->n_notes; i++)
		if (notes->notes[i].source == source)
			return &notes->notes[i];
	return NULL;
}

/* The OID of a database on the target; 0 if there is none. */
static Oid
find_database(const PGresult *databases, const char *name)
{
	for (int i = 0; i < PQntuples(databases); i++)
		if (strcmp(PQgetvalue(databases, i, 1), name) == 0)
			return (Oid) strtoul(PQgetvalue(databases, i, 0), NULL, 10);
	return InvalidOid;
}

/*
 * Look into the database: does it contain a journal, with which --resume
 * continues, and is it empty?  Returns false, after an error, if it cannot be
 * queried.
 */
static bool
look_into(const ClusterNotes *notes, const char *name, bool *has_journal,
		  bool *is_empty)
{
	PeerAddress there = *notes->address;
	PGconn	   *conn;

	there.private_conninfo = cluster_list_conninfo(notes->address, name);
	conn = connection_try_peer(&there, "pg_parrestore");
	if (PQstatus(conn) != CONNECTION_OK)
	{
		interrupt_check();
		pg_log_error("could not connect to database \"%s\" of the target: %s",
					 name, connection_words(conn));
		PQfinish(conn);
		return false;
	}
	interrupt_set_connection(conn);
	cluster_session_set_up(conn);
	*has_journal = restore_journal_exists(conn);
	*is_empty = session_is_true(conn, empty_query) &&
		target_extension_rows(conn, NULL, NULL) == NULL;
	cluster_session_close(conn);
	return true;
}

static ClusterTodo
refuse(const char *error, const ClusterDatabase *database)
{
	pg_log_error(error, database->name);
	pg_log_error_hint(cluster_list_is_initial(database) ?
					  "Drop the objects in it, or exclude it with --exclude-database." :
					  "Drop it, or exclude it with --exclude-database.");
	return CLUSTER_TODO_REFUSED;
}

static ClusterTodo
decide_complete(const ClusterDatabase *database, const Note *note)
{
	if (strcmp(note->archive, database->identity) != 0)
		return refuse("database \"%s\" on the target was restored from another archive",
					  database);
	return CLUSTER_TODO_NOTHING;
}

/*
 * Decide what to do with a database.  If its note says "ending", it is
 * complete as soon as its journal is gone, because nothing else was left to
 * do.
 */
static ClusterTodo
decide(const ClusterNotes *notes, const ClusterDatabase *database,
	   const Note *note)
{
	bool		is_same = note && note->target == database->target;
	bool		has_journal;
	bool		is_empty;

	if (database->target == InvalidOid)
		return CLUSTER_TODO_CREATE;
	if (!notes->options->resume)
		return CLUSTER_TODO_BEGIN;
	if (is_same && note->state == NOTE_DONE)
		return decide_complete(database, note);
	if (!look_into(notes, database->name, &has_journal, &is_empty))
		return CLUSTER_TODO_REFUSED;
	if (has_journal)
		return CLUSTER_TODO_RESUME;
	if (is_same && note->state == NOTE_ENDING)
		return decide_complete(database, note);
	if (!is_empty)
		return refuse("database \"%s\" on the target is not empty, and was not restored from this archive",
					  database);

	/*
	 * It did not exist when an earlier run noted it, so that run has created
	 * it.
	 */
	if (note && note->state == NOTE_BEGUN && note->target == InvalidOid &&
		!cluster_list_is_initial(database))
		return CLUSTER_TODO_CREATE_AGAIN;
	return CLUSTER_TODO_BEGIN;
}

void
cluster_notes_decide(ClusterNotes *notes, PGconn *conn, ClusterList *list)
{
	PGresult   *databases;
	int			n = 0;

	if (notes->is_refused)
		return;
	databases = session_query(conn, databases_query);
	for (int i = 0; i < list->n; i++)
	{
		ClusterDatabase *database = &list->databases[i];
		Note	   *note = find_note(notes, database->oid);

		database->target = find_database(databases, database->name);
		database->todo = decide(notes, database, note);
		database->existed = database->todo == CLUSTER_TODO_BEGIN ||
			(database->todo == CLUSTER_TODO_RESUME && note && note->existed);
		if (database->todo != CLUSTER_TODO_NOTHING)
		{
			list->databases[n++] = *database;
			continue;
		}
		pg_log_info("database \"%s\" is already restored", database->name);
		note->is_complete = true;
		notes->n_done++;
		notes->n_with_errors += note->errors > 0;
	}
	list->n = n;
	list->n_before = notes->n_done;
	interrupt_set_connection(conn);
	PQclear(databases);
}

/* How a database is restored; NULL if an error has refused it. */
static const char *const todo_texts[] = {
	[CLUSTER_TODO_CREATE] = "new database",
	[CLUSTER_TODO_CREATE_AGAIN] = "new database, after the empty one of an interrupted restore is dropped",
	[CLUSTER_TODO_BEGIN] = "existing database",
	[CLUSTER_TODO_RESUME] = "unfinished restore, to be resumed",
	[CLUSTER_TODO_REFUSED] = NULL
};

void
cluster_notes_show(const ClusterNotes *notes, const ClusterList *list,
				   const char *connections)
{
	cluster_list_show(list, ngettext("A run would restore %d database, %s with indexes:",
									 "A run would restore %d databases, %s with indexes:",
									 list->n),
					  notes->lock, globals_names(notes->options));
	for (int i = 0; i < list->n; i++)
	{
		const ClusterDatabase *database = &list->databases[i];
		const char *text = todo_texts[database->todo];

		if (text)
			findings_note(psprintf("  %s: %s, %s",
								   printable(database->name), text,
								   units_size(database->bytes)));
	}
	if (notes->n_done > 0)
		findings_note(psprintf(ngettext("  restored by earlier runs: %d database",
										"  restored by earlier runs: %d databases",
										notes->n_done), notes->n_done));
	findings_note(psprintf("  jobs: %d", notes->options->jobs));
	findings_note(connections);
	findings_note(psprintf("  progress table: %s in database \"%s\"",
						   CLUSTER_NOTES_TABLE, printable(notes->database)));
	findings_note("  not checked: archives; extensions, tablespaces and privileges of the target");
}

/* ----------
 * Writing
 * ----------
 */

/*
 * Drop an empty database that was noted before it existed.  Its own settings
 * and privileges, which are restored when it is created, may be missing.  One
 * of these settings may be that it is a template, which cannot be dropped.
 */
static void
drop_empty(PGconn *conn, const ClusterDatabase *database)
{
	char	   *name = PQescapeIdentifier(conn, database->name,
										  strlen(database->name));

	session_command(conn, psprintf("ALTER DATABASE %s IS_TEMPLATE false", name ? name : ""));
	session_command(conn, psprintf("DROP DATABASE %s", name ? name : ""));
}

/*
 * Write all notes of this run before it begins, in the session's transaction.
 */
static void
write_notes(const ClusterNotes *notes, PGconn *conn, const ClusterList *list)
{
	for (int i = 0; i < notes->n_notes; i++)
	{
		Note		note = notes->notes[i];

		/* It was ending, and has turned out to be complete. */
		if (!note.is_complete || note.state == NOTE_DONE)
			continue;
		note.state = NOTE_DONE;
		set_note(conn, notes->identity, &note);
	}
	for (int i = 0; i < list->n; i++)
	{
		const ClusterDatabase *database = &list->databases[i];
		const Oid	existing = database->todo == CLUSTER_TODO_CREATE_AGAIN ?
			InvalidOid : database->target;
		const char *params[] = {psprintf("%u", database->oid),
			psprintf("%u", existing), database->identity,
		database->existed ? "t" : "f"};

		PQclear(target_query(conn, add_query, 4, params));
	}
}

/* An exit callback for a restore that was interrupted or fails. */
static void
cluster_notes_suggest_resume(void *arg)
{
	message_hint("Run the same command with --resume to continue.");
}

void
cluster_notes_begin(ClusterNotes *notes, PGconn *conn, const ClusterList *list)
{
	if (notes->n_done > 0 && progress_is_shown())
	{
		message_before_output();
		fprintf(stderr, ngettext("restored by earlier runs: %d database\n",
								 "restored by earlier runs: %d databases\n",
								 notes->n_done), notes->n_done);
	}
	notes->is_kept = notes->exists || make_table(notes, conn);
	if (!notes->is_kept)
		close_lock(notes);
	else if (!notes->is_locked &&
			 restore_journal_lock_view(notes->lock, LOCK_VIEW) != RESTORE_JOURNAL_LOCKED)
		refuse_other_run();
	interrupt_set_connection(conn);
	for (int i = 0; i < list->n; i++)
		if (list->databases[i].todo == CLUSTER_TODO_CREATE_AGAIN)
			drop_empty(conn, &list->databases[i]);
	if (!notes->is_kept)
		return;
	begin_writing(conn);
	lock_notes(conn);
	write_notes(notes, conn, list);
	session_command(conn, "COMMIT");
	cleanup_push(cluster_notes_suggest_resume, notes);
}

/*
 * A RestoreJournalNote callback, in the process of a run, within
 * session_try().
 */
static void
note_run(void *arg, Oid target, bool is_done, int errors)
{
	const RunNote *run = arg;
	const Note	note = {
		.source = run->database->oid,
		.target = target,
		.state = is_done ? NOTE_DONE : NOTE_ENDING,
		.archive = run->database->identity,
		.errors = errors
	};
	PGconn	   *conn = connection_open_peer(run->notes->address, "pg_parrestore");

	cluster_session_set_up(conn);
	begin_writing(conn);
	lock_notes(conn);
	set_note(conn, run->notes->identity, &note);
	session_command(conn, "COMMIT");
	cluster_session_close(conn);
}

void
cluster_notes_enter(const ClusterNotes *notes, const ClusterDatabase *database)
{
	RunNote    *run = pg_malloc0(sizeof(RunNote));

	if (!notes->is_kept)
		return;
	run->notes = notes;
	run->database = database;
	restore_journal_set_note(note_run, run);
}

/*
 * Drop the table.  If an event trigger of the target prevents this, it is not
 * an error of the restore.
 */
static void
drop_table(const ClusterNotes *notes, PGconn *conn)
{
	PGresult   *res = PQexec(conn, DROP_COMMAND);

	if (PQresultStatus(res) != PGRES_COMMAND_OK)
	{
		pg_log_warning("could not drop schema " CLUSTER_NOTES_SCHEMA " in database \"%s\": %s",
					   notes->database, PQresultErrorMessage(res));
		pg_log_warning_detail("All databases are restored.  The schema only recorded the progress.");
		pg_log_warning_hint("Drop the schema in this database: " DROP_COMMAND ";");
	}
}

/*
 * The session with the lock removes the table, so that no other run can begin
 * in between.  The session may have been lost during the runs, so it is
 * checked.
 */
static PGconn *
begin_end(const ClusterNotes *notes, PGconn *conn)
{
	PGconn	   *writer = session_answers(notes->lock) ? notes->lock : conn;

	interrupt_set_connection(writer);
	if (writer == conn)
		begin_writing(conn);
	else
		set_for_writing(writer);
	return writer;
}

const char *
cluster_notes_table_detail(const ClusterNotes *notes)
{
	return psprintf("Table %s in database \"%s\" records the state of each database.",
					CLUSTER_NOTES_TABLE, printable(notes->database));
}

int
cluster_notes_end(ClusterNotes *notes, PGconn *conn, int *n_left)
{
	ClusterNotes now = *notes;
	PGconn	   *writer;

	if (notes->n_with_errors > 0)
		pg_log_warning(ngettext("an earlier run restored %d database with errors",
								"an earlier run restored %d databases with errors",
								notes->n_with_errors), notes->n_with_errors);
	if (!notes->is_kept)
		return notes->n_with_errors;
	writer = begin_end(notes, conn);
	lock_notes(writer);
	read_rows(&now, writer);
	for (int i = 0; i < now.n_notes; i++)
		*n_left += now.notes[i].state != NOTE_DONE;
	if (*n_left == 0)
		drop_table(notes, writer);
	session_command(writer, "COMMIT");
	close_lock(notes);
	interrupt_set_connection(conn);
	return notes->n_with_errors;
}
