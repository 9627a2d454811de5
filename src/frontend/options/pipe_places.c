/*
 * pipe_places.c
 *		Finds commands that would store the files of an archive in place of
 *		those of another one.
 *
 * What a command does with its arguments is not known.  But a word of a
 * command that contains the name of a file and a slash or a colon, such as
 * "remote:shop/mon/%f", is where the file is.  A command may have several
 * such words, for example of a temporary file, so the place is the same only
 * if all words of the reading command are words of the writing one.
 */
#include "base/fe_compat.h"

#include "base/buffer.h"
#include "options/pipe_places.h"

#define BLANKS " \t\n"
#define SEPARATORS BLANKS ";&|<>()`"
#define PATH_SIGNS "/:"

typedef struct Places
{
	char	  **paths;
	int			n;
	char		sign;			/* of the file's name */
} Places;

/*
 * Is this word a command for another program, such as the argument of "sh
 * -c", and not the path of a file with blanks in it?  Then its first word is
 * the name of a program.
 */
static bool
is_command(const char *word)
{
	size_t		first = strcspn(word, BLANKS);

	return word[first] != '\0' && strcspn(word, PATH_SIGNS) >= first;
}

/* Note the word if it is the path of a file.  %f replaces its sign. */
static void
add_path(Places *places, const char *word)
{
	PQExpBufferData path = buffer_new();
	bool		has_sign = false;

	for (const char *pos = word; *pos; pos++)
	{
		bool		is_file = pos[0] == '%' && pos[1] == places->sign;

		/* "a//b" and "a/./b" are the same as "a/b" */
		while (pos[0] == '/' &&
			   (pos[1] == '/' || (pos[1] == '.' && pos[2] == '/')))
			pos += pos[1] == '/' ? 1 : 2;
		appendPQExpBufferChar(&path, *pos);
		if (pos[0] != '%' || pos[1] == '\0')
			continue;
		has_sign |= is_file;
		/* so that another sign than the file's is not taken for it */
		if (!is_file && pos[1] == 'f')
			appendPQExpBufferChar(&path, '%');
		appendPQExpBufferChar(&path, is_file ? 'f' : pos[1]);
		pos++;
	}
	if (has_sign && strpbrk(word, PATH_SIGNS))
		*array_add(places->paths, places->n) = buffer_text(&path);
	else
		termPQExpBuffer(&path);
}

static void find_paths(Places *places, const char *command);

static void
end_word(Places *places, PQExpBuffer word)
{
	if (is_command(buffer_text(word)))
		find_paths(places, word->data);
	else
		add_path(places, word->data);
	resetPQExpBuffer(word);
}

/*
 * Is this the beginning of an argument such as "of=FILE" or "--file=FILE"?
 * Its end is then a word.
 */
static bool
is_name(const char *word)
{
	return word[strspn(word, "abcdefghijklmnopqrstuvwxyz-")] == '\0';
}

/* Find the words of a command, as a shell does. */
static void
find_paths(Places *places, const char *command)
{
	PQExpBufferData word = buffer_new();
	char		quote = '\0';

	for (const char *pos = command; *pos; pos++)
	{
		if (*pos == '\\' && quote != '\'' && pos[1] != '\0')
			appendPQExpBufferChar(&word, *++pos);
		else if (quote ? *pos == quote : *pos == '\'' || *pos == '"')
			quote = quote ? '\0' : *pos;
		else if (quote == '\0' && strchr(SEPARATORS, *pos))
			end_word(places, &word);
		else if (quote == '\0' && *pos == '=' && is_name(buffer_text(&word)))
			resetPQExpBuffer(&word);
		else
			appendPQExpBufferChar(&word, *pos);
	}
	end_word(places, &word);
	termPQExpBuffer(&word);
}

static bool
has_path(const Places *places, const char *path)
{
	for (int i = 0; i < places->n; i++)
		if (strcmp(places->paths[i], path) == 0)
			return true;
	return false;
}

char *
pipe_places_same(const char *read, char read_sign, const char *written,
				 char written_sign)
{
	Places		from = {.sign = read_sign};
	Places		to = {.sign = written_sign};

	find_paths(&from, read);
	find_paths(&to, written);
	for (int i = 0; i < from.n; i++)
		if (!has_path(&to, from.paths[i]))
			return NULL;
	return from.n > 0 ? from.paths[0] : NULL;
}

static void
check(const char *read, char read_sign, const char *written_option,
	  const char *written)
{
	char	   *place = pipe_places_same(read, read_sign, written, 'f');

	if (place == NULL)
		return;
	pg_log_error("the command of %s would replace files of the previous archive",
				 written_option);
	pg_log_error_detail("The files of both archives would be in the same place: \"%s\".",
						place);
	pg_fatal_hint("Use a new destination for each dump.");
}

void
pipe_places_check(const Options *options)
{
	if (options->incremental_pipe == NULL || options->pipe_command == NULL ||
		options->pipe_copy == NULL)
		return;
	check(options->incremental_pipe, 'f', "--pipe", options->pipe_command);
	check(options->pipe_copy, 'o', "--pipe", options->pipe_command);
	check(options->incremental_pipe, 'f', "--pipe-copy", options->pipe_copy);
	check(options->pipe_copy, 'o', "--pipe-copy", options->pipe_copy);
}
