/*-------------------------------------------------------------------------
 *
 * relation_access.c
 *	  Checks whether the current user may plan or read a relation.
 *
 * plan_function.c and read_function.c open relations with this file.  They
 * read blocks directly, without the executor, so the executor's checks are
 * made here: the kind of the relation, privileges, and row security.
 *
 * The functions get the OID of a relation, which need not have been looked up
 * in its schema by the current user, so the privilege on the schema is
 * checked as well.  Checks are made before the relation is locked, so that a
 * role without privileges cannot block others with a lock.  They are repeated
 * after that, because the session may have waited for the end of ALTER, GRANT
 * or DROP.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/xlog.h"
#include "catalog/objectaddress.h"
#include "catalog/pg_class.h"
#include "utils/lsyscache.h"
#include "utils/rls.h"

#include "base/server_compat.h"
#include "function/relation_access.h"

/* Return the hint for a relation that stores no rows in blocks. */
static const char *
relkind_hint(char relkind)
{
	switch (relkind)
	{
		case RELKIND_PARTITIONED_TABLE:
			return "A partitioned table stores no rows itself; name its leaf partitions one by one, see pg_partition_tree().";
		case RELKIND_VIEW:
			return "A view stores no rows; name the tables it reads.";
		case RELKIND_FOREIGN_TABLE:
			return "The rows of a foreign table are on another server and have no blocks here; read all of it by COPY.";
		case RELKIND_INDEX:
		case RELKIND_PARTITIONED_INDEX:
			return "Name the table, not its index.";
		case RELKIND_SEQUENCE:
			return "A sequence is one row; read it by SELECT.";
		case RELKIND_COMPOSITE_TYPE:
			return "A composite type stores no rows.";
		case RELKIND_TOASTVALUE:
			return "The values in a TOAST table are parts of the table that owns it; name that one.";
		default:
			return "Only tables and materialized views have blocks of rows.";
	}
}

/* Raise an error unless the relation has rows and blocks of its own. */
static void
check_relkind(Oid relid)
{
	char		relkind = get_rel_relkind(relid);

	if (relkind == '\0')
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", relid)));
	if (relkind != RELKIND_RELATION && relkind != RELKIND_MATVIEW)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a table or materialized view",
						get_rel_name(relid)),
				 errhint("%s", relkind_hint(relkind))));
}

static void
access_denied(Oid relid, AclResult aclresult)
{
	aclcheck_error(aclresult, get_relkind_objtype(get_rel_relkind(relid)),
				   get_rel_name(relid));
}

/*
 * Raise an error unless the current user may use the relation's schema.  A
 * query cannot name a table without this privilege.
 */
static void
check_usage_of_schema(Oid relid)
{
	Oid			schema = get_rel_namespace(relid);
	AclResult	aclresult = schema_aclcheck(schema, GetUserId(), ACL_USAGE);

	if (aclresult != ACLCHECK_OK)
		aclcheck_error(aclresult, OBJECT_SCHEMA, get_namespace_name(schema));
}

/*
 * Raise an error unless the current user may read these columns.  The rules
 * are those for queries (execMain.c:ExecCheckRTEPerms): SELECT on the table,
 * or on each of the columns, or on any column if none is read.
 */
static void
check_select_on_columns(Oid relid, const AttrNumber *attnums, int n_attnums)
{
	Oid			user = GetUserId();
	AclResult	aclresult = pg_class_aclcheck(relid, user, ACL_SELECT);

	if (aclresult == ACLCHECK_OK)
		return;
	if (n_attnums == 0)
		aclresult = pg_attribute_aclcheck_all(relid, user, ACL_SELECT,
											  ACLMASK_ANY);
	for (int i = 0; i < n_attnums; i++)
	{
		aclresult = pg_attribute_aclcheck(relid, attnums[i], user, ACL_SELECT);
		if (aclresult != ACLCHECK_OK)
			break;
	}
	if (aclresult != ACLCHECK_OK)
		access_denied(relid, aclresult);
}

/* Raise an error if row security policies apply to the user. */
static void
check_row_security(Oid relid)
{
	/* with row_security = off, this function raises the error */
	if (check_enable_rls(relid, InvalidOid, false) == RLS_ENABLED)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("query would be affected by row-level security policy for table \"%s\"",
						get_rel_name(relid)),
				 errhint("To read all rows, use a role with the BYPASSRLS attribute.")));
}

/* Raise an error if the relation's blocks cannot be read in this session. */
static void
check_storage(Relation rel)
{
	if (RELATION_IS_OTHER_TEMP(rel))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot access temporary tables of other sessions")));

	/* a standby has no data of such relations */
	if (!RelationIsPermanent(rel) && RecoveryInProgress())
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot access temporary or unlogged relations during recovery")));
}

/* Raise an error unless the current user may know the relation's size. */
static void
check_may_plan(Oid relid)
{
	AclResult	aclresult;

	check_relkind(relid);
	check_usage_of_schema(relid);
	aclresult = pg_class_aclcheck(relid, GetUserId(), ACL_SELECT);
	if (aclresult != ACLCHECK_OK)
		access_denied(relid, aclresult);
}

Relation
relation_open_for_planning(Oid relid)
{
	Relation	rel;

	/* a role that may not read the table must not lock it either */
	check_may_plan(relid);
	rel = try_relation_open(relid, AccessShareLock);

	/* the relation may have been changed or dropped during the wait */
	check_may_plan(relid);
	/* a dropped relation was an error in that call, so this is unexpected */
	if (rel == NULL)
		elog(ERROR, "could not open relation with OID %u", relid);
	check_row_security(relid);
	check_storage(rel);
	return rel;
}

Relation
relation_open_for_reading(Oid relid)
{
	Relation	rel;

	check_relkind(relid);
	check_usage_of_schema(relid);
	/* one column is enough here: the columns are looked up after locking */
	check_select_on_columns(relid, NULL, 0);

	rel = try_relation_open(relid, AccessShareLock);
	check_relkind(relid);
	if (rel == NULL)
		elog(ERROR, "could not open relation with OID %u", relid);
	check_storage(rel);

	/*
	 * Temporary tables are never dumped, and their blocks are in local
	 * buffers, which have no rings.
	 */
	if (RelationUsesLocalBuffers(rel))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot read blocks of temporary table \"%s\"",
						RelationGetRelationName(rel)),
				 errhint("Use COPY ... TO STDOUT to read the table.")));
	/* a query could not read such a materialized view either */
	if (!RelationIsScannable(rel))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("materialized view \"%s\" has not been populated",
						RelationGetRelationName(rel)),
				 errhint("Use the REFRESH MATERIALIZED VIEW command.")));
	return rel;
}

void
relation_check_readable(Relation rel, const AttrNumber *attnums,
						int n_attnums)
{
	Oid			relid = RelationGetRelid(rel);

	check_usage_of_schema(relid);
	check_select_on_columns(relid, attnums, n_attnums);
	check_row_security(relid);
}

bool
relation_may_fingerprint(Relation rel)
{
	return pg_class_aclcheck(RelationGetRelid(rel), GetUserId(),
							 ACL_SELECT) == ACLCHECK_OK;
}
