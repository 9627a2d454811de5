/*-------------------------------------------------------------------------
 *
 * text_key.c
 *	  Converts the keys of a btree index with texts in C collation to bytes
 *	  that sort in the same order, and back.
 *
 * text_key.h describes the bytes; index_key.c calls these functions.
 *
 * In C collation varstr_cmp() compares texts with memcmp(), and if one text
 * begins with the other, the shorter one comes first
 * (src/backend/utils/adt/varlena.c).
 *
 * index_form_tuple() (src/backend/access/common/indextuple.c) stores a short
 * text with a header of one byte, and a longer one with an aligned header of
 * four bytes.  It fetches out-of-line texts first, and compresses texts that
 * are longer than TOAST_INDEX_TARGET.  If a table contains such texts, the
 * server has to build the index.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_database.h"
#include "utils/builtins.h"
#include "utils/syscache.h"

#include "base/server_compat.h"
#include "index/text_key.h"

StaticAssertDecl(INDEX_OFFSET_BITS + 32 <= TEXT_KEY_PLACE_BITS,
				 "a place has too many bits");
StaticAssertDecl(TOAST_INDEX_TARGET <= PG_UINT16_MAX,
				 "there may be too many blanks");

/* ----------
 * Collations
 * ----------
 */

/*
 * Is the locale in this attribute the C locale?  All locales of the builtin
 * provider also compare bytes.
 */
static bool
is_c(char provider, int cache, HeapTuple tuple, AttrNumber attribute)
{
	bool		isnull;
	Datum		locale = SysCacheGetAttr(cache, tuple, attribute, &isnull);
	char	   *name;
	bool		result;

	if (provider == COLLPROVIDER_BUILTIN)
		return true;
	if (provider != COLLPROVIDER_LIBC || isnull)
		return false;
	name = TextDatumGetCString(locale);
	result = strcmp(name, "C") == 0 || strcmp(name, "POSIX") == 0;
	pfree(name);
	return result;
}

bool
text_key_collation(Oid collation)
{
	/* the default collation is the locale of the database */
	bool		of_database = collation == DEFAULT_COLLATION_OID;
	HeapTuple	tuple = of_database ?
		SearchSysCache1(DATABASEOID, ObjectIdGetDatum(MyDatabaseId)) :
		SearchSysCache1(COLLOID, ObjectIdGetDatum(collation));
	bool		result;

	if (!HeapTupleIsValid(tuple))
		return false;
	if (of_database)
		result = is_c(((Form_pg_database) GETSTRUCT(tuple))->datlocprovider,
					  DATABASEOID, tuple, Anum_pg_database_datcollate);
	else
		result = ((Form_pg_collation) GETSTRUCT(tuple))->collisdeterministic &&
			is_c(((Form_pg_collation) GETSTRUCT(tuple))->collprovider,
				 COLLOID, tuple, Anum_pg_collation_collcollate);
	ReleaseSysCache(tuple);
	return result;
}

bool
text_key_init(TextKey *key)
{
	Size		bytes = 0;

	for (int i = 0; i < key->n_columns; i++)
	{
		const KeyColumn *column = &key->columns[i];

		bytes += column->nullable ? 1 : 0;
		bytes += text_key_has(column->kind) ? TOAST_INDEX_TARGET + 1
			: column->bytes;
		if (column->kind == KEY_BPCHAR)
			key->tail_words = 1;
	}
	key->max_words = 1 + (bytes + 7) / 8 + key->tail_words;

	/* with headers, a tuple must be smaller than a third of a page */
	return bytes + 64 <= Min(BLCKSZ / 3 - 64, INDEX_SIZE_MASK);
}

/* ----------
 * Conversion of keys to entries
 * ----------
 */

/* Add all bytes of a text to a sum. */
static inline uint64
sum_text(uint64 sum, const char *data, int n)
{
	uint64		word = 0;

	sum = key_sum_mix(sum, n);
	for (; n >= 8; n -= 8, data += 8)
	{
		memcpy(&word, data, 8);
		sum = key_sum_mix(sum, word);
	}
	word = 0;
	memcpy(&word, data, n);
	return key_sum_mix(sum, word);
}

/*
 * Append the bytes of a text, and set *n_blanks to the number of spaces at
 * its end that the type ignores.  Returns false if the text cannot be
 * converted.
 */
static inline bool
encode_text(const KeyColumn *column, Datum value, char **to, int *n_blanks,
			uint64 *sum)
{
	struct varlena *text = (struct varlena *) DatumGetPointer(value);
	const char *data;
	int			n;
	int			n_key;

	if (VARATT_IS_EXTERNAL(text) || VARATT_IS_COMPRESSED(text) ||
		VARSIZE_ANY(text) > TOAST_INDEX_TARGET)
		return false;
	data = VARDATA_ANY(text);
	n = VARSIZE_ANY_EXHDR(text);
	/* a zero ends the text in an entry, so a text must not contain one */
	if (memchr(data, '\0', n) != NULL)
		return false;
	n_key = n;
	if (column->kind == KEY_BPCHAR)
	{
		while (n_key > 0 && data[n_key - 1] == ' ')
			n_key--;
	}
	memcpy(*to, data, n_key);
	(*to)[n_key] = '\0';
	if (column->descending)
	{
		for (int i = 0; i <= n_key; i++)
			(*to)[i] = ~(*to)[i];
	}
	/* the sum includes the spaces, which the index stores */
	*to += n_key + 1;
	*n_blanks = n - n_key;
	*sum = sum_text(*sum, data, n);
	return true;
}

/* Append the bits of a value of up to 8 bytes, the highest ones first. */
static inline void
append_bits(char **to, uint64 bits, int bytes)
{
	bits = pg_hton64(bits << (64 - 8 * bytes));
	memcpy(*to, &bits, bytes);
	*to += bytes;
}

/* The inverse of append_bits(). */
static inline uint64
take_bits(const char **from, int bytes)
{
	uint64		bits = 0;

	memcpy(&bits, *from, bytes);
	*from += bytes;
	return pg_ntoh64(bits) >> (64 - 8 * bytes);
}

/*
 * Append the bits of a value of fixed width.  Returns false if it cannot be
 * converted.
 */
static inline bool
encode_fixed(const KeyColumn *column, Datum value, char **to, uint64 *sum)
{
	uint64		bytes;
	uint64		bits;

	if (column->kind == KEY_UUID)
	{
		for (int j = 0; j < 2; j++)
		{
			memcpy(&bytes, DatumGetPointer(value) + 8 * j, 8);
			*sum = key_sum_mix(*sum, bytes);
			append_bits(to, key_turn_bits(column, pg_ntoh64(bytes)), 8);
		}
		return true;
	}
	bytes = key_datum_bytes(column, value);
	if (!key_encode_value(column, bytes, &bits))
		return false;
	*sum = key_sum_mix(*sum, bytes);
	append_bits(to, key_turn_bits(column, bits), column->bytes);
	return true;
}

bool
text_key_encode(const TextKey *key, const Datum *values, const bool *isnull,
				uint64 place, uint64 *entry, uint64 *sum)
{
	char	   *to = (char *) (entry + 1);
	uint64		nulls = 0;
	uint64		tail = 0;
	uint64		n_words;

	*sum = key->sum_seed;
	for (int i = 0; i < key->n_columns; i++)
	{
		const KeyColumn *column = &key->columns[i];
		Datum		value = values[column->attnum - 1];
		bool		null = isnull[column->attnum - 1];

		if (column->nullable)
			*to++ = null != column->nulls_first;
		if (null)
		{
			if (!column->nullable)
				return false;
			nulls |= UINT64CONST(1) << i;
			*sum = key_sum_null(*sum, i);
		}
		else if (text_key_has(column->kind))
		{
			int			n_blanks;

			if (!encode_text(column, value, &to, &n_blanks, sum))
				return false;
			tail |= (uint64) n_blanks << 16 * i;
		}
		else if (!encode_fixed(column, value, &to, sum))
			return false;
	}
	/* entries are compared in words, so the last one is filled up */
	while ((to - (char *) entry) % 8 != 0)
		*to++ = '\0';
	n_words = (to - (char *) entry) / 8 - 1;
	entry[0] = (n_words << INDEX_KEY_COLUMNS | nulls) << TEXT_KEY_PLACE_BITS |
		place;
	if (key->tail_words > 0)
		entry[1 + n_words] = tail;
	return true;
}

/* ----------
 * Conversion of entries to index tuples
 * ----------
 */

/* Set the bytes from "end" up to an aligned offset to 0. */
static inline Size
pad(char *begin, Size end, Size aligned)
{
	while (end < aligned)
		begin[end++] = '\0';
	return end;
}

/*
 * Read a text of an entry and append it to a tuple.  Returns the offset of
 * its end in the tuple.
 */
static inline Size
form_text(const KeyColumn *column, const char **from, int n_blanks,
		  char *begin, Size end)
{
	const char *last = memchr(*from, column->descending ? 0xFF : 0,
							  TOAST_INDEX_TARGET);
	int			n_key;
	int			n;
	char	   *data;

	if (last == NULL)
		elog(ERROR, "a text of an index entry has no end");
	n_key = last - *from;
	n = n_key + n_blanks;
	if (n + VARHDRSZ_SHORT <= VARATT_SHORT_MAX)
	{
		SET_VARSIZE_SHORT(begin + end, n + VARHDRSZ_SHORT);
		end += VARHDRSZ_SHORT;
	}
	else
	{
		end = pad(begin, end, att_align_nominal(end, TYPALIGN_INT));
		SET_VARSIZE(begin + end, n + VARHDRSZ);
		end += VARHDRSZ;
	}
	if (end + n > KEY_TUPLE_BYTES)
		elog(ERROR, "a text of an index entry is too long");
	data = begin + end;
	memcpy(data, *from, n_key);
	if (column->descending)
	{
		for (int i = 0; i < n_key; i++)
			data[i] = ~data[i];
	}
	memset(data + n_key, ' ', n_blanks);
	*from = last + 1;
	return end + n;
}

/* The same for a value of fixed width. */
static inline Size
form_fixed(const KeyColumn *column, const char **from, char *begin, Size end)
{
	end = pad(begin, end, att_align_nominal(end, column->align));
	if (column->kind == KEY_UUID)
	{
		for (int j = 0; j < 2; j++)
		{
			uint64		bits = key_turn_bits(column, take_bits(from, 8));

			key_write_bytes(begin + end + 8 * j, pg_hton64(bits), 8);
		}
	}
	else
	{
		uint64		bits = key_turn_bits(column,
										 take_bits(from, column->bytes));

		key_write_bytes(begin + end, key_decode_value(column, bits),
						column->bytes);
	}
	return end + column->bytes;
}

Size
text_key_form(const TextKey *key, const uint64 *entry, IndexTuple tuple)
{
	const char *from = (const char *) (entry + 1);
	uint64		tail = text_key_tail(key, entry);
	int			nulls = text_key_nulls(entry);
	int			info = 0;
	char	   *begin = (char *) tuple;
	Size		end;

	if (nulls != 0)
		info |= INDEX_NULL_MASK;
	end = IndexInfoFindDataOffset(info);
	memset(tuple, 0, end);
	key_place(entry[0] & ((UINT64CONST(1) << TEXT_KEY_PLACE_BITS) - 1),
			  &tuple->t_tid);

	/* a bit is set for each column that is not NULL */
	if (nulls != 0)
		((IndexAttributeBitMap) (tuple + 1))->bits[0] =
			~nulls & ((1 << key->n_columns) - 1);
	for (int i = 0; i < key->n_columns; i++)
	{
		const KeyColumn *column = &key->columns[i];

		from += column->nullable ? 1 : 0;
		if (nulls & (1 << i))
			continue;
		if (text_key_has(column->kind))
		{
			end = form_text(column, &from, (int) (tail >> 16 * i & 0xFFFF),
							begin, end);
			info |= INDEX_VAR_MASK;
		}
		else
			end = form_fixed(column, &from, begin, end);
	}
	end = pad(begin, end, MAXALIGN(end));
	tuple->t_info = info | end;
	return end;
}

uint64
text_key_sum(const TextKey *key, const IndexTupleData *tuple)
{
	const char *begin = (const char *) tuple;
	Size		size = IndexTupleSize(tuple);
	Size		end = IndexInfoFindDataOffset(tuple->t_info);
	uint64		sum = key->sum_seed;
	int			nulls = 0;

	if (IndexTupleHasNulls(tuple))
		nulls = ~((const IndexAttributeBitMapData *) (tuple + 1))->bits[0] &
			((1 << key->n_columns) - 1);
	for (int i = 0; i < key->n_columns; i++)
	{
		const KeyColumn *column = &key->columns[i];

		if (nulls & (1 << i))
			sum = key_sum_null(sum, i);
		else if (text_key_has(column->kind))
		{
			const char *text;
			int			n;

			/* a damaged length must not lead beyond the tuple */
			end = att_align_pointer(end, TYPALIGN_INT, -1, begin + end);
			text = begin + end;
			if (end >= size || VARATT_IS_1B_E(text) ||
				VARSIZE_ANY(text) > size - end)
				return 0;
			n = VARSIZE_ANY_EXHDR(text);
			if (n < 0)
				return 0;
			sum = sum_text(sum, VARDATA_ANY(text), n);
			end += VARSIZE_ANY(text);
		}
		else
		{
			end = att_align_nominal(end, column->align);
			if (column->bytes > size - end)
				return 0;
			sum = key_sum_mix(sum, key_read_bytes(begin + end, column->bytes));
			if (column->kind == KEY_UUID)
				sum = key_sum_mix(sum, key_read_bytes(begin + end + 8, 8));
			end += column->bytes;
		}
	}
	return sum;
}
