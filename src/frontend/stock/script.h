/*
 * script.h
 *		Definitions as SQL, together with the statements that pg_restore sends
 *		before and after each.
 *
 * A definition is a text of the table of contents, which pg_restore sends
 * unchanged.  But pg_restore adds statements to an entry: settings before it,
 * and statements after it that set the object's owner.  To find out these
 * statements, the program runs pg_restore with an archive in which each
 * definition is replaced by a mark: a comment with a random number, which
 * could not be known before, and the number of the entry.  The resulting
 * script contains only settings, marks, and the statements after them.  So no
 * definition, name or comment of the archive can be mistaken for another
 * statement, and the program need not know the header of entries, which
 * differs between releases (pg_backup_archiver.c:_printTocEntry).
 */
#ifndef SCRIPT_H
#define SCRIPT_H

#include "stock/stock_pg_restore.h"

/*
 * The settings that pg_restore changes for an entry.  They stay valid for the
 * entries after it.
 */
typedef enum ScriptSetting
{
	SCRIPT_SESSION_USER,
	SCRIPT_SEARCH_PATH,
	SCRIPT_TABLESPACE,
	SCRIPT_ACCESS_METHOD
} ScriptSetting;

#define SCRIPT_N_SETTINGS 4

/*
 * The placeholder for the OIDs of a group of large objects in the statements
 * of "after".
 */
#define SCRIPT_GROUP_OID "0"

/*
 * An entry.  Its definition follows these settings, which are a statement
 * each, or NULL if not set yet.  "after" contains the statements after the
 * definition.  A group of large objects (since 17) may be split into parts.
 */
typedef struct ScriptEntry
{
	const TocEntry *entry;		/* borrowed, including its definition */
	const char *settings[SCRIPT_N_SETTINGS];
	const char **after;
	int			n_after;
	const char *oids;			/* OIDs of a part, one per line, from the
								 * group's definition; borrowed; NULL for a
								 * whole entry */
	int			n_oids;
	int			part;			/* number of the part in its group, from 0 */
} ScriptEntry;

/* A script.  It owns its texts, and is never freed. */
typedef struct Script
{
	const char **head;			/* statements at the start of a session */
	int			n_head;
	ScriptEntry *entries;		/* in the order of pg_restore */
	int			n_entries;
} Script;

/*
 * Returns the script that pg_restore would send for these entries, which the
 * result borrows.  It does not contain entries that pg_restore would omit
 * because of the user's options, or because they define nothing.  name is the
 * name of the archive, which must be used only once.  Groups of large objects
 * and their privileges are not split, and have no OIDs.
 */
extern Script *script_read(const PgRestoreSetup *setup, const char *name,
						   const TocEntry *entries, int n_entries);

/*
 * Split a script whose marks begin with this text.  With std_strings, a
 * backslash in a string is an ordinary character.  Returns NULL, and sets
 * *problem, if the script has another form than expected.
 */
extern Script *script_cut(const char *text, const char *mark,
						  const TocEntry *entries, int n_entries,
						  bool std_strings, const char **problem);

#endif							/* SCRIPT_H */
