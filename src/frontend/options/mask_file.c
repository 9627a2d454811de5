/*
 * mask_file.c
 *		Reads files of --mask-file.
 *
 * Only where a mask ends is decided here; its contents are for the reader of
 * the option.  A name in double quotes may have a line's end in it.
 */
#include "base/fe_compat.h"

#include "pqexpbuffer.h"

#include "options/mask_file.h"

/* The text of a file, which ends in a newline if there is any; owned. */
static char *
read_text(const char *path)
{
	FILE	   *file = fopen(path, "r");
	PQExpBufferData text;
	char		part[4096];
	size_t		len;

	if (file == NULL)
		pg_fatal("could not open file \"%s\": %m", path);
	initPQExpBuffer(&text);
	while ((len = fread(part, 1, sizeof(part), file)) > 0)
		appendBinaryPQExpBuffer(&text, part, len);
	if (ferror(file))
		pg_fatal("could not read file \"%s\": %m", path);
	fclose(file);
	if (PQExpBufferDataBroken(text))
		pg_fatal("out of memory");
	if (strlen(text.data) != text.len)
		pg_fatal("file \"%s\" has a zero byte", path);
	if (text.len > 0 && text.data[text.len - 1] != '\n')
		appendPQExpBufferChar(&text, '\n');
	return text.data;
}

/* The newline that ends the mask that begins here. */
static const char *
mask_end(const char *text)
{
	bool		quoted = false;
	bool		in_pattern = true;

	for (; *text; text++)
	{
		if (in_pattern && *text == '"')
			quoted = !quoted;
		if (*text == ':' && !quoted)
			in_pattern = false;
		if (*text == '\n' && !quoted && text[1] != ' ' && text[1] != '\t')
			break;
	}
	return text;
}

static bool
says_nothing(const char *line, size_t len)
{
	return line[0] == '#' || strspn(line, " \t\r\n") >= len;
}

static void
mask_file_read_file(Options *options, const char *path)
{
	char	   *text = read_text(path);
	int			n = 0;

	for (const char *line = text; *line;)
	{
		const char *end = says_nothing(line, strcspn(line, "\n")) ?
			line + strcspn(line, "\n") : mask_end(line);
		size_t		len = end - line;

		if (*end == '\0')
			pg_fatal("a quoted name in file \"%s\" has no end", path);
		if (len > 0 && line[len - 1] == '\r')
			len--;
		if (!says_nothing(line, len))
		{
			char	   *mask = pnstrdup(line, len);

			simple_string_list_append(&options->mask, mask);
			free(mask);
			n++;
		}
		line = end + 1;
	}
	free(text);
	if (n == 0)
		pg_fatal("file \"%s\" has no mask", path);
}

void
mask_files_read(Options *options)
{
	for (const SimpleStringListCell *cell = options->mask_files.head; cell;
		 cell = cell->next)
		mask_file_read_file(options, cell->val);
}
