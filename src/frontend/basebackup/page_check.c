/*
 * page_check.c
 *		Verifies the checksums of pages that are read for a base backup.
 */
#include "base/fe_compat.h"

#include "storage/bufpage.h"

#include "base/message.h"
#include "basebackup/file_query.h"
#include "basebackup/page_check.h"
#include "session/session.h"
#include "shared/page_checksum.h"

/* The largest number of warnings for pages of one file. */
#define MOST_WARNINGS 5

/* A page that was wrong when it was read first. */
typedef struct WrongPage
{
	int			file;
	uint64		offset;
} WrongPage;

struct PageCheck
{
	const Backup *backup;
	PGconn	   *conn;
	WrongPage  *wrong;
	int			n_wrong;
	int			room;
	PGAlignedBlock page;
};

PageCheck *
page_check_new(const Backup *backup, PGconn *conn)
{
	PageCheck  *check = pg_malloc0(sizeof(PageCheck));

	check->backup = backup;
	check->conn = conn;
	return check;
}

void
page_check_begin(PageCheck *check)
{
	check->n_wrong = 0;
}

BlockNumber
page_check_block(const Backup *backup, int file, uint64 offset)
{
	return backup->list->files[file].segment * backup->server.segment_blocks +
		(BlockNumber) (offset / BLCKSZ);
}

/* The checksum that the page should have; 0 if it has that, or none. */
static uint16
wrong_checksum(PageCheck *check, const char *data, BlockNumber block,
			   uint16 *stored)
{
	PageHeader	header = (PageHeader) check->page.data;
	uint16		right;

	memcpy(check->page.data, data, BLCKSZ);
	if (PageIsNew((Page) header) ||
		PageGetLSN((Page) header) >= check->backup->start)
		return 0;
	right = page_checksum(check->page.data, block);
	*stored = header->pd_checksum;
	/* the checksum of no page is 0 */
	return right == *stored ? 0 : right;
}

static void
note(PageCheck *check, int file, uint64 offset)
{
	if (check->n_wrong == check->room)
	{
		check->room = check->room * 2 + 8;
		check->wrong = pg_realloc(check->wrong, check->room * sizeof(WrongPage));
	}
	check->wrong[check->n_wrong].file = file;
	check->wrong[check->n_wrong++].offset = offset;
}

void
page_check_take(PageCheck *check, int file, uint64 offset, const char *data,
				size_t len)
{
	uint16		stored;

	for (; len >= BLCKSZ; data += BLCKSZ, offset += BLCKSZ, len -= BLCKSZ)
		if (wrong_checksum(check, data,
						   page_check_block(check->backup, file, offset),
						   &stored) != 0)
			note(check, file, offset);
	if (len > 0)
		page_check_warn_cut(check->backup, file, offset);
}

/* As it is in the file now; NULL if it is not there any more. */
static PGresult *
read_again(PageCheck *check, const WrongPage *wrong)
{
	PQExpBufferData sql;
	PGresult   *res;

	initPQExpBuffer(&sql);
	appendPQExpBufferStr(&sql, "SELECT pg_catalog.pg_read_binary_file(");
	file_query_append_path(&sql, check->conn,
						   check->backup->list->files[wrong->file].path);
	appendPQExpBuffer(&sql, ", " UINT64_FORMAT ", %d, true)", wrong->offset,
					  BLCKSZ);
	res = session_query_params(check->conn, sql.data, 0, NULL, 1);
	termPQExpBuffer(&sql);
	if (PQgetlength(res, 0, 0) == BLCKSZ)
		return res;
	PQclear(res);
	return NULL;
}

void
page_check_warn_cut(const Backup *backup, int file, uint64 offset)
{
	pg_log_warning("could not verify checksum in file \"%s\", block %u: the file ends within the page",
				   printable(backup->list->files[file].path),
				   page_check_block(backup, file, offset));
}

void
page_check_warn(const Backup *backup, int file, BlockNumber block,
				uint16 computed, uint16 stored)
{
	uint32		before = __sync_fetch_and_add(&backup->results.warned[file], 1);
	const char *path = printable(backup->list->files[file].path);

	if (before < MOST_WARNINGS)
		pg_log_warning("checksum verification failed in file \"%s\", block %u: calculated %X but expected %X",
					   path, block, computed, stored);
	if (before + 1 == MOST_WARNINGS)
		pg_log_warning("further checksum verification failures in file \"%s\" will not be reported",
					   path);
}

int
page_check_settle(PageCheck *check)
{
	int			failures = 0;

	for (int i = 0; i < check->n_wrong; i++)
	{
		const WrongPage *wrong = &check->wrong[i];
		BlockNumber block = page_check_block(check->backup, wrong->file,
											 wrong->offset);
		PGresult   *res = read_again(check, wrong);
		uint16		stored = 0;
		uint16		right = res ? wrong_checksum(check, PQgetvalue(res, 0, 0),
												 block, &stored) : 0;

		PQclear(res);
		if (right == 0)
			continue;
		failures++;
		page_check_warn(check->backup, wrong->file, block, right, stored);
	}
	check->n_wrong = 0;
	return failures;
}
