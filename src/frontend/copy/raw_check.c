/*
 * raw_check.c
 *		Which tables can be copied as raw tuples, as the source stores them.
 *
 * What tuples look like depends on the machine, on how the server was built,
 * and on its major; on the encoding of the database; and on the table.  Of
 * tables and of types both servers' extensions say what they can do
 * (pg_pardump_raw_reason()); the server that loads checks constraints.
 */
#include "base/fe_compat.h"

#include "copy/raw_check.h"
#include "session/session.h"
#include "target/target.h"

/*
 * Tuples are the same in all of these, and the tests (t/089_copy_raw.pl,
 * scripts/test_majors.sh) copy from and to them.
 */
static const int known_majors[] = {15, 17, 18};

static const char reasons_query[] =
"SELECT CASE WHEN t.oid OPERATOR(pg_catalog.<>) 0::pg_catalog.oid THEN"
" " PARDUMP_RAW_REASON "(t.oid::pg_catalog.regclass, $2::pg_catalog.bool) END"
" FROM pg_catalog.unnest($1::pg_catalog.oid[]) WITH ORDINALITY t (oid, no)"
" ORDER BY t.no";

static bool
is_known_major(PGconn *conn)
{
	for (int i = 0; i < (int) lengthof(known_majors); i++)
		if (PQserverVersion(conn) / 10000 == known_majors[i])
			return true;
	return false;
}

/* Has a parameter that libpq knows this value? */
static bool
has_parameter(PGconn *conn, const char *name, const char *value)
{
	const char *its = PQparameterStatus(conn, name);

	return its && value && strcmp(its, value) == 0;
}

static const char *
check_layout(const DumpOrigin *source, const TargetState *target)
{
	if (strcmp(source->layout, target->layout) != 0)
		return "source and target store rows in different ways";
	if (source->has_lz4 && !target->has_lz4)
		return "the target's server was built without lz4";
	return NULL;
}

const char *
raw_check_servers(PGconn *source_conn, PGconn *target_conn,
				  const DumpPlan *plan)
{
	TargetState target;

	if (plan->extension->missing)
		return plan->extension->missing;
	if (!is_known_major(source_conn) || !is_known_major(target_conn))
		return "of one of the servers' majors it is not known how it stores rows";
	if (!has_parameter(target_conn, "is_superuser", "on"))
		return "the role is no superuser on the target";
	target = target_state(target_conn);
	return check_layout(plan->origin, &target);
}

const char *
raw_check_encoding(PGconn *source_conn, PGconn *target_conn)
{
	if (!has_parameter(source_conn, "server_encoding",
					   PQparameterStatus(target_conn, "server_encoding")))
		return "source and target have different encodings";
	return NULL;
}

const char *
raw_check_loader(const ServerExtension *loader)
{
	if (loader->missing)
		return psprintf("on the target %s", loader->missing);
	return NULL;
}

/*
 * Why each of n tables cannot be read or loaded, of those without an OID
 * NULL.
 */
static const char **
ask_reasons(PGconn *conn, const Oid *tables, int n, bool loading)
{
	const char **reasons = pg_malloc0((n + 1) * sizeof(char *));
	char	   *oids = oid_array(tables, n);
	const char *params[] = {oids, loading ? "true" : "false"};
	PGresult   *res = session_query_params(conn, reasons_query, 2, params, 0);

	if (PQntuples(res) != n)
		pg_fatal("the server describes %d tables where %d were expected",
				 PQntuples(res), n);
	for (int i = 0; i < n; i++)
		if (!PQgetisnull(res, i, 0))
			reasons[i] = pg_strdup(PQgetvalue(res, i, 0));
	PQclear(res);
	free(oids);
	return reasons;
}

const char **
raw_check_source_tables(PGconn *conn, const DumpPlan *plan)
{
	int			n = plan->tables->n_tables;
	Oid		   *tables = pg_malloc0((n + 1) * sizeof(Oid));
	const char **reasons;

	for (int i = 0; i < n; i++)
		if (plan->chunks->tables[i].sql_reason == NULL)
			tables[i] = plan->tables->tables[i].oid;
	reasons = ask_reasons(conn, tables, n, false);
	free(tables);
	return reasons;
}

const char **
raw_check_target_tables(PGconn *conn, const Oid *tables, int n_tables)
{
	return ask_reasons(conn, tables, n_tables, true);
}
