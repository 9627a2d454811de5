/*-------------------------------------------------------------------------
 *
 * decode_jsonb.c
 *	  Decoder of jsonb.
 *
 * The text becomes nodes and these the stored form, which is told in
 * src/include/utils/jsonb.h, as src/backend/utils/adt/jsonb_util.c:
 * convertToJsonb() writes it: an object's keys first, the shorter before the
 * longer, then their values in the same order.  The keys of a dumped jsonb
 * are in that order already, and are not sorted then.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"	/* brings varatt.h where there is one */
#include "utils/fmgroids.h"
#include "utils/jsonb.h"

#include "bytes/byte_block.h"
#include "decode/decode_jsonb.h"
#include "decode/decode_numeric.h"
#include "decode/json_parse.h"

/*
 * What is longer, or has more keys and values, is left to jsonb_in().  Nodes
 * are twelve times as large as the shortest text of one, so there is one
 * array of them for a column, of which as much is touched as is used.
 */
#define MAX_JSONB_TEXT	(1024 * 1024)
#define MAX_NODES		8192

/* A decoder's state. */
typedef struct JsonbSpace
{
	JsonNode	nodes[MAX_NODES];
	uint32		keys[MAX_NODES];
} JsonbSpace;

/*
 * The room that a node may need beside its text: a JEntry, padding, and what
 * a number has more than that of its text, or a container's header.
 */
#define NODE_ROOM		(sizeof(JEntry) + 3 + NUMERIC_ROOM(0))

/*
 * Each put_...() writes at "to" and returns the place behind what it has
 * written, or NULL if the value is not one for us.
 */
typedef struct JsonbWriter
{
	const JsonNode *nodes;
	uint32	   *keys;			/* free places for the nodes of keys */
} JsonbWriter;

/* Containers and numbers are aligned; the padding counts as theirs. */
static inline char *
put_padding(char *to)
{
	uint32		zeros = 0;

	memcpy(to, &zeros, sizeof(zeros));
	return (char *) INTALIGN(to);
}

/* Writes up to a block more, and may read as much. */
static inline char *
put_string(char *to, const JsonNode *node)
{
	for (uint32 i = 0; i < node->len; i += BYTE_BLOCK_SIZE)
		byte_block_store(to + i, byte_block_load(node->text + i));
	return to + node->len;
}

static inline char *
put_number(char *to, const JsonNode *node)
{
	Size		size;

	to = put_padding(to);
	size = put_numeric_of_text(to, node->text, node->len, -1);
	return size > 0 ? to + size : NULL;
}

static char *put_container(JsonbWriter *writer, uint32 index, char *to);

/* Write a value; its JEntry's type goes to *type. */
static inline char *
put_value(JsonbWriter *writer, uint32 index, char *to, JEntry *type)
{
	const JsonNode *node = &writer->nodes[index];

	switch (node->kind)
	{
		case NODE_NULL:
			*type = JENTRY_ISNULL;
			return to;
		case NODE_TRUE:
			*type = JENTRY_ISBOOL_TRUE;
			return to;
		case NODE_FALSE:
			*type = JENTRY_ISBOOL_FALSE;
			return to;
		case NODE_STRING:
			*type = JENTRY_ISSTRING;
			return put_string(to, node);
		case NODE_NUMBER:
			*type = JENTRY_ISNUMERIC;
			return put_number(to, node);
		case NODE_ARRAY:
		case NODE_OBJECT:
			*type = JENTRY_ISCONTAINER;
			return put_container(writer, index, to);
	}
	return NULL;
}

/* src/backend/utils/adt/jsonb_util.c: lengthCompareJsonbString() */
static inline int
compare_keys(const JsonNode *a, const JsonNode *b)
{
	if (a->len != b->len)
		return a->len < b->len ? -1 : 1;
	return memcmp(a->text, b->text, a->len);
}

static int
compare_places(const void *a, const void *b, void *nodes)
{
	return compare_keys((JsonNode *) nodes + *(const uint32 *) a,
						(JsonNode *) nodes + *(const uint32 *) b);
}

/*
 * Gather the keys of an object in the order in which they are stored.  False
 * if one is there twice: jsonb_in() keeps the last value only, but the others
 * may be errors, too.  No dumped jsonb has such keys.
 */
static bool
gather_keys(JsonbWriter *writer, uint32 index)
{
	const JsonNode *nodes = writer->nodes;
	uint32	   *keys = writer->keys;
	uint32		n = nodes[index].len;
	uint32		key = index + 1;
	bool		in_order = true;

	for (uint32 i = 0; i < n; i++)
	{
		keys[i] = key;
		if (i > 0 && compare_keys(&nodes[keys[i - 1]], &nodes[key]) >= 0)
			in_order = false;
		key = nodes[key + 1].next;
	}
	if (likely(in_order))
		return true;

	qsort_arg(keys, n, sizeof(uint32), compare_places, (void *) nodes);
	for (uint32 i = 1; i < n; i++)
	{
		if (compare_keys(&nodes[keys[i - 1]], &nodes[keys[i]]) == 0)
			return false;
	}
	return true;
}

/*
 * Put the JEntry of what begins at "start" and ends at "end" to its place,
 * with an offset instead of a length where one has to be.
 */
static inline void
put_entry(char *entries, uint32 i, JEntry type, const char *first,
		  const char *start, const char *end)
{
	JEntry		entry = type | (end - start);

	if (i % JB_OFFSET_STRIDE == 0)
		entry = type | (end - first) | JENTRY_HAS_OFF;
	memcpy(entries + i * sizeof(JEntry), &entry, sizeof(JEntry));
}

/* Write a container's header, whose entries' place goes to *entries. */
static inline char *
put_header(char *to, uint32 header, uint32 n_entries, char **entries)
{
	to = put_padding(to);
	memcpy(to, &header, sizeof(header));
	*entries = to + sizeof(header);
	return *entries + n_entries * sizeof(JEntry);
}

static char *
put_array(JsonbWriter *writer, uint32 index, char *to)
{
	uint32		n = writer->nodes[index].len;
	uint32		element = index + 1;
	char	   *entries;
	char	   *first = to = put_header(to, n | JB_FARRAY, n, &entries);

	for (uint32 i = 0; i < n; i++)
	{
		char	   *start = to;
		JEntry		type;

		to = put_value(writer, element, to, &type);
		if (to == NULL)
			return NULL;
		put_entry(entries, i, type, first, start, to);
		element = writer->nodes[element].next;
	}
	return to;
}

static char *
put_object(JsonbWriter *writer, uint32 index, char *to)
{
	uint32	   *keys = writer->keys;
	uint32		n = writer->nodes[index].len;
	char	   *entries;
	char	   *first = to = put_header(to, n | JB_FOBJECT, 2 * n, &entries);

	if (!gather_keys(writer, index))
		return NULL;
	writer->keys += n;
	for (uint32 i = 0; i < n; i++)
	{
		char	   *start = to;

		to = put_string(to, &writer->nodes[keys[i]]);
		put_entry(entries, i, JENTRY_ISSTRING, first, start, to);
	}
	for (uint32 i = 0; i < n; i++)
	{
		char	   *start = to;
		JEntry		type;

		to = put_value(writer, keys[i] + 1, to, &type);
		if (to == NULL)
			return NULL;
		put_entry(entries, n + i, type, first, start, to);
	}
	writer->keys = keys;
	return to;
}

static char *
put_container(JsonbWriter *writer, uint32 index, char *to)
{
	if (writer->nodes[index].kind == NODE_OBJECT)
		return put_object(writer, index, to);
	return put_array(writer, index, to);
}

/* The value that is all of a jsonb; a scalar is in an array of its own. */
static char *
put_root(JsonbWriter *writer, char *to)
{
	char	   *entries;
	char	   *start;
	JEntry		type;

	if (writer->nodes[0].kind == NODE_ARRAY ||
		writer->nodes[0].kind == NODE_OBJECT)
		return put_container(writer, 0, to);
	start = put_header(to, 1 | JB_FARRAY | JB_FSCALAR, 1, &entries);
	to = put_value(writer, 0, start, &type);
	if (to != NULL)
		put_entry(entries, 0, type, start, start, to);
	return to;
}

static bool
decode_jsonb(ColumnDecoder *decoder, const char *text, Size len, Datum *value)
{
	JsonbSpace *space = decoder->state;
	JsonbWriter writer = {.nodes = space->nodes,.keys = space->keys};
	uint32		n_nodes;
	Size		room;
	char	   *result;
	char	   *end;

	if (len > MAX_JSONB_TEXT)
		return false;
	n_nodes = json_parse(text, len, space->nodes, MAX_NODES);
	if (n_nodes == 0)
		return false;
	/* the root's header, or that of a scalar's array, is one more */
	room = VARHDRSZ + len + (n_nodes + 1) * NODE_ROOM;
	result = value_alloc(decoder, room + BYTE_BLOCK_SIZE);
	end = put_root(&writer, result + VARHDRSZ);
	if (end == NULL)
		return false;
	Assert(end <= result + room);
	SET_VARSIZE(result, end - result);
	*value = PointerGetDatum(result);
	return true;
}

DecodeFunction
jsonb_decoder(Oid input_function, ColumnDecoder *decoder)
{
	if (input_function != F_JSONB_IN)
		return NULL;
	decoder->state = palloc(sizeof(JsonbSpace));
	return decode_jsonb;
}
