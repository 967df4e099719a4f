# Makefile of zerohttpd: seven web servers on one request/response module.
#
#     make            builds the seven executables into this folder
#     make V=1        the same, and shows every command in full
#     make help       lists everything else
#
# Flavours: a build with other flags goes into a folder of its own,
#
#     make                                    objects build/default/, executables here
#     make SANITIZE=address,undefined         all of it in build/address,undefined/
#     make SANITIZE=thread                    all of it in build/thread/
#     make CC=clang FLAVOUR=clang             all of it in build/clang/
#
# so builds with different flags exist together, and none needs `make clean`.

CC      = gcc
CFLAGS  = -O2 -g
PREFIX  = /usr/local
PYTHON  = $(or $(wildcard /usr/bin/python3),$(UNPACKED)/root/usr/bin/python3)
FLAVOUR = $(or $(SANITIZE),default)

# `make UNAME=Darwin` shows what a Mac is told.
UNAME := $(shell uname -s)
ifneq ($(UNAME),Linux)
$(error Linux only: the servers use epoll, Landlock, /proc and Linux's socket options. \
On $(UNAME), use the container: docs/howto/containers.md, or open this folder in an editor \
that reads .devcontainer/)
endif

# Where scripts/unpack.sh unpacks packages that this machine lacks. Programs, headers and
# libraries there are found after those that are installed.
UNPACKED = $(CURDIR)/build/deps
export PATH := $(PATH):$(UNPACKED)/bin
export PKG_CONFIG_PATH := $(if $(PKG_CONFIG_PATH),$(PKG_CONFIG_PATH):)$(UNPACKED)/pkgconfig
export C_INCLUDE_PATH := $(if $(C_INCLUDE_PATH),$(C_INCLUDE_PATH):)$(UNPACKED)/include
export LIBRARY_PATH := $(if $(LIBRARY_PATH),$(LIBRARY_PATH):)$(UNPACKED)/lib
# make 4.3 does not export to $(shell).
PKG_CONFIG = PATH='$(PATH)' PKG_CONFIG_PATH='$(PKG_CONFIG_PATH)' pkg-config

# Where things go. Only the default flavour's executables are in this folder.
OBJ = build/$(FLAVOUR)
BIN = $(if $(filter default,$(FLAVOUR)),.,$(OBJ)/bin)
LIB = $(OBJ)/libzerohttpd.a
HTTP_LIB = $(OBJ)/libhttp.a

# The seven: the folder 07_epoll becomes the executable epoll.
FOLDERS  = $(patsubst %/main.c,%,$(sort $(wildcard 0[1-9]_*/main.c)))
NAMES    = $(foreach f,$(FOLDERS),$(word 2,$(subst _, ,$(f))))
PROGRAMS = $(NAMES:%=$(BIN)/%)

COMMON      = $(wildcard common/*.c common/pages/*.c)
# The HTTP half of common/, and its tests, which link nothing else.
HTTP_HALF   = $(wildcard $(patsubst %,common/%.c,bytes text http_* router page pages/* \
              static_file file_table))
HTTP_TESTS  = $(patsubst %,$(OBJ)/tests/test_%,bytes text http_parser http_chunked \
              http_date http_conn http_response router page endpoints guestbook static_file \
              file_table out_of_memory)
UNIT_TESTS  = $(patsubst tests/unit/%.c,$(OBJ)/tests/%,$(wildcard tests/unit/test_*.c))
UNIT_HELP   = $(patsubst %.c,$(OBJ)/%.o,$(filter-out tests/unit/test_%.c,$(wildcard tests/unit/*.c)))
FUZZERS     = $(patsubst tests/fuzz/fuzz_%.c,$(OBJ)/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_HELP   = $(patsubst %,$(OBJ)/tests/unit/%.o,answer folder world)
SOURCES     = $(COMMON) $(FOLDERS:%=%/main.c) $(wildcard tests/unit/*.c tests/fuzz/*.c)

# Flags. A user's CFLAGS replace -O2 -g, and nothing else.
WARNINGS = -Wall -Wextra -Wshadow -Wmissing-prototypes -Wconversion \
           $(if $(WERROR),-Werror)

# Hardening. A stack overflow ends the process. glibc checks buffer sizes where
# it can (this needs the optimizer; the sanitizers check better). The program
# and its libraries are loaded at random addresses. The table of imported
# functions is filled at start and then read-only.
HARDEN_CC = -fstack-protector-strong -fPIE -fno-plt $(if $(SANITIZE),,$(FORTIFY))
HARDEN_LD = -pie -Wl,-z,relro,-z,now,-z,noexecstack
FORTIFY   = $(if $(filter -O1 -O2 -O3 -Os,$(CFLAGS)),-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)

# A finding of a sanitizer ends the program, so that it fails a test.
SANITIZERS = $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=all -fno-omit-frame-pointer)

COMPILE = $(CC) -std=c11 -D_GNU_SOURCE -Icommon $(CPPFLAGS) \
          $(WARNINGS) $(HARDEN_CC) $(SANITIZERS) $(CFLAGS) -pthread
LINK    = $(CC) $(HARDEN_LD) -Wl,--as-needed $(SANITIZERS) $(CFLAGS) -pthread $(LDFLAGS)

# pkg-config runs when a rule first needs its answer, after scripts/deps.sh has
# run: when make reads this file, pkg-config may not be installed yet. The $(eval)
# stores the answer. -isystem instead of -I: our warnings are for our own code.
HIREDIS_CFLAGS = $(eval HIREDIS_CFLAGS := $(patsubst -I%,-isystem %,$(shell $(PKG_CONFIG) --cflags hiredis)))$(HIREDIS_CFLAGS)
HIREDIS_LIBS   = $(eval HIREDIS_LIBS := $(shell $(PKG_CONFIG) --libs hiredis))$(HIREDIS_LIBS)
CMOCKA_CFLAGS  = $(eval CMOCKA_CFLAGS := $(shell $(PKG_CONFIG) --cflags cmocka))$(CMOCKA_CFLAGS)
CMOCKA_LIBS    = $(eval CMOCKA_LIBS := $(shell $(PKG_CONFIG) --libs cmocka))$(CMOCKA_LIBS)

# V=1 shows each command in full instead of a single word.
Q = $(if $(V),,@)

# ---------------------------------------------------------------- building

## all: the seven executables
all: $(PROGRAMS)

# Each server is its own main.o; what they share comes from the archive.
$(foreach f,$(FOLDERS),$(eval $(BIN)/$(word 2,$(subst _, ,$f)): $(OBJ)/$f/main.o))

# The address sanitizer would forget the signal mask of a thread (the file says how).
MASK = $(if $(findstring address,$(SANITIZE)),$(patsubst %.c,$(OBJ)/%.o,$(wildcard tests/support/thread_mask.c)))

# The linker takes from an archive only the objects that main.o asks for.
$(PROGRAMS): $(LIB) $(MASK)
	@mkdir -p $(@D)
	@echo '  LINK  $@'
	$(Q)$(LINK) $(MASK:%=-Wl,--wrap=pthread_create) -o $@ $(filter %.o,$^) $(LIB) $(HIREDIS_LIBS)

# The archive is deleted first: objects of deleted sources would stay in it.
$(LIB): $(COMMON:%.c=$(OBJ)/%.o)
$(HTTP_LIB): $(HTTP_HALF:%.c=$(OBJ)/%.o)
$(LIB) $(HTTP_LIB):
	@echo '  AR    $@'
	@rm -f $@
	$(Q)$(AR) rcs $@ $^

# -MMD writes next to each object which headers it was made from. With -MP, make
# continues when one of them has been deleted.
$(OBJ)/%.o: %.c $(OBJ)/flags | build/deps/build
	@mkdir -p $(@D)
	@echo '  CC    $@'
	$(Q)$(COMPILE) $(HIREDIS_CFLAGS) -MMD -MP -c -o $@ $<

# This file holds the compiler's command. It changes only when the flags change,
# and then everything is compiled again: `make CFLAGS=-O3` needs no `make clean`.
$(OBJ)/flags: FORCE
	@mkdir -p $(@D)
	@echo '$(COMPILE) / $(LINK)' | cmp -s - $@ || echo '$(COMPILE) / $(LINK)' > $@

# A unit test is one program: its source, the tests' shared objects, cmocka and
# the archive. Those of the HTTP half link that half alone, without hiredis.
UNIT_LIBS = $(LIB) $(HIREDIS_LIBS)
$(HTTP_TESTS): private UNIT_LIBS = $(HTTP_LIB)
$(UNIT_TESTS): $(OBJ)/tests/%: $(OBJ)/tests/unit/%.o $(UNIT_HELP) $(LIB) $(HTTP_LIB) | build/deps/unit
	@mkdir -p $(@D)
	@echo '  LINK  $@'
	$(Q)$(LINK) -o $@ $< $(UNIT_HELP) $(UNIT_LIBS) $(CMOCKA_LIBS)

# This test replaces the allocator (ld's --wrap) and makes it fail. The variable is
# private because other programs link the same objects.
$(OBJ)/tests/test_out_of_memory: private LINK += -Wl,--wrap=aligned_alloc,--wrap=calloc,--wrap=malloc,--wrap=realloc,--wrap=strdup

# Only the tests see cmocka, so the servers build without it.
$(OBJ)/tests/unit/%.o: tests/unit/%.c $(OBJ)/flags | build/deps/unit
	@mkdir -p $(@D)
	@echo '  CC    $@'
	$(Q)$(COMPILE) $(HIREDIS_CFLAGS) $(CMOCKA_CFLAGS) -MMD -MP -c -o $@ $<

# A fuzz target is a function; -fsanitize=fuzzer adds the main() that calls it,
# libFuzzer's or, with CC=afl-clang-fast, that of AFL++. tests/fuzz/run.sh knows
# the flags. The targets share the unit tests' simulated environment.
$(FUZZERS): $(OBJ)/fuzz/%: $(OBJ)/tests/fuzz/fuzz_%.o $(FUZZ_HELP) $(LIB)
	@mkdir -p $(@D)
	@echo '  LINK  $@'
	$(Q)$(LINK) -fsanitize=fuzzer -o $@ $< $(FUZZ_HELP) $(LIB) $(HIREDIS_LIBS)

fuzzers: $(FUZZERS)

# Programs that parse their input, for tests/fuzz/differential.py: one with our
# parser, one with joyent's.
PARSERS = $(OBJ)/fuzz/parse_ours $(OBJ)/fuzz/parse_http_parser
$(OBJ)/fuzz/parse_http_parser: private HIREDIS_LIBS = -lhttp_parser
$(PARSERS): $(OBJ)/fuzz/%: $(OBJ)/tests/fuzz/%.o $(OBJ)/tests/fuzz/parse_main.o $(LIB)
	@mkdir -p $(@D)
	@echo '  LINK  $@'
	$(Q)$(LINK) -o $@ $^ $(HIREDIS_LIBS)

# Makes system calls fail (LD_PRELOAD). No sanitizer: those of the program work in it.
build/shim.so: tests/shim/calls.c tests/shim/faults.c tests/shim/faults.h Makefile
	@mkdir -p $(@D)
	@echo '  CC    $@'
	$(Q)$(CC) -std=c11 -D_GNU_SOURCE $(WARNINGS) -O2 -g -fPIC -fno-builtin -shared -o $@ $(filter %.c,$^)

## lines: lines of C and Python by folder (SINCE=v1.0.0: then and now)
lines:
	@$(PYTHON) scripts/lines.py $(SINCE)

## unit-tests: the programs of tests/unit, built and not run (`make check-unit` does)
unit-tests: $(UNIT_TESTS)

# Looks for what a part needs (scripts/packages.txt), once: deps.sh leaves the stamp
# when nothing is missing.
build/deps/%: scripts/deps.sh scripts/packages.txt scripts/minimum.txt
	@mkdir -p $(@D)
	@CC='$(CC)' PYTHON='$(PYTHON)' STAMP=$@ scripts/deps.sh $*

# Python packages come from an environment of the project's own, never from the
# system: build/venv/, made by this rule and by the programs that draw.
VENV = build/venv/requirements.txt
VENV_PYTHON = build/venv/bin/python
$(VENV): tools/requirements.txt tests/requirements.txt labs/requirements.txt | build/deps/grade
	@$(PYTHON) -m tools.kit.venv

build/book-venv/requirements.txt: tools/book/requirements.txt | build/deps/book
	@$(PYTHON) -m tools.kit.venv book

# make must not take these files for intermediate ones, and delete them.
.PRECIOUS: build/deps/%

## clean: deletes what was built (measured results stay, and what was fetched)
clean:
	rm -rf $(filter-out build/deps build/exact build/%venv build/%venv.lock,$(wildcard build/*)) \
	    $(NAMES) compile_commands.json

## clean-all: that, the unpacked packages and the Python environments: all of build/
clean-all: clean
	rm -rf build

# -------------------------------------------------------------- installing

SHARE = $(DESTDIR)$(PREFIX)/share/zerohttpd

## install: into $(DESTDIR)$(PREFIX): bin/zerohttpd-epoll ..., share/zerohttpd/
install: install-folder all
	install -d $(DESTDIR)$(PREFIX)/bin $(SHARE)
	for name in $(NAMES); do \
	    install -m 755 $(BIN)/$$name $(DESTDIR)$(PREFIX)/bin/zerohttpd-$$name || exit; \
	done
	cp -R public templates $(SHARE)/
	@echo 'Start one with:  $(PREFIX)/bin/zerohttpd-epoll --root $(PREFIX)/share/zerohttpd'

# The folder, or the nearest one above it that exists, must let us write.
install-folder:
	@case '$(PREFIX)' in /?*) ;; *) \
	    echo 'make: PREFIX=$(PREFIX): it has to be a whole path: PREFIX=/usr/local' >&2; exit 2;; esac; \
	folder='$(DESTDIR)$(PREFIX)'; until [ -e "$$folder" ]; do folder=$$(dirname "$$folder"); done; \
	[ -d "$$folder" ] && [ -w "$$folder" ] || { \
	    echo "make: you cannot write to $$folder. Either sudo make $(firstword $(MAKECMDGOALS)), or" \
	        'a folder of yours: make $(firstword $(MAKECMDGOALS)) PREFIX=$$HOME/.local' >&2; exit 2; }

## uninstall: removes what `make install` put there
uninstall: install-folder
	rm -f $(NAMES:%=$(DESTDIR)$(PREFIX)/bin/zerohttpd-%)
	rm -rf $(SHARE)

## deps: fetches what every target but check-all needs (INSTALL=system; NO_INSTALL=1: says what)
deps:
	PYTHON='$(PYTHON)' scripts/deps.sh check tidy compare watch

## doctor: is this machine ready to build, test and measure? what to do first
doctor:
	@command -v $(PYTHON) >/dev/null || \
	    { echo 'Do this first: install Python 3.11 as $(PYTHON)'; exit 1; }
	@$(PYTHON) -m tools.bench doctor

# Programs that start others run under a guardian, which ends all of them when make or the
# terminal is gone: scripts/guardian.c. A shell's PPID is make.
GUARD = build/guardian $$PPID
build/guardian: scripts/guardian.c | build/deps/build
	@mkdir -p build
	@$(CC) -std=c11 -O1 -Wall -Wextra -o $@ $<

# ------------------------------------------------------------ trying it out

## run-01 ... run-07: builds and starts that server and a Redis of its own (ARGS='--port 8080')
# Ctrl-C ends make too. The shell outlives the server by 0.3 s: make reports an
# error when it has no child left ("wait: No child processes").
run-%: build/deps/run all build/guardian
	@trap : INT; \
	$(GUARD) scripts/with_redis.sh $(BIN)/$(call name_of,$*) --redis @REDIS@ $(ARGS); \
	status=$$?; sleep 0.3; exit $$status

## run-balanced: instances of a server behind a balancer (N=3 SERVER=epoll BALANCER=haproxy PORT=8000)
run-balanced: balanced-settings build/deps/balancer all $(VENV) build/guardian
	@trap : INT; \
	$(GUARD) scripts/with_redis.sh $(VENV_PYTHON) -m tools.fleet.balancer.run $(BALANCED) \
	    --redis @REDIS@ $(ARGS); \
	status=$$?; sleep 0.3; exit $$status

BALANCED = '$(or $(SERVER),epoll)' --instances='$(or $(N),3)' \
           --balancer='$(or $(BALANCER),haproxy)' --port='$(or $(PORT),8000)'
balanced-settings:
	@! command -v $(PYTHON) >/dev/null || \
	    $(PYTHON) -m tools.fleet.balancer.run --look $(BALANCED) $(ARGS)

## diff-01-02 ... diff-06-07: two servers side by side; any two numbers work
diff-%:
	@scripts/diff_servers.sh $(foreach n,$(subst -, ,$*),$(wildcard $(n)_*/main.c))

# 07 -> epoll
name_of = $(or $(word 2,$(subst _, ,$(filter $(1)_%,$(FOLDERS)))),$(error There is no server $(1); there are: $(FOLDERS)))

# ---------------------------------------------------------------- observing

OBSERVE = $(GUARD) $(PYTHON) -m tools.observe

## watch-01 ... watch-07: starts that server and shows what each worker does now (ARGS='--threads 8')
watch-%: build/deps/watch all build/guardian
	@$(OBSERVE) watch $(call name_of,$*) -- $(ARGS)

## timeline: a picture of what clients and workers wait for (SERVER=05 CLIENTS=8; SERVER=all; SERVER=nginx: real software; FLAME=1: by function, too)
timeline: build/deps/watch all build/guardian
	@$(OBSERVE) timeline '$(or $(SERVER),all)' $(if $(CLIENTS),--clients='$(CLIENTS)') \
		$(if $(FLAME),--flame) $(ARGS)

## replay: a page that plays a burst again, with the line of source that each worker waits in (SERVER=03,05 CLIENTS=8; LAB=03 SUBMISSION=DIR)
replay: build/deps/watch all build/guardian
	@$(if $(LAB),program=$$($(MAKE) -s lab) && FROM=$$(dirname "$$program")) $(OBSERVE) timeline \
		$(if $(LAB),"$$(basename "$$program")",'$(or $(SERVER),05)') --replay $(if $(CLIENTS),--clients='$(CLIENTS)') $(ARGS)

## simulator: a page in which clients, workers and Redis move, with settings to try
simulator:
	@$(PYTHON) -m tools.observe simulator $(ARGS)

## demo-stuck: four clients make trouble: how long does a normal one wait, at each server?
demo-stuck: build/deps/watch all build/guardian
	@$(OBSERVE) demo-stuck $(ARGS)

## predict: asks what you expect of a server, measures it, and compares (SERVER=05 CLIENTS=100 WHAT=computing; WHAT=curve; FILE=predict.toml)
predict: build/deps/compare build/deps/watch all build/guardian
	@$(OBSERVE) predict $(if $(SERVER),'$(SERVER)') $(if $(CLIENTS),--clients '$(CLIENTS)') \
	    $(if $(WHAT),--what '$(WHAT)') $(if $(FILE),--file '$(FILE)') \
	    $(if $(NAME),--name '$(NAME)')

## predictions: the predictions of a class next to what was measured (DIR=results/predictions)
predictions: build/deps/watch
	@$(PYTHON) -m tools.observe predictions $(if $(DIR),'$(DIR)')

# ----------------------------------------------------------------- checking
#
# scripts/check.py builds what a suite needs by calling make again, with the
# variables of this command line.

SUITES = $(GUARD) $(PYTHON) scripts/check.py --make '$(MAKE)' $(MAKEOVERRIDES)

## check: all suites, then one line: N passed, N failed (WERROR=1: warnings are errors)
check: build/deps/check build/guardian
	@$(SUITES)

## check-all: the same, each case on all seven instead of a sample, and the suites that take longest
check-all: build/deps/check-all build/guardian
	@FULL=1 $(SUITES)

## test: unit tests and two servers, in about 35 seconds: the loop while you edit
test: build/deps/test build/guardian
	@$(SUITES) unit quick

## check-unit: the pure modules of common/, with cmocka
## check-blackbox: every server over real sockets, with a real Redis
## check-browser: signs the guestbook in a headless Chromium
## check-layering: nm on the objects: nothing that http_conn reaches waits or does I/O
## check-shape: sizes of the C and differences between neighbours, against their limits
## check-faults: the servers under slow clients, dead workers, a failing Redis
## check-shim: the servers while system calls are short, interrupted or fail (ARGS='--seed 7')
## check-frame: the runner itself, this Makefile, the scripts
## check-mutants: plants faults in the servers: does a simulated world find each? (FULL=1: all)
## check-containers: builds the image and runs compose.yaml, without a daemon (needs root)
## check-aarch64: builds for 64-bit Arm without a warning, runs the unit tests in qemu
## check-install: the first hour on a bare Debian 12 and 13, with and without root (needs root)
## check-workflows: actionlint on what GitHub runs, .github/workflows/
## check-peers: other people's servers do the same work, floors make the same calls (ARGS='-k nginx')
## check-labs: the grader, on starters, solutions, mutants and hostile programs (FULL=1: all)

# The names come from the lines of help above, without those that have a rule of their own.
CHECKS := $(filter-out all asan tsan world fleet balancer, \
            $(shell sed -n 's/^## check-\([a-z0-9]*\):.*/\1/p' $(firstword $(MAKEFILE_LIST))))
$(CHECKS:%=check-%): check-%: build/deps/% build/guardian
	@$(SUITES) $*

## check-asan: unit, blackbox and shim, with the address and undefined-behaviour sanitizers
check-asan: build/deps/blackbox build/deps/unit build/guardian
	@$(SUITES) unit-asan blackbox-asan shim-asan

## check-tsan: the threaded servers with the thread sanitizer
check-tsan: build/deps/blackbox build/guardian
	@$(SUITES) blackbox-tsan

## variant: builds one variant of a server in build/variants/NAME/ (NAME=leader-followers)
variant: build/deps/variants all
	@$(PYTHON) -m tools.variant build $(NAME) $(MAKEOVERRIDES)

## variant-measure: CPU time of a variant, its plain server and its floor (NAME=... ROUNDS=6)
variant-measure: build/deps/compare all build/guardian
	@$(GUARD) $(PYTHON) -m tools.variant measure $(NAME) $(MAKEOVERRIDES)

## variants-check: applies each patch of variants/ and tests what it makes
variants-check: build/deps/variants build/guardian
	@$(SUITES) variants

## check-world: drivers and parents in simulated worlds (COVERAGE=1: which branches they take)
check-world: build/deps/world build/guardian
	$(if $(COVERAGE),tests/world/coverage.py,@FULL=1 $(SUITES) world)

## check-fleet: fleet and fleet-clean on five hosts that are namespaces of this machine
check-fleet: build/deps/fleet-hosts build/guardian
	@FULL=1 $(SUITES) fleet

# compose.yaml needs a file, not a template. A test compares the two.
tools/fleet/balancer/compose.cfg: FORCE $(VENV)
	$(VENV_PYTHON) -m tests.containers.balancer

## check-balancer: HAProxy and nginx before servers that die and are restarted, under load
check-balancer: build/deps/test build/deps/balancer build/guardian
	@$(SUITES) balancer

## fuzz: libFuzzer on parser, connection, form, template ... (TIME=60 seconds each)
TIME = 60
# Also reports a wrong time before building.
time-setting:
	@printf '%s\n' '$(TIME)' | grep -Eqx '[1-9][0-9]{0,5}' || \
	    { echo 'make: TIME=$(TIME): it has to be a whole number of seconds, 1 to 999999' >&2; exit 2; }

fuzz: time-setting build/deps/fuzz
	TIME=$(TIME) tests/fuzz/run.sh

## soak: mixed load and faults against every server, half of it under the sanitizers (5 minutes)
soak: all build/deps/faults $(VENV) build/guardian
	$(MAKE) SANITIZE=address,undefined all
	$(GUARD) $(VENV_PYTHON) -m tests.soak

## hostile: honest clients that check everything among hostile ones, sanitized (TIME=60 seconds each)
hostile: time-setting build/deps/faults $(VENV) build/guardian
	$(MAKE) SANITIZE=address,undefined all
	$(GUARD) $(VENV_PYTHON) -m tests.hostile --seconds $(TIME) --seed $(or $(SEED),1)

## reliability: measures what docs/reference/promises.md promises, on a quiet machine (5 minutes)
reliability: all build/deps/faults $(VENV) build/guardian
	$(GUARD) $(VENV_PYTHON) -m tests.faults.measure

# --------------------------------------------------------------------- labs

SUBMITTED = $(if $(SUBMISSION),'$(SUBMISSION)')

## starter: writes what you begin a lab with into a new folder (LAB=03 SUBMISSION=my03)
starter:
	@$(PYTHON) -m labs.grade.starter '$(LAB)' $(SUBMITTED)

## grade: grades a submission of a lab (LAB=03 SUBMISSION=DIR; ARGS='--junit report.xml')
grade: build/deps/grade $(LIB) $(VENV) build/guardian
	@$(GUARD) $(VENV_PYTHON) -m labs.grade '$(LAB)' $(SUBMITTED) $(ARGS)

## grade-all: grades a class, a folder for each submission (LAB=03 DIR=submissions ONLY=NAME OUT=DIR)
grade-all: grade-all-settings build/deps/grade-all $(LIB) $(VENV)
	@$(VENV_PYTHON) -m labs.grade.batch

# Reports a wrong setting before building (if Python is installed already).
grade-all-settings:
	@! command -v $(PYTHON) >/dev/null || $(PYTHON) -m labs.grade.batch settings

## lab: builds a submission, to run it by hand (LAB=03 SUBMISSION=DIR)
lab: build/deps/grade $(LIB) $(VENV)
	@$(VENV_PYTHON) -m labs.grade.build '$(LAB)' $(SUBMITTED)

## break: builds a server with a planted fault in build/break/NAME/ (NAME=whole_seconds; no NAME: a list)
break: build/deps/grade all $(VENV)
	@$(VENV_PYTHON) -m labs.break $(if $(NAME),build '$(NAME)' $(DIR),list)

## break-check: builds that folder again and runs the lab's test (NAME=whole_seconds DIR=build/break/whole_seconds)
break-check: build/deps/grade $(LIB) $(VENV) build/guardian
	@$(GUARD) $(VENV_PYTHON) -m labs.break check '$(NAME)' $(DIR)

## handout: the labs for a class, without solutions, in build/handout/ (LABS="02 03" BREAK=whole_seconds)
handout:
	@BREAK='$(BREAK)' GIVE='$(GIVE)' COLLECTION='$(COLLECTION)' \
	    $(PYTHON) -m labs.handout $(LABS)

# ---------------------------------------------------------------- measuring
#
# tools/bench/ reads its settings from environment variables: EXPERIMENT FULL SERVERS
# PEERS CONCURRENCY REPEAT SECONDS BACKLOG SERVER_CPUS LOAD_CPUS TOOL OUT SEED
# AWAKE WIDE COMMIT FLEET. make exports those that are set on its command line.

## compare: measures the seven: what requests cost at an equal rate, and curves (EXPERIMENT=guestbook FULL=1 ...)
compare: compare-settings build/deps/compare all build/guardian
	@$(GUARD) $(PYTHON) -m tools.bench run

# Reports a wrong setting before building (if Python is installed already).
compare-settings:
	@! command -v $(PYTHON) >/dev/null || $(PYTHON) -m tools.bench settings

study-settings:
	@! command -v $(PYTHON) >/dev/null || $(PYTHON) -m tools.bench settings study '$(NAME)'

## study: measures one question in the same way (NAME=floors; without NAME: lists the studies)
study: $(if $(NAME),study-settings build/deps/compare all) build/guardian
	@$(GUARD) $(PYTHON) -m tools.bench $(if $(NAME),study '$(NAME)',studies)

## exact: what a request costs in instructions, on a simulated machine (SERVER=02,03 WHY=1 FLOOR=1 PEERS=nginx ...)
# CLIENTS EXPERIMENT VARIANT KERNEL CURVE AGAINST, too: tools/exact/README.md.
EXACT = -m tools.exact --servers '$(SERVER)' --cells '$(EXPERIMENT)' --clients '$(CLIENTS)' \
    --variant '$(VARIANT)' --peers '$(PEERS)' --kernel '$(KERNEL)' \
    --curve '$(CURVE)' --against '$(AGAINST)' $(if $(FLOOR),--floor) $(if $(WHY),--why) $(if $(OUT),--out '$(OUT)')
exact: exact-settings build/deps/exact build/guardian
	@$(GUARD) $(PYTHON) $(EXACT)

exact-settings:
	@! command -v $(PYTHON) >/dev/null || $(PYTHON) $(EXACT) --settings

## report: draws a run again (RUN=results/latest)
report:
	@$(PYTHON) -m tools.bench report $(if $(RUN),'$(RUN)')

## model: what the model predicts (SERVER=05 CLIENTS=1000 CORES=16 WORKERS=400 REDIS_MS=2 MACHINES=4)
model:
	@$(PYTHON) -m tools.observe model

## compare-runs: checks whether two runs of `make compare` agree, cell by cell (RUNS="results/A results/B")
compare-runs:
	@$(PYTHON) -m tools.bench diff $(RUNS)

## peers-deps: installs the servers to compare with (PEERS=nginx,haproxy,go)
peers-deps: build/deps/compare
	@$(PYTHON) -m tools.bench peers

## fleet: prepares several hosts over ssh and measures on them (INVENTORY=hosts.ini EXPERIMENT=guestbook; CHECK=1: a dry run)
fleet: fleet-inventory compare-settings build/deps/hosts build/guardian
	@$(GUARD) $(PYTHON) -m tools.fleet prepare $(if $(CHECK),--check) '$(INVENTORY)'
	@$(if $(CHECK),:,$(GUARD) $(PYTHON) -m tools.bench run --fleet '$(INVENTORY)')

fleet-inventory:
	@! command -v $(PYTHON) >/dev/null || $(PYTHON) -m tools.fleet look '$(INVENTORY)'

## fleet-clean: undoes that preparation (INVENTORY=hosts.ini; CHECK=1)
fleet-clean: fleet-inventory build/deps/hosts build/guardian
	@$(GUARD) $(PYTHON) -m tools.fleet clean $(if $(CHECK),--check) '$(INVENTORY)'

## book: builds the documentation as a site in build/book/ (RUN=results/latest: on your figures)
# A claim that the figures do not support is a warning, and warnings are errors.
book: book-run build/book-venv/requirements.txt slides
	@rm -rf build/book/_images      # what an earlier book has drawn
	@build/book-venv/bin/python -m sphinx -E -a -q -W --keep-going \
		$(if $(RUN),-D book_run='$(abspath $(RUN))') docs build/book
	@echo 'The book: $(CURDIR)/build/book/index.html'

## slides: builds the lectures as presentations in build/book/slides/; make book does it, too
slides: book-run build/book-venv/requirements.txt
	@build/book-venv/bin/python -m sphinx -b revealjs -E -a -q -W --keep-going \
		$(if $(RUN),-D book_run='$(abspath $(RUN))') docs/slides build/book/slides
	@echo 'The slides: $(CURDIR)/build/book/slides/index.html'

## docs-read: writes docs/read/, the chapters as a forge shows them, from the sources of the book
# To build/read/ first: what is there stays until all of it can be replaced.
docs-read: docs-read-settings book
	@rm -rf build/read
	@build/book-venv/bin/python -m sphinx -b read -a -q -W -d build/book/.doctrees docs build/read
	@rm -rf docs/read && mv build/read docs/read
	@echo 'The pages: $(CURDIR)/docs/read/README.md'

docs-read-settings:
	@[ -z '$(RUN)' ] || { echo 'make: docs-read takes no RUN: its pages show the committed run;' \
	    'make book RUN=... shows yours' >&2; exit 2; }

book-run:
	@[ -z '$(RUN)' ] || [ -f '$(RUN)/summary.json' ] || [ -f '$(RUN)/samples.csv.xz' ] || { \
	    echo 'make: RUN=$(RUN): there is no summary.json in it; RUN is a folder that' \
	        'make compare left in results/' >&2; exit 2; }

# -------------------------------------------------------------- maintenance

# Only changed lines, because tables in the sources are laid out by hand.
## format: formats the lines of C that you changed, by .clang-format
format: build/deps/tidy
	git clang-format --extensions c,h

## tidy: clang-tidy on the C sources, by .clang-tidy
tidy: compile_commands.json build/deps/tidy
	printf '%s\n' $(wildcard $(SOURCES)) | xargs -n 1 -P "$$(nproc)" clang-tidy --quiet -p .

## compile_commands.json: for clangd and other tools that read C as the compiler does
compile_commands.json: Makefile | build/deps/unit
	@{ echo '['; comma=''; for c in $(wildcard $(SOURCES)); do \
	    printf '%s{"directory": "%s", "file": "%s", "command": "%s -c %s"}\n' "$$comma" \
	        '$(CURDIR)' $$c '$(COMPILE) $(HIREDIS_CFLAGS) $(CMOCKA_CFLAGS)' $$c; \
	    comma=,; done; echo ']'; } > $@

## help: this list
help:
	@awk -F ': ' '/^## / { printf "%-23s %s\n", substr($$1, 4), substr($$0, length($$1) + 3) }' \
	    $(firstword $(MAKEFILE_LIST))

# Names of commands, not of files. (A pattern such as run-% cannot be named
# here, so its members are.)
.PHONY: $(CHECKS:%=check-%) FORCE all unit-tests fuzzers clean clean-all install uninstall deps \
        doctor check check-all test check-asan check-tsan variant variant-measure \
        variants-check check-balancer run-balanced fuzz soak hostile reliability \
        compare compare-settings study study-settings report compare-runs peers-deps \
        book slides docs-read docs-read-settings format tidy help timeline simulator demo-stuck predict predictions model \
        lines starter grade grade-all grade-all-settings lab handout check-world break break-check \
        fleet fleet-clean check-fleet fleet-inventory balanced-settings install-folder \
        time-setting book-run

# Deletes a file whose recipe failed: it would look finished next time.
.DELETE_ON_ERROR:

# The lists of headers that -MMD wrote.
-include $(wildcard $(OBJ)/*/*.d $(OBJ)/*/*/*.d)
