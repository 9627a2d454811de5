/*
 * backup_filter.c
 *		Which files of a data directory belong in a base backup.
 */
#include "base/fe_compat.h"

#include "basebackup/backup_filter.h"

#define DIGITS "0123456789"

/* excludeDirContents: they are made again when a server starts. */
static const char *const emptied[] = {
	"pg_stat_tmp", "pg_replslot", "pg_dynshmem", "pg_notify", "pg_serial",
	"pg_snapshots", "pg_subtrans"
};

/* excludeFiles, and what a backup has of its own. */
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

static bool
begins_with(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

BackupFilter
backup_filter_entry(const char *directory, const char *name)
{
	for (int i = 0; i < (int) lengthof(excluded_prefixes); i++)
		if (begins_with(name, excluded_prefixes[i]))
			return FILTER_LEAVE_OUT;
	if (is_in(name, excluded, lengthof(excluded)))
		return FILTER_LEAVE_OUT;
	if (is_in(name, emptied, lengthof(emptied)))
		return FILTER_TAKE_EMPTY;
	/* what a backup of it has there until it is complete */
	if (*directory == '\0' && strcmp(name, "backup_manifest.tmp") == 0)
		return FILTER_LEAVE_OUT;
	/* read last, at the end of the backup */
	if (strcmp(directory, "global") == 0 && strcmp(name, "pg_control") == 0)
		return FILTER_LEAVE_OUT;
	/* its segments are chosen by the backup's begin and end */
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

/* "base/5", or "pg_tblspc/16384/PG_15_202209061/5". */
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
		return begins_with(directory, "base/");
	return begins_with(directory, "pg_tblspc/") && begins_with(parent, "PG_");
}

/* As in reinit.c:parse_filename_for_nontemp_relation(). */
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
		if (!begins_with(pos, forks[i]))
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

/* As in fd.c:looks_like_temp_rel_name(): t, a backend's number, _, a name. */
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
