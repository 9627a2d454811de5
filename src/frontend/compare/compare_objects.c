/*
 * compare_objects.c
 *		Sums up hashes of large objects, each of its OID and its contents.
 */
#include "base/fe_compat.h"

#include "common/checksum_helper.h"
#include "common/hashfn.h"

#include "archive/archive_objects.h"
#include "compare/compare_objects.h"
#include "source/read_large_object.h"

#define READ_BYTES (128 * 1024)

/* A last sink: the digest of one object. */
typedef struct DigestSink
{
	Sink		base;
	pg_checksum_context digest;
} DigestSink;

static void
digest_write(Sink *sink, const void *data, size_t len)
{
	if (pg_checksum_update(&((DigestSink *) sink)->digest, data, len) < 0)
		pg_fatal("could not compute a checksum");
}

static void
digest_finish(Sink *sink)
{
}

static void
digest_free(Sink *sink)
{
}

static const SinkOps digest_ops = {
	.write = digest_write,
	.finish = digest_finish,
	.free = digest_free,
};

static void
begin_object(DigestSink *sink)
{
	memset(sink, 0, sizeof(DigestSink));
	sink->base.ops = &digest_ops;
	if (pg_checksum_init(&sink->digest, CHECKSUM_TYPE_SHA256) < 0)
		pg_fatal("could not initialize a checksum");
}

static void
end_object(DigestSink *sink, Oid oid, uint64 seed, ObjectSum *sum)
{
	uint8		text[sizeof(Oid) + PG_CHECKSUM_MAX_LENGTH];
	int			len;

	memcpy(text, &oid, sizeof(Oid));
	len = pg_checksum_final(&sink->digest, text + sizeof(Oid));
	if (len < 0)
		pg_fatal("could not finalize a checksum");
	sum->objects++;
	sum->bytes += sink->base.bytes_in;
	sum->sum += hash_bytes_extended(text, sizeof(Oid) + len, seed);
}

ObjectSum
compare_objects_of_server(PGconn *conn, const LargeObjectGroup *group,
						  uint64 seed)
{
	ObjectSum	result = {0};

	for (int first = 0; first < group->n_oids; first += LARGE_OBJECT_BATCH)
	{
		const Oid  *oids = group->oids + first;
		int			n = Min(LARGE_OBJECT_BATCH, group->n_oids - first);
		PGresult   *batch = read_large_objects(conn, oids, n);

		for (int i = 0; i < n; i++)
		{
			DigestSink	sink;

			begin_object(&sink);
			read_large_object(conn, batch, i, oids[i], &sink.base);
			end_object(&sink, oids[i], seed, &result);
		}
		PQclear(batch);
	}
	return result;
}

/* Of the object that is the next. */
static void
digest_next(ArchiveObjects *objects, char *buf, Oid oid, uint64 seed,
			ObjectSum *sum)
{
	DigestSink	sink;
	ssize_t		len;

	begin_object(&sink);
	while ((len = archive_objects_read(objects, buf, READ_BYTES)) > 0)
		sink_write(&sink.base, buf, len);
	if (len == 0)
		end_object(&sink, oid, seed, sum);
}

ObjectSum
compare_objects_of_archive(const Archive *archive, const ArchiveGroup *where,
						   const LargeObjectGroup *group, uint64 seed)
{
	ObjectSum	result = {0};
	char	   *problem;
	ArchiveObjects *objects = archive_objects_open(archive, where->entry,
												   &problem);
	char	   *buf = pg_malloc(READ_BYTES);
	Oid			oid;

	if (objects == NULL)
		pg_fatal("could not read large objects: %s", problem);
	archive_objects_seek(objects, where->position);
	for (int i = 0; i < group->n_oids && archive_objects_next(objects, &oid); i++)
		digest_next(objects, buf, oid, seed, &result);
	problem = archive_objects_error(objects);
	if (problem || result.objects != (uint64) group->n_oids)
		pg_fatal("could not read large objects: %s",
				 problem ? problem : "some are missing");
	archive_objects_close(objects);
	free(buf);
	return result;
}
