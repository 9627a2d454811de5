/*-------------------------------------------------------------------------
 *
 * load_type.c
 *	  What the input of a type may run.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "access/tupdesc.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "optimizer/optimizer.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/typcache.h"

#include "load/load_type.h"

static bool
has_volatile_constraints(Oid domain_id)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "pg_pardump domain",
												  ALLOCSET_SMALL_SIZES);
	MemoryContext old_context = MemoryContextSwitchTo(context);
	DomainConstraintRef ref;
	ListCell   *cell;
	bool		result = false;

	InitDomainConstraintRef(domain_id, &ref, context, false);
	foreach(cell, ref.constraints)
	{
		DomainConstraintState *constraint = lfirst(cell);

		if (contain_volatile_functions((Node *) constraint->check_expr))
			result = true;
	}
	MemoryContextSwitchTo(old_context);
	MemoryContextDelete(context);
	return result;
}

static bool
has_volatile_column(Oid composite_id)
{
	TupleDesc	tupdesc = lookup_rowtype_tupdesc(composite_id, -1);
	bool		result = false;

	for (int i = 0; i < tupdesc->natts && !result; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(tupdesc, i);

		result = !attribute->attisdropped &&
			load_type_is_volatile(attribute->atttypid);
	}
	ReleaseTupleDesc(tupdesc);
	return result;
}

bool
load_type_is_volatile(Oid type_id)
{
	Oid			input_function;
	Oid			ioparam;
	Oid			element;

	check_stack_depth();
	getTypeInputInfo(type_id, &input_function, &ioparam);
	if (input_function >= FirstGenbkiObjectId &&
		func_volatile(input_function) == PROVOLATILE_VOLATILE)
		return true;

	element = get_element_type(type_id);
	if (OidIsValid(element))
		return load_type_is_volatile(element);
	switch (get_typtype(type_id))
	{
		case TYPTYPE_DOMAIN:
			return has_volatile_constraints(type_id) ||
				load_type_is_volatile(getBaseType(type_id));
		case TYPTYPE_COMPOSITE:
			return has_volatile_column(type_id);
		case TYPTYPE_RANGE:
			return load_type_is_volatile(get_range_subtype(type_id));
		case TYPTYPE_MULTIRANGE:
			return load_type_is_volatile(get_multirange_range(type_id));
		default:
			return false;
	}
}
