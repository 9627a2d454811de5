/*
 * copy_format.c
 *		Decides in which format each table is copied.
 *
 * There are three formats: text, which every pair of servers understands;
 * binary, which saves conversions where a type has the same binary form on
 * both servers; and raw tuples, which the extensions on both servers exchange
 * as they are stored.  The decision is made per table, from what the catalogs
 * of both servers say, and its reason is kept, for the log and the summary.
 *
 * A wrong decision would store wrong values without an error.  Everything
 * that is not known to be safe is therefore copied as text.
 */
#include "base/fe_compat.h"

#include "catalog/pg_class_d.h"

#include "base/identifier.h"
#include "copy/copy_format.h"
#include "load/target_check.h"

/* ----------
 * Querying both servers for facts about each table.
 *
 * Binary format is safe only if a type's binary form means the same in every
 * cluster:
 *
 * - base types of PostgreSQL itself: yes.  Their OIDs are below 10000
 *   (transam.h: FirstGenbkiObjectId) and the same in all clusters.  The
 *   exceptions are listed below.
 * - enums: yes, because labels are sent (enum_send).
 * - domains, ranges and multiranges: like the types that they are made of,
 *   because their form contains nothing else (domain_recv, range_send,
 *   multirange_send).
 * - arrays: only of PostgreSQL's own types, because the form contains the OID
 *   of the element type (array_send).
 * - composite types: no, because the form contains the OIDs of all column
 *   types (record_send).
 * - types of extensions and users: no, because their forms are unknown.
 *
 * Of PostgreSQL's own types, these are not safe: reg*, which are OIDs of
 * other objects; money, a number whose decimal point depends on lc_monetary;
 * xml, which is converted according to its declaration; int2vector and
 * oidvector, which are not received if they are empty; and types without a
 * working receive function (such as pg_node_tree).
 * ----------
 */

/*
 * The facts about a table from a server of version 14 or newer.  The texts
 * are never freed.
 */
typedef struct CopyFacts
{
	const char *columns;		/* columns that COPY sends, with their types
								 * and parts of these types; NULL = none */
	const char *unsafe_column;	/* reason about a column with a binary form
								 * that may mean something else on another
								 * server; NULL = none */
	const char *layout;			/* all columns in order, with types and
								 * modifiers; NULL = none */
	bool		is_plain;		/* the library can do COPY FROM for this table
								 * (doc/library.md) */
} CopyFacts;

/* The name and the type of the first unsafe column, as an array. */
#define UNSAFE_SQL \
"(pg_catalog.min(ARRAY[pg_catalog.format('%I', c.attname)," \
" pg_catalog.format_type(c.atttypid, NULL)]) FILTER (WHERE u.whole IS NOT NULL))"

/*
 * The query returns one row per table, in the order of the array: the columns
 * that COPY sends and their types; the first unsafe column and its type; all
 * columns in their order, where columns of type money include the setting
 * that gives their numbers a meaning; and whether the library can do COPY
 * FROM.  "part" is a column's type and, recursively, the types that it is
 * made of, because the same name may stand for another type on the target.
 */
static const char facts_query[] =
"WITH RECURSIVE wanted AS ("
"SELECT no, rel"
" FROM pg_catalog.unnest($1::pg_catalog.oid[]) WITH ORDINALITY t (rel, no)"
"), columns AS ("
"SELECT w.no, a.attname, a.atttypid FROM wanted w"
" JOIN pg_catalog.pg_attribute a ON a.attrelid OPERATOR(pg_catalog.=) w.rel"
" WHERE a.attnum OPERATOR(pg_catalog.>) 0 AND NOT a.attisdropped"
" AND a.attgenerated OPERATOR(pg_catalog.=) ''"
"), part (whole, type, in_array) AS ("
"SELECT DISTINCT atttypid, atttypid, false FROM columns"
" UNION "
"SELECT p.whole, CASE t.typtype WHEN 'd' THEN t.typbasetype"
" WHEN 'r' THEN (SELECT r.rngsubtype FROM pg_catalog.pg_range r"
" WHERE r.rngtypid OPERATOR(pg_catalog.=) t.oid)"
" WHEN 'm' THEN (SELECT r.rngsubtype FROM pg_catalog.pg_range r"
" WHERE r.rngmultitypid OPERATOR(pg_catalog.=) t.oid)"
" ELSE t.typelem END, p.in_array OR t.typtype OPERATOR(pg_catalog.=) 'b'"
" FROM part p JOIN pg_catalog.pg_type t ON t.oid OPERATOR(pg_catalog.=) p.type"
" WHERE t.typtype OPERATOR(pg_catalog.=) ANY ('{d,r,m}')"
" OR t.typoutput OPERATOR(pg_catalog.=) 'pg_catalog.array_out'::pg_catalog.regproc"
"), described AS ("
"SELECT whole, pg_catalog.string_agg(pg_catalog.format_type(type, NULL), ' '"
" ORDER BY pg_catalog.format_type(type, NULL) COLLATE pg_catalog.\"C\") AS parts"
" FROM part GROUP BY whole"
"), unsafe AS ("
"SELECT DISTINCT p.whole FROM part p"
" LEFT JOIN pg_catalog.pg_type t ON t.oid OPERATOR(pg_catalog.=) p.type"
" WHERE NOT CASE"
" WHEN t.oid IS NULL THEN false"
" WHEN p.in_array AND t.oid OPERATOR(pg_catalog.>=) 10000::pg_catalog.oid THEN false"
" WHEN t.typsend OPERATOR(pg_catalog.=) 0::pg_catalog.oid"
" OR t.typreceive OPERATOR(pg_catalog.=) 0::pg_catalog.oid THEN false"
" WHEN t.typtype OPERATOR(pg_catalog.=) ANY ('{d,e,r,m}') THEN true"
" WHEN t.typtype OPERATOR(pg_catalog.<>) 'b' THEN false"
" WHEN t.typoutput OPERATOR(pg_catalog.=) 'pg_catalog.array_out'::pg_catalog.regproc THEN true"
" ELSE t.oid OPERATOR(pg_catalog.<) 10000::pg_catalog.oid"
" AND t.typname::pg_catalog.text OPERATOR(pg_catalog.!~) '^reg'"
" AND t.typname OPERATOR(pg_catalog.<>) ALL ('{money,xml,aclitem,int2vector,oidvector,"
"pg_node_tree,pg_ndistinct,pg_dependencies,pg_mcv_list,"
"pg_brin_bloom_summary,pg_brin_minmax_multi_summary}')"
" END"
")"
" SELECT pg_catalog.string_agg(pg_catalog.format('%I %s %s', c.attname,"
" pg_catalog.format_type(c.atttypid, NULL), d.parts), ', ' ORDER BY c.attname)"
" FILTER (WHERE c.no IS NOT NULL),"
" " UNSAFE_SQL "[1], " UNSAFE_SQL "[2],"
" (SELECT pg_catalog.string_agg(pg_catalog.format('%I %s%s%s', a.attname,"
" pg_catalog.format_type(a.atttypid, a.atttypmod), a.attgenerated,"
" CASE WHEN a.atttypid OPERATOR(pg_catalog.=) ANY ('{790,791}')"
" THEN pg_catalog.current_setting('lc_monetary') END), ', ' ORDER BY a.attnum)"
" FROM pg_catalog.pg_attribute a WHERE a.attrelid OPERATOR(pg_catalog.=) w.rel"
" AND a.attnum OPERATOR(pg_catalog.>) 0 AND NOT a.attisdropped),"
" EXISTS (SELECT FROM pg_catalog.pg_class r WHERE r.oid OPERATOR(pg_catalog.=) w.rel"
" AND r.relkind OPERATOR(pg_catalog.=) 'r' AND r.relam OPERATOR(pg_catalog.=) 2::pg_catalog.oid"
" AND NOT r.relrowsecurity AND NOT r.relhasrules"
" AND NOT EXISTS (SELECT FROM pg_catalog.pg_trigger t WHERE t.tgrelid OPERATOR(pg_catalog.=) r.oid)"
" AND NOT EXISTS (SELECT FROM pg_catalog.pg_attribute a WHERE a.attrelid OPERATOR(pg_catalog.=) r.oid"
" AND a.attgenerated OPERATOR(pg_catalog.<>) ''))"
" FROM wanted w LEFT JOIN columns c ON c.no OPERATOR(pg_catalog.=) w.no"
" LEFT JOIN described d ON d.whole OPERATOR(pg_catalog.=) c.atttypid"
" LEFT JOIN unsafe u ON u.whole OPERATOR(pg_catalog.=) c.atttypid"
" GROUP BY w.no, w.rel ORDER BY w.no";

/*
 * Returns a value of a result, which is valid as long as the result.  NULL
 * for NULL.
 */
static const char *
text_value(const PGresult *res, int row, int column)
{
	return PQgetisnull(res, row, column) ? NULL : PQgetvalue(res, row, column);
}

/*
 * Query the facts of n tables.  oids is an array literal of their OIDs on
 * this server.
 */
static CopyFacts *
copy_facts_read(PGconn *conn, const char *oids, int n)
{
	CopyFacts  *facts = pg_malloc0((n + 1) * sizeof(CopyFacts));
	const char *params[] = {oids};
	PGresult   *res = session_query_params(conn, facts_query, 1, params, 0);

	session_expect_tables(res, n);
	for (int i = 0; i < n; i++)
	{
		facts[i].columns = text_value(res, i, 0);
		facts[i].unsafe_column = PQgetisnull(res, i, 1) ? NULL :
			psprintf("column %s is of type %s", PQgetvalue(res, i, 1),
					 PQgetvalue(res, i, 2));
		facts[i].layout = text_value(res, i, 3);
		facts[i].is_plain = result_is_true(res, i, 4);
	}
	return facts;
}

static bool
are_same(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

/* ----------
 * Checking which tables can be copied as raw tuples, as the source stores
 * them.
 *
 * The form of tuples depends on the machine, the build and the major version
 * of the server, on the encoding of the database, and on the table.  The
 * extensions on both servers report which tables and types they can handle
 * (pg_pardump_raw_reason()).  The server that loads tuples checks
 * constraints.
 *
 * Reasons are parts of sentences, which are never freed.  NULL means that
 * there is no reason against raw tuples.
 * ----------
 */

/*
 * Tuples have the same form in these major versions, and the tests
 * (t/089_copy_raw.pl, scripts/test_majors.sh) copy from and to all of them.
 */
static const int known_majors[] = {15, 17, 18, 19};

static const char reasons_query[] =
"SELECT CASE WHEN t.oid OPERATOR(pg_catalog.<>) 0::pg_catalog.oid THEN"
" " PARDUMP_RAW_REASON "(t.oid::pg_catalog.regclass, $2::pg_catalog.bool) END"
" FROM pg_catalog.unnest($1::pg_catalog.oid[]) WITH ORDINALITY t (oid, no)"
" ORDER BY t.no";

/*
 * PostgreSQL does not promise that the form of tuples stays the same, so only
 * major versions that the tests copy from and to are accepted.
 */
static bool
is_known_major(PGconn *conn)
{
	for (int i = 0; i < (int) lengthof(known_majors); i++)
		if (PQserverVersion(conn) / 10000 == known_majors[i])
			return true;
	return false;
}

/* Does a parameter that the server reports to libpq have this value? */
static bool
has_parameter(PGconn *conn, const char *name, const char *value)
{
	const char *its = PQparameterStatus(conn, name);

	return its && value && strcmp(its, value) == 0;
}

/*
 * Returns a reason why the servers rule out raw tuples for all tables, or
 * NULL.  The target's session may be in any database.
 */
static const char *
raw_check_servers(PGconn *source_conn, PGconn *target_conn,
				  const DumpPlan *plan)
{
	TargetState target;

	if (plan->extension->missing)
		return plan->extension->missing;
	if (!is_known_major(source_conn) || !is_known_major(target_conn))
		return "how rows are stored is not known for the major version of one of the servers";
	if (!has_parameter(target_conn, "is_superuser", "on"))
		return "the role is not a superuser on the target";
	target = target_state(target_conn);
	if (strcmp(plan->origin->layout, target.layout) != 0)
		return "source and target store rows differently";
	if (plan->origin->has_lz4 && !target.has_lz4)
		return "the target server was built without lz4";
	return NULL;
}

/*
 * Returns a reason why the databases rule out raw tuples for all tables, or
 * NULL.  Both databases must exist, but the target may be empty.
 */
static const char *
raw_check_encoding(PGconn *source_conn, PGconn *target_conn)
{
	if (!has_parameter(source_conn, "server_encoding",
					   PQparameterStatus(target_conn, "server_encoding")))
		return "source and target have different encodings";
	return NULL;
}

/*
 * Returns the reasons why each of n tables cannot be read or loaded.  Tables
 * without an OID get NULL.
 */
static const char **
ask_reasons(PGconn *conn, const Oid *tables, int n, bool loading)
{
	const char **reasons = pg_malloc0((n + 1) * sizeof(char *));
	const char *params[] = {oid_array(tables, n), loading ? "true" : "false"};
	PGresult   *res = session_query_params(conn, reasons_query, 2, params, 0);

	session_expect_tables(res, n);
	for (int i = 0; i < n; i++)
		if (!PQgetisnull(res, i, 0))
			reasons[i] = pg_strdup(PQgetvalue(res, i, 0));
	return reasons;
}

/*
 * Returns the reasons why the extension on the source cannot read each table.
 * Tables that COPY reads get NULL.  The session holds the extension.
 */
static const char **
raw_check_source_tables(PGconn *conn, const DumpPlan *plan)
{
	int			n = plan->tables->n_tables;
	Oid		   *tables = pg_malloc0((n + 1) * sizeof(Oid));

	for (int i = 0; i < n; i++)
		if (plan->chunks->tables[i].sql_reason == NULL)
			tables[i] = plan->tables->tables[i].oid;
	return ask_reasons(conn, tables, n, false);
}

/* ----------
 * The decision for each table.
 * ----------
 */

/*
 * Binary forms have not changed since this version, which added multiranges.
 */
#define MIN_SERVER_FOR_BINARY 140000

/*
 * The new file that TRUNCATE creates costs more than the WAL of fewer bytes.
 */
#define MIN_TRUNCATE_BYTES ((uint64) 1024 * 1024)

/*
 * The compression for "auto" over a network.  With the data sets of
 * bench/copy.sh, it needs the same CPU time on average (from 22 % less to 9 %
 * more); zstd:1 needs 8 % more.
 */
#define WIRE_COMPRESSION "lz4:0"

/* All facts for the decision, from both servers. */
typedef struct CopyDecision
{
	const Options *options;
	const Target *target;
	const DumpPlan *plan;
	const Oid  *targets;		/* the target of each table */
	const char *no_binary;		/* why no table can be copied in this format,
								 * or NULL */
	const char *no_raw;			/* likewise for raw tuples */
	CopyFacts  *source_facts;	/* NULL if a server is too old */
	CopyFacts  *target_facts;
	const char **source_reasons;	/* against raw tuples; NULL if no_raw is
									 * set */
	const char **target_reasons;
	bool		same_encoding;	/* client_encoding is the target's encoding */
	bool		minimal_wal;
} CopyDecision;

const char *
copy_format_name(CopyFormatKind kind)
{
	static const char *const names[] = {"text", "binary", "raw"};

	return names[kind];
}

static bool
is_wanted(const Options *options, CopyFormatKind kind)
{
	return options->copy_format &&
		strcmp(options->copy_format, copy_format_name(kind)) == 0;
}

/*
 * Returns the COPY statement of pg_dump, which has two spaces in place of a
 * missing column list, with options if necessary; the caller owns it.
 */
static char *
target_statement(const DumpTable *table, CopyFormatKind kind, bool freeze)
{
	bool		binary = kind == COPY_FORMAT_BINARY;
	const char *options = binary && freeze ? " (FORMAT binary, FREEZE)"
		: binary ? " (FORMAT binary)" : freeze ? " (FREEZE)" : "";

	if (table->n_columns == 0)
		return psprintf("COPY %s FROM STDIN%s", table->copy_name, options);
	return psprintf("COPY %s (%s) FROM STDIN%s", table->copy_name,
					identifier_join(table->columns, table->n_columns), options);
}

/*
 * Can the table be truncated in the transaction that copies it?  With
 * wal_level = minimal, rows in such a transaction are flushed and need no
 * WAL.  That requires that the table is copied as a single chunk, and that
 * this run has created it, so that TRUNCATE loses nothing.  The rows are also
 * frozen, because with checksums, hint bits would be logged later.
 */
static bool
may_truncate(const Options *options, const DumpTable *table, int n_chunks)
{
	return n_chunks == 1 && table->total_bytes >= MIN_TRUNCATE_BYTES &&
		table->has_definition && !options->data_only &&
		table->relkind == RELKIND_RELATION &&
		strcmp(table->name, table->copy_name) == 0;
}

/* ----------
 * Raw tuples.
 * ----------
 */
void
copy_format_check(PGconn *source_conn, const Target *target,
				  const DumpPlan *plan)
{
	const char *reason = NULL;

	if (is_wanted(target->options, COPY_FORMAT_RAW))
	{
		reason = raw_check_servers(source_conn, target->conn, plan);
		/* The encoding is unknown if the database will be created. */
		if (reason == NULL && !target->options->create)
			reason = raw_check_encoding(source_conn, target->conn);
	}
	if (reason)
	{
		pg_log_error("tables cannot be copied as raw tuples");
		pg_log_error_detail("%s", message_sentence(reason));
		pg_log_error_hint("Use --copy-format=auto to copy tables in another format if needed.");
	}
}

/*
 * Returns a reason why no table can be copied as raw tuples, or NULL.  In the
 * latter case, sets the reasons for each table in the decision.  The target's
 * transaction holds its extension while the reasons are queried, because DROP
 * EXTENSION in between would make the query fail.  The leader's session holds
 * the source's extension.
 */
static const char *
ask_about_raw(CopyDecision *decision, PGconn *source_conn,
			  ServerExtension *loader)
{
	PGconn	   *target_conn = decision->target->conn;
	const DumpPlan *plan = decision->plan;
	const char *reason = raw_check_servers(source_conn, target_conn, plan);

	if (reason == NULL)
		reason = raw_check_encoding(source_conn, target_conn);
	if (reason == NULL && loader->missing)
		reason = psprintf("on the target, %s", loader->missing);
	if (reason)
		return reason;
	session_begin_unwatched(target_conn, "BEGIN");
	server_extension_hold(target_conn, loader);
	if (loader->missing == NULL)
	{
		decision->source_reasons = raw_check_source_tables(source_conn, plan);
		decision->target_reasons =
			ask_reasons(target_conn, decision->targets,
						plan->tables->n_tables, true);
	}
	target_command(target_conn, "COMMIT");
	return loader->missing;
}

/* Returns a reason why a table is not copied as raw tuples, or NULL. */
static const char *
why_not_raw(const CopyDecision *decision, int no)
{
	const DumpTable *table = &decision->plan->tables->tables[no];
	const char *sql_reason = decision->plan->chunks->tables[no].sql_reason;
	const CopyFacts *source = &decision->source_facts[no];
	const CopyFacts *target = &decision->target_facts[no];

	if (decision->no_raw)
		return decision->no_raw;
	if (sql_reason)
		return sql_reason;
	if (table->n_columns == 0)
		return "it has no columns";
	if (!are_same(source->layout, target->layout) ||
		!are_same(source->columns, target->columns))
		return "its columns differ between source and target";
	if (decision->target_reasons[no])
		return decision->target_reasons[no];
	return decision->source_reasons[no];
}

/* ----------
 * COPY's formats.
 * ----------
 */

/* Returns a reason why a table is not copied in binary format, or NULL. */
static const char *
why_not_binary(const CopyDecision *decision, int no)
{
	const CopyFacts *in_source = &decision->source_facts[no];

	if (decision->no_binary)
		return decision->no_binary;
	if (in_source->unsafe_column)
		return in_source->unsafe_column;
	if (!are_same(in_source->columns, decision->target_facts[no].columns))
		return "its columns differ between source and target";
	return NULL;
}

/*
 * Is text faster than binary format?  That is so if the extension reads the
 * table and its library loads it: with the data sets of bench/copy.sh, this
 * takes 16 % less CPU time on average (from 26 % less to 2 % more).
 */
static bool
is_fast_as_text(const CopyDecision *decision, int no)
{
	return decision->target->fast_copy && decision->same_encoding &&
		decision->plan->chunks->tables[no].sql_reason == NULL &&
		decision->target_facts && decision->target_facts[no].is_plain;
}

/* ----------
 * The choice of the format.
 * ----------
 */
static void
copy_format_refuse(const DumpTable *table, CopyFormatKind kind,
				   const char *reason)
{
	pg_log_error(kind == COPY_FORMAT_RAW ?
				 "table %s cannot be copied as raw tuples" :
				 "table %s cannot be copied in binary format",
				 printable(table->name));
	pg_log_error_detail("%s", message_sentence(printable(reason)));
	pg_fatal_hint("Use --copy-format=auto to copy tables in another format if needed.");
}

/*
 * Choose the format that is safe and costs the least work.  With
 * --copy-format, a table that cannot be copied in that format is an error,
 * not a silent fallback.  A table that is truncated first stays binary
 * although text may be faster, because this was not measured with frozen
 * rows.
 */
static void
choose(const CopyDecision *decision, int no, CopyFormat *format)
{
	const Options *options = decision->options;
	const DumpTable *table = &decision->plan->tables->tables[no];
	const char *no_binary = why_not_binary(decision, no);
	const char *no_raw = why_not_raw(decision, no);

	if (is_wanted(options, COPY_FORMAT_RAW) && no_raw)
		copy_format_refuse(table, COPY_FORMAT_RAW, no_raw);
	if (is_wanted(options, COPY_FORMAT_BINARY) && no_binary)
		copy_format_refuse(table, COPY_FORMAT_BINARY, no_binary);
	if (no_raw == NULL)
		format->kind = COPY_FORMAT_RAW;
	else if (no_binary ||
			 (!is_wanted(options, COPY_FORMAT_BINARY) && !format->truncate &&
			  is_fast_as_text(decision, no)))
	{
		format->kind = COPY_FORMAT_TEXT;
		format->reason = no_binary ? no_binary : no_raw;
	}
	else
	{
		format->kind = COPY_FORMAT_BINARY;
		format->reason = no_raw;
	}
}

/*
 * Ask both servers once for all tables, not once per table: a database may
 * have 100,000 tables.
 */
static void
ask(CopyDecision *decision, PGconn *source_conn, ServerExtension *loader)
{
	static const char so_asked[] = "option --copy-format was specified";
	PGconn	   *target_conn = decision->target->conn;
	const Options *options = decision->options;
	const DumpTables *tables = decision->plan->tables;

	decision->minimal_wal = strcmp(decision->target->wal_level, "minimal") == 0;
	decision->same_encoding =
		strcmp(PQparameterStatus(target_conn, "server_encoding"),
			   PQparameterStatus(target_conn, "client_encoding")) == 0;
	if (PQserverVersion(source_conn) < MIN_SERVER_FOR_BINARY ||
		PQserverVersion(target_conn) < MIN_SERVER_FOR_BINARY)
		decision->no_raw = decision->no_binary = "a server is older than 14";
	else
	{
		decision->source_facts = copy_facts_read(source_conn,
												 dump_tables_oids(tables),
												 tables->n_tables);
		decision->target_facts = copy_facts_read(target_conn,
												 oid_array(decision->targets,
														   tables->n_tables),
												 tables->n_tables);
	}
	if (is_wanted(options, COPY_FORMAT_TEXT))
		decision->no_raw = decision->no_binary = so_asked;
	else if (is_wanted(options, COPY_FORMAT_BINARY))
		decision->no_raw = so_asked;
	if (decision->no_raw == NULL)
		decision->no_raw = ask_about_raw(decision, source_conn, loader);
}

/*
 * Choose the compression of raw blocks between the servers.  Over a network,
 * lz4 costs less CPU time than sending the bytes.  Between processes of one
 * machine, compression pays only for blocks that become much shorter, which
 * the server decides with "auto".
 */
static void
choose_wire_compression(CopyFormats *formats, const Options *options,
						PGconn *source_conn, PGconn *target_conn)
{
	const char *choice = options->wire_compression;
	CompressSpec spec;
	char		error[COMPRESS_SPEC_ERROR_BYTES];

	if (choice == NULL || strcmp(choice, "auto") == 0)
		choice = connection_is_local(source_conn) &&
			connection_is_local(target_conn) ? "auto" : WIRE_COMPRESSION;
	if (strcmp(choice, "auto") == 0)
	{
		strlcpy(formats->wire_compression, choice,
				sizeof(formats->wire_compression));
		return;
	}
	/* The options were checked before. */
	if (!compress_spec_parse(choice, &spec, error))
		pg_fatal("invalid compression specification: %s", error);
	compress_spec_print(&spec, formats->wire_compression,
						sizeof(formats->wire_compression));
}

const CopyFormats *
copy_formats_decide(PGconn *source_conn, const Target *target,
					const DumpPlan *plan, const Oid *targets)
{
	const Options *options = target->options;
	const DumpTables *tables = plan->tables;
	CopyFormats *formats = pg_malloc0(sizeof(CopyFormats));
	ServerExtension *loader = server_extension_find(target->conn, options,
													EXTENSION_LOADS);
	CopyDecision decision = {
		.options = options,
		.target = target,
		.plan = plan,
		.targets = targets,
	};

	target_check_triggers(target->conn, options, targets, tables->n_tables);
	ask(&decision, source_conn, loader);
	formats->loader = loader;
	formats->tables = pg_malloc0((tables->n_tables + 1) * sizeof(CopyFormat));
	for (int i = 0; i < tables->n_tables; i++)
	{
		const DumpTable *table = &tables->tables[i];
		CopyFormat *format = &formats->tables[i];

		format->target = targets[i];
		format->truncate = decision.minimal_wal &&
			may_truncate(options, table, plan->chunks->tables[i].n_files);
		if (OidIsValid(targets[i]))
			choose(&decision, i, format);
		if (format->kind != COPY_FORMAT_RAW)
			format->statement = target_statement(table, format->kind,
												 format->truncate);
	}
	choose_wire_compression(formats, options, source_conn, target->conn);
	return formats;
}
