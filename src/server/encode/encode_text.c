/*-------------------------------------------------------------------------
 *
 * encode_text.c
 *	  Encoders of the types whose value is their text, and of enums.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "bytes/escape.h"
#include "bytes/packed_varlena.h"
#include "encode/append_text.h"
#include "encode/encode_text.h"

/* textout, textsend and such: they copy the bytes */
static char *
encode_text(ColumnEncoder *encoder, Datum value, ByteBuffer *out, char *to)
{
	struct varlena *packed = packed_varlena(value);

	to = append_text(out, to, VARDATA_ANY(packed), VARSIZE_ANY_EXHDR(packed),
					 encoder->settings);
	packed_varlena_release(packed, value);
	return to;
}

/*
 * xml_out changes a value that begins with an XML declaration or a line end
 * (src/backend/utils/adt/xml.c: xml_out_internal, parse_xml_decl) and copies
 * others.
 */
static char *
encode_xml(ColumnEncoder *encoder, Datum value, ByteBuffer *out, char *to)
{
	struct varlena *packed = packed_varlena(value);
	const char *bytes = VARDATA_ANY(packed);
	Size		len = VARSIZE_ANY_EXHDR(packed);

	if (len > 0 &&
		(bytes[0] == '\n' || (len >= 5 && memcmp(bytes, "<?xml", 5) == 0)))
		to = encode_by_type_function(encoder, PointerGetDatum(packed), out,
									 to);
	else
		to = append_text(out, to, bytes, len, encoder->settings);
	packed_varlena_release(packed, value);
	return to;
}

static char *
encode_name(ColumnEncoder *encoder, Datum value, ByteBuffer *out, char *to)
{
	const char *name = NameStr(*DatumGetName(value));

	return append_text(out, to, name, strnlen(name, NAMEDATALEN),
					   encoder->settings);
}

/* "char": ASCII as it is, nothing for zero; others differ among majors */
static char *
encode_char(ColumnEncoder *encoder, Datum value, ByteBuffer *out, char *to)
{
	char		c = DatumGetChar(value);

	if (IS_HIGHBIT_SET(c))
		return encode_by_type_function(encoder, value, out, to);
	return c != '\0' ? put_escaped_byte(to, c, ESCAPE_COPY) : to;
}

/*
 * The texts of an enum's values, each kept after its first look-up, until a
 * label of any enum changes, also by the end of a subtransaction that renamed
 * it.  A value's slot follows from its OID; two that share one push each
 * other out, which bounds the memory.
 */
#define ENUM_CACHE_SLOTS	128

typedef struct EnumText
{
	Oid			value;			/* InvalidOid if the slot is not in use */
	uint32		len;
	char	   *label;			/* owned; as COPY writes it */
} EnumText;

typedef struct EnumCache
{
	uint64		version;		/* enum_version when it was filled */
	EnumText	slots[ENUM_CACHE_SLOTS];
} EnumCache;

/* Of the session: how often labels may have changed. */
static uint64 enum_version = 0;

/* A syscache callback. */
static void
enum_changed(Datum arg, int cache, uint32 hash)
{
	enum_version++;
}

static EnumCache *
enum_cache_new(MemoryContext context)
{
	static bool is_registered = false;
	EnumCache  *cache = MemoryContextAllocZero(context, sizeof(EnumCache));

	if (!is_registered)
		CacheRegisterSyscacheCallback(ENUMOID, enum_changed, (Datum) 0);
	is_registered = true;
	cache->version = enum_version;
	return cache;
}

static pg_noinline void
enum_cache_clear(EnumCache *cache)
{
	for (int i = 0; i < ENUM_CACHE_SLOTS; i++)
		if (cache->slots[i].label)
			pfree(cache->slots[i].label);
	memset(cache->slots, 0, sizeof(cache->slots));
	cache->version = enum_version;
}

/* Look a value's text up and put it in the slot. */
static pg_noinline void
enum_cache_fill(ColumnEncoder *encoder, EnumText *slot, Oid value)
{
	ByteBuffer	buf;
	char	   *end;
	char	   *kept;

	byte_buffer_init(&buf, 8 * NAMEDATALEN);
	end = encode_by_type_function(encoder, ObjectIdGetDatum(value), &buf,
								  byte_buffer_place(&buf));
	byte_buffer_commit(&buf, end);
	kept = MemoryContextAlloc(encoder->type_function.fn_mcxt, buf.len + 1);
	memcpy(kept, buf.data, buf.len);

	if (slot->label != NULL)
		pfree(slot->label);
	slot->label = kept;
	slot->len = buf.len;
	slot->value = value;
	pfree(buf.data);
}

static char *
encode_enum(ColumnEncoder *encoder, Datum value, ByteBuffer *out, char *to)
{
	Oid			oid = DatumGetObjectId(value);
	EnumCache  *cache;
	EnumText   *slot;

	if (unlikely(encoder->state == NULL))
		encoder->state = enum_cache_new(encoder->type_function.fn_mcxt);
	cache = encoder->state;
	if (unlikely(cache->version != enum_version))
		enum_cache_clear(cache);

	/* CREATE TYPE gives its values even OIDs (pg_enum.c) */
	slot = &cache->slots[oid / 2 % ENUM_CACHE_SLOTS];
	if (unlikely(slot->value != oid || slot->label == NULL))
		enum_cache_fill(encoder, slot, oid);
	return byte_buffer_append(out, to, slot->label, slot->len);
}

EncodeFunction
text_encoder(Oid type_function)
{
	switch (type_function)
	{
		case F_TEXTOUT:
		case F_VARCHAROUT:
		case F_BPCHAROUT:
		case F_JSON_OUT:
		case F_TEXTSEND:
		case F_VARCHARSEND:
		case F_BPCHARSEND:
		case F_JSON_SEND:
			return encode_text;
		case F_XML_OUT:
			return encode_xml;
		case F_NAMEOUT:
		case F_NAMESEND:
			return encode_name;
		case F_CHAROUT:
			return encode_char;
		case F_ENUM_OUT:
		case F_ENUM_SEND:
			return encode_enum;
		default:
			return NULL;
	}
}
