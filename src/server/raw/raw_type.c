/*-------------------------------------------------------------------------
 *
 * raw_type.c
 *	  Which types' values mean the same on every server, as they are stored.
 *
 * A list, by OID, of types that are built in and whose form on disk has not
 * changed in any major that we read from or write to.  Types that have an OID
 * of their database in their values are not on it, as enums, composite types,
 * ranges of users and arrays of all of these have; what would have to be
 * checked, as domains; what is written by name, as regclass; and types of
 * extensions, whose form is a matter of their version.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_attribute.h"
#include "catalog/pg_type.h"
#include "utils/lsyscache.h"

#include "raw/raw_type.h"

static bool
is_number(Oid type_id)
{
	switch (type_id)
	{
		case BOOLOID:
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case FLOAT4OID:
		case FLOAT8OID:
		case NUMERICOID:
		case CASHOID:
		case OIDOID:
		case TIDOID:
		case XID8OID:
		case LSNOID:
			return true;
		default:
			return false;
	}
}

static bool
is_time(Oid type_id)
{
	switch (type_id)
	{
		case DATEOID:
		case TIMEOID:
		case TIMETZOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
		case INTERVALOID:
			return true;
		default:
			return false;
	}
}

static bool
is_string(Oid type_id)
{
	switch (type_id)
	{
		case CHAROID:
		case NAMEOID:
		case TEXTOID:
		case VARCHAROID:
		case BPCHAROID:
		case BYTEAOID:
		case BITOID:
		case VARBITOID:
		case UUIDOID:
		case INETOID:
		case CIDROID:
		case MACADDROID:
		case MACADDR8OID:
			return true;
		default:
			return false;
	}
}

static bool
is_document(Oid type_id)
{
	switch (type_id)
	{
		case JSONOID:
		case JSONBOID:
		case XMLOID:
		case TSVECTOROID:
		case TSQUERYOID:
			return true;
		default:
			return false;
	}
}

static bool
is_geometric(Oid type_id)
{
	switch (type_id)
	{
		case POINTOID:
		case LSEGOID:
		case LINEOID:
		case BOXOID:
		case PATHOID:
		case POLYGONOID:
		case CIRCLEOID:
			return true;
		default:
			return false;
	}
}

/* The range's OID in their values is that of a type that is built in. */
static bool
is_range(Oid type_id)
{
	switch (type_id)
	{
		case INT4RANGEOID:
		case INT8RANGEOID:
		case NUMRANGEOID:
		case DATERANGEOID:
		case TSRANGEOID:
		case TSTZRANGEOID:
		case INT4MULTIRANGEOID:
		case INT8MULTIRANGEOID:
		case NUMMULTIRANGEOID:
		case DATEMULTIRANGEOID:
		case TSMULTIRANGEOID:
		case TSTZMULTIRANGEOID:
			return true;
		default:
			return false;
	}
}

static bool
is_portable(Oid type_id)
{
	return is_number(type_id) || is_time(type_id) || is_string(type_id) ||
		is_document(type_id) || is_geometric(type_id) || is_range(type_id);
}

/*
 * Why values of the type cannot be taken as they are stored: half a sentence,
 * not to be freed; NULL if they can.
 */
static const char *
type_reason(Oid type_id)
{
	Oid			element;

	if (is_portable(type_id))
		return NULL;
	element = get_element_type(type_id);
	/* a type of a user may call itself an array, too */
	if (OidIsValid(element) && is_portable(element) &&
		get_array_type(element) == type_id)
		return NULL;
	return "a column's type may be stored in another way on another server";
}

const char *
raw_columns_reason(TupleDesc columns)
{
	for (int i = 0; i < columns->natts; i++)
	{
		Form_pg_attribute column = TupleDescAttr(columns, i);
		const char *reason;

		if (column->attisdropped)
			continue;
		reason = type_reason(column->atttypid);
		if (reason != NULL)
			return reason;
	}
	return NULL;
}
