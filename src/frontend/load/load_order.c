/*
 * load_order.c
 *		The order in which tables are loaded if foreign keys already exist.
 *
 * Rows go into tables that a restore or copy did not make with their foreign
 * keys in force: with --data-only, where definitions fail as all exists, and
 * into tables of extensions.  pg_dump orders the data of an archive without
 * definitions by these (pg_dump.c:getTableDataFKConstraints), but of one with
 * definitions it does not, and workers go side by side.  So the target is
 * asked.  It checks a key at the end of the COPY (ri_triggers.c).
 */
#include "base/fe_compat.h"

#include "load/load_order.h"
#include "load/target_ask.h"

/* A walk from each table to all that it references, and back. */
typedef struct Walk
{
	const LoadKey *keys;
	int		   *first_key;		/* by table, and one more for the end */
	int		   *next_key;		/* by table: that is not gone along yet */
	int		   *wave;			/* by table; -1 = not come back to yet */
	bool	   *begun;			/* by table */
	int		   *way;			/* from where the walk begins */
	int			n_way;
} Walk;

static int
load_order_compare_keys(const void *a, const void *b)
{
	const LoadKey *k1 = a;
	const LoadKey *k2 = b;

	return k1->from != k2->from ? k1->from - k2->from : k1->to - k2->to;
}

static void
go_to(Walk *walk, int table)
{
	if (walk->begun[table])
		return;
	walk->begun[table] = true;
	walk->way[walk->n_way++] = table;
}

/*
 * All that the table references has its wave, unless it is on the way here.
 */
static void
come_back(Walk *walk, int table)
{
	int			wave = 0;

	for (int i = walk->first_key[table]; i < walk->first_key[table + 1]; i++)
		wave = Max(wave, walk->wave[walk->keys[i].to] + 1);
	walk->wave[table] = wave;
	walk->n_way--;
}

/*
 * A depth-first search along the foreign keys, without recursion, since
 * chains of tables may be long.  A table's wave is one more than the latest
 * wave that it references.  In a circle of keys one edge is ignored: that
 * cannot be loaded in any order unless the constraints are deferred.
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
	walk.way = pg_malloc((n_tables + 1) * sizeof(int));
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
		go_to(&walk, i);
		while (walk.n_way > 0)
		{
			int			table = walk.way[walk.n_way - 1];

			if (walk.next_key[table] < walk.first_key[table + 1])
				go_to(&walk, keys[walk.next_key[table]++].to);
			else
				come_back(&walk, table);
		}
	}
	return walk.wave;
}

/* The answer as such keys, of n_tables tables; owned. */
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
 * A table that references itself is loaded at once, by one COPY: its keys are
 * checked at the end of the statement.
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
