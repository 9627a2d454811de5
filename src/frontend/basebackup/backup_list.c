/*
 * backup_list.c
 *		Lists the files of a cluster that belong in its base backup, and cuts
 *		them into pieces.
 *
 * The rules for what is left out are those of the server's own base backup
 * (src/backend/backup/basebackup.c), so that the result is the same as
 * pg_basebackup's.  Directories are listed level by level, with one query for
 * all directories of a level, because a query for each would cost a round
 * trip for each of thousands of directories.
 *
 * A piece has at most 4 MB, of one large file or of many small ones, so that
 * workers finish at about the same time.
 */
#include "base/fe_compat.h"

#include "base/buffer.h"
#include "basebackup/backup_list.h"
#include "basebackup/file_query.h"
#include "process/progress.h"
#include "session/session_lost.h"
#include "shared/crc32c.h"

/* The parent of the data directory itself. */
#define NO_PARENT (-1)

/*
 * This many nested directories do not have the same names in them by chance.
 */
#define MOST_ALIKE 3

/* The state while the list is made. */
typedef struct Lister
{
	PGconn	   *conn;
	const ServerExtension *extension;
	int			wait_ms;		/* how long to wait for the lock on the
								 * extension */
	BackupList *list;
	int			major;			/* the server's */
	char	   *version_directory;	/* of tablespaces */
	int			n_listed;		/* directories whose entries are known */
	int			n_asked;		/* the current query is for those before this
								 * one */
	int			parent;			/* directory whose entries are being taken */
} Lister;

/* An entry of a directory, as the server reports it. */
typedef struct Entry
{
	char	   *name;			/* owned */
	BackupFile	file;
	bool		is_directory;	/* or a link to a directory */
	char		type;			/* as of find -type, or TYPE_UNKNOWN */
} Entry;

/* The type from SQL of anything except a link to nowhere. */
#define TYPE_UNKNOWN '\0'

static BackupFile *
add_directory(Lister *lister, char *path, time_t mtime, int tablespace)
{
	BackupList *list = lister->list;
	const BackupFile directory = {
		.path = path,
		.mtime = mtime,
		.tablespace = tablespace,
		.parent = lister->parent,
	};
	BackupFile *result = array_add(list->directories, list->n_directories);

	*result = directory;
	return result;
}

/* ----------
 * Tablespaces
 * ----------
 */

/*
 * The target of a tablespace's link; owned.  It is relative if there is a
 * directory instead of a link (allow_in_place_tablespaces).  NULL if the
 * tablespace was dropped after it was listed: the error of the first query is
 * ignored only if the second one finds nothing.
 */
static char *
tablespace_location(PGconn *conn, const char *oid)
{
	char	   *sql = psprintf("SELECT pg_catalog.pg_tablespace_location(%s)", oid);
	PGresult   *res = session_exec(conn, sql);

	if (PQresultStatus(res) == PGRES_TUPLES_OK)
		return pg_strdup(PQgetvalue(res, 0, 0));
	if (session_is_true(conn, psprintf("SELECT (pg_catalog.pg_stat_file('pg_tblspc/%s', true)).isdir IS NOT NULL",
									   oid)))
		session_failed(conn, res, "query failed", sql);
	return NULL;
}

/*
 * Take an entry of pg_tblspc.  Returns false if it is not a tablespace in
 * another directory.
 */
static bool
take_tablespace(Lister *lister, const Entry *entry)
{
	BackupList *list = lister->list;
	BackupTablespace *tablespace;
	char	   *location;

	if (!entry->is_directory ||
		entry->name[strspn(entry->name, "0123456789")] != '\0')
		return false;
	location = tablespace_location(lister->conn, entry->name);
	if (location && !is_absolute_path(location))
		return false;
	if (location == NULL)
		return true;
	add_directory(lister, psprintf("%s/%s", entry->file.path,
								   lister->version_directory),
				  entry->file.mtime, list->n_tablespaces);
	tablespace = array_add(list->tablespaces, list->n_tablespaces);
	tablespace->oid = pg_strdup(entry->name);
	tablespace->location = location;
	tablespace->path = pg_strdup(entry->file.path);
	return true;
}

/* ----------
 * Entries
 * ----------
 */

/*
 * Read a row of the result.  Names come from a server that may be hostile, so
 * a name that would lead out of the backup is refused.
 */
static Entry
get_entry(const PGresult *res, int row, const BackupFile *directory)
{
	Entry		entry = {.file.tablespace = directory->tablespace};

	/*
	 * The name of a file cannot contain a zero byte, so a later part is
	 * ignored.
	 */
	entry.name = pnstrdup(PQgetvalue(res, row, 1), PQgetlength(res, row, 1));
	/* The name must not lead out of the backup. */
	if (strchr(entry.name, '/') != NULL || *entry.name == '\0' ||
		strcmp(entry.name, ".") == 0 || strcmp(entry.name, "..") == 0)
		pg_fatal("invalid file name from the server: \"%s\"",
				 printable(entry.name));
	entry.file.path = psprintf("%s%s%s", directory->path,
							   *directory->path ? "/" : "", entry.name);
	entry.file.size = file_query_size(res, row, 2, entry.file.path);
	entry.file.mtime = (time_t) file_query_int64(res, row, 3);
	/* This is safe for an empty value, which also ends with a zero byte. */
	entry.is_directory = *PQgetvalue(res, row, 4) != 0;
	entry.type = PQgetisnull(res, row, 5) ? TYPE_UNKNOWN :
		*PQgetvalue(res, row, 5);
	return entry;
}

static void
take_directory(Lister *lister, const BackupFile *parent, const Entry *entry,
			   BackupFilter filter)
{
	/*
	 * This is the directory of a tablespace within the data directory, which
	 * is listed with that tablespace.
	 */
	if (strcmp(entry->name, lister->version_directory) == 0 &&
		strncmp(parent->path, "pg_tblspc/", 10) != 0)
		return;
	add_directory(lister, entry->file.path, entry->file.mtime,
				  parent->tablespace)->is_closed = filter == FILTER_TAKE_EMPTY;
	if (strcmp(entry->file.path, "pg_wal") != 0)
		return;
	add_directory(lister, pg_strdup("pg_wal/archive_status"),
				  entry->file.mtime, BACKUP_BASE)->is_closed = true;
	if (lister->major >= 17)
		add_directory(lister, pg_strdup("pg_wal/summaries"),
					  entry->file.mtime, BACKUP_BASE)->is_closed = true;
}

/*
 * Does pg_basebackup skip this entry, because it is neither a file nor a
 * directory?  A link is allowed for pg_wal, and for a directory whose
 * contents are left out.
 */
static bool
is_special(const Entry *entry, BackupFilter filter)
{
	switch (entry->type)
	{
		case 'f':
		case 'd':
			return false;
		case 'l':
			return filter != FILTER_TAKE_EMPTY || !entry->is_directory;
		case TYPE_UNKNOWN:
			return !entry->is_directory &&
				strncmp(entry->name, ".s.PGSQL.", 9) == 0 &&
				strstr(entry->name, ".lock") == NULL;
		default:
			return true;
	}
}

static void
take_entry(Lister *lister, const BackupFile *directory, const Entry *entry)
{
	BackupFilter filter = backup_filter_entry(directory->path, entry->name);
	BackupList *list = lister->list;

	if (filter == FILTER_LEAVE_OUT)
		return;
	if (strcmp(directory->path, "pg_tblspc") == 0 &&
		take_tablespace(lister, entry))
		return;
	/* The text is that of basebackup.c:sendDir(). */
	if (is_special(entry, filter))
		pg_log_warning("skipping special file \"./%s\"",
					   printable(entry->file.path));
	else if (entry->is_directory)
		take_directory(lister, directory, entry, filter);
	else
	{
		*array_add(list->files, list->n_files) = entry->file;
		list->total_bytes += entry->file.size;
	}
}

static int
backup_list_compare_numbers(const void *a, const void *b)
{
	uint32		x = *(const uint32 *) a;
	uint32		y = *(const uint32 *) b;

	return x < y ? -1 : x > y ? 1 : 0;
}

/*
 * Take the entries of one directory.  Of unlogged relations only the init
 * fork is taken, because recovery resets the other forks from it (reinit.c).
 * Init forks show which relations are unlogged, so they are collected first.
 */
static void
take_entries(Lister *lister, BackupFile directory, const Entry *entries, int n)
{
	bool		is_database = backup_filter_is_database(directory.path);
	bool		has_relations = is_database ||
		backup_filter_is_global(directory.path);
	uint32	   *unlogged = pg_malloc((n + 1) * sizeof(uint32));
	int			n_unlogged = 0;
	RelationFile relation;

	for (int i = 0; i < n; i++)
		if (is_database && backup_filter_relation(entries[i].name, &relation) &&
			relation.init_fork)
			unlogged[n_unlogged++] = relation.number;
	qsort(unlogged, n_unlogged, sizeof(uint32), backup_list_compare_numbers);
	for (int i = 0; i < n; i++)
	{
		Entry		entry = entries[i];

		if (is_database && backup_filter_is_temporary(entry.name))
			continue;
		if (has_relations && !entry.is_directory &&
			backup_filter_relation(entry.name, &relation))
		{
			if (!relation.init_fork &&
				bsearch(&relation.number, unlogged, n_unlogged, sizeof(uint32),
						backup_list_compare_numbers))
				continue;
			entry.file.is_relation = true;
			entry.file.segment = relation.segment;
		}
		entry.file.is_whole = !entry.file.is_relation &&
			entry.file.size <= WHOLE_FILE_BYTES;
		take_entry(lister, &directory, &entry);
	}
}

/* ----------
 * Level by level
 * ----------
 */

#define PATH_OF_ENTRY "pg_catalog.concat(d.path, '/', f.name)"

/*
 * The type of an entry.  SQL follows links, and cannot distinguish FIFOs and
 * sockets from empty files.  But if a name is listed although no such file
 * exists, it is a link that leads nowhere.
 */
#define TYPE_BY_EXTENSION PARDUMP_FILE_TYPE "(" PATH_OF_ENTRY ")"
#define TYPE_BY_SQL \
"CASE WHEN s.size IS NULL THEN (SELECT 'l'::pg_catalog.\"char\"" \
" FROM pg_catalog.pg_ls_dir(d.path::pg_catalog.text, true, false) x" \
" WHERE pg_catalog.textsend(x) OPERATOR(pg_catalog.=) pg_catalog.textsend(f.name)" \
" AND (pg_catalog.pg_stat_file(" PATH_OF_ENTRY ", true)).size IS NULL) END"

/* Append a row for each directory of the level, and return how many. */
static int
append_directories(const Lister *lister, PQExpBuffer sql)
{
	const BackupList *list = lister->list;
	int			n = 0;

	for (int i = lister->n_listed; i < lister->n_asked; i++)
	{
		if (list->directories[i].is_closed)
			continue;
		appendPQExpBuffer(sql, "%s(%d, ", n++ ? ", " : "", i);
		file_query_append_path(sql, lister->conn, *list->directories[i].path ?
							   list->directories[i].path : ".");
		appendPQExpBufferChar(sql, ')');
	}
	return n;
}

/*
 * Query the entries of the directories from lister->n_listed to
 * lister->n_asked.  Returns NULL if there are no directories to list.  The
 * extension is held only during the query: an error in another statement must
 * not end a transaction.
 */
static PGresult *
query_level(const Lister *lister)
{
	bool		by_extension = lister->extension->missing == NULL;
	PQExpBufferData sql = buffer_new();
	PGresult   *res = NULL;

	appendPQExpBuffer(&sql, "SELECT e.n, e.name, e.size, e.time, e.isdir, e.type"
					  " FROM (SELECT d.n, pg_catalog.textsend(f.name) AS name,"
					  " COALESCE(s.size, 0) AS size,"
					  " COALESCE(pg_catalog.date_part('epoch', s.modification)::pg_catalog.int8, 0) AS time,"
					  " COALESCE(s.isdir, false) AS isdir, s.size IS NULL AS is_gone,"
					  " %s AS type FROM (VALUES ",
					  by_extension ? TYPE_BY_EXTENSION : TYPE_BY_SQL);
	if (append_directories(lister, &sql) > 0)
	{
		/* An entry that is gone has no size. */
		appendPQExpBufferStr(&sql, ") d (n, path),"
							 " pg_catalog.pg_ls_dir(d.path::pg_catalog.text, true, false) f (name),"
							 " pg_catalog.pg_stat_file(" PATH_OF_ENTRY ", true) s OFFSET 0) e"
							 " WHERE NOT e.is_gone OR e.type OPERATOR(pg_catalog.=) 'l'::pg_catalog.\"char\""
							 " ORDER BY 1, 2");
		if (by_extension)
		{
			session_begin(lister->conn,
						  "START TRANSACTION ISOLATION LEVEL READ COMMITTED, READ ONLY");
			server_extension_hold_too(lister->conn, lister->extension,
									  lister->wait_ms);
		}
		res = session_query_params(lister->conn, sql.data, 0, NULL, 1);
		if (by_extension)
			session_command(lister->conn, "COMMIT");
	}
	return res;
}

/*
 * The number of a row's directory, which must be one of the requested ones.
 */
static int
directory_of(const Lister *lister, const PGresult *res, int row)
{
	uint32		n = file_query_number(res, row);

	if (n < (uint32) lister->n_listed || n >= (uint32) lister->n_asked ||
		lister->list->directories[n].is_closed)
		file_query_unexpected();
	return (int) n;
}

/*
 * SQL follows symbolic links, and a link may lead to a directory above
 * itself.  Then everything below appears again and again.  SQL does not show
 * where a link leads, but the directory has the same names each time.  So
 * several nested directories with the same names are treated as such a
 * circle.
 */
static void
refuse_circle(Lister *lister, int no, const Entry *entries, int n)
{
	BackupFile *directories = lister->list->directories;
	pg_crc32c	crc;
	int			n_alike = 0;

	INIT_CRC32C(crc);
	for (int i = 0; i < n; i++)
		crc = crc32c_add(crc, entries[i].name, strlen(entries[i].name) + 1);
	directories[no].names = (uint64) n << 32 | crc;
	for (int up = directories[no].parent; up != NO_PARENT;
		 up = directories[up].parent)
		n_alike += directories[up].names == directories[no].names;
	if (n_alike < MOST_ALIKE)
		return;
	pg_log_error("symbolic link \"%s\" in the data directory points to a directory that contains the link",
				 printable(directories[no].path));
	pg_fatal_hint("Remove the link, or use pg_basebackup, which skips links.");
}

static void
take_level(Lister *lister, const PGresult *res)
{
	int			n_rows = PQntuples(res);
	Entry	   *entries = pg_malloc((n_rows + 1) * sizeof(Entry));
	int			begin = 0;

	if (n_rows > 0 && PQnfields(res) != 6)
		file_query_unexpected();
	for (int row = 0; row < n_rows; row++)
	{
		int			no = directory_of(lister, res, row);
		const BackupFile *directory = &lister->list->directories[no];

		entries[row - begin] = get_entry(res, row, directory);
		if (row + 1 < n_rows && directory_of(lister, res, row + 1) == no)
			continue;
		refuse_circle(lister, no, entries, row + 1 - begin);
		lister->parent = no;
		take_entries(lister, *directory, entries, row + 1 - begin);
		begin = row + 1;
	}
}

BackupList *
backup_list_new(PGconn *conn, const ServerExtension *extension, int wait_ms,
				int major, const char *catalog_version)
{
	BackupList *list = pg_malloc0(sizeof(BackupList));
	Lister		lister = {
		.conn = conn,
		.extension = extension,
		.wait_ms = wait_ms,
		.list = list,
		.major = major,
		.version_directory = psprintf("PG_%d_%s", major, catalog_version),
		.parent = NO_PARENT
	};

	/* Begin with the data directory itself, which is removed afterwards. */
	add_directory(&lister, pg_strdup(""), 0, BACKUP_BASE);
	while (lister.n_listed < list->n_directories)
	{
		PGresult   *res;

		lister.n_asked = list->n_directories;
		res = query_level(&lister);
		if (res)
			take_level(&lister, res);
		PQclear(res);
		lister.n_listed = lister.n_asked;
		progress_tick();
	}
	list->n_directories--;
	memmove(list->directories, list->directories + 1,
			list->n_directories * sizeof(BackupFile));
	return list;
}

void
backup_list_remove(BackupList *list, const char *path)
{
	for (int i = 0; i < list->n_files; i++)
	{
		if (strcmp(list->files[i].path, path) != 0)
			continue;
		list->total_bytes -= list->files[i].size;
		list->files[i] = list->files[--list->n_files];
		return;
	}
}

/* ----------
 * The pieces of a backup, which workers read.
 * ----------
 */

/*
 * Sort files: tablespaces come before the base; in each of them the largest
 * comes first, and files that are read whole come last.
 */
static int
backup_list_compare_files(const void *a, const void *b)
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

/* The number of ranges of a file: ranges of PIECE_BYTES, and the rest. */
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

/*
 * Group the ranges into pieces, in order.  A piece belongs to one tablespace,
 * because it goes to one tar file.  Files that are read whole have separate
 * pieces.
 */
static void
group_ranges(BackupPlan *plan)
{
	BackupPiece *piece = NULL;
	uint64		bytes = 0;

	for (int i = 0; i < plan->n_ranges; i++)
	{
		const BackupRange *range = &plan->ranges[i];
		const BackupFile *file = &plan->list->files[range->file];
		bool		same_place = piece && piece->tablespace == file->tablespace;

		if (!same_place || piece->is_whole != file->is_whole ||
			piece->n == PIECE_RANGES || bytes + range->length > PIECE_BYTES)
		{
			int			no = same_place ? piece->no + 1 : 0;

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

/*
 * Move large files that do not belong to a relation to another list.  Their
 * changes are not in WAL, so they must be read quickly and checked for
 * changes; they are read last.
 */
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
		qsort(list->files, list->n_files, sizeof(BackupFile), backup_list_compare_files);
	for (int i = 0; i < list->n_files && n_ranges <= PG_INT32_MAX; i++)
		n_ranges += ranges_of(&list->files[i]);
	if (n_ranges > PG_INT32_MAX)
	{
		pg_log_error("the cluster has too many files for a parallel base backup");
		pg_log_error_detail("It would be read in " UINT64_FORMAT " pieces or more; the maximum is %d.",
							n_ranges, PG_INT32_MAX);
		pg_fatal_hint("Use pg_basebackup.");
	}
	plan->list = list;
	plan->ranges = pg_malloc((n_ranges + 1) * sizeof(BackupRange));
	plan->pieces = pg_malloc0((n_ranges + 1) * sizeof(BackupPiece));
	for (int i = 0; i < list->n_files; i++)
		cut_file(plan, i);
	group_ranges(plan);
	return plan;
}

#define DIGITS "0123456789"

/* excludeDirContents: a server creates these files when it starts. */
static const char *const emptied[] = {
	"pg_stat_tmp", "pg_replslot", "pg_dynshmem", "pg_notify", "pg_serial",
	"pg_snapshots", "pg_subtrans"
};

/* excludeFiles, and files that the backup itself writes. */
static const char *const excluded[] = {
	"postgresql.auto.conf.tmp", "current_logfiles.tmp", "backup_label",
	"tablespace_map", "backup_manifest", "postmaster.pid", "postmaster.opts",
	".DS_Store"
};

/* PG_TEMP_FILE_PREFIX and RELCACHE_INIT_FILENAME */
static const char *const excluded_prefixes[] = {"pgsql_tmp", "pg_internal.init"};

static bool
is_in(const char *name, const char *const *names, int n)
{
	for (int i = 0; i < n; i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

BackupFilter
backup_filter_entry(const char *directory, const char *name)
{
	for (int i = 0; i < (int) lengthof(excluded_prefixes); i++)
		if (text_after(name, excluded_prefixes[i]))
			return FILTER_LEAVE_OUT;
	if (is_in(name, excluded, lengthof(excluded)))
		return FILTER_LEAVE_OUT;
	if (is_in(name, emptied, lengthof(emptied)))
		return FILTER_TAKE_EMPTY;

	/*
	 * A server that was restored from an incomplete backup may still have
	 * this file.
	 */
	if (*directory == '\0' && strcmp(name, "backup_manifest.tmp") == 0)
		return FILTER_LEAVE_OUT;
	/* pg_control is read at the end of the backup. */
	if (strcmp(directory, "global") == 0 && strcmp(name, "pg_control") == 0)
		return FILTER_LEAVE_OUT;

	/*
	 * The start and the end of the backup determine which WAL segments are
	 * read.
	 */
	if (*directory == '\0' && strcmp(name, "pg_wal") == 0)
		return FILTER_TAKE_EMPTY;
	return FILTER_TAKE;
}

bool
backup_filter_is_global(const char *directory)
{
	return strcmp(directory, "global") == 0;
}

static bool
is_number(const char *text)
{
	return *text != '\0' && text[strspn(text, DIGITS)] == '\0';
}

/*
 * Is this the directory of a database: "base/5", or
 * "pg_tblspc/16384/PG_15_202209061/5"?
 */
bool
backup_filter_is_database(const char *directory)
{
	const char *name = strrchr(directory, '/');
	const char *parent = name;

	if (name == NULL || !is_number(name + 1))
		return false;
	while (parent > directory && parent[-1] != '/')
		parent--;
	if (parent == directory)
		return text_after(directory, "base/");
	return text_after(directory, "pg_tblspc/") && text_after(parent, "PG_");
}

/*
 * Is this the name of a relation's file: number, fork, segment?  The rules
 * are those of reinit.c:parse_filename_for_nontemp_relation().
 */
bool
backup_filter_relation(const char *name, RelationFile *file)
{
	static const char *const forks[] = {"_fsm", "_vm", "_init"};
	const char *pos = name + strspn(name, DIGITS);

	file->number = (uint32) strtoul(name, NULL, 10);
	file->init_fork = false;
	file->segment = 0;
	if (pos == name)
		return false;
	for (int i = 0; i < (int) lengthof(forks); i++)
	{
		if (!text_after(pos, forks[i]))
			continue;
		file->init_fork = strcmp(forks[i], "_init") == 0;
		pos += strlen(forks[i]);
		break;
	}
	if (*pos == '.')
	{
		if (!is_number(++pos))
			return false;
		file->segment = (uint32) strtoul(pos, NULL, 10);
		pos += strspn(pos, DIGITS);
	}
	return *pos == '\0';
}

/*
 * The rules are those of fd.c:looks_like_temp_rel_name(): "t", the number of
 * a backend, "_", and a relation's name.
 */
bool
backup_filter_is_temporary(const char *name)
{
	RelationFile file;
	size_t		digits;

	if (*name != 't')
		return false;
	digits = strspn(name + 1, DIGITS);
	return digits > 0 && name[1 + digits] == '_' &&
		backup_filter_relation(name + digits + 2, &file);
}
