/*
 * toc.h
 *		The table of contents of an archive in memory, and functions that find
 *		entries and read names from their statements.
 *
 * The file format is that of pg_dump (WriteHead, WriteToc, ReadHead and
 * ReadToc in pg_backup_archiver.c), in the minor versions 1.14 (pg_dump
 * 12-15), 1.15 (16) and 1.16 (17 and later).
 */
#ifndef TOC_H
#define TOC_H

#include "fe_utils/simple_list.h"

#include "shared/compress.h"

/*
 * The first bytes of a table of contents, and its values for the archive's
 * format.
 */
#define TOC_MAGIC "PGDMP"
#define TOC_FORMAT_CUSTOM 1
#define TOC_FORMAT_TAR 3		/* also in toc.dat of a directory
								 * (pg_backup_directory.c:_CloseArchive) */

/* The file of a directory archive that contains the table of contents. */
#define TOC_NAME "toc.dat"

/*
 * The mark of archives of pg_pardump, which have a manifest.  It follows the
 * version of pg_dump, and our own version follows the mark.  pg_restore only
 * prints that text (-l, -f).
 */
#define TOC_MARK ", pg_pardump "

/* This corresponds to teSection in pg_backup.h. */
typedef enum TocSection
{
	TOC_SECTION_NONE = 1,
	TOC_SECTION_PRE_DATA,
	TOC_SECTION_DATA,
	TOC_SECTION_POST_DATA
} TocSection;

/*
 * The location of an entry's data in a custom archive (K_OFFSET_* in
 * pg_backup_archiver.h, WriteOffset() in pg_backup_archiver.c).
 */
typedef enum TocDataState
{
	TOC_DATA_IN_FILE,			/* of a directory: the entry has its name */
	TOC_DATA_SOMEWHERE,			/* unknown, as pg_dump wrote to a pipe */
	TOC_DATA_AT_OFFSET,
	TOC_DATA_NONE
} TocDataState;

/* Strings are owned, and may be NULL unless "never NULL" is said here. */
typedef struct TocEntry
{
	int			dump_id;		/* unique, > 0 */
	bool		had_dumper;		/* has data of its own */
	Oid			catalog_oid;	/* class of the object, 0 for TABLE DATA */
	Oid			oid;			/* the object, or of TABLE DATA the table */
	char	   *tag;			/* never NULL: the object's name */
	char	   *desc;			/* never NULL: the kind of entry */
	TocSection	section;
	char	   *defn;
	char	   *drop_stmt;
	char	   *copy_stmt;
	char	   *namespace;
	char	   *tablespace;
	char	   *tableam;
	int			relkind;		/* since 1.16; 0 in older formats */
	char	   *owner;
	int		   *deps;			/* dump IDs */
	int			n_deps;
	char	   *filename;		/* in directory format; NULL = no data */
	TocDataState data_state;	/* in custom format */
	uint64		data_offset;	/* from the start of the file */
} TocEntry;

typedef struct Toc
{
	int			minor;			/* archive format 1.minor */
	int			revision;
	int			offset_size;	/* in the header; unused in a directory */
	CompressMethod method;		/* of the data, as the header says */
	int			created[7];		/* sec, min, hour, mday, mon, year, isdst */
	char	   *dbname;
	char	   *server_version;
	char	   *pg_dump_version;
	TocEntry   *entries;		/* in the archive's order */
	int			n_entries;
	int			max_dump_id;	/* of entries and their dependencies */
} Toc;

/* An entry in messages, such as "INDEX public.a_idx"; owned. */
extern char *toc_entry_describe(const TocEntry *entry);

/* Free a table of contents that functions of toc_file.h have returned. */
extern void toc_free(Toc *toc);

/* Does a directory's table of contents have our mark? */
extern bool toc_has_mark(const Toc *toc);

/* Messages about a damaged archive or file; the problem is the detail. */
#define ARCHIVE_DAMAGED "archive \"%s\" is damaged"
#define ARCHIVE_FILE_DAMAGED "file \"%s\" of archive \"%s\" is damaged"
#define ARCHIVE_COPY_HINT "Use another copy of the archive, or make a new dump."

/*
 * The output of pg_dump is not in the form that pg_dump 15 to 19 write: end
 * the process.  detail is a sentence.
 */
pg_noreturn extern void toc_reject_pg_dump(const char *detail);

/*
 * The archive whose table of contents was read, for toc_damaged(); borrowed.
 * Without it, the table of contents is the output of pg_dump.
 */
extern void toc_set_archive(const char *path);

/* End the process, because the table of contents has this problem. */
pg_noreturn extern void toc_damaged(const char *problem);

/*
 * Returns the encoding of names and statements, which is also that of all
 * data; the caller owns it.  Exits with a message if the table of contents
 * does not contain it.
 */
extern char *toc_encoding(const Toc *toc);

/* Returns the first entry of this kind (desc), or NULL. */
extern const TocEntry *toc_find(const Toc *toc, const char *desc);

/*
 * Returns an array of max_dump_id + 1 pointers to the entries, by dump ID,
 * with NULL for IDs without an entry.  The caller frees it.
 */
extern const TocEntry **toc_entries_by_id(const Toc *toc);

/*
 * Returns the dump ID of the TABLE entry for a TABLE DATA entry, which is its
 * only dependency.  Exits with a message if there is none.
 */
extern int	toc_table_dump_id(const TocEntry *data_entry);

/* Is the entry of this kind (desc)? */
static inline bool
toc_entry_is(const TocEntry *entry, const char *desc)
{
	return strcmp(entry->desc, desc) == 0;
}

/* Is the entry of one of these kinds?  NULL follows the last kind. */
extern bool toc_entry_is_one_of(const TocEntry *entry,
								const char *const *descs);

/*
 * Is the entry for privileges, which pg_restore restores in a separate pass?
 */
extern bool toc_entry_is_privilege(const TocEntry *entry);

/* Is the entry a setting that sessions must have before anything else? */
extern bool toc_entry_is_setting(const TocEntry *entry);

/*
 * Is the entry for privileges on a group of large objects (BLOB METADATA,
 * since 17)?
 */
extern bool toc_entry_is_group_privilege(const TocEntry *entry);

/*
 * Does the entry create empty large objects, one (up to 16) or a group (since
 * 17)?
 */
extern bool toc_entry_makes_large_objects(const TocEntry *entry);

/*
 * Does the entry have rows, which workers read?  The only other data are
 * large objects.
 */
static inline bool
toc_entry_is_table_data(const TocEntry *entry)
{
	return entry->had_dumper && toc_entry_is(entry, "TABLE DATA");
}

/*
 * The OIDs of the large objects whose data a BLOBS entry has: of the BLOB
 * METADATA entry that it depends on, from format 1.16 on; of all BLOB entries
 * before.  Returns how many; *oids is owned.  0 if there is no such entry, or
 * it does not contain a list.  by_id is the result of toc_entries_by_id().
 */
extern int	toc_large_objects(const Toc *toc, const TocEntry **by_id,
							  const TocEntry *blobs, Oid **oids);

/* ----------
 * Entries of one kind by the names of their objects, and the owners of
 * sequences.
 * ----------
 */

typedef struct TocNames TocNames;

/* Returns the entries of a kind (desc) whose objects are in a schema. */
extern TocNames *toc_names_make(const Toc *toc, const char *desc);

/*
 * Returns the number of the entry with this name, qualified and quoted as by
 * fmtQualifiedId(), or -1 if there is none.
 */
extern int	toc_names_find(const TocNames *names, const char *name);

/*
 * Returns the name of the table that owns the entry's sequence, in the form
 * for toc_names_find(), or NULL if the entry does not contain it.  The caller
 * owns it.
 */
extern char *toc_names_sequence_owner(const TocEntry *entry);

/* ----------
 * Names of roles and tablespaces in the statements of pg_dump.
 * ----------
 */

/*
 * Add the roles that an entry's statement contains to the list, each only
 * once: grantees and grantors of privileges, the roles of policies, user
 * mappings and default privileges, and roles with settings in the database.
 * The owner is not added.
 */
extern void entry_names_roles(const TocEntry *entry, SimpleStringList *roles);

/*
 * Add tablespaces in the same way: that of a database.  Other entries have
 * their tablespace in a member of its own.
 */
extern void entry_names_tablespaces(const TocEntry *entry,
									SimpleStringList *tablespaces);

/* Add a name, unless the list contains it. */
extern void entry_names_add(SimpleStringList *list, const char *name);

/* ----------
 * Checking which database an archive belongs to.
 * ----------
 */

/*
 * Set the database whose archive this process must read.  The file of a
 * cluster's dump lists the databases, but a user may have moved the archives.
 * Without this check, their rows would be restored into another database, or
 * an archive would be accepted as complete.
 */
extern void toc_database_expect(Oid oid, const char *name);
extern bool toc_database_is_expected(void);

/*
 * Returns NULL if the archive belongs to the expected database, or if any
 * database is accepted.  Otherwise, returns a clause with both databases; the
 * caller owns it.
 */
extern char *toc_database_problem(const Toc *toc);

/* ----------
 * The context of errors, as in pg_restore.
 *
 * With --verbose, pg_restore reports before an error in which stage and at
 * which entry it occurred, unless these are the same as for the last error
 * (warn_or_exit_horribly() in pg_backup_archiver.c).
 * ----------
 */

/*
 * Call this before other processes are forked: they share the last stage, so
 * that each stage is reported only once.
 */
extern void toc_context_share(void);

/*
 * Report the context of an error that is logged next: this entry, or, if
 * entry is NULL, the beginning of a session.
 */
extern void toc_context_report(const TocEntry *entry);

/*
 * The first entries for which any process has reported errors, for the end of
 * a run: "MATERIALIZED VIEW DATA public.v, ACL TABLE t"; owned, and NULL if
 * there are none.
 */
extern char *toc_context_entries(const Toc *toc);

/* ----------
 * Serializing INDEX ATTACH entries of a partition tree.
 * ----------
 */

/*
 * Let each INDEX ATTACH entry depend on the one before it in its partition
 * tree, so that pg_restore -j runs them one after another.  Let foreign keys
 * of the tree's tables, and foreign keys that reference them, depend on the
 * last of these entries.
 */
extern void index_attach_chain(Toc *toc);

#endif							/* TOC_H */
