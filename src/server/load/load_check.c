/*-------------------------------------------------------------------------
 *
 * load_check.c
 *	  Decides whether the extension can execute a COPY with exactly the
 *	  server's results.
 *
 * load_copy.c asks this for each COPY FROM STDIN, and raw_loader.c for a
 * table that raw tuples are loaded into.
 *
 * A function that is called for each row may read the table, or change
 * something that the load depends on.  CopyFrom() has rules for such
 * functions; for example, it inserts rows one by one if a default is
 * volatile.  These rules are not repeated here.  Instead, the server executes
 * the COPY if a volatile function may be called for a row: in the input of a
 * type, in a constraint of a domain, in a CHECK constraint, or in the default
 * of a missing column.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/tableam.h"
#include "access/transam.h"
#include "access/tupdesc.h"
#include "catalog/catalog.h"
#include "catalog/pg_class.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_trigger.h"
#include "catalog/pg_type.h"
#include "commands/copy.h"
#include "commands/trigger.h"
#include "mb/pg_wchar.h"
#include "nodes/execnodes.h"
#include "optimizer/optimizer.h"
#include "rewrite/rewriteHandler.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/typcache.h"

#include "base/server_compat.h"
#include "load/load_check.h"

/* ----------
 * Finds volatile functions that the input of a type may call.
 * ----------
 */

/* Do constraints of a domain contain volatile functions? */
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

	/*
	 * The reference is counted, and released when the context is deleted.  It
	 * also contains the constraints of domains on which this one is based.
	 */
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

/* Does the input of a column's type call volatile functions? */
static bool
has_volatile_column(Oid composite_id)
{
	/* the reference to the cached descriptor prevents that it is freed */
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

	/*
	 * Users' types may be nested to any depth.  Built-in input functions are
	 * accepted even if they are volatile, as none of them reads tables of
	 * users.
	 */
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

/* ----------
 * Checks statements and tables.
 * ----------
 */

/*
 * pg_restore and pg_pardump use no options but FREEZE and FORMAT text.  All
 * other options are left to the server, which also raises the errors for
 * unknown or wrong ones and for a format without a value.
 */
bool
load_check_statement(const Node *statement)
{
	const CopyStmt *copy = (const CopyStmt *) statement;
	int			n_formats = 0;
	int			n_freezes = 0;
	ListCell   *cell;

	if (!IsA(statement, CopyStmt) || !copy->is_from ||
		copy->relation == NULL || copy->filename != NULL ||
		copy->is_program || copy->whereClause != NULL)
		return false;
	foreach(cell, copy->options)
	{
		DefElem    *option = lfirst_node(DefElem, cell);

		if (strcmp(option->defname, "freeze") == 0)
			n_freezes++;
		else if (strcmp(option->defname, "format") == 0 &&
				 option->arg != NULL &&
				 strcmp(defGetString(option), "text") == 0)
			n_formats++;
		else
			return false;
	}
	/* the server raises the error for an option that is given twice */
	return n_formats <= 1 && n_freezes <= 1;
}

bool
load_check_freezes(const CopyStmt *statement)
{
	ListCell   *cell;

	foreach(cell, statement->options)
	{
		DefElem    *option = lfirst_node(DefElem, cell);

		if (strcmp(option->defname, "freeze") == 0)
			return defGetBoolean(option);
	}
	return false;
}

/*
 * Does a trigger fire in this session?  The rules are those of
 * TriggerEnabled() (src/backend/commands/trigger.c).  pg_restore can disable
 * triggers on the table, and a session with session_replication_role.
 */
static bool
is_enabled(const Trigger *trigger)
{
	if (trigger->tgenabled == TRIGGER_DISABLED)
		return false;
	if (SessionReplicationRole == SESSION_REPLICATION_ROLE_REPLICA)
		return trigger->tgenabled != TRIGGER_FIRES_ON_ORIGIN;
	return trigger->tgenabled != TRIGGER_FIRES_ON_REPLICA;
}

/* Would a trigger of the table fire on INSERT in this session? */
static bool
has_insert_triggers(const TriggerDesc *triggers)
{
	for (int i = 0; triggers != NULL && i < triggers->numtriggers; i++)
	{
		const Trigger *trigger = &triggers->triggers[i];

		if (TRIGGER_FOR_INSERT(trigger->tgtype) && is_enabled(trigger))
			return true;
	}
	return false;
}

void
load_check_triggers_off(Relation rel, const TriggerDesc *triggers)
{
	if (has_insert_triggers(triggers))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot fire triggers of table \"%s\" for rows that pg_pardump loads",
						RelationGetRelationName(rel)),
				 errdetail("A function changed session_replication_role after the command had begun to load rows.")));
}

const char *
load_check_kind(Relation rel)
{
	Form_pg_class form = rel->rd_rel;

	/* partitioned and foreign tables, and views, store no rows themselves */
	if (form->relkind != RELKIND_RELATION)
		return "it is not an ordinary table";
	if (rel->rd_tableam != GetHeapamTableAmRoutine())
		return "its access method is not heap";
	if (form->relpersistence == RELPERSISTENCE_TEMP)
		return "it is a temporary table";
	if (IsCatalogRelation(rel) || IsToastRelation(rel))
		return "it is a catalog";
	if (rel->rd_rules != NULL)
		return "it has rules";
	if (has_insert_triggers(rel->trigdesc))
		return "it has triggers";
	return NULL;
}

/*
 * Does a CHECK constraint contain a volatile function?  Such a function could
 * read the table.  It would see the same rows as in COPY FROM, as batches are
 * the same, but this is not relied upon.
 */
static bool
has_volatile_checks(const TupleConstr *constr)
{
	for (int i = 0; i < constr->num_check; i++)
	{
		if (contain_volatile_functions(stringToNode(constr->check[i].ccbin)))
			return true;
	}
	return false;
}

const char *
load_check_constraints(Relation rel)
{
	const TupleConstr *constr = RelationGetDescr(rel)->constr;

	if (constr != NULL && has_generated_columns(constr))
		return "it has generated columns";
	if (constr != NULL && has_volatile_checks(constr))
		return "it has a constraint with a volatile function";
	return NULL;
}

/* Return why a COPY to these columns is left to the server, or NULL. */
static const char *
why_not_these_columns(Relation rel, const List *attnums)
{
	TupleDesc	tupdesc = RelationGetDescr(rel);

	if (attnums == NIL)
		return "it has no columns";
	for (int attnum = 1; attnum <= tupdesc->natts; attnum++)
	{
		Form_pg_attribute attribute = TupleDescAttr(tupdesc, attnum - 1);

		if (attribute->attisdropped)
			continue;
		/* nextval() is volatile, but accepted as in BeginCopyFrom() */
		if (!list_member_int(attnums, attnum) &&
			contain_volatile_functions_not_nextval(build_column_default(rel, attnum)))
			return "a missing column's default is volatile";
	}
	return NULL;
}

void
load_check_report(const char *relation, const char *reason)
{
	if (reason == NULL)
		ereport(DEBUG1,
				(errmsg_internal("COPY to table \"%s\" is done by pg_pardump",
								 relation)));
	else
		ereport(DEBUG1,
				(errmsg_internal("COPY to table \"%s\" is left to the server: %s",
								 relation, reason)));
}

/*
 * If the client's encoding is another one, the server executes the COPY: it
 * converts the input, and raises the errors for invalid characters.
 */
const char *
load_check_relation(Relation rel, const CopyStmt *statement)
{
	const char *reason = load_check_kind(rel);

	/*
	 * CopyFrom() inserts the rows of a table with such a trigger one by one,
	 * even if the trigger is disabled.  If two rows have errors, this
	 * determines which of the errors is found first.
	 */
	if (reason == NULL && rel->trigdesc != NULL &&
		(rel->trigdesc->trig_insert_before_row ||
		 rel->trigdesc->trig_insert_instead_row))
		reason = "it has a row trigger before INSERT";
	if (reason == NULL && rel->rd_rel->relrowsecurity)
		reason = "it has row security";
	if (reason == NULL)
		reason = load_check_constraints(rel);
	if (reason == NULL)
		reason = why_not_these_columns(rel, CopyGetAttnums(RelationGetDescr(rel),
														   rel,
														   statement->attlist));
	if (reason == NULL && pg_get_client_encoding() != GetDatabaseEncoding())
		reason = "the client's encoding is not the database's";
	return reason;
}
