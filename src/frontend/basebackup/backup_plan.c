/*
 * backup_plan.c
 *		Cuts the files of a backup into pieces, which workers read.
 */
#include "base/fe_compat.h"

#include "basebackup/backup_plan.h"

/*
 * Tablespaces, then the base; in each the largest first, and last those that
 * are read whole.
 */
static int
compare_files(const void *a, const void *b)
{
	const BackupFile *x = a;
	const BackupFile *y = b;

	if (x->tablespace != y->tablespace)
	{
		if (x->tablespace == BACKUP_BASE)
			return 1;
		if (y->tablespace == BACKUP_BASE)
			return -1;
		return x->tablespace < y->tablespace ? -1 : 1;
	}
	if (x->is_whole != y->is_whole)
		return x->is_whole ? 1 : -1;
	if (x->size != y->size)
		return x->size > y->size ? -1 : 1;
	return strcmp(x->path, y->path);
}

/* Of a file: those of PIECE_BYTES, and the rest. */
static uint64
ranges_of(const BackupFile *file)
{
	return Max(1, (file->size + PIECE_BYTES - 1) / PIECE_BYTES);
}

static void
cut_file(BackupPlan *plan, int no)
{
	const BackupFile *file = &plan->list->files[no];
	uint64		offset = 0;

	for (uint64 left = ranges_of(file); left > 0; left--)
	{
		BackupRange *range = &plan->ranges[plan->n_ranges++];

		range->file = no;
		range->offset = offset;
		range->length = (uint32) Min(file->size - offset, PIECE_BYTES);
		offset += range->length;
	}
}

/* Is there room for the range in the piece, which has "bytes" bytes? */
static bool
fits(const BackupPlan *plan, const BackupPiece *piece, uint64 bytes,
	 const BackupRange *range)
{
	const BackupFile *file = &plan->list->files[range->file];

	return piece->n < PIECE_RANGES && bytes + range->length <= PIECE_BYTES &&
		piece->tablespace == file->tablespace &&
		piece->is_whole == file->is_whole;
}

static void
group_ranges(BackupPlan *plan)
{
	BackupPiece *piece = NULL;
	uint64		bytes = 0;

	for (int i = 0; i < plan->n_ranges; i++)
	{
		const BackupRange *range = &plan->ranges[i];
		const BackupFile *file = &plan->list->files[range->file];

		if (piece == NULL || !fits(plan, piece, bytes, range))
		{
			int			no = piece && piece->tablespace == file->tablespace ?
				piece->no + 1 : 0;

			piece = &plan->pieces[plan->n_pieces++];
			piece->first = i;
			piece->tablespace = file->tablespace;
			piece->is_whole = file->is_whole;
			piece->no = no;
			bytes = 0;
		}
		piece->n++;
		bytes += range->length;
	}
}

BackupList *
backup_plan_part_others(BackupList *list)
{
	BackupList *others = pg_malloc0(sizeof(BackupList));
	int			n = 0;

	others->tablespaces = list->tablespaces;
	others->n_tablespaces = list->n_tablespaces;
	others->files = pg_malloc((list->n_files + 1) * sizeof(BackupFile));
	for (int i = 0; i < list->n_files; i++)
	{
		BackupFile	file = list->files[i];

		if (file.is_relation || file.is_whole)
			list->files[n++] = file;
		else
		{
			others->files[others->n_files++] = file;
			others->total_bytes += file.size;
		}
	}
	list->n_files = n;
	list->total_bytes -= others->total_bytes;
	return others;
}

BackupPlan *
backup_plan_new(BackupList *list)
{
	BackupPlan *plan = pg_malloc0(sizeof(BackupPlan));
	uint64		n_ranges = 0;

	if (list->n_files > 0)
		qsort(list->files, list->n_files, sizeof(BackupFile), compare_files);
	for (int i = 0; i < list->n_files && n_ranges <= PG_INT32_MAX; i++)
		n_ranges += ranges_of(&list->files[i]);
	if (n_ranges > PG_INT32_MAX)
		pg_fatal("the cluster is too large: " UINT64_FORMAT " pieces or more",
				 n_ranges);
	plan->list = list;
	plan->ranges = pg_malloc((n_ranges + 1) * sizeof(BackupRange));
	plan->pieces = pg_malloc0((n_ranges + 1) * sizeof(BackupPiece));
	for (int i = 0; i < list->n_files; i++)
		cut_file(plan, i);
	group_ranges(plan);
	return plan;
}
