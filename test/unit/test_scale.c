/*
 * test_scale.c
 *		A table of very many chunks is planned, laid out, queued and written
 *		in time and memory that grow with their number, and no faster.
 *
 * PG_PARDUMP_SCALE sets the larger number of chunks; with it what each number
 * takes is shown, too.
 */
#include "base/fe_compat.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "catalog/pg_class_d.h"

#include "archive/toc_file.h"
#include "plan/archive_layout.h"
#include "plan/job_queue.h"
#include "unit_test.h"

#define CHUNKS 200000
#define CHUNK_BYTES ((uint64) 1024 * 1024 * 1024)
#define BLOCK_BYTES 8192
#define CHUNK_BLOCKS 4096

/* Of both the larger has ten times as many; quadratic is 100 times. */
#define MAX_RATIO 40

/* Of memory, for a chunk: its file, job, entry, and place in lists. */
#define MAX_CHUNK_MEMORY 1500

/* A sink that only counts. */
static void
count_write(Sink *sink, const void *data, size_t len)
{
}

static void
count_end(Sink *sink)
{
}

static const SinkOps count_ops = {
	.write = count_write,
	.finish = count_end,
	.free = count_end,
};

static int	n_chunks;

/* A ServerChunksCallback: n_chunks chunks of about CHUNK_BYTES. */
static ServerChunk *
many_chunks(PGconn *conn, const DumpTable *table, uint64 chunk_bytes, int *n)
{
	ServerChunk *chunks = pg_malloc0(n_chunks * sizeof(ServerChunk));

	for (int i = 0; i < n_chunks; i++)
	{
		chunks[i].start_block = (BlockNumber) i * CHUNK_BLOCKS;
		chunks[i].end_block = (BlockNumber) (i + 1) * CHUNK_BLOCKS;
		/* the biggest stands somewhere in the middle */
		chunks[i].est_bytes = CHUNK_BYTES + (uint64) i * 7919 % 104729;
	}
	*n = n_chunks;
	return chunks;
}

/* The bytes of toc.dat. */
static uint64
plan_many(int n)
{
	static const CompressSpec compress = {COMPRESS_NONE, 0};
	static int	deps[] = {1};
	TocEntry	entries[] = {
		{.dump_id = 1,.tag = "t",.desc = "TABLE",.section = TOC_SECTION_PRE_DATA},
		{.dump_id = 2,.tag = "t",.namespace = "public",.desc = "TABLE DATA",
			.section = TOC_SECTION_DATA,.had_dumper = true,
			.copy_stmt = "COPY public.t (id, name, made_at, value) FROM stdin;\n",
		.deps = deps,.n_deps = 1},
		{.dump_id = 3,.tag = "t_i",.desc = "INDEX",.section = TOC_SECTION_POST_DATA,
		.deps = deps,.n_deps = 1},
	};
	Toc			toc = {.minor = 14,.entries = entries,.n_entries = lengthof(entries),.max_dump_id = 3};
	DumpTable	table = {.relkind = RELKIND_RELATION,.is_heap = true,
		.has_definition = true,.name = "public.t",.heap_bytes = n * CHUNK_BYTES,
		.total_bytes = n * CHUNK_BYTES,.heap_blocks = (BlockNumber) n * CHUNK_BLOCKS,
	.entry = &entries[1]};
	DumpTables	tables = {.tables = &table,.n_tables = 1,.server_version = 150000,.block_bytes = BLOCK_BYTES};
	Options		options = {.jobs = 1000,.chunk_bytes = CHUNK_BYTES};
	ServerExtension extension = {NULL};
	LargeObjects objects = {0};
	JobRules	rules = {NULL};
	Sink		sink = {.ops = &count_ops};
	ChunkPlan  *chunks;

	n_chunks = n;
	chunks = chunk_plan_make(&options, &tables, &extension, NULL, many_chunks,
							 NULL);
	toc_write(archive_layout_make(&toc, &tables, chunks), &compress, &sink);
	if (chunks->n_files != n ||
		job_queue_make(chunks, &objects, &rules)->n_jobs != n)
		exit(2);
	return sink.bytes_in;
}

typedef struct Cost
{
	bool		right;			/* as many files and jobs as chunks */
	double		cpu_s;
	double		bytes;			/* of memory, the most at a time */
} Cost;

/* In a child, whose memory is its own. */
static Cost
cost_of(int n)
{
	struct rusage usage;
	int			status;
	pid_t		pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0)
	{
		printf("# %d chunks: toc.dat has " UINT64_FORMAT " bytes\n", n,
			   plan_many(n));
		fflush(stdout);
		_exit(0);
	}
	if (pid < 0 || wait4(pid, &status, 0, &usage) != pid)
		pg_fatal("could not run a child process: %m");
	return (Cost)
	{
		WIFEXITED(status) && WEXITSTATUS(status) == 0,
			usage.ru_utime.tv_sec + usage.ru_utime.tv_usec / 1e6,
			usage.ru_maxrss * 1024.0
	};
}

void
test_scale(void)
{
	const char *scale = getenv("PG_PARDUMP_SCALE");
	int			n = scale ? atoi(scale) : CHUNKS;
	Cost		few = cost_of(n / 10);
	Cost		many = cost_of(n);

	printf("# CPU %.3f s and %.3f s, memory %.0f MB and %.0f MB\n", few.cpu_s,
		   many.cpu_s, few.bytes / 1048576, many.bytes / 1048576);
	ok(few.right && many.right, "each chunk is a file and a job");
	ok(many.cpu_s < few.cpu_s * MAX_RATIO + 0.1, "time grows with the number");
	ok((many.bytes - few.bytes) / (n - n / 10) < MAX_CHUNK_MEMORY,
	   "memory grows with the number");
}
