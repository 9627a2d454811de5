/*
 * tar_layout.c
 *		A base backup as tar files.
 *
 * There is a tar file for the data directory, one for each tablespace, and
 * one for WAL unless it is part of the first.  A piece is a separate
 * compressed frame; readers of gzip, lz4 and zstd read concatenated frames as
 * one stream.
 *
 * If the server compresses, the frames come from there, and the worker stores
 * them without decompressing them.
 */
#include "base/fe_compat.h"

#include "common/file_perm.h"
#include "common/file_utils.h"

#include "archive/archive_clean.h"
#include "base/buffer.h"
#include "basebackup/backup_layout.h"
#include "basebackup/tar_archive.h"

/* A tar file of the backup. */
typedef struct TarFile
{
	TarArchive *archive;
	char	   *path;
	int			n_pieces;		/* written so far */
} TarFile;

/*
 * The data of this form: the files of WAL (unless it is in the base), of the
 * base, and of the tablespaces.
 */
typedef struct TarFiles
{
	TarFile    *files;
	int			n_files;
	PQExpBufferData last;		/* the last members of the base */
} TarFiles;

/*
 * Additional pieces for WAL, whose segments are not known before the end.
 * Shared memory that is never written uses no real memory.
 */
#define MORE_PIECES (1024 * 1024)

static TarFiles *
files_of(const Backup *backup)
{
	return backup->form_data;
}

static TarFile *
file_of(const Backup *backup, int tablespace)
{
	return &files_of(backup)->files[tablespace - BACKUP_WAL_FILE];
}

/* ----------
 * Frames
 * ----------
 */
typedef struct TarLayout
{
	BackupLayout layout;		/* first: it is one */
	const Backup *backup;
	BlockCompressor *compressor;	/* NULL: no compression */
	PQExpBufferData raw;		/* the bytes of a piece */
	PQExpBufferData frame;		/* the same bytes, compressed */
	const BackupPiece *piece;
	size_t		padding;		/* bytes after the range */
} TarLayout;

static void
append(PQExpBuffer buf, const char *data, size_t len)
{
	appendBinaryPQExpBuffer(buf, data, len);
	(void) buffer_text(buf);
}

/* Append zeros that fill the last block of a member. */
static void
append_padding(PQExpBuffer buf, size_t len)
{
	static const char zeros[TAR_BLOCK_SIZE];

	append(buf, zeros, len);
}

/* Compress the bytes in raw as one frame. */
static const PQExpBufferData *
make_frame(TarLayout *tar)
{
	BlockCompressor *c = tar->compressor;
	ssize_t		len;

	if (c == NULL)
		return &tar->raw;
	resetPQExpBuffer(&tar->frame);
	if (!enlargePQExpBuffer(&tar->frame,
							block_compressor_bound(c, tar->raw.len)))
		pg_fatal("out of memory");
	len = block_compressor_whole(c, tar->raw.data, tar->raw.len,
								 tar->frame.data);
	if (len < 0)
		pg_fatal("could not compress data: %s", block_compressor_error(c));
	tar->frame.len = len;
	return &tar->frame;
}

static void
put_frame(TarLayout *tar, const TarFile *file, int piece)
{
	const PQExpBufferData *frame = make_frame(tar);

	tar_archive_put(file->archive, piece, frame->data, frame->len);
}

/* ----------
 * Members
 * ----------
 */

/*
 * The name of a member: its path relative to the directory of the tar file.
 */
static const char *
member_name(const Backup *backup, const BackupFile *file)
{
	if (file->tablespace == BACKUP_BASE)
		return file->path;
	if (file->tablespace == BACKUP_WAL_FILE)
		return file->path + strlen("pg_wal/");
	return file->path +
		strlen(backup->list->tablespaces[file->tablespace].path) + 1;
}

static void
append_header(PQExpBuffer buf, const char *name, const char *link_target,
			  uint64 size, mode_t mode, time_t mtime)
{
	char		header[TAR_BLOCK_SIZE];

	tar_archive_header(header, name, link_target, size, mode, mtime);
	append(buf, header, sizeof(header));
}

static void
tar_layout_begin_piece(BackupLayout *layout, const BackupPiece *piece)
{
	TarLayout  *tar = (TarLayout *) layout;

	tar->piece = piece;
	resetPQExpBuffer(&tar->raw);
}

/*
 * The bytes before and after a range in the tar file: the member's header
 * before its first range, and zeros up to a full block after its last one.
 */
static size_t
around(BackupLayout *layout, const BackupRange *range, PQExpBuffer header)
{
	const Backup *backup = ((TarLayout *) layout)->backup;
	const BackupFile *file = &backup->list->files[range->file];

	if (range->offset == 0)
		append_header(header, member_name(backup, file), NULL, file->size,
					  S_IFREG | pg_file_create_mode, file->mtime);
	return range->offset + range->length == file->size ?
		tarPaddingBytesRequired(file->size) : 0;
}

static void
tar_layout_begin_range(BackupLayout *layout, const BackupRange *range)
{
	TarLayout  *tar = (TarLayout *) layout;

	tar->padding = around(layout, range, &tar->raw);
}

static void
tar_layout_take_data(BackupLayout *layout, const char *data, size_t len)
{
	append(&((TarLayout *) layout)->raw, data, len);
}

static void
tar_layout_end_range(BackupLayout *layout)
{
	TarLayout  *tar = (TarLayout *) layout;

	append_padding(&tar->raw, tar->padding);
}

static void
tar_layout_end_piece(BackupLayout *layout)
{
	TarLayout  *tar = (TarLayout *) layout;
	const TarFile *file = file_of(tar->backup, tar->piece->tablespace);

	put_frame(tar, file, file->n_pieces + tar->piece->no);
}

/* Store a piece that the server has compressed. */
static void
put_piece(BackupLayout *layout, const BackupPiece *piece,
		  const PQExpBufferData *data)
{
	const TarFile *file = file_of(((TarLayout *) layout)->backup,
								  piece->tablespace);

	tar_archive_put(file->archive, file->n_pieces + piece->no, data->data,
					data->len);
}

static TarLayout *
new_tar(const Backup *backup)
{
	TarLayout  *tar = pg_malloc0(sizeof(TarLayout));
	const CompressSpec *spec = &backup->options->compress;

	tar->backup = backup;
	initPQExpBuffer(&tar->raw);
	initPQExpBuffer(&tar->frame);
	if (spec->method == COMPRESS_NONE)
		return tar;
	tar->compressor = block_compressor_new(spec, true);
	if (tar->compressor == NULL)
		pg_fatal("out of memory");
	return tar;
}

static BackupLayout *
tar_layout_new_layout(const Backup *backup)
{
	TarLayout  *tar = new_tar(backup);

	tar->layout.begin_piece = tar_layout_begin_piece;
	tar->layout.begin_range = tar_layout_begin_range;
	tar->layout.data = tar_layout_take_data;
	tar->layout.end_range = tar_layout_end_range;
	tar->layout.end_piece = tar_layout_end_piece;

	/*
	 * A backup without compression can also be stored as the server sends it.
	 */
	if (backup->options->compress_place == COMPRESS_ON_SERVER ||
		backup->options->compress.method == COMPRESS_NONE)
	{
		tar->layout.around = around;
		tar->layout.put_piece = put_piece;
	}
	return &tar->layout;
}

/* ----------
 * In the leader
 * ----------
 */
static void
open_file(const Backup *backup, int tablespace)
{
	const CompressSpec *spec = &backup->options->compress;
	TarFile    *file = file_of(backup, tablespace);

	file->path = psprintf("%s/%s.tar%s", backup->options->directory,
						  tablespace == BACKUP_WAL_FILE ? "pg_wal" :
						  tablespace == BACKUP_BASE ? "base" :
						  backup->list->tablespaces[tablespace].oid,
						  compress_method_suffix(spec->method));
	file->archive = tar_archive_new(file->path, spec,
									backup->plan->n_pieces + MORE_PIECES);
}

/*
 * Write the first piece of a tar file: its directories and, in base.tar,
 * links to tablespaces, in the order that a reader needs.
 */
static void
put_directories(const Backup *backup, int tablespace)
{
	const BackupList *list = backup->list;
	TarFile    *file = file_of(backup, tablespace);
	TarLayout  *tar = new_tar(backup);

	for (int i = 0; i < list->n_directories; i++)
		if (list->directories[i].tablespace == tablespace)
			append_header(&tar->raw,
						  member_name(backup, &list->directories[i]), NULL, 0,
						  S_IFDIR | pg_dir_create_mode,
						  list->directories[i].mtime);
	for (int i = 0; tablespace == BACKUP_BASE && i < list->n_tablespaces; i++)
		append_header(&tar->raw, list->tablespaces[i].path,
					  list->tablespaces[i].location, 0,
					  S_IFLNK | S_IRWXU | S_IRWXG | S_IRWXO, time(NULL));
	put_frame(tar, file, file->n_pieces++);
}

static void
tar_layout_make_directories(Backup *backup)
{
	TarFiles   *files = pg_malloc0(sizeof(TarFiles));

	files->n_files = backup->list->n_tablespaces - BACKUP_WAL_FILE;
	files->files = pg_malloc0(files->n_files * sizeof(TarFile));
	initPQExpBuffer(&files->last);
	backup->form_data = files;
	if (backup->options->wal_method == BACKUP_WAL_STREAM)
		open_file(backup, BACKUP_WAL_FILE);
	for (int i = BACKUP_BASE; i < backup->list->n_tablespaces; i++)
	{
		open_file(backup, i);
		put_directories(backup, i);
	}
}

static void
end_plan(const Backup *backup)
{
	for (int i = 0; i < backup->plan->n_pieces; i++)
		file_of(backup, backup->plan->pieces[i].tablespace)->n_pieces++;
}

static void
tar_layout_write_file(const Backup *backup, const char *path, const char *data, size_t len)
{
	PQExpBuffer last = &files_of(backup)->last;

	append_header(last, path, NULL, len, S_IFREG | pg_file_create_mode,
				  time(NULL));
	append(last, data, len);
	append_padding(last, tarPaddingBytesRequired(len));
}

static void
finish(const Backup *backup)
{
	TarFiles   *files = files_of(backup);
	TarFile    *base = file_of(backup, BACKUP_BASE);
	TarLayout  *tar = new_tar(backup);

	append(&tar->raw, files->last.data, files->last.len);
	put_frame(tar, base, base->n_pieces++);
	for (int i = 0; i < files->n_files; i++)
		if (files->files[i].path)
			(void) tar_archive_finish(files->files[i].archive,
									  files->files[i].n_pieces);
}

/*
 * Flush the files and their directory.  Without a manifest no later step
 * would flush the names.
 */
static void
tar_layout_flush_files(const void *arg)
{
	const Backup *backup = arg;
	const TarFiles *files = files_of(backup);

	for (int i = 0; i < files->n_files; i++)
		if (files->files[i].path &&
			fsync_fname(files->files[i].path, false) != 0)
			exit(1);			/* it has reported the error */
	/* Flush the names, too, because without a manifest nothing else does. */
	if (fsync_fname(backup->options->directory, true) != 0)
		exit(1);
}

static void
tar_layout_flush(const Backup *backup)
{
	const Options *options = backup->options;

	if (options->sync_method == SYNC_SYNCFS)
		archive_sync_file_system(options->directory);
	else if (options->sync_method == SYNC_FSYNC)
		archive_sync_apart(tar_layout_flush_files, backup);
}

const BackupForm tar_form = {
	.make_directories = tar_layout_make_directories,
	.new_layout = tar_layout_new_layout,
	.end_plan = end_plan,
	.write_file = tar_layout_write_file,
	.finish = finish,
	.sync = tar_layout_flush,
	.has_map = true,
};
