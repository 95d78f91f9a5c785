# teploy-sandbox. `make help` lists the targets.
#
# Every variant (compiler, sanitizer) is a build folder of its own:
#   make BUILD=build/asan SAN=address,undefined unit
SHELL   = /bin/bash
BUILD  ?= build
CC     := $(if $(filter default undefined,$(origin CC)),gcc,$(CC))
MUSL   ?= musl-gcc
PREFIX ?= /usr/local
SYSCONFDIR ?= /etc
SAN    ?=
Q       = $(if $(V),,@)
# Without -j of the caller's, as many jobs as there are cores.
PARALLEL = $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc))
# `make V=1` shows whole commands.
say     = $(if $(V),,@echo "  $(1) $@")

PKGS    = fcgi jansson hiredis libcurl
WARN    = -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion \
	  -Wvla -Wstrict-prototypes -Wmissing-prototypes -Wformat=2 -Wcast-qual \
	  -Werror
OPT     = -O2 -g
HARDEN  = $(if $(SAN),,-D_FORTIFY_SOURCE=2) -fstack-protector-strong -fPIE
CPPFLAGS = -D_GNU_SOURCE -Iapp -I$(BUILD)/gen
CFLAGS  = -std=c11 $(OPT) $(WARN) $(HARDEN) -fno-strict-aliasing -pthread \
	  $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer $(SAN_WARN))
# GCC takes the branch that UBSan adds for a NULL format for a real one.
SAN_WARN = -Wno-format-truncation -Wno-format-overflow
LDFLAGS = -pie -Wl,-z,relro,-z,now -pthread $(if $(SAN),-fsanitize=$(SAN))
LIBS    = -lfcgi -ljansson -lhiredis -lcurl -lcrypto
INIT_CFLAGS = -std=c11 -Os -D_GNU_SOURCE -Iapp $(WARN) -ffunction-sections \
	  -fdata-sections -fstack-protector-strong \
	  -fno-asynchronous-unwind-tables

LIB_SRC   = $(wildcard app/lib/*.c)
CORE_SRC  = app/config.c $(wildcard app/json/*.c app/crypto/*.c app/docker/*.c app/store/*.c \
	  app/guest/*.c app/run/*.c)
HTTP_SRC  = $(wildcard app/http/*.c app/api/*.c) app/worker.c \
	  app/heart.c app/metrics.c app/pool.c app/listener.c app/prefork.c
INIT_SRC  = $(wildcard app/init/*.c)
REAPER_SRC = $(wildcard reaper/*.c)
PROXY_SRC = $(wildcard proxy/*.c)
CLI_SRC   = $(wildcard app/cli/*.c)
LUA       = $(wildcard app/store/lua/*.lua)

obj     = $(patsubst %.c,$(BUILD)/obj/%.o,$(1))
# In the order of their installation: a worker that starts meanwhile must find
# an init that knows no less than it does.
PROGRAMS = $(BUILD)/sbx-init $(BUILD)/sbx-proxy $(BUILD)/sbx-app \
	  $(BUILD)/sbx-reaper $(BUILD)/sbxctl $(BUILD)/teploy-sandbox

UNIT    = $(patsubst tests/%.c,$(BUILD)/tests/%,$(wildcard tests/unit/*.c))
MODULE  = $(patsubst tests/%.c,$(BUILD)/tests/%,$(wildcard tests/module/test_*.c))
E2E     = $(patsubst tests/%.c,$(BUILD)/tests/%,$(wildcard tests/e2e/test_*.c))
FUZZ    = $(patsubst tests/%.c,$(BUILD)/tests/%,$(wildcard tests/fuzz/fuzz_*.c))
BENCH   = $(patsubst tests/%.c,$(BUILD)/tests/%,$(wildcard tests/bench/bench_*.c))
MODULE_SUPPORT = $(filter-out tests/module/test_%,$(wildcard tests/module/*.c)) \
	  $(wildcard tests/fake/*.c)
E2E_SUPPORT = $(filter-out tests/e2e/test_%,$(wildcard tests/e2e/*.c))
# These a second time, through Docker's exec.
AGAIN   = SBX_TEST_GUEST=exec $(addprefix $(BUILD)/tests/e2e/test_,exec_act \
	  exec_background exec_tty files_fence)
LOAD_SRC = $(filter-out %/ticker.c,$(wildcard tests/load/*.c)) \
	  tests/bench/measure.c
BENCH_SUPPORT = $(filter-out tests/bench/bench_%,$(wildcard tests/bench/*.c))

.PHONY: all help deps serve image test unit module e2e bench soak load asan tsan clang arm64 fuzz \
	lint analyze format install uninstall clean
.DEFAULT_GOAL := all
.SECONDARY:

all: $(PROGRAMS)	## build every program into build/

help:			## this list
	@sed -n 's/^\([a-z0-9]*\):[^#]*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 18

deps:			## install what is missing from Debian's packages
	@app/deps.sh test

serve:			## run the whole stack in the foreground (ARGS="--workers 4")
	@app/deps.sh serve
	@$(MAKE) --no-print-directory $(PARALLEL) all
	@$(BUILD)/teploy-sandbox serve $(ARGS)

image:			## a busybox image for boxes that reach no registry
	@app/deps.sh image
	@tests/images/busybox.sh $${SBX_DOCKER_SOCKET:-/var/run/docker.sock}

# -- objects and programs -----------------------------------------------------
$(BUILD)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC  )
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/init/%.o: %.c
	@mkdir -p $(@D)
	$(call say,MUSL)
	$(Q)$(MUSL) $(INIT_CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/lib.a: $(call obj,$(LIB_SRC))
$(BUILD)/core.a: $(call obj,$(CORE_SRC))
$(BUILD)/http.a: $(call obj,$(HTTP_SRC))
$(BUILD)/reaper.a: $(call obj,$(filter-out reaper/main.c,$(REAPER_SRC)))
$(BUILD)/proxy.a: $(call obj,$(filter-out proxy/main.c,$(PROXY_SRC)))
$(BUILD)/%.a:
	$(call say,AR  )
	$(Q)rm -f $@ && $(AR) rcs $@ $^

# Lua scripts become C strings; redis.c never sees a file.
$(BUILD)/gen/lua.h: $(LUA) app/store/lua/embed.sh app/store/run_state.def
	@mkdir -p $(@D)
	$(call say,GEN )
	$(Q)app/store/lua/embed.sh $(LUA) >$@.new && mv $@.new $@
$(call obj,$(wildcard app/store/*.c)): $(BUILD)/gen/lua.h

# The OpenAPI document is a part of the program: as numbers, since C11 promises
# no string longer than 4095 characters.
$(BUILD)/gen/openapi.inc: app/api/openapi.json
	@mkdir -p $(@D)
	$(call say,GEN )
	$(Q)od -An -v -tu1 $< | sed 's/  */, /g; s/^, //; s/$$/,/' >$@.new && mv $@.new $@
$(call obj,app/api/openapi.c): $(BUILD)/gen/openapi.inc

ARCHIVES = $(BUILD)/http.a $(BUILD)/core.a $(BUILD)/lib.a

$(BUILD)/sbx-app: $(call obj,app/main.c app/check.c) $(ARCHIVES)
	$(call say,LD  )
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(LIBS)

$(BUILD)/sbx-reaper: $(call obj,$(REAPER_SRC)) $(BUILD)/core.a $(BUILD)/lib.a
	$(call say,LD  )
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(filter-out -lfcgi,$(LIBS))

# It reads what strangers send: no library but libc and the resolver.
$(BUILD)/sbx-proxy: $(call obj,proxy/main.c) $(BUILD)/proxy.a $(BUILD)/lib.a
	$(call say,LD  )
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ -lcares

$(BUILD)/sbxctl: $(call obj,$(CLI_SRC)) $(BUILD)/lib.a
	$(call say,LD  )
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ -lcurl -ljansson

INIT_OBJ = $(patsubst %.c,$(BUILD)/init/%.o,$(INIT_SRC) $(LIB_SRC))
INIT_LINK = $(MUSL) -static -Wl,--gc-sections -Wl,-z,relro,-z,now -s
$(BUILD)/sbx-init: $(INIT_OBJ)
	$(call say,LD  )
	$(Q)$(INIT_LINK) -o $@ $^

# The script finds its parts, the nginx templates and the binaries beside it.
SCRIPTS = app/serve.sh app/children.sh app/engine.sh
$(BUILD)/teploy-sandbox: app/teploy-sandbox $(SCRIPTS) $(wildcard nginx/*)
	@mkdir -p $(BUILD)/nginx
	$(call say,COPY)
	$(Q)cp nginx/* $(BUILD)/nginx/
	$(Q)cp -p $(SCRIPTS) $(BUILD)/
	$(Q)install -m 0755 app/teploy-sandbox $@

# What --help says is in the page, too.
MAN     = $(patsubst app/man/%.in,$(BUILD)/man/%,$(wildcard app/man/*.in))
$(BUILD)/man/%: app/man/%.in app/man/render $(PROGRAMS)
	@mkdir -p $(@D)
	$(call say,MAN )
	$(Q)app/man/render $< $(BUILD) >$@.new && mv $@.new $@

-include $(shell find $(BUILD)/obj $(BUILD)/init -name '*.d' 2>/dev/null)

# -- tests --------------------------------------------------------------------
test:			## every test
	@app/deps.sh test
	@$(MAKE) --no-print-directory $(PARALLEL) all $(UNIT) $(FUZZ) $(MODULE) $(E2E)
	@tests/lint/run $(BUILD)
	@tests/run $(BUILD) $(UNIT) $(FUZZ) $(MODULE) $(E2E) $(AGAIN)

unit: $(UNIT) $(FUZZ)	## tests that need nothing
	@tests/run $(BUILD) $^

module: all $(MODULE)	## tests with a real Redis or the fake engine
	@tests/run $(BUILD) $(MODULE)

e2e: all $(E2E)		## tests of the real stack: Docker, Redis, nginx
	@tests/run $(BUILD) $(E2E) $(if $(SBX_TEST_GUEST),,$(AGAIN))

bench:			## speed and memory, beside the alternatives
	@app/deps.sh bench
	@$(MAKE) --no-print-directory $(PARALLEL) all $(BENCH)
	@tests/bench/run $(BUILD)

soak: all		## mixed load, things killed at random (SOAK_SEC=600, SEED=)
	@app/deps.sh test
	@tests/soak/run $(BUILD) $(SEED)

load: all		## 1,000 streams while workers change (LOAD_STREAMS=, LOAD_SEC=600)
	@app/deps.sh test
	@$(MAKE) --no-print-directory $(PARALLEL) $(addprefix $(BUILD)/tests/load/,load ticker)
	@tests/load/run $(BUILD)

asan:			## unit and module tests under address and UB sanitizers
	$(MAKE) BUILD=$(BUILD)/asan SAN=address,undefined OPT=-O1\ -g unit module

tsan:			## module tests under the thread sanitizer
	$(MAKE) BUILD=$(BUILD)/tsan SAN=thread OPT=-O1\ -g module

clang:			## build everything with clang, warnings fatal
	$(MAKE) BUILD=$(BUILD)/clang CC=clang all

# What knows the machine: system calls by number, sizes, whether char has a sign.
ARM64 = aarch64-linux-gnu-gcc
arm64:			## compile lib, init and proxy for arm64 (gcc-aarch64-linux-gnu)
	$(MAKE) BUILD=$(BUILD)/arm64 CC="$(ARM64) -idirafter /usr/include" \
	    MUSL=$(ARM64) $(BUILD)/arm64/lib.a $(BUILD)/arm64/proxy.a \
	    $(patsubst %.c,$(BUILD)/arm64/init/%.o,$(INIT_SRC)) \
	    $(BUILD)/arm64/obj/proxy/main.o

TEST_LIBS = -lcmocka -lcares $(LIBS)
$(BUILD)/tests/unit/%: $(BUILD)/obj/tests/unit/%.o $(BUILD)/proxy.a $(ARCHIVES)
	@mkdir -p $(@D)
	$(call say,LD  )
	$(Q)$(CC) $(LDFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(TEST_LIBS)

# Parts of sbx-init, which is no archive.
KEPT = $(addprefix app/init/,ring.c kept.c object.c ops.c)
$(BUILD)/tests/unit/test_ring $(BUILD)/tests/unit/test_kept: $(call obj,$(KEPT))

$(BUILD)/tests/module/%: $(BUILD)/obj/tests/module/%.o \
    $(call obj,$(MODULE_SUPPORT)) $(BUILD)/reaper.a $(BUILD)/proxy.a $(ARCHIVES)
	@mkdir -p $(@D)
	$(call say,LD  )
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(TEST_LIBS)

$(BUILD)/tests/e2e/%: $(BUILD)/obj/tests/e2e/%.o $(call obj,$(E2E_SUPPORT)) \
    $(ARCHIVES)
	@mkdir -p $(@D)
	$(call say,LD  )
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(TEST_LIBS)

# For test_upgrade: an init that speaks wire version 3.
OLD     = $(BUILD)/tests/old
$(BUILD)/tests/e2e/test_upgrade: | $(OLD)/sbx-init
$(OLD)/lib/wire.h: app/lib/wire.h
	@mkdir -p $(@D)
	$(Q)sed 's/\(define WIRE_VERSION\) [0-9]*/\1 3/' $< >$@
$(OLD)/wire.o: app/lib/wire.c $(OLD)/lib/wire.h
	$(call say,MUSL)
	$(Q)$(MUSL) -I$(OLD) $(INIT_CFLAGS) -c -o $@ $<
$(OLD)/sbx-init: $(OLD)/wire.o $(filter-out %/lib/wire.o,$(INIT_OBJ))
	$(call say,LD  )
	$(Q)$(INIT_LINK) -o $@ $^

$(BUILD)/tests/bench/%: $(BUILD)/obj/tests/bench/%.o \
    $(call obj,$(BENCH_SUPPORT) $(E2E_SUPPORT)) $(BUILD)/reaper.a $(ARCHIVES)
	@mkdir -p $(@D)
	$(call say,LD  )
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(TEST_LIBS)

$(BUILD)/tests/load/load: $(call obj,$(LOAD_SRC) $(E2E_SUPPORT)) $(ARCHIVES)
	@mkdir -p $(@D)
	$(call say,LD  )
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(TEST_LIBS)

# For any image: static, and small, for there are a thousand.
$(BUILD)/tests/load/ticker: tests/load/ticker.c
	@mkdir -p $(@D)
	$(call say,MUSL)
	$(Q)$(MUSL) $(INIT_CFLAGS) -static -s -o $@ $<

# A fuzz target is LLVMFuzzerTestOneInput alone. Plain builds link it with a
# main that replays tests/fuzz/corpus/<name>/ and mutations of it;
# `make fuzz` links libFuzzer's.
FUZZ_MAIN = $(BUILD)/obj/tests/fuzz/replay.o
$(BUILD)/tests/fuzz/%: $(BUILD)/obj/tests/fuzz/%.o $(FUZZ_MAIN) \
    $(BUILD)/proxy.a $(ARCHIVES)
	@mkdir -p $(@D)
	$(call say,LD  )
	$(Q)$(CC) $(LDFLAGS) $(FUZZ_LDFLAGS) $(WRAP) -o $@ $(filter %.o,$^) \
	    $(filter %.a,$^) $(TEST_LIBS)

# The engine's answers are the input.
$(BUILD)/tests/fuzz/fuzz_engine: WRAP = -Wl,--wrap=engine_do
# Parts of sbxctl and sbx-init, which are no archives.
$(BUILD)/tests/fuzz/fuzz_events: $(call obj,app/cli/events.c)
$(BUILD)/tests/fuzz/fuzz_proc: $(call obj,app/init/proc.c)

FUZZ_SEC ?= 60
fuzz:			## run each fuzz target with libFuzzer for FUZZ_SEC seconds
	@tests/fuzz/run $(BUILD)/fuzz $(FUZZ_SEC)

lint:			## format, layers, headers, banned calls, sizes, shell
	@tests/lint/run $(BUILD)

analyze:		## gcc -fanalyzer, clang-tidy, cppcheck
	@tests/lint/analyze $(BUILD)

format:			## apply .clang-format
	clang-format -i $$(git ls-files '*.c' '*.h')

# -- install ------------------------------------------------------------------
LIBDIR  = $(PREFIX)/lib/teploy-sandbox
UNITDIR = $(PREFIX)/lib/systemd/system
MANDIR  = $(PREFIX)/share/man
INBIN   = teploy-sandbox sbxctl
ENVFILE = $(SYSCONFDIR)/teploy-sandbox/env
UNITS   = sbx.target sbx-redis.service sbx-reaper.service sbx-nginx.service \
	  sbx-proxy@.service \
	  $(foreach pool,control stream,sbx-app-$(pool).socket sbx-app-$(pool)@.service)
# Whether this is for the systemd that runs here.
booted  = [ -z "$(DESTDIR)" ] && [ -d /run/systemd/system ]

# $(call put,MODE,FILES,DIRECTORY): each whole or not at all, since a running
# stack may start it at any moment.
put = for f in $(2); do to=$(DESTDIR)$(3)/$${f\#\#*/}; \
	install -m $(1) $$f $$to.new && mv -f $$to.new $$to || exit; done

install: all $(MAN)	## programs, scripts and units under DESTDIR and PREFIX
	install -d $(addprefix $(DESTDIR),$(LIBDIR)/nginx $(UNITDIR) $(PREFIX)/bin \
	    $(MANDIR)/man1 $(MANDIR)/man8 $(dir $(ENVFILE)))
	$(call put,0755,$(PROGRAMS) $(SCRIPTS),$(LIBDIR))
	$(call put,0644,nginx/*,$(LIBDIR)/nginx)
	$(call put,0644,$(filter %.1,$(MAN)),$(MANDIR)/man1)
	$(call put,0644,$(filter %.8,$(MAN)),$(MANDIR)/man8)
	systemd/render $(BUILD)/systemd $(PREFIX) $(SYSCONFDIR)
	$(call put,0644,$(addprefix $(BUILD)/systemd/,$(UNITS)),$(UNITDIR))
	$(BUILD)/sbx-app --help | systemd/env.sh >$(BUILD)/systemd/env.example
	$(call put,0644,$(BUILD)/systemd/env.example,$(LIBDIR))
	[ -e $(DESTDIR)$(ENVFILE) ] || \
	    install -m 0600 $(BUILD)/systemd/env.example $(DESTDIR)$(ENVFILE)
	@news=$$(systemd/env.sh news $(BUILD)/systemd/env.example $(DESTDIR)$(ENVFILE)); \
	    [ -z "$$news" ] || echo "$(ENVFILE) is kept. It does not mention, of" \
	    "$(LIBDIR)/env.example:" $$news
	ln -sfn $(ENVFILE) $(DESTDIR)$(LIBDIR)/env
	for name in $(INBIN); do \
	    ln -sfn ../lib/teploy-sandbox/$$name $(DESTDIR)$(PREFIX)/bin/$$name; done
	if $(booted); then systemctl daemon-reload; fi
	@echo "next: systemctl enable --now sbx.target"

uninstall:		## remove what install put; ENVFILE and all state stay
	@if $(booted) && systemctl -q is-active sbx.target; then \
	    echo "sbx.target runs: systemctl disable --now sbx.target" >&2; exit 1; fi
	rm -rf $(DESTDIR)$(LIBDIR)
	rm -f $(addprefix $(DESTDIR)$(UNITDIR)/,$(UNITS)) \
	    $(addprefix $(DESTDIR)$(PREFIX)/bin/,$(INBIN)) \
	    $(addprefix $(DESTDIR)$(MANDIR)/man1/,$(notdir $(filter %.1,$(MAN)))) \
	    $(addprefix $(DESTDIR)$(MANDIR)/man8/,$(notdir $(filter %.8,$(MAN))))
	if $(booted); then systemctl daemon-reload; fi

clean:			## remove build/
	rm -rf $(BUILD)
