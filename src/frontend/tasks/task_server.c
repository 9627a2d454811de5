/*
 * task_server.c
 *		Connects a task to the server of its leader, and checks that the
 *		server is the right one and that the leader is still there.
 *
 * A task starts on another host, with another environment, and perhaps hours
 * later.  It must read from the same server, on the same timeline, and as the
 * same role, to get the same rows.  It must also stop when the leader is
 * gone: a worker's transaction could continue with the snapshot, but the
 * leader would not add the rows to an archive.
 */
#include "base/fe_compat.h"

#include "fe_utils/string_utils.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/identifier.h"
#include "base/interrupt.h"
#include "options/own_options.h"
#include "session/session_settings.h"
#include "tasks/task_server.h"

/* ----------
 * The address of the server.
 * ----------
 */

/*
 * The environment variables that libpq reads (EnvironmentOptions in
 * fe-connect.c).
 */
#define TIME_ZONE "PGTZ"
#define DATE_STYLE "PGDATESTYLE"

/* The longest time for one attempt to connect. */
#define CONNECT_TIMEOUT_S "30"

/*
 * Split a connection string into libpq's options.  Exits with the message
 * "error" if it is not valid.
 */
static PQconninfoOption *
parse(const char *conninfo, const char *error)
{
	PQconninfoOption *options = PQconninfoParse(conninfo, NULL);

	/*
	 * libpq's message would quote the string, which may contain a password.
	 */
	if (options == NULL)
		pg_fatal("%s", error);
	return options;
}

static PQconninfoOption *
find(PQconninfoOption *options, const char *keyword)
{
	while (options->keyword && strcmp(options->keyword, keyword) != 0)
		options++;
	return options->keyword ? options : NULL;
}

static void
set(PQconninfoOption *options, const char *keyword, const char *value)
{
	PQconninfoOption *option = find(options, keyword);

	if (option == NULL || value == NULL)
		return;
	option->val = pg_strdup(value);

	/*
	 * libpq prefers hostaddr to host, so an old address would override the
	 * new name.
	 */
	if (strcmp(keyword, "host") == 0)
		find(options, "hostaddr")->val = NULL;
}

/*
 * Set the database, or, if dbname is a connection string, all options in it.
 */
static void
set_database(PQconninfoOption *options, const char *dbname)
{
	PQconninfoOption *given;

	if (!identifier_is_conninfo(dbname))
	{
		set(options, "dbname", dbname);
		return;
	}
	given = parse(dbname, "invalid connection string for option -d/--dbname");
	/* Set hostaddr last, because setting the host clears it. */
	for (PQconninfoOption *option = given; option->keyword; option++)
		if (strcmp(option->keyword, "hostaddr") != 0)
			set(options, option->keyword, option->val);
	set(options, "hostaddr", find(given, "hostaddr")->val);
	PQconninfoFree(given);
}

/*
 * Returns the address of the server: that of the leader, except for the parts
 * that are set on this host's command line, since the server may have another
 * name here.  The password is found as usual for libpq (PGPASSFILE), or
 * printed by password_command, which may be NULL.  The caller owns the
 * result.
 */
static PeerAddress *
task_address(const char *conninfo, const ConnParams *params,
			 const char *password_command)
{
	PeerAddress *address = pg_malloc0(sizeof(PeerAddress));
	PQconninfoOption *options = parse(conninfo, "invalid connection string in the plan");
	PQExpBufferData buf;

	/*
	 * The plan's password file is a path on the leader's host, so prefer the
	 * one of this host.
	 */
	if (getenv("PGPASSFILE") || password_command)
		find(options, "passfile")->val = NULL;
	if (params->dbname)
		set_database(options, params->dbname);
	set(options, "host", params->pghost);
	set(options, "port", params->pgport);
	set(options, "user", params->pguser);
	initPQExpBuffer(&buf);

	/*
	 * Only options that the leader or this command line has set have values
	 * here: libpq fills in the defaults when it connects.
	 */
	for (; options->keyword; options++)
		if (options->val)
			conninfo_append(&buf, options->keyword, options->val);

	/*
	 * A task on a host that cannot reach the server should fail, not hang.
	 * The last argument, 0, keeps a value that the user has set.
	 */
	setenv("PGCONNECT_TIMEOUT", CONNECT_TIMEOUT_S, 0);
	address->command = password_command_get(password_command);
	if (address->command)
		address->secrets.password_file = password_command_file(address->command);
	address->conninfo = address->private_conninfo = buffer_text(&buf);
	return address;
}

/*
 * Returns the address with the options that the leader's environment has set
 * (PGOPTIONS, PGSSLMODE and others), because tasks need not have the same
 * environment.  They include all options without which a connection would be
 * less secure.
 */
char *
task_address_of(PGconn *conn, const PeerAddress *address)
{
	static const char *const keywords[] = {
		"options", "sslmode", "channel_binding", "require_auth", "gssencmode",
		"ssl_min_protocol_version", "requirepeer", NULL
	};
	PQconninfoOption *options = PQconninfo(conn);
	PQExpBufferData text = buffer_new();

	/*
	 * An empty value comes first, so that PGOPTIONS of the task's host has no
	 * effect if the leader has none; a later value of the leader replaces it.
	 */
	appendPQExpBufferStr(&text, "options='' ");
	appendPQExpBuffer(&text, "%s%s", address->conninfo, address->tcp_settings);
	for (PQconninfoOption *option = options; option && option->keyword; option++)
		if (option->val && option->val[0] &&
			conninfo_is_one_of(option->keyword, keywords))
			conninfo_append(&text, option->keyword, option->val);
	PQconninfoFree(options);
	return buffer_text(&text);
}

/* ----------
 * The identity of the server, and the lock of the leader.
 * ----------
 */

/* The longest wait for an answer about the lock. */
#define ANSWER_MS 15000

/*
 * How long the leader tries to take the lock, and its wait between attempts.
 */
#define LOCK_FOR_MS 5000
#define LOCK_MS 100

/*
 * Hosting services may have revoked these functions.  The privilege is
 * queried separately, because a query that calls a function without privilege
 * fails, even if the call is in a branch that is not executed.
 */
static const char may_query[] =
"SELECT pg_catalog.has_function_privilege('pg_catalog.pg_control_system()', 'EXECUTE')"
" AND pg_catalog.has_function_privilege('pg_catalog.pg_control_checkpoint()', 'EXECUTE')"
" AND pg_catalog.has_function_privilege('pg_catalog.pg_control_recovery()', 'EXECUTE'),"
" pg_catalog.current_database(), SESSION_USER";

/*
 * The control file has two timelines, one of which is updated later, so the
 * greater one is current (as in standby_snapshot.c).
 */
static const char server_query[] =
"SELECT s.system_identifier, GREATEST(c.timeline_id, r.min_recovery_end_timeline)"
" FROM pg_catalog.pg_control_system() s, pg_catalog.pg_control_checkpoint() c,"
" pg_catalog.pg_control_recovery() r";

/*
 * Query the identity of the server.  The identifier and timeline are empty if
 * the role lacks the privilege.
 */
static TaskServer
task_server_read(PGconn *conn)
{
	PGresult   *res = session_query(conn, may_query);
	bool		may_ask = result_is_true(res, 0, 0);
	TaskServer	server = {
		.system_identifier = "",
		.timeline = "",
		.database = pg_strdup(PQgetvalue(res, 0, 1)),
		.user = pg_strdup(PQgetvalue(res, 0, 2)),
	};

	PQclear(res);
	if (!may_ask)
		return server;
	res = session_query(conn, server_query);
	server.system_identifier = pg_strdup(PQgetvalue(res, 0, 0));
	server.timeline = pg_strdup(PQgetvalue(res, 0, 1));
	PQclear(res);
	return server;
}

static void
check(const char *error, const char *is, const char *expected)
{
	if (strcmp(is, expected) == 0)
		return;
	pg_log_error(error, printable(is), printable(expected));
	pg_fatal_hint("Use -d/--dbname to connect to the leader's server.");
}

/*
 * Exit, because only one of leader and task may query the server's identity,
 * so that the two cannot be compared.
 */
static void
refuse_other_rights(PGconn *conn, bool may_ask)
{
	char	   *role = session_value(conn, "SELECT CURRENT_USER");

	pg_log_error("could not verify that this is the leader's server");
	pg_log_error_detail(may_ask ?
						"Role \"%s\" may execute pg_control_system(), pg_control_checkpoint() and pg_control_recovery() here, but the leader's role could not." :
						"Role \"%s\" may not execute pg_control_system(), pg_control_checkpoint() and pg_control_recovery() here, but the leader's role could.",
						printable(role));
	if (may_ask)
		pg_fatal_hint("Use -d/--dbname to connect to the leader's database.  If the privilege was granted after the leader had started, start the leader and all tasks again.");
	pg_fatal_hint("Use -d/--dbname to connect to the leader's database, or, as a superuser, run in database \"%s\": GRANT EXECUTE ON FUNCTION pg_control_system(), pg_control_checkpoint(), pg_control_recovery() TO %s;",
				  printable(PQdb(conn)), printable(fmtId(role)));
}

/*
 * Exit with a message unless the connection's server is the expected one, as
 * far as the role of the session can query its identity.
 */
static void
task_server_check(PGconn *conn, const TaskServer *expected)
{
	TaskServer	server = task_server_read(conn);
	bool		may_ask = server.system_identifier[0] != '\0';

	/*
	 * The role is compared first, because another role may have other
	 * privileges, which would lead to a misleading message below.
	 */
	if (strcmp(server.user, expected->user) != 0)
	{
		pg_log_error("role \"%s\" might see different rows than the leader's role \"%s\"",
					 printable(server.user), printable(expected->user));
		pg_fatal_hint("Connect as the leader's role.");
	}
	if (may_ask != (expected->system_identifier[0] != '\0'))
		refuse_other_rights(conn, may_ask);
	check("this is not the leader's server: its system identifier is \"%s\", not \"%s\"",
		  server.system_identifier, expected->system_identifier);
	check("this is not the leader's server: its timeline is \"%s\", not \"%s\"",
		  server.timeline, expected->timeline);
	check("this is not the leader's database: its name is \"%s\", not \"%s\"",
		  server.database, expected->database);
}

/*
 * The key of the lock, a bigint that other applications are unlikely to use:
 * the first 60 bits of the run's random ID.
 */
static uint64
lock_key(const char *run_id)
{
	char		digits[16];

	strlcpy(digits, run_id, sizeof(digits));
	return strtoull(digits, NULL, 16);
}

/*
 * Try for some seconds, but not without a limit: a session that keeps the
 * lock is not part of the run.  Every role can take the lock, because
 * pg_locks shows its key to all.
 */
void
task_server_hold(PGconn *conn, const char *run_id)
{
	char	   *sql = psprintf("SELECT pg_catalog.pg_try_advisory_lock('" UINT64_FORMAT "'::pg_catalog.int8)",
							   lock_key(run_id));
	bool		taken = false;

	for (int waited_ms = 0; !taken; waited_ms += LOCK_MS)
	{
		PGresult   *res = session_query(conn, sql);

		taken = result_is_true(res, 0, 0);
		PQclear(res);
		interrupt_check();
		if (!taken && waited_ms >= LOCK_FOR_MS)
			session_lost("another session holds the advisory lock that marks the leader as running");
		pg_usleep(taken ? 0 : LOCK_MS * 1000L);
	}
}

/*
 * In a task: exit with a message if no session holds the lock, because then
 * the leader's session has ended, and the snapshot with it.  Returns false if
 * the server did not answer; then this session is lost, or cannot be used.
 * Never waits longer than ANSWER_MS.
 *
 * Trying to take the lock is the only test that every role may make.  A task
 * tries shared mode, so that two tasks that check at the same time do not
 * mistake each other for the leader.  The lock belongs to the transaction, so
 * that it cannot be left behind in the session.
 */
static bool
task_server_check_leader(PGconn *conn, const char *run_id)
{
	char	   *sql = psprintf("SELECT pg_catalog.pg_try_advisory_xact_lock_shared('" UINT64_FORMAT "'::pg_catalog.int8)",
							   lock_key(run_id));
	PGresult   *res = session_exec_within(conn, sql, ANSWER_MS);
	bool		known = PQresultStatus(res) == PGRES_TUPLES_OK;
	bool		is_gone = known && result_is_true(res, 0, 0);

	PQclear(res);
	free(sql);
	if (is_gone)
	{
		pg_log_error("the run of this plan has ended");
		pg_log_error_detail("No session holds the run's lock on the server, so the snapshot of the run no longer exists.");
		pg_fatal_hint("Run pg_pardump --tasks again, which makes a new plan.");
	}
	return known;
}

/*
 * Returns an SQL expression for the process ID of the leader's session.
 * pg_locks shows the two halves of the key in separate columns, and has 1 in
 * objsubid for locks with a single key (lockfuncs.c).
 */
char *
task_server_leader_process(const char *run_id)
{
	uint64		key = lock_key(run_id);

	return psprintf("(SELECT l.pid FROM pg_catalog.pg_locks l"
					" JOIN pg_catalog.pg_database d ON d.oid OPERATOR(pg_catalog.=) l.database"
					" WHERE l.mode OPERATOR(pg_catalog.=) 'ExclusiveLock'"
					" AND l.locktype OPERATOR(pg_catalog.=) 'advisory' AND l.granted"
					" AND d.datname OPERATOR(pg_catalog.=) pg_catalog.current_database()"
					" AND l.classid OPERATOR(pg_catalog.=) '%u'::pg_catalog.oid"
					" AND l.objid OPERATOR(pg_catalog.=) '%u'::pg_catalog.oid"
					" AND l.objsubid OPERATOR(pg_catalog.=) 1 LIMIT 1)",
					(uint32) (key >> 32), (uint32) key);
}

/* ----------
 * The identity and options of the run.
 * ----------
 */

TaskRun
task_run_make(const char *run_id, const Options *options, PGconn *conn,
			  const PeerAddress *address)
{
	TaskRun		run = {
		.version = PARDUMP_VERSION,
		.what = TASKS_DUMP,
		.run_id = unconstify(char *, run_id),
		.n_tasks = (int) options->tasks,
		.conninfo = task_address_of(conn, address),
		.server = task_server_read(conn),
		.role = unconstify(char *, options->role),
		.enable_row_security = options->enable_row_security,
		.retries = options->retries,
		.time_zone = getenv(TIME_ZONE),
		.date_style = getenv(DATE_STYLE),
	};

	return run;
}

/*
 * The leader's options replace those of this command line if they decide
 * which rows are read or how they are printed: all tasks must do this in the
 * same way.
 */
void
task_run_settle(const TaskRun *run, Options *options, int *task, int *n_tasks)
{
	options->role = run->role;
	options->enable_row_security = run->enable_row_security;
	options->retries = run->retries;
	/* libpq reads these two only from the environment, when it connects. */
	environment_set(TIME_ZONE, run->time_zone);
	environment_set(DATE_STYLE, run->date_style);
	task_options_read_planned(options->task, run->n_tasks, task, n_tasks);
}

/* ----------
 * The servers that a task reads from.
 * ----------
 */

/* How often a task checks whether the leader is still there. */
#define LOOK_MS 2000

struct TaskServers
{
	const Options *options;
	const DumpTaskPlan *plan;
	Source	   *source;
	int			task;
	int			n_workers;
	int			n;
	PGconn	  **conns;			/* by server; NULL while not connected */
	int			connecting;		/* the server for connect_look() */
	int			n_begun;		/* workers so far, including replacements */
	int64		looked_at;
};

TaskServers *
task_servers_new(const Options *options, const DumpTaskPlan *plan, int task,
				 Source *source)
{
	TaskServers *servers = pg_malloc0(sizeof(TaskServers));

	servers->options = options;
	servers->plan = plan;
	servers->source = source;
	servers->task = task;
	servers->n = plan->n_standbys + 1;
	servers->conns = pg_malloc0(servers->n * sizeof(PGconn *));
	source->address = task_address(plan->head.run.conninfo,
								   &options->connection,
								   options->password_command);
	if (plan->n_standbys > 0)
	{
		static const ConnParams as_leader;
		Standbys   *standbys = pg_malloc0(sizeof(Standbys));

		/*
		 * The first entry stays empty, because source->address is used for
		 * it.
		 */
		standbys->options = options;
		standbys->n = servers->n;
		standbys->list = pg_malloc0(servers->n * sizeof(Standby));
		for (int i = 1; i < servers->n; i++)
		{
			const PlannedStandby *planned = &plan->standbys[i - 1];
			Standby    *standby = &standbys->list[i];

			standby->name = planned->name;
			standby->snapshot = planned->snapshot;
			standby->identity = planned->identity;
			standby->holder_query = planned->holder_query;
			standby->address = task_address(planned->conninfo, &as_leader,
											options->password_command);
		}
		source->standbys = standbys;
	}
	return servers;
}

/* ----------
 * The sessions that check the servers.
 * ----------
 */
static void
connect_look(void *arg)
{
	TaskServers *servers = arg;
	int			no = servers->connecting;
	PGconn	  **conn = &servers->conns[no];
	const TaskRun *run = &servers->plan->head.run;

	*conn = connection_open_peer(no == 0 ? servers->source->address :
								 servers->source->standbys->list[no].address,
								 "pg_pardump task");
	session_set_up(*conn, servers->options, servers->plan->plan.encoding);
	if (no == 0)
	{
		task_server_check(*conn, &run->server);
		(void) task_server_check_leader(*conn, run->run_id);
	}
	/* session_look() uses a savepoint, which needs a transaction. */
	session_begin(*conn, "BEGIN");
}

/*
 * Close a session that is lost; task_servers_attend() will open another one.
 */
static void
lose_look(TaskServers *servers, int no)
{
	interrupt_set_connection(NULL);
	session_close(servers->conns[no]);
	servers->conns[no] = NULL;
}

/*
 * Connect to a server.  Returns NULL, or the reason why that failed.  Errors
 * of the functions called here, which would end the process otherwise, are
 * returned as texts (session_try()).
 */
static char *
connect_to(TaskServers *servers, int no)
{
	char	   *cause;

	servers->connecting = no;
	cause = session_try(connect_look, servers);
	if (cause && servers->conns[no])
		lose_look(servers, no);
	return cause;
}

/*
 * Warn if the server allows too few connections.  The workers are distributed
 * evenly over the servers, so each server gets only some of them.
 */
static void
task_server_check_workers(void *arg)
{
	const TaskServers *servers = arg;

	connection_limit_check_workers(servers->conns[0],
								   (servers->n_workers + servers->n - 1) / servers->n,
								   servers->n);
}

char *
task_servers_connect(TaskServers *servers, int n_workers)
{
	char	   *cause = connect_to(servers, 0);

	servers->looked_at = clock_monotonic_ms();
	servers->n_workers = n_workers;

	/*
	 * A single worker needs no check: it reports a failure to connect itself.
	 */
	if (cause || n_workers <= 1)
		return cause;
	return session_try(task_server_check_workers, servers);
}

PGresult *
task_servers_look(void *arg, int server, const char *query, bool silently)
{
	TaskServers *servers = arg;
	bool		lost = false;
	PGresult   *res = servers->conns[server] == NULL ? NULL :
		session_look(servers->conns[server], query, ANSWER_MS, &lost);

	if (lost)
		lose_look(servers, server);
	return res;
}

/*
 * Workers cannot notice that the leader is gone, because the snapshot stays
 * valid in transactions that have imported it.  So this process checks for
 * the leader.  A lost session is opened again at the next call, if possible.
 * A failure to connect is ignored here: workers that lose the server have
 * retries of their own, and report it.
 */
void
task_servers_attend(TaskServers *servers)
{
	int64		now = clock_monotonic_ms();

	if (now - servers->looked_at < LOOK_MS)
		return;
	servers->looked_at = now;
	if (servers->conns[0] &&
		!task_server_check_leader(servers->conns[0], servers->plan->head.run.run_id))
		lose_look(servers, 0);
	for (int i = 0; i < servers->n; i++)
		if (servers->conns[i] == NULL &&
			(i == 0 || worker_states_count(servers->source->states,
										   servers->options->jobs, i) > 0))
			free(connect_to(servers, i));
}

/*
 * Both tasks and the workers of a task start at different servers, to
 * distribute the load.
 */
int
task_servers_choose(TaskServers *servers)
{
	return (servers->task + servers->n_begun++) % servers->n;
}

void
task_servers_close(TaskServers *servers)
{
	for (int i = 0; i < servers->n; i++)
		lose_look(servers, i);
}
