/*
 * compare_side.c
 *		Opens a side of a comparison, and has workers read it.
 *
 * A side is a database or an archive.  A database is planned with the same
 * code as a dump of it, and read in one snapshot that the leader keeps for
 * all passes.  Both kinds give their rows as COPY's text, to a sink that the
 * caller provides.
 *
 * After a copy or a restore the tables of one side are looked up on the other
 * side by name, since OIDs differ.
 */
#include "base/fe_compat.h"

#include "catalog/pg_class_d.h"
#include "common/hashfn.h"
#include "fe_utils/string_utils.h"

#include "archive/archive_member.h"
#include "base/buffer.h"
#include "base/checksum.h"
#include "base/clock.h"
#include "base/identifier.h"
#include "base/interrupt.h"
#include "compare/compare_selection.h"
#include "compare/compare_side.h"
#include "session/session_settings.h"
#include "source/leader.h"
#include "source/leader_session.h"
#include "source/read_rows.h"
#include "source/worker_monitor.h"
#include "status/run_progress.h"

typedef struct Lookup
{
	PGconn	   *conn;
	const DumpTables *tables;	/* of the plan */
	char	  **names;			/* by table: what it is looked for as */
	char	   *name_array;		/* these, as a literal */
	Toc		   *toc;			/* what was found */
	int		   *roots;			/* of the tables that are looked for as
								 * another one, the first of each name */
	int			n_roots;
} Lookup;

/* ----------
 * Names
 * ----------
 */
char *
compare_lookup_load_name(const DumpTable *table)
{
	const char *name = table->copy_name;
	const char *dot = identifier_skip(name, '.');

	if (*dot == '\0')
		return pg_strdup(name);
	return pg_strdup(fmtQualifiedId(identifier_unquote(pnstrdup(name, dot - name)),
									identifier_unquote(dot + 1)));
}

static void
choose_names(Lookup *lookup, bool loaded)
{
	int			n = lookup->tables->n_tables;

	lookup->names = pg_malloc((n + 1) * sizeof(char *));
	for (int i = 0; i < n; i++)
		lookup->names[i] = loaded ?
			compare_lookup_load_name(&lookup->tables->tables[i]) :
			pg_strdup(lookup->tables->tables[i].name);
	lookup->name_array = text_array(lookup->conn, lookup->names, n);
}

/* ----------
 * Entries
 * ----------
 */

/*
 * The columns of the table that are in the server's list, as the server
 * quotes them; owned.  Names from an archive must not get into a statement:
 * they could contain any SQL.
 */
static char *
common_columns(const DumpTable *table, const char *list)
{
	int			n;
	char	  **has = identifier_split(list, strlen(list), &n);
	char	  **common = pg_malloc((table->n_columns + 1) * sizeof(char *));
	int			n_common = 0;

	for (int i = 0; i < table->n_columns; i++)
	{
		int			place = identifier_find(has, n, identifier_unquote(table->columns[i]));

		if (place >= 0)
			common[n_common++] = has[place];
	}
	return identifier_join(common, n_common);
}

/*
 * Describe the data of a table that was found, as pg_dump would.  The entry
 * of the plan is copied and gets the names and the OID of this database.
 */
static void
add_entry(Lookup *lookup, int no, const char *schema, const char *tag,
		  const char *oid, const char *columns)
{
	Toc		   *toc = lookup->toc;
	char	   *load_name = compare_lookup_load_name(&lookup->tables->tables[no]);
	TocEntry   *entry;

	entry = array_add(toc->entries, toc->n_entries);
	*entry = *lookup->tables->tables[no].entry;
	entry->namespace = pg_strdup(schema);
	entry->tag = pg_strdup(tag);
	entry->oid = (Oid) strtoul(oid, NULL, 10);
	entry->copy_stmt = columns[0] == '\0' ?
		psprintf("COPY %s  FROM stdin;\n", load_name) :
		psprintf("COPY %s (%s) FROM stdin;\n", load_name, columns);
}

/*
 * Where rows may be that were loaded by way of a partitioned table ($1): in
 * tables below it, but not in those that are loaded for themselves (of $2),
 * and not in foreign ones, which may be out of reach.
 */
static const char parts_query[] =
"WITH RECURSIVE tree (oid) AS (SELECT pg_catalog.to_regclass($1)::pg_catalog.oid"
" UNION SELECT i.inhrelid FROM pg_catalog.pg_inherits i"
" JOIN tree ON tree.oid OPERATOR(pg_catalog.=) i.inhparent),"
" part AS (SELECT oid FROM tree EXCEPT"
" SELECT pg_catalog.to_regclass(name)::pg_catalog.oid"
" FROM pg_catalog.unnest($2::pg_catalog.text[]) t (name)"
" WHERE name OPERATOR(pg_catalog.<>) $1)"
"SELECT c.oid, n.nspname, c.relname"
" FROM part JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) part.oid"
" JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace"
" WHERE c.relkind OPERATOR(pg_catalog.=) 'r'::pg_catalog.\"char\""
" ORDER BY n.nspname, c.relname";

static void
add_parts(Lookup *lookup, int no, const char *columns)
{
	const char *params[] = {lookup->names[no], lookup->name_array};
	PGresult   *res = session_query_params(lookup->conn, parts_query, 2,
										   params, 0);

	for (int i = 0; i < PQntuples(res); i++)
		add_entry(lookup, no, PQgetvalue(res, i, 1), PQgetvalue(res, i, 2),
				  PQgetvalue(res, i, 0), columns);
	PQclear(res);
}

/*
 * Rows that were loaded through a partitioned table are found below it.
 * Several tables of the plan may have been loaded through the same one, which
 * must be read only once.
 */
static bool
is_added(Lookup *lookup, int no)
{
	if (strcmp(lookup->names[no], lookup->tables->tables[no].name) == 0)
		return false;
	for (int i = 0; i < lookup->n_roots; i++)
		if (strcmp(lookup->names[lookup->roots[i]], lookup->names[no]) == 0)
			return true;
	lookup->roots[lookup->n_roots++] = no;
	return false;
}

/* One row a table, in the order of the array; NULL if there is none. */
static const char find_query[] =
"SELECT c.oid, c.relkind, n.nspname, c.relname,"
" (SELECT pg_catalog.string_agg(pg_catalog.quote_ident(a.attname::pg_catalog.text), ', ')"
" FROM pg_catalog.pg_attribute a WHERE a.attrelid OPERATOR(pg_catalog.=) c.oid"
" AND a.attnum OPERATOR(pg_catalog.>) 0 AND NOT a.attisdropped)"
" FROM pg_catalog.unnest($1::pg_catalog.text[]) WITH ORDINALITY t (name, no)"
" LEFT JOIN pg_catalog.pg_class c"
" ON c.oid OPERATOR(pg_catalog.=) pg_catalog.to_regclass(t.name)::pg_catalog.oid"
" AND c.relkind OPERATOR(pg_catalog.=) ANY ('{r,p,f}')"
" LEFT JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace"
" ORDER BY t.no";

/*
 * One query looks up all names.  Foreign tables are left out, as their rows
 * are elsewhere.
 */
Toc *
compare_lookup_tables(PGconn *conn, const DumpPlan *plan, bool loaded,
					  const char **missing)
{
	Lookup		lookup = {.conn = conn,.tables = plan->tables};
	int			n = plan->tables->n_tables;
	const char *params[1];
	PGresult   *res;

	choose_names(&lookup, loaded);
	lookup.roots = pg_malloc((n + 1) * sizeof(int));
	lookup.toc = pg_malloc(sizeof(Toc));
	*lookup.toc = *plan->pg_dump_toc;
	lookup.toc->entries = NULL;
	lookup.toc->n_entries = 0;
	*missing = NULL;
	params[0] = lookup.name_array;
	res = session_query_params(conn, find_query, 1, params, 0);
	for (int i = 0; i < n; i++)
	{
		const DumpTable *table = &plan->tables->tables[i];
		char		relkind = PQgetvalue(res, i, 1)[0];
		char	   *columns = common_columns(table, PQgetvalue(res, i, 4));

		if (PQgetisnull(res, i, 0))
			*missing = *missing ? *missing : table->name;
		else if (is_added(&lookup, i))
			 /* with the one before */ ;
		else if (relkind == RELKIND_PARTITIONED_TABLE)
			add_parts(&lookup, i, columns);
		else if (relkind == RELKIND_RELATION)
			add_entry(&lookup, i, PQgetvalue(res, i, 2), PQgetvalue(res, i, 3),
					  PQgetvalue(res, i, 0), columns);
	}
	PQclear(res);
	return lookup.toc;
}

/* ----------
 * Large objects
 * ----------
 */
static const char objects_query[] =
"SELECT m.oid FROM pg_catalog.pg_largeobject_metadata m"
" WHERE m.oid OPERATOR(pg_catalog.=) ANY ($1::pg_catalog.oid[]) ORDER BY m.oid";

/* The large objects of the plan that the database has, in groups. */
static LargeObjects *
compare_lookup_objects(PGconn *conn, const LargeObjects *objects)
{
	LargeObjectList *list = pg_malloc0(sizeof(LargeObjectList));
	LargeObjects *result;

	list->oids = pg_malloc((objects->n_objects + 1) * sizeof(Oid));
	for (int i = 0; i < objects->n_groups; i++)
	{
		const char *params[] = {oid_array(objects->groups[i].oids,
										  objects->groups[i].n_oids)};
		PGresult   *res = session_query_params(conn, objects_query, 1, params, 0);

		for (int j = 0; j < PQntuples(res) && list->n_oids < objects->n_objects; j++)
			list->oids[list->n_oids++] = result_oid(res, j, 0);
		PQclear(res);
	}
	result = large_objects_of_lists(list, 1);
	result->est_bytes = objects->est_bytes;
	return result;
}

#define READ_BYTES (128 * 1024)

/* ----------
 * A database
 * ----------
 */

/* pg_dump writes names as it writes rows. */
static void
set_encoding(Options *options, const char *encoding)
{
	const char **args = pg_malloc((options->n_pg_dump_args + 2) * sizeof(char *));

	memcpy(args, options->pg_dump_args,
		   options->n_pg_dump_args * sizeof(char *));
	args[options->n_pg_dump_args++] = psprintf("--encoding=%s", encoding);
	options->pg_dump_args = args;
	options->encoding = encoding;
}

/* Exit callbacks and workers use it until the process ends. */
static CompareSide *
new_side(const Options *options, const DumpPlan *plan, Source *source)
{
	CompareSide *side = pg_malloc0(sizeof(CompareSide));

	side->options = side->run.options = options;
	side->plan = side->run.plan = plan;
	side->source = source;
	if (source)
		source->keep_snapshot = true;
	return side;
}

/* It is planned, and locked. */
static void
check_database(CompareSide *side)
{
	source_check(side->source->conn, side->options, side->plan);
	findings_report();
	run_make_results(&side->run, CHECKSUM_TYPE_NONE);
}

CompareSide *
compare_side_open_database(const Options *given, const char *argv0,
						   const char *encoding)
{
	Source	   *source = pg_malloc0(sizeof(Source));
	Options    *options = pg_malloc(sizeof(Options));
	DumpPlan   *plan = pg_malloc0(sizeof(DumpPlan));
	CompareSide *side = new_side(options, plan, source);
	StockPgDump *pg_dump;

	*options = *given;
	if (encoding)
		set_encoding(options, encoding);
	source->options = options;
	pg_dump = stock_pg_dump_find(options, argv0);
	leader_connect(source);
	compare_selection_fit(source->conn, options);
	stock_pg_dump_check(pg_dump, options, PQserverVersion(source->conn));
	leader_open(source, pg_dump, plan);
	leader_plan(source, pg_dump, plan);
	check_database(side);
	return side;
}

CompareSide *
compare_side_open_tables(Source *source, const DumpPlan *like, bool loaded)
{
	DumpPlan   *plan = pg_malloc0(sizeof(DumpPlan));
	CompareSide *side = new_side(source->options, plan, source);
	const char *missing;

	leader_open(source, NULL, plan);
	plan->encoding = like->encoding;
	session_set_encoding(source->conn, plan->encoding);
	plan->toc = plan->pg_dump_toc =
		compare_lookup_tables(source->conn, like, loaded, &missing);
	leader_plan_tables(source, plan);
	plan->objects = compare_lookup_objects(source->conn, like->objects);
	plan->queue = job_queue_make(plan->chunks, plan->objects, NULL);
	check_database(side);
	return side;
}

/*
 * The copy's own connection and snapshot are used again.  Its results are
 * kept for the copy's summary, so the comparison gets results of its own.
 */
CompareSide *
compare_side_of_copy(Source *source, const DumpPlan *plan)
{
	CompareSide *side = new_side(source->options, plan, source);

	/* those of the copy are its account */
	run_make_results(&side->run, CHECKSUM_TYPE_NONE);
	side->begun = true;
	return side;
}

/* ----------
 * An archive
 * ----------
 */

/*
 * Plan all entries of the archive, since nothing is restored: the database
 * decides which of them count.  Files are not shared by workers, so the queue
 * is made again without the rules of a restore.
 */
static ArchivePlan *
plan_archive(const Archive *archive, const Options *options)
{
	const Toc  *toc = archive->toc;
	int		   *ids = pg_malloc((toc->n_entries + 1) * sizeof(int));
	ArchivePlan *result;

	for (int i = 0; i < toc->n_entries; i++)
		ids[i] = toc->entries[i].dump_id;
	result = archive_plan_make(archive, ids, toc->n_entries, options);
	archive_plan_expect_rows(result, archive);
	/* no file is read by several, as those of a restore are */
	result->plan.queue = job_queue_make(result->plan.chunks,
										result->plan.objects, NULL);
	return result;
}

CompareSide *
compare_side_open_archive(const Options *options)
{
	const Archive *archive;
	ArchivePlan *plan;
	CompareSide *side;

	interrupt_install_leader();
	if (archive_open_kind(options->compare_with) == ARCHIVE_TAR)
	{
		pg_log_error("archive \"%s\" is in tar format, which cannot be compared",
					 options->compare_with);
		pg_fatal_hint("Extract it into a directory with tar, and specify that directory.");
	}
	archive = archive_open(options->compare_with);
	plan = plan_archive(archive, options);
	side = new_side(options, &plan->plan, NULL);
	side->archive = archive;
	side->archive_plan = plan;
	archive_plan_refuse_parts(plan, "To leave out this table, use -T.");
	run_make_results(&side->run, CHECKSUM_TYPE_NONE);
	return side;
}

/* ----------
 * Large objects
 *
 * A sum of hashes, each of an object's OID and contents, does not depend on
 * where they are stored.
 * ----------
 */

/* A last sink: the digest of one object. */
typedef struct DigestSink
{
	Sink		base;
	pg_checksum_context digest;
} DigestSink;

static void
digest_write(Sink *sink, const void *data, size_t len)
{
	checksum_add(&((DigestSink *) sink)->digest, data, len);
}

/* It ends with pg_checksum_final(), and is on the stack. */
static const SinkOps digest_ops = {.write = digest_write};

static void
begin_object(DigestSink *sink)
{
	memset(sink, 0, sizeof(DigestSink));
	sink->base.ops = &digest_ops;
	checksum_begin(&sink->digest, CHECKSUM_TYPE_SHA256);
}

static void
end_object(DigestSink *sink, Oid oid, uint64 seed, ObjectSum *sum)
{
	uint8		text[sizeof(Oid) + PG_CHECKSUM_MAX_LENGTH];
	int			len;

	memcpy(text, &oid, sizeof(Oid));
	len = checksum_end(&sink->digest, text + sizeof(Oid));
	sum->objects++;
	sum->bytes += sink->base.bytes_in;
	sum->sum += hash_bytes_extended(text, sizeof(Oid) + len, seed);
}

/* Of a group, as the server has it. */
static ObjectSum
sum_server_objects(PGconn *conn, const LargeObjectGroup *group, uint64 seed)
{
	LargeObjectReader reader = {.conn = conn,.group = group};
	ObjectSum	result = {0};

	for (int i = 0; i < group->n_oids; i++)
	{
		DigestSink	sink;

		begin_object(&sink);
		read_large_object(&reader, i, &sink.base);
		end_object(&sink, group->oids[i], seed, &result);
	}
	return result;
}

/* Without a table, its large objects are damaged. */
pg_noreturn static void
damaged(const Archive *archive, const char *table, const char *problem)
{
	const char *path = printable(archive->path);

	if (table)
		pg_log_error("could not read the rows of table %s in archive \"%s\"",
					 printable(table), path);
	else
		pg_log_error("could not read large objects in archive \"%s\"", path);
	pg_log_error_detail("%s", message_sentence(printable(problem)));
	pg_fatal_hint(ARCHIVE_COPY_HINT);
}

/* The same, as an archive has it. */
static ObjectSum
sum_archive_objects(const Archive *archive, const ArchiveGroup *where,
					const LargeObjectGroup *group, uint64 seed)
{
	ObjectSum	result = {0};
	char	   *problem;
	ArchiveObjects *objects = archive_objects_open_some(archive, where->entry,
														where->position,
														group->oids,
														group->n_oids,
														&problem);
	char	   *buf = pg_malloc(READ_BYTES);
	Oid			oid;

	if (objects == NULL)
		damaged(archive, NULL, problem);
	for (int i = 0; i < group->n_oids && archive_objects_next(objects, &oid); i++)
	{
		DigestSink	sink;
		ssize_t		len;

		/* Of the object that is the next. */
		begin_object(&sink);
		while ((len = archive_objects_read(objects, buf, READ_BYTES)) > 0)
			sink_write(&sink.base, buf, len);
		if (len == 0)
			end_object(&sink, oid, seed, &result);
	}
	problem = archive_objects_error(objects);
	if (problem)
		damaged(archive, NULL, problem);
	if (result.objects != (uint64) group->n_oids)
	{
		pg_log_error("large objects are missing from archive \"%s\"",
					 archive->path);
		pg_log_error_detail("The archive lists %d of them, but contains " UINT64_FORMAT ".",
							group->n_oids, result.objects);
		pg_fatal_hint(ARCHIVE_COPY_HINT);
	}
	archive_objects_close(objects);
	free(buf);
	return result;
}

/* ----------
 * Callbacks of the worker pool
 * ----------
 */
static void
compare_side_start_worker(void *arg, int no)
{
	CompareSide *side = arg;

	if (side->archive)
		file_results_begin_worker(side->run.results, no);
	else
		side->session = worker_session_open(side->source, &side->run, no);
}

static void
compare_side_stop_worker(void *arg)
{
	CompareSide *side = arg;

	if (side->archive == NULL)
		worker_session_close(side->session);
}

static const Job *
job_of(const CompareSide *side, int job)
{
	return &side->plan->queue->jobs[side->jobs[job]];
}

static char *
compare_side_describe_job(void *arg, int job, int step)
{
	CompareSide *side = arg;

	return job_describe(side->plan->queue, job_of(side, job), step,
						side->plan->tables, side->plan->objects);
}

/*
 * What, beside session_set_up()'s, decides how a value is written.  The end
 * of a job undoes it.
 */
static const char text_settings_query[] =
"SELECT pg_catalog.set_config('timezone', 'UTC', false),"
" pg_catalog.set_config('bytea_output', 'hex', false),"
" pg_catalog.set_config('lc_monetary', 'C', false)";

/* Returns the number of rows if there is a manifest, else 0. */
static uint64
read_archive_file(const CompareSide *side, const DataFile *file, Sink *sink)
{
	static char *const no_stop;
	const ArchiveRows *rows =
		&side->archive_plan->rows[file - side->plan->chunks->files];
	char	   *problem;
	ArchiveMember *member = archive_member_open(side->archive, rows->entry,
												&problem);

	if (member)
		problem = archive_member_send_rows(member, sink, &no_stop);
	if (problem)
		damaged(side->archive, side->plan->tables->tables[file->table].name,
				problem);
	archive_member_close(member);
	return rows->want ? rows->want->rows : 0;
}

static void
compare_side_read_file(CompareSide *side, const DataFile *file)
{
	const CompareWork *work = side->work;
	FileResults *results = side->run.results;
	FileResult *result = run_file_result(&side->run, file);
	int64		start_us = clock_wall_us();
	Sink	   *sink = work->begin(work->arg, file);
	uint64		rows;

	if (sink == NULL)
		return;
	/* only the progress needs bytes and rows */
	sink = sink_tap_new(sink, &file_results_progress(results)->raw_bytes, NULL);
	if (side->archive)
		rows = read_archive_file(side, file, sink);
	else
		rows = worker_session_read_text(side->session, file, sink);
	sink_finish(sink);
	file_result_set(results, result, start_us, rows, sink->bytes_in,
					sink->bytes_in);
	sink_free(sink);
	work->end(work->arg, file);
}

static void
read_group(CompareSide *side, int no)
{
	const CompareWork *work = side->work;
	const LargeObjectGroup *group = &side->plan->objects->groups[no];
	FileResult *results = &side->run.results->objects[group->first_object];
	int64		start_us = clock_wall_us();
	ObjectSum	sum = side->archive ?
		sum_archive_objects(side->archive, &side->archive_plan->groups[no],
							group, work->seed) :
		sum_server_objects(worker_session_conn(side->session), group,
						   work->seed);

	work->group(work->arg, no, &sum);
	/* of several only the sum is known */
	for (int i = 0; i < group->n_oids; i++)
		file_result_set(side->run.results, &results[i], start_us, 0,
						i == 0 ? sum.bytes : 0, i == 0 ? sum.bytes : 0);
}

static void
read_job(CompareSide *side, const Job *job, volatile int *step)
{
	const CompareWork *work = side->work;

	if (job->kind == JOB_LARGE_OBJECTS)
	{
		read_group(side, job->first);
		return;
	}
	for (int i = 0; i < job->n; i++)
	{
		const DataFile *file = side->plan->queue->files[job->first + i];

		*step = i;
		if (work->wants(work->arg, file->table))
			compare_side_read_file(side, file);
	}
}

/*
 * Settings that affect how values are written are set per job, since the end
 * of the job's transaction undoes them.
 */
static bool
compare_side_run_job(void *arg, int no, volatile int *step)
{
	CompareSide *side = arg;
	const Job  *job = job_of(side, no);
	bool		begun = true;

	if (side->archive == NULL)
	{
		begun = worker_session_begin_job(side->session, job);
		if (begun && side->alike)
			PQclear(session_query(worker_session_conn(side->session),
								  text_settings_query));
	}
	if (begun)
	{
		file_results_begin_job(side->run.results, side->jobs[no]);
		read_job(side, job, step);
		file_results_begin_job(side->run.results, -1);
		run_job_is_done(&side->run, job, NULL);
	}
	if (side->archive == NULL)
		worker_session_end_job(side->session);
	return begun;
}

static void
compare_side_reset_job(void *arg, int no)
{
	CompareSide *side = arg;
	const CompareWork *work = side->work;
	const Job  *job = job_of(side, no);

	run_event_retry(&side->run, side->jobs[no]);
	for (int i = 0; job->kind == JOB_DATA_FILES && i < job->n; i++)
		work->reset(work->arg, side->plan->queue->files[job->first + i]);
}

/* ----------
 * Reading
 * ----------
 */
static bool
wants_job(const CompareSide *side, const Job *job)
{
	const CompareWork *work = side->work;

	if (job->kind == JOB_LARGE_OBJECTS)
		return work->group != NULL;
	for (int i = 0; i < job->n; i++)
		if (work->wants(work->arg, side->plan->queue->files[job->first + i]->table))
			return true;
	return false;
}

/* Results are those of the pass: what is not read in it is done. */
static void
begin_results(const CompareSide *side)
{
	const ChunkPlan *chunks = side->plan->chunks;
	const CompareWork *work = side->work;
	FileResults *results = side->run.results;

	memset(results->files, 0, results->n_files * sizeof(FileResult));
	memset(results->objects, 0, results->n_objects * sizeof(FileResult));
	for (int i = 0; i < results->n_files; i++)
		results->files[i].done = !work->wants(work->arg, chunks->files[i].table);
	for (int i = 0; i < results->n_objects; i++)
		results->objects[i].done = work->group == NULL;
}

void
compare_side_choose(CompareSide *side, const CompareWork *work)
{
	const JobQueue *queue = side->plan->queue;

	side->work = work;
	free(side->jobs);
	side->jobs = pg_malloc((queue->n_jobs + 1) * sizeof(int));
	side->n_jobs = 0;
	for (int i = 0; i < queue->n_jobs; i++)
		if (wants_job(side, &queue->jobs[i]))
			side->jobs[side->n_jobs++] = i;
	begin_results(side);
}

void
compare_sides_begin_stage(CompareSide *const sides[2], const char *what)
{
	const Run  *runs[] = {&sides[0]->run, &sides[1]->run};
	const char *names[] = {sides[0]->name, sides[1]->name};

	run_progress_begin_sides(what, runs, names, 2);
}

/*
 * From now on the leader keeps its session.  It is prepared once, before the
 * first pass, as it has to hold the snapshot for all of them.
 */
static void
begin_source(CompareSide *side)
{
	Source	   *source = side->source;

	if (side->begun)
		return;
	source->reported = pg_malloc0((side->plan->tables->n_tables + 1) *
								  sizeof(bool));
	leader_session_begin(source, side->plan);
	side->begun = true;
}

/* The leader watches the server while workers read. */
static PoolWatch
watch_source(CompareSide *side)
{
	/* signals cancel what the leader waits for */
	interrupt_set_connection(side->source->conn);
	begin_source(side);
	return worker_monitor(side->source, side->plan);
}

void
compare_side_run(CompareSide *side)
{
	PoolWatch	watch;
	WorkerTask	task = {
		.arg = side,
		.job_detail = "The worker was comparing %s.",
		.max_retries = (int) side->options->retries,
		.outlives_kill = true,
		.has_slots = true,
		.start = compare_side_start_worker,
		.run = compare_side_run_job,
		.stop = compare_side_stop_worker,
		.describe = compare_side_describe_job,
		.reset = compare_side_reset_job,
	};

	if (side->n_jobs == 0)
		return;
	session_set_max_rate(side->options->max_rate);
	watch = side->archive ? progress_watch() : watch_source(side);
	worker_pool_run(&task, &watch, side->options->jobs, side->n_jobs);
}

/*
 * The end of the leader's session shows whether it was lost in between, in
 * which case the tables may have been changed while they were read.
 */
void
compare_side_close(CompareSide *side)
{
	Source	   *source = side->source;

	if (side->archive)
		return;
	/* without rows there was no pass */
	begin_source(side);
	if (source->conn)
	{
		/* what was read by name was of the tables that are meant */
		interrupt_set_connection(source->conn);
		leader_session_finish(source->session);
	}
	if (!leader_session_is_finished(source->session))
	{
		pg_log_error("lost the connection that held the locks on all tables of %s", side->name);
		pg_fatal_hint("Run the same command again.");
	}
	leader_close(source);
}
