/*
 * tar_reader.h
 *		Parses an untrusted tar archive that is read in pieces.
 *
 * The state of a reader is plain data, so that several processes can parse an
 * archive in turn.  The archives are those of base backups: files,
 * directories and symbolic links, whose paths fit into a header.  Nothing in
 * them is trusted: no path leads out of the directory to which the archive is
 * extracted.
 */
#ifndef TAR_READER_H
#define TAR_READER_H

#include <sys/types.h>
#include <time.h>

#include "pgtar.h"

/*
 * The size of a path in a header, and a terminating zero, which headers need
 * not have.
 */
#define TAR_PATH_BYTES 101

/* The size of the name of a user or group, and a terminating zero. */
#define TAR_NAME_BYTES 33

typedef enum TarKind
{
	TAR_FILE,
	TAR_DIRECTORY,
	TAR_LINK					/* link of a tablespace, "pg_tblspc/OID" */
} TarKind;

typedef struct TarMember
{
	TarKind		kind;
	char		path[TAR_PATH_BYTES];
	mode_t		mode;			/* only the permissions */
	uint64		size;
	time_t		mtime;
	uid_t		uid;
	gid_t		gid;
	char		user[TAR_NAME_BYTES];	/* "" if there is only a number */
	char		group[TAR_NAME_BYTES];
} TarMember;

/*
 * The state of a reader.  At the beginning of an archive all members are
 * zero.
 */
typedef struct TarReader
{
	char		header[TAR_BLOCK_SIZE];
	size_t		header_len;		/* bytes of the current header so far */
	TarMember	member;
	uint64		offset;			/* offset in the current member */
	size_t		padding;		/* bytes still to be skipped */
	int			n_zero_blocks;	/* two of them end the archive */
} TarReader;

/*
 * A part of a member, at the given offset.  A part of a file is not empty
 * unless the file is; any other member has exactly one part.
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
	TAR_MORE,					/* all bytes were used */
	TAR_DAMAGED
} TarResult;

/*
 * Take the next part from the bytes, and advance *data and *len.  If the
 * bytes are damaged, sets *problem, which must not be freed.
 */
extern TarResult tar_reader_next(TarReader *reader, const char **data,
								 size_t *len, TarPart *part,
								 const char **problem);

/* Has the end of the archive been read?  Bytes after the end are ignored. */
extern bool tar_reader_ended(const TarReader *reader);

#endif							/* TAR_READER_H */
