# pg_pardump: a server extension (PGXS), three frontend programs, and one in Perl.
#
#   make PG_CONFIG=/path/to/pg_config          build both
#   make install                               install both
#   make installcheck                          pg_regress and TAP tests against
#                                              the installed files
#   make quick                                 build what changed, then the unit
#                                              tests, pg_regress and the checks of
#                                              the source tree
#   make man html                              man pages (pandoc) and HTML (Sphinx);
#                                              the front page is html/doc/index.html
#   make check-units                           tests in C of what needs no
#                                              server
#   make dist                                  the archive for PGXN, of HEAD
#   make indent                                pgindent over src and test/unit
#   make fuzz                                  fuzz the readers of untrusted
#                                              bytes, 20 s for each target (clang)
#   make fuzz-pages [TABLES=n] [SEED=n]        let planner and reader meet 10000
#                                              tables of damaged pages
#   make fuzz-copy [TIME=s] [SEED=n] [CASES=n] load random tables by the server and
#                                              by the extension for five minutes
#   make simd                                  test the scanning of bytes in its
#                                              variants, also for other processors
#   make coverage                              run all tests and print which
#                                              lines they run (gcov)
#
# COPT adds compiler flags at the end, e.g. COPT=-Werror.

# The one place that says it for all but the program.
DIST_VERSION = $(shell sed -n 's/^   "version": "\(.*\)",$$/\1/p' META.json)
DIST_DIR = .

# Compiled once, linked into both.
SHARED_OBJS = $(patsubst %.c,%.o,$(sort $(wildcard src/shared/*.c)))

EXTENSION = pg_pardump
MODULE_big = pg_pardump
DATA = src/server/pg_pardump--1.0.sql
SERVER_OBJS = $(patsubst %.c,%.o,$(sort $(wildcard src/server/*/*.c)))
OBJS = $(SERVER_OBJS) $(SHARED_OBJS)
SHLIB_LINK = -lzstd -llz4 -ldeflate -lisal -lcrypto
PG_CPPFLAGS = -I$(srcdir)/src

# Three programs of the same objects; each has its main() at the top.
PROGRAMS = pg_pardump pg_parrestore pg_parbasebackup
PROGRAM_FILES = $(PROGRAMS:%=src/frontend/%)
MAIN_OBJS = $(PROGRAM_FILES:%=%.o)
COMMON_OBJS = $(patsubst %.c,%.o,$(sort $(wildcard src/frontend/*/*.c)))
FRONTEND_OBJS = $(MAIN_OBJS) $(COMMON_OBJS)

UNIT_TEST = test/unit/unit_test
UNIT_OBJS = $(patsubst %.c,%.o,$(sort $(wildcard test/unit/*.c)))
UNIT_TESTED_OBJS = $(COMMON_OBJS) $(SHARED_OBJS)

REGRESS = $(patsubst sql/%.sql,%,$(sort $(wildcard sql/*.sql)))
TAP_TESTS = 1

# Made on request only, so that a build does not need pandoc; installed if made.
# The archive of "make dist" has them.
MAN_PAGES = $(PROGRAMS:%=doc/%.1) doc/pg_pardump_backup.1

EXTRA_CLEAN = $(PROGRAM_FILES) $(FRONTEND_OBJS) $(SHARED_OBJS) $(UNIT_TEST) \
	$(UNIT_OBJS) $(DEPENDENCY_FILES) $(MAN_PAGES) html

all: $(PROGRAM_FILES)
install: install-frontend
uninstall: uninstall-frontend

PG_CONFIG ?= pg_config
PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)

# Up to 15, a module shows all its functions to modules that are loaded later.
# With this flag, the extension calls its own functions, even if another module
# has functions of the same names.
ifeq ($(PORTNAME), linux)
SHLIB_LINK += -Wl,-Bsymbolic
endif

# A missing include is only a warning to C, and a load error to the server.
override CFLAGS += -Werror=implicit-function-declaration

# PGXS keeps no header dependencies on Debian: the compiler writes them beside
# each object.  Bitcode has none, as clang has other options there.
override CFLAGS += -MMD -MP
$(OBJS:.o=.bc): $(wildcard src/server/*/*.h src/shared/*.h)
DEPENDENCY_FILES = $(patsubst %.o,%.d,$(OBJS) $(FRONTEND_OBJS) $(UNIT_OBJS))
-include $(wildcard $(DEPENDENCY_FILES))

# The frontend: PGXS builds a module or a program, not both, so the program
# has plain rules.  $(LIBS) of a packaged server names libraries that
# server-dev does not bring; these are the ones the program needs.
PROGRAM_LIBS = -L$(pkglibdir) -lpgfeutils -lpgcommon -lpgport $(libpq) \
	-lzstd -llz4 -ldeflate -lisal -lz -lcrypto -lm

# Includes name a file by its folder, below the side that it is of.
$(SERVER_OBJS) $(SERVER_OBJS:.o=.bc): override CPPFLAGS += -I$(srcdir)/src/server
$(FRONTEND_OBJS) $(UNIT_OBJS): override CPPFLAGS := -DFRONTEND -I$(srcdir)/src/frontend -I$(shell $(PG_CONFIG) --includedir) $(CPPFLAGS)

# What these libraries tell goes through message.c, and what a server answers
# through session.c.
PROGRAM_LDFLAGS = -Wl,--wrap=pg_log_generic,--wrap=PQgetvalue

$(PROGRAM_FILES): %: %.o $(COMMON_OBJS) $(SHARED_OBJS)
	$(CC) $(CFLAGS) $< $(COMMON_OBJS) $(SHARED_OBJS) $(PROGRAM_LDFLAGS) $(LDFLAGS) $(LDFLAGS_EX) $(PROGRAM_LIBS) -o $@

$(UNIT_TEST): $(UNIT_OBJS) $(UNIT_TESTED_OBJS)
	$(CC) $(CFLAGS) $(UNIT_OBJS) $(UNIT_TESTED_OBJS) $(PROGRAM_LDFLAGS) $(LDFLAGS) $(LDFLAGS_EX) $(PROGRAM_LIBS) -o $@

check-units: $(UNIT_TEST)
	./$(UNIT_TEST)

# Without bitcode, as scripts/temp_install.sh builds.
quick:
	$(MAKE) -s --no-print-directory all $(UNIT_TEST) COPT='$(or $(COPT),-Werror)' with_llvm=no
	PG_CONFIG="$$(command -v '$(PG_CONFIG)')" scripts/test.sh --tree

# The programs find the template of --report from their own directory.
REPORT_TEMPLATE = $(DESTDIR)$(datadir)/pg_pardump_report.html

install-frontend: $(PROGRAM_FILES)
	$(MKDIR_P) '$(DESTDIR)$(bindir)' '$(DESTDIR)$(datadir)'
	$(INSTALL_PROGRAM) $(PROGRAM_FILES) '$(DESTDIR)$(bindir)/'
	$(INSTALL_DATA) $(srcdir)/src/frontend/report/report.html '$(REPORT_TEMPLATE)'

# pg_pardump_backup, its modules, the units of systemd, a configuration to begin
# with, and the dashboard for the metrics of all programs.  systemd finds units only where unitdir is one of its directories;
# packages say so, and NO_BACKUP for all majors but one.
BACKUP_DIR = $(datadir)/pg_pardump
unitdir = $(BACKUP_DIR)
BACKUP_UNITS = pg_pardump_backup@.service pg_pardump_backup@.timer \
	pg_pardump_restore_test@.service pg_pardump_restore_test@.timer
BACKUP_FILL = sed -e 's,@LIBDIR@,$(BACKUP_DIR),' -e 's,@BINDIR@,$(bindir),' -e 's,@VERSION@,$(DIST_VERSION),'

ifndef NO_BACKUP
install: install-backup
uninstall: uninstall-backup
endif

install-backup:
	$(MKDIR_P) '$(DESTDIR)$(bindir)' '$(DESTDIR)$(BACKUP_DIR)/PardumpBackup' '$(DESTDIR)$(unitdir)'
	$(INSTALL_DATA) $(srcdir)/src/backup/PardumpBackup/*.pm '$(DESTDIR)$(BACKUP_DIR)/PardumpBackup/'
	$(INSTALL_DATA) $(srcdir)/src/backup/pg_pardump_backup.conf '$(DESTDIR)$(BACKUP_DIR)/'
	$(INSTALL_DATA) $(srcdir)/packaging/grafana/pg_pardump.json '$(DESTDIR)$(BACKUP_DIR)/grafana_dashboard.json'
	$(BACKUP_FILL) $(srcdir)/src/backup/pg_pardump_backup.pl >'$(DESTDIR)$(bindir)/pg_pardump_backup'
	chmod 755 '$(DESTDIR)$(bindir)/pg_pardump_backup'
	for unit in $(BACKUP_UNITS); do \
		$(BACKUP_FILL) $(srcdir)/src/backup/$$unit >"$(DESTDIR)$(unitdir)/$$unit" && \
		chmod 644 "$(DESTDIR)$(unitdir)/$$unit" || exit 1; \
	done

uninstall-backup:
	rm -rf '$(DESTDIR)$(BACKUP_DIR)'
	rm -f '$(DESTDIR)$(bindir)/pg_pardump_backup' $(BACKUP_UNITS:%='$(DESTDIR)$(unitdir)/%')

# Where local_preload_libraries and ordinary roles' LOAD look for libraries.
PLUGIN_DIR = $(DESTDIR)$(pkglibdir)/plugins

install: install-plugin
uninstall: uninstall-plugin

install-plugin:
	$(MKDIR_P) '$(PLUGIN_DIR)'
	ln -sf ../pg_pardump$(DLSUFFIX) '$(PLUGIN_DIR)/pg_pardump$(DLSUFFIX)'

uninstall-plugin:
	rm -f '$(PLUGIN_DIR)/pg_pardump$(DLSUFFIX)'
	rmdir '$(PLUGIN_DIR)' 2>/dev/null || true

uninstall-frontend:
	rm -f '$(REPORT_TEMPLATE)' $(PROGRAMS:%='$(DESTDIR)$(bindir)/%') $(MAN_PAGES:doc/%='$(DESTDIR)$(mandir)/man1/%')

man: $(MAN_PAGES)

%.1: %.md doc/manual.lua
	pandoc --standalone --from=markdown-smart --lua-filter=doc/manual.lua --to=man \
		--metadata=section:1 --metadata=header:'pg_pardump Documentation' \
		--metadata=footer:'pg_pardump $(DIST_VERSION)' $< --output=$@

# A page has the path of its source below html/.
html:
	rm -rf html
	sphinx-build -q -W --keep-going -b html -c doc . html
	rm -rf html/.doctrees

install: install-man

install-man:
	for page in $(wildcard $(MAN_PAGES)); do \
		$(MKDIR_P) '$(DESTDIR)$(mandir)/man1' && \
		$(INSTALL_DATA) $$page '$(DESTDIR)$(mandir)/man1/' || exit 1; \
	done

# Shells look for completions in /usr/local/share and /usr/share.  A PostgreSQL
# that is not below /usr keeps them to itself.
completiondir = $(if $(filter /usr/%,$(bindir)),/usr/local/share,$(datadir))
BASH_COMPLETIONS = $(DESTDIR)$(completiondir)/bash-completion/completions
ZSH_COMPLETIONS = $(DESTDIR)$(completiondir)/zsh/site-functions
COMPLETED = pg_parrestore pg_parbasebackup pg_pardump_backup

ifndef NO_BACKUP
install: install-completions
uninstall: uninstall-completions
endif

install-completions:
	$(MKDIR_P) '$(BASH_COMPLETIONS)' '$(ZSH_COMPLETIONS)'
	$(INSTALL_DATA) $(srcdir)/completions/pg_pardump.bash '$(BASH_COMPLETIONS)/pg_pardump'
	for program in $(COMPLETED); do \
		ln -sf pg_pardump "$(BASH_COMPLETIONS)/$$program" || exit 1; \
	done
	$(INSTALL_DATA) $(srcdir)/completions/_pg_pardump '$(ZSH_COMPLETIONS)/'

uninstall-completions:
	rm -f '$(ZSH_COMPLETIONS)/_pg_pardump' $(patsubst %,'$(BASH_COMPLETIONS)/%',pg_pardump $(COMPLETED))

# HEAD, with the generated files.
dist: man html
	set --; for file in $(MAN_PAGES) $$(find html -type f | LC_ALL=C sort); do \
		set -- "$$@" "--prefix=pg_pardump-$(DIST_VERSION)/$$(dirname $$file)/" "--add-file=$$file"; \
	done; \
	git archive --format=zip "$$@" --prefix=pg_pardump-$(DIST_VERSION)/ \
		--output=$(DIST_DIR)/pg_pardump-$(DIST_VERSION).zip HEAD

fuzz:
	PG_CONFIG='$(PG_CONFIG)' test/fuzz/run.sh

fuzz-pages:
	scripts/fuzz_pages.sh $(or $(TABLES),10000) $(SEED)

fuzz-copy:
	scripts/fuzz_copy.sh $(or $(TIME),300) '$(SEED)' $(CASES)

simd:
	PG_CONFIG='$(PG_CONFIG)' test/simd/run.sh

coverage:
	scripts/test.sh --coverage

indent:
	pgindent --typedefs=typedefs.list src test/unit

.PHONY: check-units coverage fuzz fuzz-copy fuzz-pages quick simd install-backup install-completions install-frontend install-man install-plugin uninstall-backup uninstall-completions uninstall-frontend uninstall-plugin man html dist indent
