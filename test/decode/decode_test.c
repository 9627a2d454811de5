/*
 * decode_test.c
 *		A module for a server, which compares the decoders of COPY's text
 *		format with the types' input functions: on given texts, and on random
 *		changes of them.
 *
 * The decoders are linked into it; see run.sh.
 */
#include "postgres.h"

#include <sys/mman.h>

#include "access/htup_details.h"
#include "access/tupmacs.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "types/choose.h"

PG_MODULE_MAGIC;
PG_FUNCTION_INFO_V1(compare_decoder);

#define MAX_TEXT	65536
#define PAGE		4096

/* What changes put in, beside the bytes of the texts themselves. */
static const char alphabet[] =
"0123456789012345678901234567890123456789aAbBcdefEFnNuUlLxX_tTzZ"
"+-.:,;/{}[]()\"\"\\\\' \t\n\r\v\f\b\001\037\177\303\244\200";

typedef struct Comparison
{
	ColumnDecoder decoder;
	ValueSpace	no_space;		/* so that each value is allocated */
	int16		typlen;
	bool		typbyval;
	int			n_texts;
	char	  **texts;
	Size	   *lens;
	char	   *pages_end;		/* behind it nothing can be read */
	MemoryContext context;		/* reset after each text */
	int64		accepted;
	int64		declined;
	int64		errors;			/* declined, and an error */
} Comparison;

static uint64 seed;

/* splitmix64 */
static uint32
random_below(uint32 bound)
{
	uint64		z = seed += UINT64CONST(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64CONST(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64CONST(0x94d049bb133111eb);
	return (uint32) ((z ^ z >> 31) >> 32) % bound;
}

static char
random_byte(Comparison *c)
{
	int			i = random_below(c->n_texts);

	if (random_below(4) > 0 && c->lens[i] > 0)
		return c->texts[i][random_below(c->lens[i])];
	return alphabet[random_below(sizeof(alphabet) - 1)];
}

/* Is the value that the decoder made the one that the input function made? */
static bool
same_value(Comparison *c, Datum a, Datum b)
{
	if (c->typbyval)
	{
		char		stored_a[sizeof(Datum)] = {0};
		char		stored_b[sizeof(Datum)] = {0};

		store_att_byval(stored_a, a, c->typlen);
		store_att_byval(stored_b, b, c->typlen);
		return memcmp(stored_a, stored_b, c->typlen) == 0;
	}
	if (c->typlen == -2)
		return strcmp(DatumGetCString(a), DatumGetCString(b)) == 0;
	if (c->typlen > 0)
		return memcmp(DatumGetPointer(a), DatumGetPointer(b), c->typlen) == 0;
	return VARATT_IS_4B_U(DatumGetPointer(a)) &&
		VARATT_IS_4B_U(DatumGetPointer(b)) &&
		VARSIZE(DatumGetPointer(a)) == VARSIZE(DatumGetPointer(b)) &&
		memcmp(DatumGetPointer(a), DatumGetPointer(b),
			   VARSIZE(DatumGetPointer(a))) == 0;
}

/* The value by the input function; false if that is an error. */
static bool
value_by_input_function(Comparison *c, const char *text, Size len,
						Datum *value)
{
	MemoryContext context = CurrentMemoryContext;
	char	   *volatile copy = palloc(len + 1);
	volatile bool done = true;
	Datum		result = (Datum) 0;

	memcpy(copy, text, len);
	PG_TRY();
	{
		result = decode_by_input_function(&c->decoder, copy, len);
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		FlushErrorState();
		done = false;
	}
	PG_END_TRY();
	*value = result;
	return done;
}

/* Compare for one text; what is wrong, or NULL. */
static const char *
compare_text(Comparison *c, const char *text, Size len)
{
	char	   *place = c->pages_end - FIELD_PADDING - len;
	Datum		decoded;
	Datum		value;
	bool		accepted;

	if (memchr(text, '\0', len) != NULL || !pg_verifymbstr(text, len, true))
		return NULL;

	/* What stands around the text must not matter. */
	for (int i = 1; i <= 16; i++)
		place[-i] = random_byte(c);
	for (int i = 0; i < FIELD_PADDING; i++)
		place[len + i] = random_byte(c);
	memcpy(place, text, len);
	accepted = c->decoder.decode(&c->decoder, place, len, &decoded);
	memset(place, '*', len);

	if (!accepted)
	{
		c->declined++;
		if (!value_by_input_function(c, text, len, &value))
			c->errors++;
		return NULL;
	}
	c->accepted++;
	if (!value_by_input_function(c, text, len, &value))
		return "accepted what is an error";
	if (!same_value(c, decoded, value))
		return "another value";
	return NULL;
}

/* Change a text at random; returns its new length. */
static Size
mutate(Comparison *c, char *text, Size len)
{
	for (int n = 1 + random_below(3); n > 0; n--)
	{
		Size		at = random_below(len + 1);
		Size		left = len - at;
		int			other = random_below(c->n_texts);
		Size		some;

		switch (random_below(6))
		{
			case 0:
			case 1:
				if (left > 0)
					text[at] = random_byte(c);
				break;
			case 2:
				memmove(text + at + 1, text + at, left);
				text[at] = random_byte(c);
				len++;
				break;
			case 3:
				some = 1 + random_below(4);
				some = Min(left, some);
				memmove(text + at, text + at + some, left - some);
				len -= some;
				break;
			case 4:
				some = 1 + random_below(20);
				some = Min(left, some);
				memmove(text + at + some, text + at, left);
				len += some;
				break;
			case 5:
				some = random_below(c->lens[other] + 1);
				some = Min(c->lens[other] - some, MAX_TEXT / 4);
				memcpy(text + at, c->texts[other] + c->lens[other] - some,
					   some);
				len = at + some;
				break;
		}
		if (len > MAX_TEXT / 2)
			len = MAX_TEXT / 2;
	}
	return len;
}

static void
comparison_init(Comparison *c, Oid type_id, int32 typmod, ArrayType *texts)
{
	Datum	   *datums;
	char		typalign;
	char	   *pages;
	Size		size = MAX_TEXT + PAGE;

	memset(c, 0, sizeof(Comparison));
	choose_decoder(&c->decoder, &c->no_space, type_id, typmod);
	get_typlenbyvalalign(type_id, &c->typlen, &c->typbyval, &typalign);
	deconstruct_array(texts, TEXTOID, -1, false, TYPALIGN_INT, &datums, NULL,
					  &c->n_texts);
	c->texts = palloc(c->n_texts * sizeof(char *));
	c->lens = palloc(c->n_texts * sizeof(Size));
	for (int i = 0; i < c->n_texts; i++)
	{
		c->texts[i] = TextDatumGetCString(datums[i]);
		c->lens[i] = Min(strlen(c->texts[i]), MAX_TEXT / 2);
	}
	pages = mmap(NULL, size + PAGE, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pages == MAP_FAILED || mprotect(pages + size, PAGE, PROT_NONE) != 0)
		elog(ERROR, "could not map memory: %m");
	c->pages_end = pages + size;
	c->context = AllocSetContextCreate(CurrentMemoryContext, "row",
									   ALLOCSET_DEFAULT_SIZES);
}

static void
append_text_shown(StringInfo buf, const char *text, Size len)
{
	for (Size i = 0; i < len; i++)
	{
		if (text[i] >= ' ' && text[i] < 0x7f)
			appendStringInfoChar(buf, text[i]);
		else
			appendStringInfo(buf, "\\x%02x", (uint8) text[i]);
	}
}

/*
 * compare_decoder(type oid, typmod int, texts text[], rounds int,
 *				   seed bigint):
 *		compares for the texts, and for that many changed ones.
 *
 * Returns "no decoder", or "ACCEPTED of TEXTS accepted", or of which text
 * something is wrong, and what.
 */
Datum
compare_decoder(PG_FUNCTION_ARGS)
{
	Comparison	c;
	int64		rounds = PG_GETARG_INT32(3);
	int64		accepted = 0;
	StringInfoData answer;
	char	   *text = palloc(2 * MAX_TEXT);

	seed = PG_GETARG_INT64(4);
	initStringInfo(&answer);
	comparison_init(&c, PG_GETARG_OID(0), PG_GETARG_INT32(1),
					PG_GETARG_ARRAYTYPE_P(2));
	if (c.decoder.decode == NULL)
		PG_RETURN_TEXT_P(cstring_to_text("no decoder"));

	for (int64 i = 0; i < c.n_texts + rounds; i++)
	{
		int			from = i % c.n_texts;
		Size		len = c.lens[from];
		MemoryContext old_context;
		const char *wrong;

		CHECK_FOR_INTERRUPTS();
		memcpy(text, c.texts[from], len);
		if (i >= c.n_texts)
			len = mutate(&c, text, len);
		else
			accepted = c.accepted;
		old_context = MemoryContextSwitchTo(c.context);
		wrong = compare_text(&c, text, len);
		MemoryContextSwitchTo(old_context);
		MemoryContextReset(c.context);
		if (wrong != NULL)
		{
			appendStringInfo(&answer, "%s: ", wrong);
			append_text_shown(&answer, text, len);
			PG_RETURN_TEXT_P(cstring_to_text(answer.data));
		}
		if (i < c.n_texts)
			accepted = c.accepted;
	}
	appendStringInfo(&answer,
					 INT64_FORMAT " of %d accepted, changed " INT64_FORMAT
					 " of " INT64_FORMAT, accepted, c.n_texts,
					 c.accepted - accepted, rounds);
	PG_RETURN_TEXT_P(cstring_to_text(answer.data));
}
