/*
 * test_backup_plan.c
 *		Files cut into pieces: every byte once, none too large, tablespaces
 *		apart.
 */
#include "base/fe_compat.h"

#include "basebackup/backup_list.h"
#include "unit_test.h"

static const BackupFile files[] = {
	{.path = "small1",.size = 100,.tablespace = BACKUP_BASE},
	{.path = "large",.size = PIECE_BYTES * 3 + 5,.tablespace = BACKUP_BASE},
	{.path = "empty",.size = 0,.tablespace = BACKUP_BASE},
	{.path = "even",.size = PIECE_BYTES * 2,.tablespace = BACKUP_BASE},
	{.path = "second",.size = 7,.tablespace = 1},
	{.path = "first",.size = PIECE_BYTES,.tablespace = 0},
	{.path = "small2",.size = 100,.tablespace = BACKUP_BASE},
	{.path = "whole",.size = 500,.tablespace = BACKUP_BASE,.is_whole = true},
};

static BackupPlan *
make_plan(const BackupFile *from, int n)
{
	BackupList *list = pg_malloc0(sizeof(BackupList));

	list->n_files = n;
	list->files = pg_malloc(n * sizeof(BackupFile));
	memcpy(list->files, from, n * sizeof(BackupFile));
	return backup_plan_new(list);
}

/* Every range of a piece: of one tablespace, and not too many bytes. */
static bool
piece_is_sound(const BackupPlan *plan, const BackupPiece *piece)
{
	uint64		bytes = 0;

	for (int i = 0; i < piece->n; i++)
	{
		const BackupRange *range = &plan->ranges[piece->first + i];

		const BackupFile *file = &plan->list->files[range->file];

		if (file->tablespace != piece->tablespace ||
			file->is_whole != piece->is_whole)
			return false;
		bytes += range->length;
	}
	return piece->n > 0 && piece->n <= PIECE_RANGES && bytes <= PIECE_BYTES;
}

/* Do the ranges make all files, one after the other? */
static bool
covers_all(const BackupPlan *plan)
{
	int			range = 0;

	for (int file = 0; file < plan->list->n_files; file++)
	{
		uint64		pos = 0;

		do
		{
			const BackupRange *r = &plan->ranges[range++];

			if (r->file != file || r->offset != pos)
				return false;
			pos += r->length;
		} while (pos < plan->list->files[file].size);
	}
	return range == plan->n_ranges;
}

static void
check_plan(const BackupPlan *plan, const char *what)
{
	int			next = 0;
	bool		sound = true;

	for (int i = 0; i < plan->n_pieces; i++)
	{
		sound &= piece_is_sound(plan, &plan->pieces[i]) &&
			plan->pieces[i].first == next;
		next += plan->pieces[i].n;
	}
	ok(sound && next == plan->n_ranges, what);
	ok(covers_all(plan), "every byte of every file");
}

static void
check_many_small(void)
{
	enum
	{
		MANY = PIECE_RANGES * 2 + 1
	};
	BackupFile	many[MANY];

	memset(many, 0, sizeof(many));
	for (int i = 0; i < MANY; i++)
	{
		many[i].path = "same";
		many[i].tablespace = BACKUP_BASE;
	}
	is_number(make_plan(many, MANY)->n_pieces, 3, "empty files share pieces");
}

static void
check_others(void)
{
	static const BackupFile mixed[] = {
		{.path = "blocks",.size = 7 * PIECE_BYTES},
		{.path = "relation",.size = 5 * PIECE_BYTES,.is_relation = true},
		{.path = "settings",.size = 100,.is_whole = true},
		{.path = "messages",.size = 2 * PIECE_BYTES},
	};
	BackupList	list = {.n_files = lengthof(mixed)};
	BackupList *others;

	list.files = pg_malloc(sizeof(mixed));
	memcpy(list.files, mixed, sizeof(mixed));
	list.total_bytes = 14 * PIECE_BYTES + 100;
	others = backup_plan_part_others(&list);
	is_number(list.n_files, 2, "what is not read last stays on the list");
	is_text(list.files[0].path, "relation", "as relations");
	is_text(list.files[1].path, "settings", "and small files");
	is_number(list.total_bytes, 5 * PIECE_BYTES + 100, "and their bytes");
	is_number(others->n_files, 2, "large files that are no relation's are read last");
	is_text(others->files[1].path, "messages", "all of them");
	is_number(others->total_bytes, 9 * PIECE_BYTES, "with their bytes");
}

void
test_backup_plan(void)
{
	BackupPlan *plan = make_plan(files, lengthof(files));

	check_plan(plan, "pieces of all kinds of files");
	is_text(plan->list->files[0].path, "first", "tablespaces come first");
	is_text(plan->list->files[2].path, "large", "then the base, by size");
	is_text(plan->list->files[6].path, "empty", "the smallest last");
	is_text(plan->list->files[7].path, "whole", "but for those that are read whole");
	/* 1, 1, 4, 2, the small ones together, and those that are read whole */
	is_number(plan->n_pieces, 10, "number of pieces");
	is_number(plan->pieces[9].no, 7, "counted in their tablespace");
	is_number(make_plan(files, 0)->n_pieces, 0, "no files, no pieces");
	check_many_small();
	check_others();
}
