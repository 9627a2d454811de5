/*
 * attributes.c
 *		Restores the owners, permissions and times of extracted files.
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
 */
#include "base/fe_compat.h"

#include <grp.h>
#include <pwd.h>

#include "common/file_perm.h"

#include "base/shared_memory.h"
#include "extract/attributes.h"

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

/* ----------
 * Owners
 * ----------
 */

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

/* ----------
 * Times
 * ----------
 */

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

/* ----------
 * Members
 * ----------
 */
static mode_t
final_mode(const TarMember *member)
{
	return member->mode &
		(member->kind == TAR_DIRECTORY ? DIRECTORY_MODES : FILE_MODES);
}

/* The permissions of a member while it is written. */
mode_t
attributes_first_mode(const TarMember *member)
{
	return final_mode(member) |
		(member->kind == TAR_DIRECTORY ? S_IRWXU : S_IWUSR);
}

void
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

void
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

bool
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
