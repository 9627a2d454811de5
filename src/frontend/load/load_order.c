/*
 * load_order.c
 *		The order in which tables are loaded if foreign keys already exist.
 *
 * If a restore or copy did not create the tables, foreign keys are checked
 * while rows are loaded.  This is the case with --data-only, if definitions
 * fail because the objects exist, and for tables of extensions.  pg_dump
 * sorts the data of an archive without definitions by the foreign keys
 * (pg_dump.c:getTableDataFKConstraints), but not the data of an archive with
 * definitions.  Besides, workers load tables concurrently.  So the keys are
 * read from the target.  The server checks a key at the end of the COPY
 * (ri_triggers.c).
 */
#include "base/fe_compat.h"

#include "load/load_order.h"
#include "load/target_ask.h"

/*
 * A depth-first search, which begins at each table and follows its foreign
 * keys to the referenced tables.
 */
typedef struct Walk
{
	const LoadKey *keys;
	int		   *first_key;		/* by table, and one more for the end */
	int		   *next_key;		/* by table: the next key to follow */
	int		   *wave;			/* by table; -1 = not known yet */
	bool	   *begun;			/* by table */
	int		   *path;			/* the tables from the start to the current
								 * one */
	int			n_path;
} Walk;

static int
load_order_compare_keys(const void *a, const void *b)
{
	const LoadKey *k1 = a;
	const LoadKey *k2 = b;

	return k1->from != k2->from ? k1->from - k2->from : k1->to - k2->to;
}

/* Continue the search at a table, unless it was visited before. */
static void
visit(Walk *walk, int table)
{
	if (walk->begun[table])
		return;
	walk->begun[table] = true;
	walk->path[walk->n_path++] = table;
}

/*
 * Set the wave of the last table of the path, and go back to the one before.
 * All referenced tables have their waves, except those on the path.
 */
static void
leave(Walk *walk, int table)
{
	int			wave = 0;

	for (int i = walk->first_key[table]; i < walk->first_key[table + 1]; i++)
		wave = Max(wave, walk->wave[walk->keys[i].to] + 1);
	walk->wave[table] = wave;
	walk->n_path--;
}

/*
 * The search is not recursive, because chains of tables may be long.  A
 * table's wave is one more than the highest wave of its referenced tables.
 * In a circle of keys one key is ignored, because no order is right there
 * unless the constraints are deferred.
 */
int *
load_order_waves(LoadKey *keys, int n_keys, int n_tables)
{
	Walk		walk = {.keys = keys};

	qsort(keys, n_keys, sizeof(LoadKey), load_order_compare_keys);
	walk.first_key = pg_malloc0((n_tables + 1) * sizeof(int));
	walk.next_key = pg_malloc((n_tables + 1) * sizeof(int));
	walk.wave = pg_malloc((n_tables + 1) * sizeof(int));
	walk.begun = pg_malloc0(n_tables + 1);
	walk.path = pg_malloc((n_tables + 1) * sizeof(int));
	for (int i = 0; i < n_keys; i++)
		walk.first_key[keys[i].from + 1]++;
	for (int i = 0; i < n_tables; i++)
	{
		walk.first_key[i + 1] += walk.first_key[i];
		walk.next_key[i] = walk.first_key[i];
		walk.wave[i] = -1;
	}
	for (int i = 0; i < n_tables; i++)
	{
		visit(&walk, i);
		while (walk.n_path > 0)
		{
			int			table = walk.path[walk.n_path - 1];

			if (walk.next_key[table] < walk.first_key[table + 1])
				visit(&walk, keys[walk.next_key[table]++].to);
			else
				leave(&walk, table);
		}
	}
	return walk.wave;
}

/* Convert the answer of the target to keys; owned. */
static LoadKey *
read_keys(const PGresult *answer, int n_tables)
{
	LoadKey    *keys = pg_malloc((PQntuples(answer) + 1) * sizeof(LoadKey));

	for (int i = 0; i < PQntuples(answer); i++)
	{
		keys[i].from = session_number(answer, i, ASK_NO, 1, n_tables) - 1;
		keys[i].to = session_number(answer, i, ASK_NUMBER, 1, n_tables) - 1;
	}
	return keys;
}

/*
 * Make a queue in the order of the keys.  A table that references itself is
 * loaded with one COPY, because the server checks its keys at the end of the
 * statement.
 */
static const JobQueue *
order_by_keys(const DumpPlan *plan, const int *shares, bool apart,
			  LoadKey *keys, int n_keys)
{
	int			n_tables = plan->tables->n_tables;
	bool	   *at_once = pg_malloc0((n_tables + 1) * sizeof(bool));
	JobRules	rules = {.waves = load_order_waves(keys, n_keys, n_tables),
		.at_once = at_once,
	.shares = shares,.apart = apart,.targets = plan->tables};

	for (int i = 0; i < n_keys; i++)
		if (keys[i].from == keys[i].to)
			at_once[keys[i].from] = true;
	return job_queue_make(plan->chunks, plan->objects, &rules);
}

const JobQueue *
load_order_make(PGconn *conn, const DumpPlan *plan, const int *shares,
				bool apart, const Oid *targets)
{
	PGresult   *answer = target_ask(conn, TARGET_KEYS, NULL,
									oid_array(targets, plan->tables->n_tables));
	LoadKey    *keys = read_keys(answer, plan->tables->n_tables);
	const JobQueue *queue = plan->queue;

	if (PQntuples(answer) > 0)
		queue = order_by_keys(plan, shares, apart, keys, PQntuples(answer));
	return queue;
}
