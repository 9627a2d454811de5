-- manual.lua: how pandoc makes man pages from the Markdown of this directory.
--
-- They get the form of PostgreSQL's own: titles in capitals, text that is not
-- hyphenated (AD and HY are how groff 1.24 takes that for later paragraphs),
-- options bold and their arguments italic (code has no font of its own that all
-- versions of groff know), tables as lists, which fit in any width.
-- A link to another page is its text and the name of that page. A link whose text
-- is the name of a file becomes the path that the Debian packages give the page.

local function roff(text)
	text = text:gsub("\\", "\\e"):gsub("-", "\\-")
	return (text:gsub("^([.'])", "\\&%1"):gsub("\n([.'])", "\n\\&%1"))
end

-- Lines do not end at hyphens in code, nor at spaces in short code.
local function unbroken(text, whole)
	local code = roff(text)
	if #(whole or text) <= 24 then
		code = code:gsub(" ", "\\ ")
	end
	return pandoc.RawInline("man", code)
end

-- "--file=DIRECTORY": what follows the name is italic.
local function option(code)
	local name, argument = code.text:match("^(%-[^ =]+[ =])(.+)$")
	if not name then
		return pandoc.Strong(unbroken(code.text))
	end
	return { pandoc.Strong(unbroken(name, code.text)), pandoc.Emph(unbroken(argument, code.text)) }
end

-- The level 1 heading becomes the title, as on a man page NAME has level 1.
-- (--shift-heading-level-by does that after filters in newer versions.)
local function promote(doc)
	local blocks = doc.blocks
	local meta = doc.meta

	meta.title = pandoc.MetaString(pandoc.text.upper(pandoc.utils.stringify(blocks:remove(1))))
	return pandoc.Pandoc(blocks:walk({
		Header = function(header)
			header.level = header.level - 1
			return header
		end
	}), meta)
end

local function upper(header)
	if header.level > 1 then
		return nil
	end
	return pandoc.walk_block(header, {
		Str = function(str) return pandoc.Str(pandoc.text.upper(str.text)) end
	})
end

local function indented(block)
	return pandoc.RawBlock("man", ".sp\n.RS 4\n.nf\n" .. roff(block.text) .. "\n.fi\n.RE")
end

-- "[option]..." does not end a sentence, behind which man writes two spaces.
local function ellipsis(str)
	if str.text:match("%.%.%.$") then
		return { str, pandoc.RawInline("man", "\\&") }
	end
end

-- Of each row the first cell is the term, the others are its descriptions.
local function list(rows)
	local items = {}
	for _, row in ipairs(pandoc.utils.to_simple_table(rows).rows) do
		local term = pandoc.utils.blocks_to_inlines(row[1])
		local cells = {}
		for i = 2, #row do
			table.insert(cells, row[i])
		end
		table.insert(items, { term, cells })
	end
	return pandoc.DefinitionList(items)
end

local function plain(link)
	local page = link.target:match("^([%w_./]+)%.md")
	if not page then
		return link.content
	end
	if not pandoc.utils.stringify(link.content):match("%.md$") then
		link.content:extend({ pandoc.Space(), pandoc.Str("(" .. page:match("[^/]+$") .. ".html)") })
		return link.content
	end
	page = page:match("^%.%./(.*)$") or "doc/" .. page
	-- a line may end behind each slash
	return pandoc.RawInline("man", (roff("/usr/share/doc/pg-pardump/html/" .. page .. ".html"):gsub("/", "/\\:")))
end

local function page(doc)
	doc.blocks = pandoc.Blocks({ pandoc.RawBlock("man", ".ds AD l\n.nr HY 0\n.nh\n.ad l") }) .. doc.blocks
	return doc
end

return { { Pandoc = promote }, { Table = list }, { Code = option, Header = upper, CodeBlock = indented,
	Str = ellipsis, Link = plain, Pandoc = page } }
