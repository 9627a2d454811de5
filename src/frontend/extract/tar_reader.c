/*
 * tar_reader.c
 *		Parses an untrusted tar archive that is read in pieces.
 *
 * Only the format of servers and pg_basebackup is supported
 * (tarCreateHeader() of src/port/tar.c): ustar headers without the extensions
 * of GNU tar or pax.  Anything else may be damage, or an attempt to write
 * files elsewhere, and is refused.
 *
 * The state is a struct without pointers, which may be in shared memory: one
 * process can continue where another one has stopped, at any byte.
 */
#include "base/fe_compat.h"

#include "extract/tar_reader.h"

/* The positions of a header's fields (POSIX, ustar). */
#define NAME_AT 0
#define MODE_AT 100
#define UID_AT 108
#define GID_AT 116
#define SIZE_AT 124
#define MTIME_AT 136
#define CHECKSUM_AT 148
#define TYPE_AT 156
#define USER_AT 265
#define GROUP_AT 297
#define PREFIX_AT 345

#define TABLESPACE_DIRECTORY "pg_tblspc/"

/* Larger sizes are damage.  The limit also prevents overflows of sums. */
#define MAX_SIZE (UINT64CONST(1) << 62)

/* Two blocks of zeros are the end of an archive (POSIX, ustar). */
bool
tar_reader_ended(const TarReader *reader)
{
	return reader->n_zero_blocks == 2;
}

static bool
is_zero(const char *block)
{
	for (int i = 0; i < TAR_BLOCK_SIZE; i++)
		if (block[i] != 0)
			return false;
	return true;
}

/*
 * Read a path, without "./" at the beginning and "/" at the end.  Returns
 * false if the path is absolute, or contains "..".
 */
static bool
read_path(const char *field, char path[TAR_PATH_BYTES])
{
	char		copy[TAR_PATH_BYTES];
	char	   *rest = copy;
	char	   *component;
	size_t		len = 0;

	if (field[0] == '/')
		return false;
	strlcpy(copy, field, sizeof(copy));
	path[0] = '\0';
	while ((component = strsep(&rest, "/")) != NULL)
	{
		if (strcmp(component, "..") == 0)
			return false;
		if (*component == '\0' || strcmp(component, ".") == 0)
			continue;
		len += snprintf(path + len, TAR_PATH_BYTES - len, "%s%s",
						len > 0 ? "/" : "", component);
	}
	if (len == 0)
		strcpy(path, ".");
	return true;
}

/*
 * Is this the link of a tablespace?  A base backup contains no other links.
 */
static bool
is_tablespace(const char *path)
{
	const char *oid = path + strlen(TABLESPACE_DIRECTORY);

	return strncmp(path, TABLESPACE_DIRECTORY, strlen(TABLESPACE_DIRECTORY)) == 0 &&
		*oid != '\0' && strspn(oid, "0123456789") == strlen(oid);
}

/*
 * Read a header into the current member.  Returns what is wrong with it, or
 * NULL.
 */
static const char *
read_header(TarReader *reader)
{
	TarMember  *member = &reader->member;
	char	   *header = reader->header;
	char		field[TAR_PATH_BYTES];

	memset(member, 0, sizeof(*member));
	if (read_tar_number(header + CHECKSUM_AT, 8) != tarChecksum(header))
		return "the checksum of a header is wrong";
	strlcpy(field, header + NAME_AT, sizeof(field));

	/*
	 * Servers write the whole path to the name field, and never use the
	 * prefix.
	 */
	if (header[PREFIX_AT] != '\0' || !read_path(field, member->path))
		return "a path does not belong to a base backup";
	member->mode = read_tar_number(header + MODE_AT, 8) & 07777;
	member->mtime = (time_t) read_tar_number(header + MTIME_AT, 12);
	member->uid = (uid_t) read_tar_number(header + UID_AT, 8);
	member->gid = (gid_t) read_tar_number(header + GID_AT, 8);
	strlcpy(member->user, header + USER_AT, sizeof(member->user));
	strlcpy(member->group, header + GROUP_AT, sizeof(member->group));
	switch (header[TYPE_AT])
	{
		case '0':
		case '\0':
			member->kind = TAR_FILE;
			member->size = read_tar_number(header + SIZE_AT, 12);
			break;
		case '2':
			member->kind = TAR_LINK;
			if (!is_tablespace(member->path))
				return "a symbolic link is not that of a tablespace";
			break;
		case '5':
			member->kind = TAR_DIRECTORY;
			break;
		default:
			return "a member is not a file, directory or symbolic link";
	}
	if (member->size > MAX_SIZE)
		return "the size of a member is invalid";
	if (strcmp(member->path, ".") == 0 && member->kind != TAR_DIRECTORY)
		return "a path does not belong to a base backup";
	reader->offset = 0;
	reader->padding = tarPaddingBytesRequired(member->size);
	return NULL;
}

/* Skip some bytes. */
static void
advance(const char **data, size_t *len, size_t by)
{
	*data += by;
	*len -= by;
}

/*
 * Collect a header, and begin its member.  Returns TAR_MORE if the header is
 * not complete yet.
 */
static TarResult
next_member(TarReader *reader, const char **data, size_t *len,
			const char **problem)
{
	size_t		taken = Min(*len, TAR_BLOCK_SIZE - reader->header_len);

	memcpy(reader->header + reader->header_len, *data, taken);
	reader->header_len += taken;
	advance(data, len, taken);
	if (reader->header_len < TAR_BLOCK_SIZE)
		return TAR_MORE;
	reader->header_len = 0;
	if (is_zero(reader->header))
	{
		reader->n_zero_blocks++;
		return TAR_MORE;
	}
	reader->n_zero_blocks = 0;
	*problem = read_header(reader);
	return *problem ? TAR_DAMAGED : TAR_PART;
}

/* Return the next bytes of the member, which still belong to the caller. */
static void
set_part(TarReader *reader, const char *data, size_t len, TarPart *part)
{
	part->member = reader->member;
	part->offset = reader->offset;
	part->data = data;
	part->len = len;
	reader->offset += len;
}

TarResult
tar_reader_next(TarReader *reader, const char **data, size_t *len,
				TarPart *part, const char **problem)
{
	while (*len > 0 && !tar_reader_ended(reader))
	{
		uint64		left = reader->member.size - reader->offset;
		TarResult	result;

		if (left > 0)
		{
			size_t		taken = Min(left, *len);

			set_part(reader, *data, taken, part);
			advance(data, len, taken);
			return TAR_PART;
		}
		if (reader->padding > 0)
		{
			size_t		taken = Min(reader->padding, *len);

			reader->padding -= taken;
			advance(data, len, taken);
			continue;
		}
		result = next_member(reader, data, len, problem);
		if (result == TAR_DAMAGED)
			return result;

		/*
		 * Return an empty member at once, because no bytes of it will follow.
		 */
		if (result == TAR_PART && reader->member.size == 0)
		{
			set_part(reader, *data, 0, part);
			return TAR_PART;
		}
	}
	return TAR_MORE;
}
