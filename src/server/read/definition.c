/*-------------------------------------------------------------------------
 *
 * definition.c
 *	  Describes a table and its types in bytes, and computes a hash of these.
 *
 * definition.h explains the purpose of the hash and its callers.  Each part
 * of the description has a fixed length or begins with its length, and
 * determines which part follows.  So two descriptions are equal only if all
 * of their parts are.
 *
 * The text of a row does not only depend on its bytes, but also on the labels
 * of enums, the columns of composite types, and output functions.  All of
 * these are in catalogs, whose rows are changed by commands that do not lock
 * the tables.  So the description contains, for each such catalog row, the
 * transaction ID that wrote it, and the columns that matter.  The catalogs
 * are read in their current state (the syscache follows invalidations),
 * because output functions read them in the same way.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "access/transam.h"
#include "access/tupdesc_details.h"
#include "catalog/pg_enum.h"
#include "catalog/pg_language.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_range.h"
#include "catalog/pg_type.h"
#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "read/definition.h"

typedef struct Description
{
	StringInfoData bytes;
	List	   *types;			/* OIDs whose description has begun */
	const char *reason;			/* why there is no definition, or NULL */
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
 * Add the transaction ID that wrote the row.  It is the raw one, which
 * freezing does not change.  Commands like CREATE OR REPLACE and RENAME write
 * a new row, so a type that was changed and changed back has another
 * description.
 */
static void
add_writer(Description *to, HeapTuple row)
{
	add_number(to, HeapTupleHeaderGetRawXmin(row->t_data));
}

/* Look up a row of a catalog; the caller calls ReleaseSysCache(). */
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
 * Describe the output function of a type.  A function in another language, or
 * in a library, may change its results without a change of the catalogs, so
 * there is no definition then.
 */
static void
describe_output_function(Description *to, Form_pg_type type)
{
	HeapTuple	row = get_row(PROCOID, type->typoutput, "function");
	Form_pg_proc function = (Form_pg_proc) GETSTRUCT(row);
	bool		isnull;
	Datum		source = SysCacheGetAttr(PROCOID, row, Anum_pg_proc_prosrc,
										 &isnull);

	/* a user's type may also use an internal function, such as regclassout */
	if (function->prolang != INTERNALlanguageId ||
		type->typoutput >= FirstNormalObjectId)
		set_reason(to, type, "the output function of type %s is not PostgreSQL's own");
	add_writer(to, row);
	add_number(to, type->typoutput);
	add_string(to, isnull ? NULL : TextDatumGetCString(source));
	ReleaseSysCache(row);
}

/* Describe all labels of an enum, in their sort order. */
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
	add_number(to, 0);			/* the end: no label has this OID */
}

/*
 * Describe the attributes of a composite type in their order, including
 * dropped ones, as values that were stored before still contain these.
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
		/* released before the call of describe_type(), which may recurse */
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
 * Describe a range type.  range_out() writes both bounds with the output
 * function of the subtype.  The operator class, the collation and the
 * canonical function of the range only decide which values can be stored.
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

/* Describe the types of which a type consists. */
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
	 * Types other than arrays have an element type, too: point and name have
	 * one for subscripts, although their output functions do not use it.
	 * Describing it is harmless, as built-in types do not change.
	 */
	if (OidIsValid(type->typelem))
		describe_type(to, type->typelem);
}

/*
 * Does the text of a type's values depend on more than their bytes and the
 * catalog rows that are described here?
 */
static bool
depends_on_others(Form_pg_type type)
{
	switch (type->oid)
	{
		case ACLITEMOID:
		case CASHOID:			/* on lc_monetary */
		case XMLOID:			/* on the encoding in its declaration */
			return true;
		default:
			/* the texts of regclass and similar types contain names */
			if (type->oid < FirstGenbkiObjectId &&
				strncmp(NameStr(type->typname), "reg", 3) == 0)
				return true;
			/* values in columns of type anyarray have types of their own */
			return type->typtype == TYPTYPE_PSEUDO;
	}
}

/*
 * Describe a type and all types of which it consists.  If there is a reason
 * against a definition, it is stored in the description.
 */
static void
describe_type(Description *to, Oid type_id)
{
	HeapTuple	row;
	FormData_pg_type type;

	check_stack_depth();
	/* only the OID, if the description has begun: types may be recursive */
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

/* Describe the value that a column has in tuples that are older than it. */
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
	/* the layout of tuples */
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
	/* the SQL function works no matter how the server was built */
	bytes = cstring_to_text_with_len(description.bytes.data,
									 description.bytes.len);
	return DatumGetByteaPP(DirectFunctionCall1(sha256_bytea,
											   PointerGetDatum(bytes)));
}
