/*
 * script.h
 *		Definitions as SQL, with what stock pg_restore sends around each.
 *
 * A definition is a text of the table of contents, which pg_restore sends as
 * it is.  But it knows what else belongs to an entry: settings before it, and
 * statements after it that give the object its owner.  To learn these, we
 * give pg_restore an archive in which each definition is a mark, a comment
 * with a random number that could not be known before and the number of the
 * entry.  The script that it writes of this has nothing but settings, marks,
 * and what follows them; so no definition, name or comment of the archive can
 * be taken for anything else, and no header need be known, which differ
 * between releases (pg_backup_archiver.c:_printTocEntry).
 */
#ifndef SCRIPT_H
#define SCRIPT_H

#include "stock/stock_pg_restore.h"

/* What pg_restore sets for an entry, and leaves so for those after it. */
typedef enum ScriptSetting
{
	SCRIPT_SESSION_USER,
	SCRIPT_SEARCH_PATH,
	SCRIPT_TABLESPACE,
	SCRIPT_ACCESS_METHOD
} ScriptSetting;

#define SCRIPT_N_SETTINGS 4

/* What after has in the place of the OIDs of a group of large objects. */
#define SCRIPT_GROUP_OID "0"

/*
 * An entry, whose definition comes after these settings: a statement each, or
 * NULL for one that was not set yet.  after are the statements that follow
 * it.  Of a group of large objects (17 on) it may be a part.
 */
typedef struct ScriptEntry
{
	const TocEntry *entry;		/* borrowed, as its definition is */
	const char *settings[SCRIPT_N_SETTINGS];
	const char **after;
	int			n_after;
	const char *oids;			/* of a part, as the group's definition has
								 * them: a line each; borrowed; else NULL */
	int			n_oids;
	int			part;			/* which of its group's, from 0 */
} ScriptEntry;

/* Owns its texts; is never freed. */
typedef struct Script
{
	const char **head;			/* what a session begins with */
	int			n_head;
	ScriptEntry *entries;		/* in pg_restore's order */
	int			n_entries;
} Script;

/*
 * What pg_restore would send for these entries, which the result borrows.
 * Those that it would leave out, by the user's options or as they define
 * nothing, are not in it.  name is of its archive, and not used twice.
 * Groups of large objects, and their privileges, are whole, without OIDs.
 */
extern Script *script_read(const PgRestoreSetup *setup, const char *name,
						   const TocEntry *entries, int n_entries);

/*
 * Cut a script whose marks begin with this text.  With std_strings, a
 * backslash in it is an ordinary character.  NULL if it is not of the form
 * that it must have: *problem then says why.
 */
extern Script *script_cut(const char *text, const char *mark,
						  const TocEntry *entries, int n_entries,
						  bool std_strings, const char **problem);

#endif							/* SCRIPT_H */
