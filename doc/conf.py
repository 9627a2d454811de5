# conf.py: how Sphinx makes HTML from the Markdown of this tree ("make html").
#
# The navigation is the list of links in index.md: each of its headings is a
# group of pages.  Options of the manuals are in the index.

import json
import pathlib
import re

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms import SphinxTransform

tree = pathlib.Path(__file__).parent.parent
project = "pg_pardump"
release = json.loads((tree / "META.json").read_text())["version"]

extensions = ["myst_parser"]
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 4
root_doc = "doc/index"
include_patterns = ["*.md", "doc/*.md", "bench/*.md", "packaging/*.md"]
highlight_language = "none"
smartquotes = False  # two hyphens begin an option

html_theme = "furo"
html_title = f"pg_pardump {release}"
html_static_path = ["site.css"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_copyright = False
html_theme_options = {"navigation_with_keys": True}


def toctree(caption, pages):
    lines = "\n".join(pages)
    return f"\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n{lines}\n```\n"


# A link that shows the name of a file shows the title of that page instead.
def read_source(app, name, source):
    text = re.sub(r"\[[\w/.]+\.md\](\([^)]+\))", r"[]\1", source[0])
    if name == root_doc:
        for caption, links in re.findall(r"^## (.+)\n\n((?:- .*\n)+)", text, re.M):
            pages = re.findall(r"^- \[(.+?)\]\((.+?)\.md\)", links, re.M)
            text += toctree(caption, [f"{title} <{page}>" for title, page in pages])
        text += toctree("Index", ["All options </genindex>"])
    source[0] = text


# Each option in the term of a definition list gets an identifier and an entry.
class IndexOptions(SphinxTransform):
    default_priority = 800  # before entries are collected

    def apply(self):
        page = pathlib.PurePath(self.env.docname).name
        for term in list(self.document.findall(nodes.term)):
            for code in list(term.findall(nodes.literal)):
                option = re.match(r"--[\w-]+", code.astext())
                if option:
                    target = "option" + option[0][1:]
                    term["ids"].append(target)
                    entry = ("single", f"{option[0]}; {page}", target, "", None)
                    term += addnodes.index(entries=[entry])


def setup(app):
    app.connect("source-read", read_source)
    app.add_transform(IndexOptions)
