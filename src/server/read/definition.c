/*-------------------------------------------------------------------------
 *
 * definition.c
 *	  Describes a table and its types to the byte, for a hash.
 *
 * Each part is written with its length or has a fixed one, and says what
 * follows: two descriptions are equal only if all of their parts are.
 *
 * The text of a row depends on more than its bytes: on the labels of enums,
 * on the columns of composite types, on output functions.  All of that is in
 * catalogs, whose rows change with commands that do not lock the tables.  So
 * the description contains, of each such row, the transaction ID that wrote
 * it, and what is looked at in it.  The catalogs are read as they are now
 * (the syscache follows invalidations), because output functions read them
 * in the same way.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/table.h"
#include "access/transam.h"
#include "access/tupdesc_details.h"
#include "catalog/pg_enum.h"
#include "catalog/pg_language.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_range.h"
#include "catalog/pg_type.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "read/definition.h"

typedef struct Description
{
	StringInfoData bytes;
	List	   *types;			/* OIDs: described, or being so */
	const char *reason;			/* why there is none, or NULL */
} Description;

static void describe_type(Description *to, Oid type_id);

/* ----------
 * Parts
 * ----------
 */

static void
add_bytes(Description *to, const void *data, Size bytes)
{
	appendBinaryStringInfo(&to->bytes, (const char *) data, (int) bytes);
}

static void
add_number(Description *to, int64 number)
{
	add_bytes(to, &number, sizeof(number));
}

static void
add_string(Description *to, const char *string)
{
	add_number(to, string ? (int64) strlen(string) : -1);
	if (string)
		add_bytes(to, string, strlen(string));
}

/*
 * Add the transaction ID that wrote the row: the raw one, which freezing
 * leaves in place.  CREATE OR REPLACE, RENAME and so on write a new row, so
 * that a type that was changed and changed back has another description.
 */
static void
add_writer(Description *to, HeapTuple row)
{
	add_number(to, HeapTupleHeaderGetRawXmin(row->t_data));
}

/* A row of a catalog, which the caller releases by ReleaseSysCache(). */
static HeapTuple
get_row(int cache, Oid key, const char *what)
{
	HeapTuple	row = SearchSysCache1(cache, ObjectIdGetDatum(key));

	if (!HeapTupleIsValid(row))
		elog(ERROR, "cache lookup failed for %s %u", what, key);
	return row;
}

/* ----------
 * Types
 * ----------
 */

/* Only the first reason is kept; the description is still completed. */
static void
set_reason(Description *to, Form_pg_type type, const char *format)
{
	if (to->reason == NULL)
		to->reason = psprintf(format, NameStr(type->typname));
}

/*
 * The function whose text a dump contains.  One in another language, or of a
 * library, may change without a trace in the catalogs, so that there is no
 * definition then.
 */
static void
describe_output_function(Description *to, Form_pg_type type)
{
	HeapTuple	row = get_row(PROCOID, type->typoutput, "function");
	Form_pg_proc function = (Form_pg_proc) GETSTRUCT(row);
	bool		isnull;
	Datum		source = SysCacheGetAttr(PROCOID, row, Anum_pg_proc_prosrc,
										 &isnull);

	/* others may give one of PostgreSQL's another name, regclassout, too */
	if (function->prolang != INTERNALlanguageId ||
		type->typoutput >= FirstNormalObjectId)
		set_reason(to, type, "the output function of type %s is not PostgreSQL's own");
	add_writer(to, row);
	add_number(to, type->typoutput);
	add_string(to, isnull ? NULL : TextDatumGetCString(source));
	ReleaseSysCache(row);
}

/* All labels, in the order of the index on (enumtypid, enumsortorder). */
static void
describe_enum(Description *to, Oid type_id)
{
	Relation	catalog = table_open(EnumRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	row;

	ScanKeyInit(&key, Anum_pg_enum_enumtypid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(type_id));
	scan = systable_beginscan(catalog, EnumTypIdSortOrderIndexId, true, NULL,
							  1, &key);
	while ((row = systable_getnext(scan)) != NULL)
	{
		Form_pg_enum label = (Form_pg_enum) GETSTRUCT(row);

		add_writer(to, row);
		add_number(to, label->oid);
		add_string(to, NameStr(label->enumlabel));
	}
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
	add_number(to, 0);			/* no label's */
}

/*
 * The attributes of a composite type, in their order.  Dropped ones are
 * among them, as values that were stored before still contain them.
 */
static void
describe_attributes(Description *to, Oid relid)
{
	HeapTuple	relation = get_row(RELOID, relid, "relation");
	int			natts = ((Form_pg_class) GETSTRUCT(relation))->relnatts;

	ReleaseSysCache(relation);
	add_number(to, natts);
	for (AttrNumber attnum = 1; attnum <= natts; attnum++)
	{
		HeapTuple	row = SearchSysCache2(ATTNUM, ObjectIdGetDatum(relid),
										  Int16GetDatum(attnum));
		FormData_pg_attribute attribute;

		if (!HeapTupleIsValid(row))
			elog(ERROR, "cache lookup failed for attribute %d of relation %u",
				 attnum, relid);
		/* released first, as describe_type() may recurse deeply */
		attribute = *(Form_pg_attribute) GETSTRUCT(row);
		add_writer(to, row);
		ReleaseSysCache(row);
		add_number(to, attribute.atttypid);
		add_number(to, attribute.atttypmod);
		add_number(to, attribute.attlen);
		add_number(to, attribute.attalign);
		add_number(to, attribute.attisdropped);
		if (!attribute.attisdropped)
			describe_type(to, attribute.atttypid);
	}
}

/*
 * range_out() writes both bounds with the subtype's output function.  The
 * operator class, the collation and the canonical function of the range only
 * decide which values can be stored.
 */
static void
describe_range(Description *to, Oid type_id)
{
	HeapTuple	row = get_row(RANGETYPE, type_id, "range type");
	Oid			subtype = ((Form_pg_range) GETSTRUCT(row))->rngsubtype;

	add_writer(to, row);
	ReleaseSysCache(row);
	describe_type(to, subtype);
}

/* The types that a type consists of. */
static void
describe_parts(Description *to, Form_pg_type type)
{
	switch (type->typtype)
	{
		case TYPTYPE_DOMAIN:
			describe_type(to, type->typbasetype);
			break;
		case TYPTYPE_ENUM:
			describe_enum(to, type->oid);
			break;
		case TYPTYPE_COMPOSITE:
			describe_attributes(to, type->typrelid);
			break;
		case TYPTYPE_RANGE:
			describe_range(to, type->oid);
			break;
		case TYPTYPE_MULTIRANGE:
			/* multirange_out() writes each of its ranges with range_out() */
			describe_type(to, get_multirange_range(type->oid));
			break;
		default:
			break;
	}

	/*
	 * Not only arrays have an element type: point and name have one for
	 * subscripts, though their output functions do not use it.  To describe
	 * it, too, does no harm, as built-in types do not change.
	 */
	if (OidIsValid(type->typelem))
		describe_type(to, type->typelem);
}

/* Types of which a value's text is not that of its bytes alone. */
static bool
depends_on_others(Form_pg_type type)
{
	switch (type->oid)
	{
		case ACLITEMOID:
		case CASHOID:			/* lc_monetary */
		case XMLOID:			/* the encoding in its head */
			return true;
		default:
			/* regclass and all such, which name what an OID is of */
			if (type->oid < FirstGenbkiObjectId &&
				strncmp(NameStr(type->typname), "reg", 3) == 0)
				return true;
			/* each value says what type it is of: anyarray, in catalogs */
			return type->typtype == TYPTYPE_PSEUDO;
	}
}

static void
describe_type(Description *to, Oid type_id)
{
	HeapTuple	row;
	FormData_pg_type type;

	check_stack_depth();
	/* the OID is enough for a type that was described, or contains itself */
	add_number(to, type_id);
	if (list_member_oid(to->types, type_id))
		return;
	to->types = lappend_oid(to->types, type_id);

	row = get_row(TYPEOID, type_id, "type");
	memcpy(&type, GETSTRUCT(row), sizeof(type));
	add_writer(to, row);
	ReleaseSysCache(row);
	if (depends_on_others(&type))
		set_reason(to, &type, "the text of type %s depends on more than the value");
	add_number(to, type.typtype);
	add_number(to, type.typlen);
	add_number(to, type.typbyval);
	add_number(to, type.typalign);
	add_number(to, type.typdelim);
	add_number(to, type.typtypmod);
	describe_output_function(to, &type);
	describe_parts(to, &type);
}

/* ----------
 * The table
 * ----------
 */

/* The value of a column in tuples that are older than it. */
static void
describe_missing_value(Description *to, TupleDesc tupdesc, int i)
{
	Form_pg_attribute attribute = TupleDescAttr(tupdesc, i);
	Datum		value;

	add_number(to, attribute->atthasmissing);
	if (!attribute->atthasmissing || tupdesc->constr == NULL ||
		tupdesc->constr->missing == NULL ||
		!tupdesc->constr->missing[i].am_present)
		return;
	value = tupdesc->constr->missing[i].am_value;
	if (attribute->attbyval)
		add_number(to, (int64) value);
	else if (attribute->attlen > 0)
		add_bytes(to, DatumGetPointer(value), attribute->attlen);
	else if (attribute->attlen == -1)
		add_bytes(to, DatumGetPointer(value),
				  VARSIZE_ANY(DatumGetPointer(value)));
	else
		add_string(to, DatumGetCString(value));
}

bytea *
table_definition(const HeapRange *range, const char **reason)
{
	Relation	rel = range->rel;
	TupleDesc	tupdesc = RelationGetDescr(rel);
	Description description = {0};
	text	   *bytes;

	initStringInfo(&description.bytes);
	add_number(&description, rel->rd_rel->relkind);
	add_number(&description, rel->rd_rel->relam);
	/* How tuples are taken apart. */
	add_number(&description, tupdesc->natts);
	for (int i = 0; i < tupdesc->natts; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(tupdesc, i);

		add_number(&description, attribute->attlen);
		add_number(&description, attribute->attalign);
		add_number(&description, attribute->attisdropped);
		describe_missing_value(&description, tupdesc, i);
	}
	add_number(&description, range->n_attnums);
	for (int i = 0; i < range->n_attnums; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(tupdesc,
													range->attnums[i] - 1);

		add_number(&description, attribute->attnum);
		add_number(&description, attribute->atttypmod);
		add_number(&description, attribute->attgenerated);
		describe_type(&description, attribute->atttypid);
	}
	*reason = description.reason;
	if (description.reason)
		return NULL;
	/* the SQL function, as it does not depend on how the server was built */
	bytes = cstring_to_text_with_len(description.bytes.data,
									 description.bytes.len);
	return DatumGetByteaPP(DirectFunctionCall1(sha256_bytea,
											   PointerGetDatum(bytes)));
}
