/*
 * restore_order.c
 *		In which order rows come where foreign keys are there already.
 *
 * Rows go into tables that the restore did not make (--data-only) with their
 * foreign keys in force.  pg_dump orders the data of an archive without
 * definitions by these (pg_dump.c:getTableDataFKConstraints), but of one with
 * definitions it does not, and workers go side by side.  So the target is
 * asked.  It checks a key at the end of the COPY (ri_triggers.c).
 */
#include "base/fe_compat.h"

#include "plan/dump_table_read.h"
#include "restore/restore_order.h"
#include "session/session.h"

/*
 * Keys between the tables, by their numbers from 1: partitions have those of
 * the partitioned tables they are part of.
 */
static const char keys_query[] =
"WITH loaded AS ("
"SELECT t.no, COALESCE(pg_catalog.pg_partition_root(r.oid), r.oid)::pg_catalog.oid AS root"
" FROM pg_catalog.unnest($1::pg_catalog.text[]) WITH ORDINALITY t (name, no),"
" LATERAL (SELECT pg_catalog.to_regclass(t.name)::pg_catalog.oid) r (oid)"
"), keys AS ("
"SELECT DISTINCT COALESCE(pg_catalog.pg_partition_root(c.conrelid), c.conrelid)::pg_catalog.oid AS from_root,"
" COALESCE(pg_catalog.pg_partition_root(c.confrelid), c.confrelid)::pg_catalog.oid AS to_root"
" FROM pg_catalog.pg_constraint c WHERE c.contype OPERATOR(pg_catalog.=) 'f'"
")"
" SELECT DISTINCT f.no, t.no FROM keys k"
" JOIN loaded f ON f.root OPERATOR(pg_catalog.=) k.from_root"
" JOIN loaded t ON t.root OPERATOR(pg_catalog.=) k.to_root";

/*
 * Each table in the wave after the last of those that it references.  Where
 * they go round in a circle that has no end; so many steps are enough
 * without.
 */
static int *
number_waves(const PGresult *keys, int n_tables)
{
	int		   *waves = pg_malloc0((n_tables + 1) * sizeof(int));
	bool		changed = true;

	for (int step = 0; changed && step < n_tables; step++)
	{
		changed = false;
		for (int i = 0; i < PQntuples(keys); i++)
		{
			int			from = atoi(PQgetvalue(keys, i, 0)) - 1;
			int			to = atoi(PQgetvalue(keys, i, 1)) - 1;

			if (from == to || waves[from] > waves[to])
				continue;
			waves[from] = waves[to] + 1;
			changed = true;
		}
	}
	return waves;
}

const JobQueue *
restore_order_make(PGconn *conn, const ArchivePlan *archive)
{
	const DumpPlan *plan = &archive->plan;
	int			n_tables = plan->tables->n_tables;
	char	   *names = dump_tables_name_array(conn, plan->tables, false);
	const char *params[] = {names};
	PGresult   *keys = session_query_params(conn, keys_query, 1, params, 0);
	bool	   *at_once = pg_malloc0((n_tables + 1) * sizeof(bool));
	int		   *waves = number_waves(keys, n_tables);
	JobRules	rules = {.waves = waves,.at_once = at_once,
	.shares = archive->shares,.targets = plan->tables};
	const JobQueue *queue;

	for (int i = 0; i < PQntuples(keys); i++)
		if (strcmp(PQgetvalue(keys, i, 0), PQgetvalue(keys, i, 1)) == 0)
			at_once[atoi(PQgetvalue(keys, i, 0)) - 1] = true;
	queue = job_queue_make(plan->chunks, plan->objects, &rules);
	PQclear(keys);
	free(names);
	free(at_once);
	free(waves);
	return queue;
}
