/*
 * snapshot_text.c
 *		Parses the text of an exported snapshot, a file in pg_snapshots.
 *
 * snapshot_text.h describes the format and the callers.  Each function here
 * reads a part of the text, and all of them stop at the first problem.
 */
#include "shared/snapshot_text.h"

#include <string.h>

/*
 * The part of the text that has not been read yet.  After a problem nothing
 * more is read.  So the first problem is reported, and callers need not test
 * for one after each line.
 */
typedef struct SnapshotRest
{
	const char *at;
	const char *end;
	const char *problem;		/* name of the first wrong line, or NULL */
} SnapshotRest;

static bool
begins_with(const SnapshotRest *rest, const char *name)
{
	size_t		length = strlen(name);

	return (size_t) (rest->end - rest->at) >= length &&
		memcmp(rest->at, name, length) == 0;
}

/*
 * Read digits up to the character "end", which is skipped.  A number above
 * "most" is a problem.
 */
static uint32_t
read_number(SnapshotRest *rest, const char *name, char end, uint32_t most)
{
	const char *first = rest->at;
	uint64_t	value = 0;

	/* the loop ends before 64 bits overflow, as "most" has 32 bits */
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

/* Read the name of a line, which includes its colon. */
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

/* Read a line; returns 0 if this or an earlier line is wrong. */
static uint32_t
read_line(SnapshotRest *rest, const char *name, uint32_t most)
{
	read_name(rest, name);
	return rest->problem ? 0 : read_number(rest, name, '\n', most);
}

/* Read a line whose value is 0 or 1. */
static bool
read_flag(SnapshotRest *rest, const char *name)
{
	return read_line(rest, name, 1) == 1;
}

/*
 * Read a line that contains a number n, and the n lines after it.  *lines
 * becomes the first of these.  Returns n.
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
 * All lines are read in their order, although callers need few of them.  A
 * text that differs anywhere was written by another release, and its other
 * lines might have another meaning, too.
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
	/* older servers leave this line out of an overflowed snapshot */
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

/* snapshot_text_read() has checked the lines, so this need not. */
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
