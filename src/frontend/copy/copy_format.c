/*
 * copy_format.c
 *		Decides in which format each table is copied.
 */
#include "base/fe_compat.h"

#include "catalog/pg_class_d.h"

#include "base/identifier.h"
#include "base/message.h"
#include "copy/copy_facts.h"
#include "copy/copy_format.h"
#include "copy/raw_check.h"
#include "session/session.h"
#include "target/target_check.h"

/* Binary forms have been the same since; multiranges came with it. */
#define MIN_SERVER_FOR_BINARY 140000

/* For less, another file costs more than WAL. */
#define MIN_TRUNCATE_BYTES ((uint64) 1024 * 1024)

/*
 * For "auto" over a network: with the sets of bench/copy.sh it adds no CPU in
 * the mean (from 22 % less to 9 % more), zstd:1 adds 8 %.
 */
#define WIRE_COMPRESSION "lz4:0"

/* What both servers say, of all tables and of each. */
typedef struct CopyDecision
{
	const Options *options;
	const Target *target;
	const DumpPlan *plan;
	const Oid  *targets;		/* the tables that rows go to */
	const char *no_binary;		/* why no table is copied so, or NULL */
	const char *no_raw;			/* the same */
	CopyFacts  *source_facts;	/* NULL if a server is too old */
	CopyFacts  *target_facts;
	const char **source_reasons;	/* against raw tuples; NULL with no_raw */
	const char **target_reasons;
	bool		same_encoding;	/* rows come as the target stores text */
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
 * pg_dump's statement, which has two spaces where the list of columns is
 * missing, with a format if need be; owned.
 */
static char *
target_statement(const DumpTable *table, CopyFormatKind kind, bool freeze)
{
	bool		binary = kind == COPY_FORMAT_BINARY;
	const char *options = binary && freeze ? " (FORMAT binary, FREEZE)"
		: binary ? " (FORMAT binary)" : freeze ? " (FREEZE)" : "";
	char	   *columns = identifier_join(table->columns, table->n_columns);
	char	   *result;

	if (table->n_columns > 0)
		result = psprintf("COPY %s (%s) FROM STDIN%s", table->copy_name, columns,
						  options);
	else
		result = psprintf("COPY %s  FROM STDIN%s", table->copy_name, options);
	free(columns);
	return result;
}

/*
 * With wal_level = minimal, rows that come in the transaction that truncated
 * their table are flushed instead of logged.  That is for tables that come in
 * one piece, and are this run's, so that nothing is lost by it.  They are
 * frozen at once, as hint bits would be logged later if there are checksums.
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
 * Raw tuples
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
		/* of a database that is to be made nothing is known */
		if (reason == NULL && !target->options->create)
			reason = raw_check_encoding(source_conn, target->conn);
	}
	if (reason)
		pg_log_error("tables cannot be copied as raw tuples: %s", reason);
}

/*
 * Why no table can be copied so.  If there is no such reason, each table's
 * are in the decision.
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
	if (reason == NULL)
		reason = raw_check_loader(loader);
	if (reason)
		return reason;
	session_begin_unwatched(target_conn, "BEGIN");
	server_extension_hold(target_conn, loader);
	if (loader->missing == NULL)
	{
		decision->source_reasons = raw_check_source_tables(source_conn, plan);
		decision->target_reasons =
			raw_check_target_tables(target_conn, decision->targets,
									plan->tables->n_tables);
	}
	PQclear(target_query(target_conn, "COMMIT", 0, NULL));
	return loader->missing;
}

/* Why a table is not copied as raw tuples, or NULL. */
static const char *
why_not_raw(const CopyDecision *decision, int no)
{
	const DumpTable *table = &decision->plan->tables->tables[no];
	const char *sql_reason = decision->plan->chunks->tables[no].sql_reason;

	if (decision->no_raw)
		return decision->no_raw;
	if (sql_reason)
		return sql_reason;
	if (table->n_columns == 0)
		return "it has no columns";
	if (!copy_facts_same_layout(&decision->source_facts[no],
								&decision->target_facts[no]))
		return "its columns are not the same in source and target";
	if (decision->target_reasons[no])
		return decision->target_reasons[no];
	return decision->source_reasons[no];
}

/* ----------
 * COPY's formats
 * ----------
 */

/* Why a table is not copied in binary format, or NULL. */
static const char *
why_not_binary(const CopyDecision *decision, int no)
{
	const CopyFacts *in_source = &decision->source_facts[no];

	if (decision->no_binary)
		return decision->no_binary;
	if (in_source->unsafe_column)
		return in_source->unsafe_column;
	if (!copy_facts_same_columns(in_source, &decision->target_facts[no]))
		return "its columns are not the same in source and target";
	return NULL;
}

/*
 * Do the extension and its library have it all?  With the sets of
 * bench/copy.sh that takes 16 % less CPU in the mean than binary format (from
 * 26 % less to 2 % more).  For rows that come frozen that was not measured,
 * so they stay binary.
 */
static bool
is_fast_as_text(const CopyDecision *decision, int no)
{
	return decision->target->fast_copy && decision->same_encoding &&
		decision->plan->chunks->tables[no].sql_reason == NULL &&
		decision->target_facts && decision->target_facts[no].is_plain;
}

/* ----------
 * The decision
 * ----------
 */
static void
refuse(const DumpTable *table, const char *as, const char *reason)
{
	pg_log_error("table %s cannot be copied %s: %s", printable(table->name), as,
				 printable(reason));
	pg_log_error_hint("--copy-format=auto copies such tables in another format.");
	exit(1);
}

static void
choose(const CopyDecision *decision, int no, CopyFormat *format)
{
	const Options *options = decision->options;
	const DumpTable *table = &decision->plan->tables->tables[no];
	const char *no_binary = why_not_binary(decision, no);
	const char *no_raw = why_not_raw(decision, no);

	if (is_wanted(options, COPY_FORMAT_RAW) && no_raw)
		refuse(table, "as raw tuples", no_raw);
	if (is_wanted(options, COPY_FORMAT_BINARY) && no_binary)
		refuse(table, "in binary format", no_binary);
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

static void
ask(CopyDecision *decision, PGconn *source_conn, ServerExtension *loader)
{
	static const char so_asked[] = "so asked for";
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

/* Within a machine it only pays for blocks that become much shorter. */
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
	/* the options were checked */
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
