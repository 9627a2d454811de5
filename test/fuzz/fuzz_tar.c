/*
 * fuzz_tar.c
 *		tar_reader_next() on any bytes, with the checksums of headers that
 *		belong to them, as else nothing would come through: the first byte is
 *		how long the pieces are that the others come in.
 */
#include "base/fe_compat.h"

#include "extract/tar_reader.h"

/* Where in a header its checksum is. */
#define CHECKSUM_AT 148

extern int	LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What is written below a directory stays there. */
static bool
leads_out(const char *path)
{
	size_t		len = strlen(path);

	return len == 0 || path[0] == '/' || strcmp(path, "..") == 0 ||
		strncmp(path, "../", 3) == 0 || strstr(path, "/../") != NULL ||
		(len >= 3 && strcmp(path + len - 3, "/..") == 0);
}

/* What the reader promises of a part, whose bytes are read, too. */
static unsigned
check_part(const TarPart *part, const char *begin, const char *end)
{
	unsigned	sum = 0;

	if (leads_out(part->member.path) || part->member.mode > 07777 ||
		part->offset > part->member.size ||
		part->len > part->member.size - part->offset ||
		(part->len == 0) != (part->member.size == 0) ||
		part->data < begin || part->data + part->len > end)
		abort();
	for (size_t i = 0; i < part->len; i++)
		sum += (uint8_t) part->data[i];
	return sum;
}

/* Wherever a header may be, make its checksum right. */
static void
forge_checksums(char *tar, size_t size)
{
	for (size_t pos = 0; pos + TAR_BLOCK_SIZE <= size; pos += TAR_BLOCK_SIZE)
		if (tar[pos + CHECKSUM_AT] != '\0')
			print_tar_number(tar + pos + CHECKSUM_AT, 8, tarChecksum(tar + pos));
}

/* Returns how many bytes of files there were. */
static uint64
take_apart(const char *tar, size_t size, size_t piece)
{
	TarReader	reader = {0};
	uint64		bytes = 0;
	TarResult	result = TAR_MORE;

	for (size_t pos = 0; pos < size && result != TAR_DAMAGED; pos += piece)
	{
		/* of its own, so that nothing is read beyond it */
		size_t		left = Min(piece, size - pos);
		char	   *copy = memcpy(pg_malloc(left), tar + pos, left);
		const char *next = copy;
		const char *end = copy + left;
		const char *problem = NULL;
		TarPart		part;

		while ((result = tar_reader_next(&reader, &next, &left, &part,
										 &problem)) == TAR_PART)
		{
			(void) check_part(&part, copy, end);
			bytes += part.len;
		}
		if (result == TAR_DAMAGED && problem == NULL)
			abort();
		free(copy);
	}
	return bytes;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char	   *tar;
	size_t		piece;

	if (size < 2)
		return 0;
	piece = 1 + data[0] * 5;
	size--;
	tar = memcpy(pg_malloc(size), data + 1, size);
	(void) take_apart(tar, size, piece);
	forge_checksums(tar, size);
	/* however it is cut, it is the same */
	if (take_apart(tar, size, piece) != take_apart(tar, size, size))
		abort();
	free(tar);
	return 0;
}
