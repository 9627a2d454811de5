-- manual.lua: what pandoc does otherwise when it makes man pages and HTML from
-- the Markdown of this directory.
--
-- Man pages get the form of PostgreSQL's own: titles in capitals, text that is
-- not hyphenated, options bold and their arguments italic (code has no font of
-- its own that all versions of groff know), tables as lists, which fit in any
-- width.  Links go to HTML pages, not to their sources; a man page names them by
-- the path that the Debian packages give them.  In HTML each option of a manual
-- can be linked to, and the front page, which --metadata=index says, ends with
-- a list of all of them.

local function roff(text)
	text = text:gsub("\\", "\\e"):gsub("-", "\\-")
	return (text:gsub("^([.'])", "\\&%1"):gsub("\n([.'])", "\n\\&%1"))
end

-- "--file=DIRECTORY": what follows the name is italic.
local function option(code)
	local name, argument = code.text:match("^(%-[^ =]+[ =])(.+)$")
	if not name then
		return pandoc.Strong(code.text)
	end
	return { pandoc.Strong(name), pandoc.Emph(argument) }
end

-- The level 1 heading becomes the title, as on a man page NAME has level 1.
-- (--shift-heading-level-by does that after filters in newer versions.)
local function promote(doc)
	local blocks = doc.blocks
	local meta = doc.meta

	meta.title = pandoc.MetaInlines(blocks:remove(1).content)
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
	return pandoc.RawBlock("man", ".RS 4\n.nf\n" .. roff(block.text) .. "\n.fi\n.RE")
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

-- What has another name among the pages than in the tree.
local renamed = {
	["../bench/README.md"] = "bench.html",
	["../bench/RESULTS.md"] = "results.html",
	["../doc/fast_restore.md"] = "fast_restore.html",
	["RESULTS.md"] = "results.html"
}

-- A link "page.md" to such a page reads "page.html".
local function to_html(link)
	local path, heading = link.target:match("^([^#]*)(.*)$")
	local page = (renamed[path] or path:gsub("^([^/:]+)%.md$", "%1.html")) .. heading
	local text = pandoc.utils.stringify(link.content)
	if text == link.target or text == page:gsub("html$", "md") then
		link.content = { pandoc.Str(page) }
	end
	link.target = page
	return link
end

local function plain(link)
	local content = to_html(link).content
	if link.target:match("^[^/:]+%.html$") then
		return pandoc.Str("/usr/share/doc/pg-pardump/" .. link.target)
	end
	return content
end

local function page(doc)
	doc.meta.title = pandoc.MetaString(pandoc.text.upper(pandoc.utils.stringify(doc.meta.title)))
	doc.blocks = pandoc.Blocks({ pandoc.RawBlock("man", ".nh\n.ad l") }) .. doc.blocks
	return doc
end

-- The long name of an option that stands in a term, or nil.
local function long_name(inline)
	return inline.t == "Code" and inline.text:match("^%-%-[%w-]+") or nil
end

-- The options of a term have their names as identifiers.
local function identified(list)
	for _, item in ipairs(list.content) do
		for i, inline in ipairs(item[1]) do
			local name = long_name(inline)
			if name then
				item[1][i] = pandoc.Span({ inline }, pandoc.Attr("option" .. name:sub(2)))
			end
		end
	end
	return list
end

-- What fits in a line of a phone is not broken at a hyphen.
local function kept_together(code)
	if #code.text <= 30 then
		code.classes:insert("short")
	end
	return code
end

local programs = { "pg_pardump", "pg_parrestore", "pg_parbasebackup" }

-- The options that the manuals explain: a table of name to programs, and the
-- names in their order.
local function all_options()
	local of = {}
	local names = {}

	for _, program in ipairs(programs) do
		local file = assert(io.open("doc/" .. program .. ".md"))
		local manual = pandoc.read(file:read("a"), "markdown-smart")
		file:close()
		manual:walk({ DefinitionList = function(list)
			for _, item in ipairs(list.content) do
				for _, inline in ipairs(item[1]) do
					local name = long_name(inline)
					if name and not of[name] then
						of[name] = {}
						table.insert(names, name)
					end
					if name then
						table.insert(of[name], program)
					end
				end
			end
		end })
	end
	table.sort(names)
	return of, names
end

local function option_index(doc)
	local of, names = all_options()
	local items = {}

	for _, name in ipairs(names) do
		local item = { pandoc.Code(name), pandoc.Str(":") }
		for _, program in ipairs(of[name]) do
			table.insert(item, pandoc.Space())
			table.insert(item, pandoc.Link(program, program .. ".html#option" .. name:sub(2)))
		end
		table.insert(items, { pandoc.Plain(item) })
	end
	doc.blocks:insert(pandoc.Header(1, "All options", pandoc.Attr("all-options")))
	doc.blocks:insert(pandoc.Div({ pandoc.BulletList(items) }, pandoc.Attr("", { "index" })))
	return doc
end

if FORMAT:match("man") then
	return { { Pandoc = promote }, { Table = list }, { Code = option, Header = upper, CodeBlock = indented,
		Link = plain, Pandoc = page } }
end
return { { Pandoc = promote }, { Link = to_html, Code = kept_together, DefinitionList = identified },
	{ Pandoc = function(doc) return doc.meta.index and option_index(doc) end } }
