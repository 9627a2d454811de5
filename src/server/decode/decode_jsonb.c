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

/* What stands before a value: its JEntry, and padding. */
#define ENTRY_ROOM		(sizeof(JEntry) + 3)

typedef struct JsonbWriter
{
	const JsonNode *nodes;
	uint32	   *keys;			/* free places for the nodes of keys */
	char	   *to;
} JsonbWriter;

/* Containers and numbers are aligned; the padding counts as theirs. */
static inline void
put_padding(JsonbWriter *writer)
{
	while ((uintptr_t) writer->to % sizeof(int32) != 0)
		*writer->to++ = '\0';
}

/* Writes up to a block more, and may read as much. */
static inline void
put_string(JsonbWriter *writer, const JsonNode *node)
{
	for (uint32 i = 0; i < node->len; i += BYTE_BLOCK_SIZE)
		byte_block_store(writer->to + i, byte_block_load(node->text + i));
	writer->to += node->len;
}

static bool put_container(JsonbWriter *writer, uint32 index);

/* Write a value; its JEntry, with a length, goes to *entry. */
static bool
put_value(JsonbWriter *writer, uint32 index, JEntry *entry)
{
	const JsonNode *node = &writer->nodes[index];
	char	   *start = writer->to;
	Size		size;

	switch (node->kind)
	{
		case NODE_NULL:
			*entry = JENTRY_ISNULL;
			return true;
		case NODE_TRUE:
			*entry = JENTRY_ISBOOL_TRUE;
			return true;
		case NODE_FALSE:
			*entry = JENTRY_ISBOOL_FALSE;
			return true;
		case NODE_STRING:
			put_string(writer, node);
			*entry = JENTRY_ISSTRING | node->len;
			return true;
		case NODE_NUMBER:
			put_padding(writer);
			size = put_numeric_of_text(writer->to, node->text, node->len, -1);
			writer->to += size;
			*entry = JENTRY_ISNUMERIC | (writer->to - start);
			return size > 0;
		case NODE_ARRAY:
		case NODE_OBJECT:
			if (!put_container(writer, index))
				return false;
			*entry = JENTRY_ISCONTAINER | (writer->to - start);
			return true;
	}
	return false;
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
 * Put a JEntry at its place, with an offset instead of a length where one has
 * to be.  *total is the length of all up to this one.
 */
static inline void
put_entry(char *entries, uint32 i, JEntry entry, uint32 *total)
{
	*total += JBE_OFFLENFLD(entry);
	if (i % JB_OFFSET_STRIDE == 0)
		entry = (entry & JENTRY_TYPEMASK) | *total | JENTRY_HAS_OFF;
	memcpy(entries + i * sizeof(JEntry), &entry, sizeof(JEntry));
}

/* Write a container's header, and leave room for its entries. */
static inline char *
put_header(JsonbWriter *writer, uint32 header, uint32 n_entries)
{
	char	   *entries;

	put_padding(writer);
	memcpy(writer->to, &header, sizeof(header));
	entries = writer->to + sizeof(header);
	writer->to = entries + n_entries * sizeof(JEntry);
	return entries;
}

static bool
put_array(JsonbWriter *writer, uint32 index)
{
	uint32		n = writer->nodes[index].len;
	uint32		element = index + 1;
	uint32		total = 0;
	char	   *entries = put_header(writer, n | JB_FARRAY, n);

	for (uint32 i = 0; i < n; i++)
	{
		JEntry		entry;

		if (!put_value(writer, element, &entry))
			return false;
		put_entry(entries, i, entry, &total);
		element = writer->nodes[element].next;
	}
	return true;
}

static bool
put_object(JsonbWriter *writer, uint32 index)
{
	uint32	   *keys = writer->keys;
	uint32		n = writer->nodes[index].len;
	uint32		total = 0;
	char	   *entries = put_header(writer, n | JB_FOBJECT, 2 * n);
	bool		done = true;

	if (!gather_keys(writer, index))
		return false;
	writer->keys += n;
	for (uint32 i = 0; i < n; i++)
	{
		const JsonNode *key = &writer->nodes[keys[i]];

		put_string(writer, key);
		put_entry(entries, i, JENTRY_ISSTRING | key->len, &total);
	}
	for (uint32 i = 0; i < n && done; i++)
	{
		JEntry		entry = 0;

		done = put_value(writer, keys[i] + 1, &entry);
		put_entry(entries, n + i, entry, &total);
	}
	writer->keys -= n;
	return done;
}

static bool
put_container(JsonbWriter *writer, uint32 index)
{
	if (writer->nodes[index].kind == NODE_OBJECT)
		return put_object(writer, index);
	return put_array(writer, index);
}

/* The value that is all of a jsonb; a scalar is in an array of its own. */
static bool
put_root(JsonbWriter *writer)
{
	char	   *entries;
	JEntry		entry;
	uint32		total = 0;

	if (writer->nodes[0].kind == NODE_ARRAY ||
		writer->nodes[0].kind == NODE_OBJECT)
		return put_container(writer, 0);
	entries = put_header(writer, 1 | JB_FARRAY | JB_FSCALAR, 1);
	if (!put_value(writer, 0, &entry))
		return false;
	put_entry(entries, 0, entry, &total);
	return true;
}

/* How many bytes the stored form may need. */
static inline Size
stored_room(const JsonNode *nodes, uint32 n_nodes)
{
	/* the root's header, or that of a scalar's array, which has an entry */
	Size		room = VARHDRSZ + sizeof(uint32) + sizeof(JEntry);

	for (uint32 i = 0; i < n_nodes; i++)
	{
		room += ENTRY_ROOM;
		if (nodes[i].kind == NODE_STRING)
			room += nodes[i].len;
		else if (nodes[i].kind == NODE_NUMBER)
			room += NUMERIC_ROOM(nodes[i].len);
		else
			room += sizeof(uint32); /* a container's header */
	}
	return room;
}

static bool
decode_jsonb(ColumnDecoder *decoder, const char *text, Size len, Datum *value)
{
	JsonbSpace *space = decoder->state;
	JsonbWriter writer = {.nodes = space->nodes,.keys = space->keys};
	uint32		n_nodes;
	Size		room;
	char	   *result;

	if (len > MAX_JSONB_TEXT)
		return false;
	n_nodes = json_parse(text, len, space->nodes, MAX_NODES);
	if (n_nodes == 0)
		return false;
	room = stored_room(space->nodes, n_nodes);
	result = palloc(room + BYTE_BLOCK_SIZE);
	writer.to = result + VARHDRSZ;
	if (!put_root(&writer))
		return false;
	Assert(writer.to <= result + room);
	SET_VARSIZE(result, writer.to - result);
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
