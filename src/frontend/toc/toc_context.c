/*
 * toc_context.c
 *		Which entry an error is about, in pg_restore's words.
 */
#include "base/fe_compat.h"

#include "base/shared_memory.h"
#include "toc/toc_context.h"

/* ArchiverStage in pg_backup_archiver.h */
typedef enum ErrorStage
{
	STAGE_NONE,
	STAGE_INITIALIZING,
	STAGE_PROCESSING
} ErrorStage;

/* Of the error before: that of all processes, and this one's. */
static volatile int *last_stage;
static const TocEntry *last_entry;

void
toc_context_share(void)
{
	last_stage = shared_memory_new(1, sizeof(int));
}

void
toc_context_tell(const TocEntry *entry)
{
	ErrorStage	stage = entry ? STAGE_PROCESSING : STAGE_INITIALIZING;

	if ((ErrorStage) *last_stage != stage)
		pg_log_info("while %s:", entry ? "PROCESSING TOC" : "INITIALIZING");
	*last_stage = stage;
	if (entry && entry != last_entry)
		pg_log_info("from TOC entry %d; %u %u %s %s %s", entry->dump_id,
					entry->catalog_oid, entry->oid, entry->desc, entry->tag,
					entry->owner ? entry->owner : "(no owner)");
	last_entry = entry;
}
