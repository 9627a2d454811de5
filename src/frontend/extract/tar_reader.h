/*
 * tar_reader.h
 *		Parses an untrusted tar archive that is read in pieces.
 *
 * A reader is plain data: between two pieces it goes from one process to
 * another.  Archives are those of base backups: files, directories and
 * symbolic links, whose paths fit in a header.  Nothing of them is trusted:
 * no path leads out of the directory that the archive is for.
 */
#ifndef TAR_READER_H
#define TAR_READER_H

#include <sys/types.h>
#include <time.h>

#include "pgtar.h"

/* A path of a header, and the zero that it need not end with there. */
#define TAR_PATH_BYTES 101

/* The same of a user's or a group's name. */
#define TAR_NAME_BYTES 33

typedef enum TarKind
{
	TAR_FILE,
	TAR_DIRECTORY,
	TAR_LINK					/* a tablespace's: "pg_tblspc/OID" */
} TarKind;

typedef struct TarMember
{
	TarKind		kind;
	char		path[TAR_PATH_BYTES];
	mode_t		mode;			/* permissions only */
	uint64		size;
	time_t		mtime;
	uid_t		uid;
	gid_t		gid;
	char		user[TAR_NAME_BYTES];	/* empty: it has but a number */
	char		group[TAR_NAME_BYTES];
} TarMember;

/* All zero is one at an archive's beginning. */
typedef struct TarReader
{
	char		header[TAR_BLOCK_SIZE];
	size_t		header_len;		/* of the header that is being read */
	TarMember	member;
	uint64		offset;			/* in it */
	size_t		padding;		/* still to be skipped */
	int			n_zero_blocks;	/* two end the archive */
} TarReader;

/*
 * Some of a member, at that offset: of a file whose size is not 0 a piece
 * that is not empty, of all others the only one.
 */
typedef struct TarPart
{
	TarMember	member;
	uint64		offset;
	const char *data;			/* borrowed */
	size_t		len;
} TarPart;

typedef enum TarResult
{
	TAR_PART,
	TAR_MORE,					/* all is taken */
	TAR_DAMAGED
} TarResult;

/*
 * Take the next part from the bytes, whose beginning and length are moved on.
 * *problem, which is never freed, is set if they are damaged.
 */
extern TarResult tar_reader_next(TarReader *reader, const char **data,
								 size_t *len, TarPart *part,
								 const char **problem);

/* Was that all of the archive?  What follows its end is ignored. */
extern bool tar_reader_ended(const TarReader *reader);

#endif							/* TAR_READER_H */
