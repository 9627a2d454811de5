/*
 * toc.h
 *		The table of contents of an archive, as plain data.
 *
 * The format is pg_dump's (pg_backup_archiver.c: WriteHead, WriteToc,
 * ReadHead, ReadToc), minor versions 1.14 (pg_dump 12-15), 1.15 (16) and 1.16
 * (17 on).
 */
#ifndef TOC_H
#define TOC_H

#include "fe_utils/simple_list.h"

#include "shared/compress.h"

/* What it begins with, and then says of the archive's format. */
#define TOC_MAGIC "PGDMP"
#define TOC_FORMAT_CUSTOM 1
#define TOC_FORMAT_TAR 3		/* a directory's toc.dat calls itself so
								 * (pg_backup_directory.c:_CloseArchive) */

/* The file of a directory archive that holds it. */
#define TOC_NAME "toc.dat"

/*
 * Follows the version of pg_dump in an archive of ours, before our own: such
 * an archive has a manifest.  pg_restore only shows that text (-l, -f).
 */
#define TOC_MARK ", pg_pardump "

/* teSection in pg_backup.h */
typedef enum TocSection
{
	TOC_SECTION_NONE = 1,
	TOC_SECTION_PRE_DATA,
	TOC_SECTION_DATA,
	TOC_SECTION_POST_DATA
} TocSection;

/* Where a custom archive has an entry's data (K_OFFSET_*, WriteOffset()). */
typedef enum TocDataState
{
	TOC_DATA_IN_FILE,			/* of a directory: the entry names it */
	TOC_DATA_SOMEWHERE,			/* was written to a pipe, so not known */
	TOC_DATA_AT_OFFSET,
	TOC_DATA_NONE
} TocDataState;

/* Strings are owned, and may be NULL but for those said to be there. */
typedef struct TocEntry
{
	int			dump_id;		/* unique, > 0 */
	bool		had_dumper;		/* has data of its own */
	Oid			catalog_oid;	/* class of the object, 0 for TABLE DATA */
	Oid			oid;			/* the object; of TABLE DATA the table */
	char	   *tag;			/* never NULL: the object's name */
	char	   *desc;			/* never NULL: the kind of entry */
	TocSection	section;
	char	   *defn;
	char	   *drop_stmt;
	char	   *copy_stmt;
	char	   *namespace;
	char	   *tablespace;
	char	   *tableam;
	int			relkind;		/* 1.16 on, else 0 */
	char	   *owner;
	int		   *deps;			/* dump IDs */
	int			n_deps;
	char	   *filename;		/* of the directory format; NULL = no data */
	TocDataState data_state;	/* of the custom format */
	uint64		data_offset;	/* from the begin of the file */
} TocEntry;

typedef struct Toc
{
	int			minor;			/* archive format 1.minor */
	int			revision;
	int			offset_size;	/* of the header; no use in a directory */
	CompressMethod method;		/* of the data, as the head has it */
	int			created[7];		/* sec, min, hour, mday, mon, year, isdst */
	char	   *dbname;
	char	   *server_version;
	char	   *pg_dump_version;
	TocEntry   *entries;		/* in the archive's order */
	int			n_entries;
	int			max_dump_id;	/* of entries and of what they depend on */
} Toc;

/* Free what toc_file.h has returned. */
extern void toc_free(Toc *toc);

/* Does a directory's table of contents have our mark? */
extern bool toc_has_mark(const Toc *toc);

/*
 * The encoding of pg_dump's names and statements, and so of all data.  Exits
 * with a message if the table of contents does not say it.  Owned.
 */
extern char *toc_encoding(const Toc *toc);

/* The first entry of this kind (desc), or NULL. */
extern const TocEntry *toc_find(const Toc *toc, const char *desc);

/*
 * The entries by dump ID: an array of max_dump_id + 1 pointers, NULL where
 * there is none; the caller frees it.
 */
extern const TocEntry **toc_entries_by_id(const Toc *toc);

/*
 * The dump ID of the TABLE that a TABLE DATA entry belongs to: its only
 * dependency.  Exits with a message if it has none.
 */
extern int	toc_table_dump_id(const TocEntry *data_entry);

/* Is the entry of this kind (desc)? */
static inline bool
toc_entry_is(const TocEntry *entry, const char *desc)
{
	return strcmp(entry->desc, desc) == 0;
}

/* Is it of one of these kinds, of which the last is followed by NULL? */
extern bool toc_entry_is_one_of(const TocEntry *entry,
								const char *const *descs);

/* Privileges, for which pg_restore has a pass of their own. */
extern bool toc_entry_is_privilege(const TocEntry *entry);

/* What sessions are to be set to first. */
extern bool toc_entry_is_setting(const TocEntry *entry);

/* Privileges on all of a group of large objects (BLOB METADATA; 17 on). */
extern bool toc_entry_is_group_privilege(const TocEntry *entry);

/* Large objects, still empty, one (until 16) or a group (17 on). */
extern bool toc_entry_makes_large_objects(const TocEntry *entry);

/* Rows that a worker must fetch: the only other data are large objects. */
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
 * Entries of one kind by the names of their objects, and the tables that
 * own sequences.
 * ----------
 */

typedef struct TocNames TocNames;

/* The entries of a kind (desc) that are in a schema. */
extern TocNames *toc_names_make(const Toc *toc, const char *desc);

/*
 * The number of the entry of this name, qualified and quoted as by
 * fmtQualifiedId(); -1 if there is none.
 */
extern int	toc_names_find(const TocNames *names, const char *name);

/*
 * The table that owns the sequence that the entry is of, if the entry says
 * so: its name as toc_names_find() takes it; else NULL.  Owned.
 */
extern char *toc_names_sequence_owner(const TocEntry *entry);

/* ----------
 * The names of a cluster's objects in statements of pg_dump.
 * ----------
 */

/*
 * Add to the list, each once, the roles that an entry's statement names: whom
 * privileges are granted to, taken from, or granted by, whom a policy or a
 * user mapping is for, and whose settings in the database these are.  Not the
 * owner.
 */
extern void entry_names_roles(const TocEntry *entry, SimpleStringList *roles);

/* Likewise the tablespaces: of a database; those of others are a field. */
extern void entry_names_tablespaces(const TocEntry *entry,
									SimpleStringList *tablespaces);

/* Add a name, unless it is there. */
extern void entry_names_add(SimpleStringList *list, const char *name);

/* ----------
 * Is an archive that of the database which is meant?
 * ----------
 */

/*
 * This process is to read the archive of the database with this OID and name.
 * The directory of a cluster's dump says so, but the archives in it may have
 * been moved: what is in one would go elsewhere, or be taken for whole.
 */
extern void toc_database_expect(Oid oid, const char *name);
extern bool toc_database_is_expected(void);

/*
 * What the archive is of, and what it should be of, to follow its name in a
 * message, owned; NULL if it is of the one that is meant, or any will do.
 */
extern char *toc_database_problem(const Toc *toc);

/* ----------
 * Which entry an error is about, in pg_restore's words.
 *
 * With --verbose pg_restore says before an error what it was at, unless the
 * error before was told at the same (pg_backup_archiver.c:
 * warn_or_exit_horribly).
 * ----------
 */

/* Before others are forked: what one of them has told the others need not. */
extern void toc_context_share(void);

/*
 * An error is told next: of this entry, or, with NULL, of what a session
 * begins with.
 */
extern void toc_context_report(const TocEntry *entry);

/* ----------
 * Keeps the indexes of one partition tree from being attached side by
 * side, or beside its foreign keys.
 * ----------
 */

/*
 * Let each INDEX ATTACH entry depend on the one before it in its partition
 * tree, so that pg_restore -j runs them one after the other; and foreign keys
 * of the tree's tables, or to them, on the last of these.
 */
extern void index_attach_chain(Toc *toc);

#endif							/* TOC_H */
