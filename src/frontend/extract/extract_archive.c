/*
 * extract_archive.c
 *		Extracts one tar file with several processes, and restores the
 *		attributes of its files.
 *
 * A tar file can only be read from its beginning, because only the headers
 * show where members are.  Decompressing and writing take the most time, so
 * the workers share this work.  Each worker takes a frame of the compressed
 * file, decompresses it, and waits until all previous frames have been
 * parsed.  Then it parses its own frame with the TarReader that all workers
 * share.  This finds the headers, and which bytes belong to which file at
 * which offset.  Then the next frame has its turn, while this worker writes.
 *
 * There is always a worker that can continue: workers get frames in order, so
 * the worker with the first unfinished frame does not wait for another one.
 */
#include "base/fe_compat.h"

#include <grp.h>
#include <pwd.h>
#include <sys/mman.h>

#include "common/file_perm.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/shared_memory.h"
#include "base/units.h"
#include "basebackup/backup_manifest.h"
#include "basebackup/tar_archive.h"
#include "extract/extract_archive.h"
#include "extract/tar_reader.h"
#include "process/progress.h"
#include "process/run_figures.h"
#include "stream/decompress.h"
#include "stream/regular_file.h"
#include "stream/sink.h"

/* ----------
 * The frames of a compressed file, which can be decompressed concurrently.
 *
 * They are found through the sizes in their headers, without an index and
 * without decompression.
 * ----------
 */

typedef struct FrameList
{
	int			n_frames;
	uint64	   *begins;			/* the beginnings, and the end of the last
								 * frame */
} FrameList;

/* The size of a piece of an uncompressed file. */
#define PIECE_BYTES ((uint64) 4 * 1024 * 1024)

/*
 * Find the frames of a file, which may come from anywhere and is open for
 * reading; path is only for messages.  An uncompressed file is cut into
 * pieces.  A file of gzip, whose members do not contain their sizes, counts
 * as one frame.  Exits with a message if the file is damaged.
 */
static FrameList *
frame_list_find(int fd, const char *path, CompressMethod method)
{
	FrameList  *list = pg_malloc0(sizeof(FrameList));
	struct stat st;
	uint8	   *file;
	uint64		bytes;

	if (fstat(fd, &st) < 0)
		pg_fatal("could not stat file \"%s\": %m", path);
	if (st.st_size == 0)
	{
		pg_log_error("file \"%s\" is empty", path);
		pg_fatal_hint(BACKUP_COPY_HINT);
	}

	/*
	 * Map the file, because only the headers of frames and blocks are read,
	 * which are a few bytes at distant positions.
	 */
	file = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (file == MAP_FAILED)
		pg_fatal("could not map file \"%s\": %m", path);
	list->begins = array_room(NULL, 0, sizeof(uint64));
	list->begins[0] = 0;
	for (uint64 begin = 0; begin < st.st_size; begin += bytes)
	{
		bytes = st.st_size - begin;
		bytes = method == COMPRESS_NONE ? Min(bytes, PIECE_BYTES) :
			compressed_frame_bytes(file + begin, bytes, method);
		if (bytes == 0)
		{
			pg_log_error("file \"%s\" is damaged or truncated", path);
			pg_log_error_detail("There is no complete %s frame at offset " UINT64_FORMAT ".",
								compress_method_name(method), begin);
			pg_fatal_hint(BACKUP_COPY_HINT);
		}
		list->begins = array_room(list->begins, ++list->n_frames, sizeof(uint64));
		list->begins[list->n_frames] = begin + bytes;
	}
	munmap(file, st.st_size);
	return list;
}

/* ----------
 * Owners, permissions and times of extracted files.
 *
 * A file gets its attributes when it is written.  Directories have to wait:
 * writing into a directory changes its time, a read-only directory cannot be
 * written into, and root must not work in a directory whose owner could
 * replace its contents.  Read-only files wait, too, because several workers
 * open them for writing, and so do symbolic links.  All these are noted in
 * the order of the archive, and set in the opposite order at the end.
 *
 * The list is in shared memory, because any worker may read a member's
 * header.
 * ----------
 */

/* The permissions that directories of a data directory may have. */
#define DIRECTORY_MODES ((mode_t) PG_DIR_MODE_GROUP)
#define FILE_MODES ((mode_t) PG_FILE_MODE_GROUP)

/*
 * The largest number of directories, links and read-only files.  Shared
 * memory that is never written uses no real memory.
 */
#define MAX_NOTED (256 * 1024)

typedef struct Owner
{
	uid_t		uid;
	gid_t		gid;
} Owner;

typedef struct Noted
{
	const char *directory;
	TarMember	member;			/* its path is relative to the directory */
	Owner		owner;
} Noted;

struct Attributes
{
	bool		has_first;
	Owner		first;			/* owner of the first member */
	int			n_noted;
	Noted		noted[MAX_NOTED];
};

Attributes *
attributes_new(void)
{
	return shared_memory_new(1, sizeof(Attributes));
}

/*
 * Only root may give files to other users.  Files that another user extracts
 * belong to that user, as with tar.
 */
static bool
sets_owners(void)
{
	return geteuid() == 0;
}

/*
 * The owner of a member.  Like tar, this uses the name if such a user exists,
 * and otherwise the number.
 */
static Owner
owner_of(const TarMember *member)
{
	const struct passwd *user = member->user[0] ? getpwnam(member->user) : NULL;
	const struct group *group = member->group[0] ? getgrnam(member->group) : NULL;

	return (Owner)
	{
		user ? user->pw_uid : member->uid, group ? group->gr_gid : member->gid
	};
}

/*
 * Returns the owner of a member, and keeps the last one, because most members
 * of a base backup have the same owner, and getpwnam() may query a server on
 * the network each time.  Only needed if root runs the program.
 */
static Owner
same_owner_of(const TarMember *member)
{
	static bool known = false;
	static TarMember last;
	static Owner owner;

	if (!sets_owners())
		return (Owner)
	{
		0
	};
	if (known && last.uid == member->uid && last.gid == member->gid &&
		strcmp(last.user, member->user) == 0 &&
		strcmp(last.group, member->group) == 0)
		return owner;
	known = true;
	last = *member;
	owner = owner_of(member);
	return owner;
}

pg_noreturn static void
owner_failed(const char *path)
{
	pg_fatal("could not change owner of \"%s\": %m", path);
}

/*
 * Files that the program itself creates, such as a tablespace_map with new
 * locations, get the owner of the archive's first member, which is the data
 * directory.
 */
void
attributes_adopt(const Attributes *attributes, const char *path)
{
	if (sets_owners() && attributes->has_first &&
		lchown(path, attributes->first.uid, attributes->first.gid) < 0)
		owner_failed(path);
}

/*
 * The times to set: like tar, this keeps the time of the last access, and has
 * no fractions.
 */
static const struct timespec *
times_of(time_t mtime, struct timespec times[2])
{
	times[0] = (struct timespec)
	{
		.tv_nsec = UTIME_OMIT
	};
	times[1] = (struct timespec)
	{
		.tv_sec = mtime
	};
	return times;
}

pg_noreturn static void
time_failed(const char *path)
{
	pg_fatal("could not set modification time of \"%s\": %m", path);
}

static mode_t
final_mode(const TarMember *member)
{
	return member->mode &
		(member->kind == TAR_DIRECTORY ? DIRECTORY_MODES : FILE_MODES);
}

/*
 * The permissions with which a member is created, if the umask allows them.
 */
static mode_t
attributes_first_mode(const TarMember *member)
{
	return final_mode(member) |
		(member->kind == TAR_DIRECTORY ? S_IRWXU : S_IWUSR);
}

/*
 * Set the attributes of an open file after it was written to.  Exits with a
 * message on failure; path is only for that message.
 */
static void
attributes_set(int fd, const char *path, const TarMember *member)
{
	Owner		owner = same_owner_of(member);
	struct timespec times[2];

	if (sets_owners() && fchown(fd, owner.uid, owner.gid) < 0)
		owner_failed(path);

	/*
	 * Each worker sets the time, because none knows whether its part of the
	 * file is the last to be written.
	 */
	if (futimens(fd, times_of(member->mtime, times)) < 0)
		time_failed(path);
}

/*
 * Note a member of the archive that is extracted to this directory, if some
 * of its attributes must wait for the end.  Processes must take turns to call
 * this.  The pointer to the directory's name is kept.
 */
static void
attributes_note(Attributes *attributes, const char *directory,
				const TarMember *member)
{
	Noted	   *noted;

	if (!attributes->has_first)
		attributes->first = same_owner_of(member);
	attributes->has_first = true;
	if (member->kind == TAR_FILE &&
		attributes_first_mode(member) == final_mode(member))
		return;
	if (attributes->n_noted == MAX_NOTED)
		pg_fatal("the backup contains more than %d directories and read-only files",
				 MAX_NOTED);
	noted = &attributes->noted[attributes->n_noted++];
	noted->directory = directory;
	noted->member = *member;
	noted->owner = same_owner_of(member);
}

/*
 * Is this path a directory that was noted for another archive than the one
 * that is extracted to this directory?
 */
static bool
attributes_is_of_other(const Attributes *attributes, const char *directory,
					   const char *path)
{
	bool		found = false;

	for (int i = 0; i < attributes->n_noted && !found; i++)
	{
		const Noted *noted = &attributes->noted[i];
		char	   *its_path = psprintf("%s/%s", noted->directory,
										noted->member.path);

		found = noted->member.kind == TAR_DIRECTORY &&

		/*
		 * within an archive, directories occur only once, see
		 * make_directory()
		 */
			noted->directory != directory && strcmp(its_path, path) == 0;
		free(its_path);
	}
	return found;
}

static void
set_noted(const Noted *noted)
{
	const TarMember *member = &noted->member;
	char	   *path = psprintf("%s/%s", noted->directory, member->path);
	struct timespec times[2];

	if (sets_owners() &&
		lchown(path, noted->owner.uid, noted->owner.gid) < 0)
		owner_failed(path);
	if (member->kind != TAR_LINK && chmod(path, final_mode(member)) < 0)
		pg_fatal("could not change permissions of \"%s\": %m", path);
	if (utimensat(AT_FDCWD, path, times_of(member->mtime, times),
				  AT_SYMLINK_NOFOLLOW) < 0)
		time_failed(path);
	free(path);
}

void
attributes_set_noted(Attributes *attributes, const char *directory)
{
	/*
	 * Begin at the end of the list, because the contents of a directory were
	 * noted after the directory.
	 */
	while (attributes->n_noted > 0 &&
		   (directory == NULL ||
			attributes->noted[attributes->n_noted - 1].directory == directory))
		set_noted(&attributes->noted[--attributes->n_noted]);
}

/* ----------
 * The archive.
 * ----------
 */

/* How long to wait before the turn is checked again. */
#define WAIT_US 1000

#define IN_BYTES ((size_t) 256 * 1024)

/*
 * The buffer for the decompressed bytes of a frame.  Longer frames, which
 * other programs may have made, are parsed and written in several such parts.
 */
#define OUT_BYTES ((size_t) 16 * 1024 * 1024)

/* State in shared memory: the reader, and the frame whose turn it is. */
typedef struct Turn
{
	int			frame;
	TarReader	reader;
	int			n_members;		/* members so far */
	int			n_links;
	int			n_files;
	uint64		bytes;			/* bytes of files */
} Turn;

typedef struct Extraction
{
	const char *path;
	const char *directory;
	const char *prefix;
	CompressMethod method;
	int			fd;
	FrameList  *frames;
	Turn	   *turn;
	Attributes *attributes;

	/* members that belong to a worker */
	Decompressor *decompressor; /* NULL if not compressed */
	char	   *in;
	char	   *out;
	uint64		position;		/* position in the file */
	uint64		end;			/* end of the frame */
	TarPart    *parts;			/* parts of files to be written; they point to
								 * out */
	int			n_parts;
} Extraction;

/* ----------
 * The bytes of a frame
 * ----------
 */

/* Read a part of the frame from the file; returns 0 at its end. */
static size_t
read_frame(Extraction *extraction, char *to, size_t room)
{
	size_t		len = Min(extraction->end - extraction->position, room);
	ssize_t		got;

	if (len == 0)
		return 0;
	do
		got = pread(extraction->fd, to, len, (off_t) extraction->position);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		pg_fatal("could not read file \"%s\": %m", extraction->path);
	if (got == 0)
	{
		pg_log_error("file \"%s\" was truncated while it was read",
					 extraction->path);
		pg_fatal_hint(BACKUP_COPY_HINT);
	}
	extraction->position += got;
	return got;
}

/* Decompress a part of the frame, as much as fits; returns 0 at its end. */
static size_t
decompress_frame(Extraction *extraction, char *to, size_t room)
{
	Decompressor *decompressor = extraction->decompressor;
	ssize_t		made;
	size_t		len;

	while ((made = decompressor_fetch(decompressor, to, room)) == 0)
	{
		len = read_frame(extraction, extraction->in, IN_BYTES);
		if (len == 0)
			break;
		decompressor_feed(decompressor, extraction->in, len);
	}
	if (made < 0)
	{
		pg_log_error("could not decompress file \"%s\": %s", extraction->path,
					 decompressor_error(decompressor));
		pg_fatal_hint(BACKUP_COPY_HINT);
	}
	if (made == 0 && !decompressor_complete(decompressor))
	{
		pg_log_error("file \"%s\" is truncated", extraction->path);
		pg_fatal_hint(BACKUP_COPY_HINT);
	}
	return made;
}

/* Fill the buffer.  *whole is set if the frame ends within it. */
static size_t
fill(Extraction *extraction, bool *whole)
{
	size_t		len = 0;
	size_t		part = 1;

	while (part > 0 && len < OUT_BYTES)
	{
		if (extraction->decompressor)
			part = decompress_frame(extraction, extraction->out + len,
									OUT_BYTES - len);
		else
			part = read_frame(extraction, extraction->out + len,
							  OUT_BYTES - len);
		len += part;
	}
	*whole = part == 0;
	return len;
}

/* ----------
 * The members that the bytes of a frame belong to
 * ----------
 */
static char *
target_path(const Extraction *extraction, const TarMember *member)
{
	const char *suffix = strcmp(member->path, EXTRACT_LAST_FILE) == 0 ?
		EXTRACT_LAST_SUFFIX : "";

	return psprintf("%s/%s%s", extraction->directory, member->path, suffix);
}

pg_noreturn static void
damaged(const Extraction *extraction, const char *problem)
{
	pg_log_error("file \"%s\" is damaged", extraction->path);
	pg_log_error_detail("%s", message_sentence(problem));
	pg_fatal_hint(BACKUP_COPY_HINT);
}

/*
 * Create a directory.  Its later owner can replace its contents by links.  At
 * the end, directories that were created first get their owners last
 * (attributes_set_noted()), so a directory must occur only once, before its
 * contents.  An archive of pg_wal may repeat directories of base.tar; these
 * are below a directory that gets its owner last.
 */
static void
make_directory(const Extraction *extraction, const TarMember *member)
{
	char	   *path = target_path(extraction, member);
	bool		is_top = strcmp(member->path, ".") == 0;

	if (is_top && extraction->turn->n_members > 1)
		damaged(extraction, "its top directory follows the contents of the directory");
	if (mkdir(path, attributes_first_mode(member)) < 0 &&
		!(errno == EEXIST &&
		  (is_top || attributes_is_of_other(extraction->attributes,
											extraction->directory, path))))
		pg_fatal("could not create directory \"%s\": %m", path);
	free(path);
}

/*
 * The archive of a tablespace must not contain files that belong elsewhere:
 * its paths must begin with the directory that servers create in a
 * tablespace.
 */
static void
check_path(const Extraction *extraction, const char *path)
{
	if (strcmp(path, ".") != 0 &&
		strncmp(path, extraction->prefix, strlen(extraction->prefix)) != 0)
		damaged(extraction, "a path does not belong to a tablespace");
}

/*
 * Parse the buffer.  Directories are created at once, because other workers
 * may soon write files in them.
 */
static void
scan(Extraction *extraction, size_t len)
{
	const char *data = extraction->out;
	const char *problem;
	TarPart		part;
	TarResult	result;

	extraction->n_parts = 0;
	while ((result = tar_reader_next(&extraction->turn->reader, &data, &len,
									 &part, &problem)) == TAR_PART)
	{
		check_path(extraction, part.member.path);
		if (part.offset == 0)
		{
			extraction->turn->n_members++;
			attributes_note(extraction->attributes, extraction->directory,
							&part.member);
		}

		/*
		 * Links are not created, because later paths could lead through them.
		 */
		switch (part.member.kind)
		{
			case TAR_FILE:
				extraction->turn->n_files += part.offset == 0;
				extraction->turn->bytes += part.len;
				*array_add(extraction->parts, extraction->n_parts) = part;
				break;
			case TAR_DIRECTORY:
				make_directory(extraction, &part.member);
				break;
			case TAR_LINK:
				extraction->turn->n_links++;
				break;
		}
	}
	if (result == TAR_DAMAGED)
		damaged(extraction, problem);
}

/* ----------
 * Files
 * ----------
 */

/*
 * Write a part of a file.  Other workers write other parts, and the first one
 * creates the file.  The directory is new and contains no links, so none can
 * be followed.
 */
static void
write_part(const Extraction *extraction, const TarPart *part)
{
	char	   *path = target_path(extraction, &part->member);
	int			fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | PG_BINARY,
						  attributes_first_mode(&part->member));

	if (fd < 0)
		pg_fatal("could not create file \"%s\": %m", path);
	if (!write_at(fd, part->data, part->len, part->offset))
		pg_fatal("could not write file \"%s\": %m", path);
	attributes_set(fd, path, &part->member);
	/* network file systems report a failed write only here */
	if (close(fd) < 0)
		pg_fatal("could not close file \"%s\": %m", path);
	free(path);
}

/* ----------
 * Workers
 * ----------
 */
static void
extract_archive_start(void *arg, int worker)
{
	Extraction *extraction = arg;

	if (extraction->method != COMPRESS_NONE)
		extraction->decompressor = decompressor_new(extraction->method,
													DECOMPRESS_FILE);
	extraction->in = pg_malloc(IN_BYTES);
	extraction->out = pg_malloc(OUT_BYTES);
}

static bool
extract_archive_run(void *arg, int frame, volatile int *step)
{
	Extraction *extraction = arg;
	bool		whole;

	if (extraction->decompressor)
		decompressor_reset(extraction->decompressor);
	extraction->position = extraction->frames->begins[frame];
	extraction->end = extraction->frames->begins[frame + 1];
	do
	{
		size_t		len = fill(extraction, &whole);

		/* With later parts of a long frame it is still this worker's turn. */

		/*
		 * The worker with the previous frame parses its buffer within
		 * milliseconds.  So sleeping costs little, and unlike a lock it
		 * cannot be left behind by a worker that dies.
		 */
		while (__atomic_load_n(&extraction->turn->frame, __ATOMIC_ACQUIRE) != frame)
			pg_usleep(WAIT_US);
		scan(extraction, len);

		/*
		 * Pass the turn on only at the end of the frame, because until then
		 * the reader is within the frame.
		 */
		if (whole)
			__atomic_store_n(&extraction->turn->frame, frame + 1, __ATOMIC_RELEASE);
		for (int i = 0; i < extraction->n_parts; i++)
			write_part(extraction, &extraction->parts[i]);
	} while (!whole);
	return true;
}

static char *
extract_archive_describe(void *arg, int job, int step)
{
	return pg_strdup(((Extraction *) arg)->path);
}

/* ----------
 * Progress
 * ----------
 */

/*
 * The progress of the process: there is one terminal, and one stage for all
 * archives.
 */
static struct
{
	uint64		total;			/* stored bytes of all archives */
	uint64		before;			/* stored bytes of finished archives */
	const FrameList *frames;	/* of the current archive, or NULL */
	int			n_done;			/* finished frames of it */
	double		begun;
	int			n_files;		/* files of finished archives */
	uint64		bytes;
}			stage;

static void
extract_archive_compose(void *arg, ProgressLine *line, bool at_end)
{
	/* Frames are finished nearly in order, so the first n_done ones count. */
	uint64		done = stage.before +
		(stage.frames ? stage.frames->begins[stage.n_done] : 0);
	double		seconds = progress_add_share(line, "extracting ", done, stage.total,
											 stage.begun, at_end);

	progress_line_add(line, 1, "", " stored", "%s of %s", units_size(done),
					  units_size(stage.total));
	/* At the end, the summary shows the rate. */
	if (!at_end)
		progress_line_add(line, 2, "", "", "%s", units_rate(done, seconds));
}

void
extract_archive_begin_stage(uint64 stored_bytes)
{
	stage.total = stored_bytes;
	stage.begun = run_clock_seconds();
	progress_stage(extract_archive_compose, NULL);
}

void
extract_archive_append_sum(PQExpBuffer buf)
{
	const RunFigures figures = {.files = stage.n_files,.raw_bytes = stage.bytes};

	run_figures_append(buf, &figures, RUN_BACKUP, run_clock_seconds(), true);
}

int
extract_archive(const char *path, CompressMethod method,
				const char *directory, const char *prefix, int n_workers,
				Attributes *attributes)
{
	const char *problem;
	Extraction	extraction = {
		.path = path,
		.directory = directory,
		.prefix = prefix,
		.method = method,
		.fd = regular_file_open(AT_FDCWD, path, &problem),
		.turn = shared_memory_new(1, sizeof(Turn)),
		.attributes = attributes
	};
	const WorkerTask task = {
		.arg = &extraction,
		.job_detail = "The worker was extracting file \"%s\".",
		.start = extract_archive_start,
		.run = extract_archive_run,
		.describe = extract_archive_describe,
		.n_done = &stage.n_done
	};
	const PoolWatch watch = progress_watch();

	if (extraction.fd < 0)
	{
		pg_log_error("%s", problem);
		pg_fatal_hint(BACKUP_COPY_HINT);
	}
	extraction.frames = frame_list_find(extraction.fd, path, method);
	stage.n_done = 0;
	stage.frames = extraction.frames;
	worker_pool_run(&task, &watch, Min(n_workers, extraction.frames->n_frames),
					extraction.frames->n_frames);
	stage.frames = NULL;
	stage.before += extraction.frames->begins[extraction.frames->n_frames];
	stage.n_files += extraction.turn->n_files;
	stage.bytes += extraction.turn->bytes;

	/*
	 * A file can be truncated between two frames, which no decompressor
	 * notices.
	 */
	if (!tar_reader_ended(&extraction.turn->reader))
	{
		pg_log_error("file \"%s\" is truncated", path);
		pg_fatal_hint(BACKUP_COPY_HINT);
	}
	close(extraction.fd);
	return extraction.turn->n_links;
}
