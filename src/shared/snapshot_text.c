/*
 * snapshot_text.c
 *		Reads the text of an exported snapshot, a file in pg_snapshots.
 */
#include "shared/snapshot_text.h"

#include <string.h>

/*
 * The part of the text that has not been read yet.  After a problem nothing
 * more is read, so that the first one is reported and callers need no test
 * after each line.
 */
typedef struct SnapshotRest
{
	const char *at;
	const char *end;
	const char *problem;		/* the first line that is wrong; or NULL */
} SnapshotRest;

static bool
begins_with(const SnapshotRest *rest, const char *name)
{
	size_t		length = strlen(name);

	return (size_t) (rest->end - rest->at) >= length &&
		memcmp(rest->at, name, length) == 0;
}

/* Digits up to this character, which is skipped. */
static uint32_t
read_number(SnapshotRest *rest, const char *name, char end, uint32_t most)
{
	const char *first = rest->at;
	uint64_t	value = 0;

	/* ends before 64 bits overflow, as "most" has 32 bits */
	while (rest->at < rest->end && *rest->at >= '0' && *rest->at <= '9' &&
		   value <= most)
		value = value * 10 + (uint64_t) (*rest->at++ - '0');
	if (rest->at == first || rest->at == rest->end || *rest->at != end ||
		value > most)
	{
		rest->problem = name;
		return 0;
	}
	rest->at++;
	return (uint32_t) value;
}

static void
read_name(SnapshotRest *rest, const char *name)
{
	if (rest->problem != NULL)
		return;
	if (begins_with(rest, name))
		rest->at += strlen(name);
	else
		rest->problem = name;
}

/* A line; 0 if it, or one before it, is wrong. */
static uint32_t
read_line(SnapshotRest *rest, const char *name, uint32_t most)
{
	read_name(rest, name);
	return rest->problem ? 0 : read_number(rest, name, '\n', most);
}

static bool
read_flag(SnapshotRest *rest, const char *name)
{
	return read_line(rest, name, 1) == 1;
}

/*
 * A line with a number of lines, and these, of which *lines is the first.
 * Returns the number.
 */
static uint32_t
read_list(SnapshotRest *rest, const char *count_name, const char *name,
		  const char **lines)
{
	uint32_t	n = read_line(rest, count_name, INT32_MAX);

	*lines = rest->at;
	for (uint32_t i = 0; i < n && rest->problem == NULL; i++)
		read_line(rest, name, UINT32_MAX);
	return n;
}

bool
snapshot_text_is_id(const char *id)
{
	size_t		length = strlen(id);

	return length > 0 && length < SNAPSHOT_TEXT_ID_BYTES &&
		strspn(id, SNAPSHOT_TEXT_ID_CHARS) == length;
}

/*
 * All lines are read, in their order, although callers need few of them: a
 * text that differs anywhere is of another release, and must not be guessed
 * at.
 */
const char *
snapshot_text_read(SnapshotText *snapshot, const char *text, size_t length)
{
	SnapshotRest rest = {text, text + length, NULL};

	memset(snapshot, 0, sizeof(*snapshot));
	read_name(&rest, "vxid:");
	if (rest.problem == NULL)
		read_number(&rest, "vxid:", '/', INT32_MAX);
	if (rest.problem == NULL)
		read_number(&rest, "vxid:", '\n', UINT32_MAX);
	read_line(&rest, "pid:", INT32_MAX);
	read_line(&rest, "dbid:", UINT32_MAX);
	read_line(&rest, "iso:", 3);
	read_flag(&rest, "ro:");
	snapshot->xmin = read_line(&rest, "xmin:", UINT32_MAX);
	snapshot->xmax = read_line(&rest, "xmax:", UINT32_MAX);
	snapshot->n_xids = read_list(&rest, "xcnt:", "xip:", &snapshot->xids);
	snapshot->overflowed = read_flag(&rest, "sof:");
	/* only older servers, and only an overflowed snapshot, leave this out */
	snapshot->has_subxids = begins_with(&rest, "sxcnt:");
	if (snapshot->has_subxids)
		snapshot->n_subxids = read_list(&rest, "sxcnt:", "sxp:",
										&snapshot->subxids);
	snapshot->in_recovery = read_flag(&rest, "rec:");
	if (rest.problem == NULL && !snapshot->overflowed && !snapshot->has_subxids)
		rest.problem = "sxcnt:";
	if (rest.problem == NULL && rest.at != rest.end)
		rest.problem = "end";
	return rest.problem;
}

/* The lines have been read once, so they are as they should be. */
void
snapshot_text_list(const char *lines, uint32_t n, uint32_t *list)
{
	for (uint32_t i = 0; i < n; i++)
	{
		uint32_t	value = 0;

		while (*lines++ != ':')
			;
		while (*lines != '\n')
			value = value * 10 + (uint32_t) (*lines++ - '0');
		lines++;
		list[i] = value;
	}
}

bool
snapshot_text_is_incomplete(const SnapshotText *snapshot)
{
	return snapshot->in_recovery && snapshot->overflowed &&
		!snapshot->has_subxids;
}
