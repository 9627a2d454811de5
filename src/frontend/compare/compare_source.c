/*
 * compare_source.c
 *		Opens the source that a restored database is compared with.
 */
#include "base/fe_compat.h"

#include "base/findings.h"
#include "base/interrupt.h"
#include "base/printable.h"
#include "compare/compare.h"
#include "compare/compare_source.h"
#include "plan/dump_table_read.h"
#include "session/session_settings.h"
#include "source/leader.h"
#include "source/leader_session.h"
#include "source/source_check.h"

/* As pg_pardump's --stall-timeout is by default. */
#define STALL_TIMEOUT_S 60

/*
 * A restore's options are the target's: of the source we know but how to
 * connect.  Sums are computed by queries, which do without the extension.
 * Owned.
 */
static Options *
source_options(const Options *options)
{
	Options    *result = pg_malloc0(sizeof(Options));

	result->connection.dbname = pg_strdup(options->compare_with);
	result->connection.prompt_password = options->connection.prompt_password;
	result->jobs = options->jobs;
	result->retries = options->retries;
	result->stall_timeout = STALL_TIMEOUT_S;
	result->standby_snapshot_timeout = options->standby_snapshot_timeout;
	result->allow_affected_standby = options->allow_affected_standby;
	result->trust_owners = options->trust_owners;
	result->no_extension = true;
	result->compare = true;
	return result;
}

/* One row a table, in the order of the array; NULL if there is none. */
static const char find_query[] =
"SELECT pg_catalog.to_regclass(t.name)::pg_catalog.oid"
" FROM pg_catalog.unnest($1::pg_catalog.text[]) WITH ORDINALITY t (name, no)"
" ORDER BY t.no";

/*
 * The archive's table of contents with the OIDs that its tables have in the
 * source now: it may be a replica, or itself restored.  Owned.
 */
static Toc *
find_tables(PGconn *conn, const Toc *toc)
{
	DumpTables *tables = dump_tables_of_toc(toc);
	char	   *names = dump_tables_name_array(conn, tables, false);
	const char *params[] = {names};
	PGresult   *res = session_query_params(conn, find_query, 1, params, 0);
	Toc		   *result = pg_malloc(sizeof(Toc));
	int			no = 0;

	*result = *toc;
	result->entries = pg_malloc((toc->n_entries + 1) * sizeof(TocEntry));
	for (int i = 0; i < toc->n_entries; i++)
	{
		TocEntry   *entry = &result->entries[i];

		*entry = toc->entries[i];
		if (!toc_entry_is_table_data(entry))
			continue;
		if (PQgetisnull(res, no, 0))
			pg_fatal("the source has no table %s, which the archive has",
					 printable(tables->tables[no].name));
		entry->oid = (Oid) strtoul(PQgetvalue(res, no++, 0), NULL, 10);
	}
	PQclear(res);
	free(names);
	return result;
}

/*
 * What is compared, of what was, or is to be, restored.  Tables are locked in
 * the transaction, and what keeps us from comparing them is told: findings.
 */
static void
plan_source(PGconn *conn, const Options *options, DumpPlan *plan)
{
	session_set_encoding(conn, plan->encoding);
	plan->toc = plan->pg_dump_toc = find_tables(conn, plan->toc);
	plan->tables = dump_tables_read(conn, plan->toc, options,
									plan->lock_wait_ms);
	source_check(conn, options, plan);
}

void
compare_source_check(const Run *run, const Target *target,
					 const char *new_name)
{
	Options    *options = source_options(run->options);
	PGconn	   *conn = connection_open_leader(options, "pg_parrestore");
	DumpPlan	plan = *run->plan;
	const DumpOrigin *origin =
		dump_origin_read(conn, false,
						 session_may_execute(conn, "pg_catalog.pg_control_system()"));

	target_refuse_same_database(target, origin, new_name);
	session_set_up(conn, options, options->encoding);
	session_begin(conn, "BEGIN ISOLATION LEVEL READ COMMITTED, READ ONLY");
	plan_source(conn, options, &plan);
	interrupt_set_connection(NULL);
	session_close(conn);
}

int
compare_source(const Run *run, const Target *target)
{
	Source	   *source = pg_malloc0(sizeof(Source));
	DumpPlan   *plan = pg_malloc(sizeof(DumpPlan));
	Options    *options = source_options(run->options);
	Run			compared = *run;
	int			n_different;

	*plan = *run->plan;
	source->options = compared.options = options;
	compared.plan = plan;
	leader_connect(source);
	leader_open(source, NULL, plan);
	plan_source(source->conn, options, plan);
	findings_settle();
	/* exit callbacks and workers use them until the process ends */
	leader_session_begin(source, plan);
	n_different = compare_contents(source, target, &compared);
	leader_close(source);
	return n_different;
}
