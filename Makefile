# Makefile: builds and installs the extension with PGXS.
#
#   make [PG_CONFIG=/path/to/pg_config] && make install && make installcheck
#
# The core alone is built and tested with CMake (CMakeLists.txt). The version stands in streambloom.control.

EXTENSION := streambloom
EXTVERSION := $(shell sed -n "s/^default_version = '\(.*\)'/\1/p" streambloom.control)

MODULE_big := streambloom
OBJS := $(patsubst %.cpp,%.o,$(sort $(wildcard src/core/*/*.cpp))) $(patsubst %.c,%.o,$(sort $(wildcard src/pg/*.c src/pg/*/*.c)))
DATA := $(wildcard sql/updates/streambloom--*.sql)
DATA_built := $(EXTENSION:%=%--$(EXTVERSION).sql)

# debian/rules sets PREFIX_MAP, so that no file has the name of the folder in which it was built.
PG_CPPFLAGS := -Isrc/core -Isrc/pg $(PREFIX_MAP)
PG_CFLAGS := -fvisibility=hidden -Wno-declaration-after-statement
PG_CXXFLAGS := -std=c++20 -fno-exceptions -fno-rtti -fno-threadsafe-statics -fvisibility=hidden

# All of sql/*.sql. setup comes first, because it makes the extension; no other test needs the result of another one.
REGRESS := setup $(filter-out setup,$(sort $(notdir $(basename $(wildcard sql/*.sql)))))
REGRESS_OPTS := --inputdir=. --outputdir=regress --encoding=UTF8 --no-locale
# All of test/isolation/specs. Two of them need a server with max_prepared_transactions; they run only if
# WITH_PREPARED_TRANSACTIONS is set.
ISOLATION := $(sort $(notdir $(basename $(wildcard test/isolation/specs/*.spec))))
ifndef WITH_PREPARED_TRANSACTIONS
ISOLATION := $(filter-out prepared_transactions chunk_scan_prepared,$(ISOLATION))
endif
ISOLATION_OPTS := --inputdir=test/isolation --load-extension=streambloom --encoding=UTF8 --no-locale
COMMA := ,
SHLIB_LINK = -lm $(if $(filter linux,$(PORTNAME)),-Wl$(COMMA)--version-script=$(srcdir)/src/exports.map)
EXTRA_CLEAN := regress $(DATA_built)

PG_CONFIG ?= pg_config
PGXS := $(shell $(PG_CONFIG) --pgxs)
# Some distributions leave out pg_isolation_regress.
ifeq ($(wildcard $(dir $(PGXS))../test/isolation/pg_isolation_regress),)
ISOLATION :=
endif

# Without the clang that PostgreSQL was built with there is no bitcode for its JIT compiler; everything else works.
BITCODE_CLANG := $(shell sed -n 's/^CLANG *= *//p' $(dir $(PGXS))../Makefile.global)
ifeq ($(shell command -v $(firstword $(BITCODE_CLANG) no-clang)),)
override with_llvm := no
endif

include $(PGXS)

BITCODE_CXXFLAGS += $(PG_CXXFLAGS)

streambloom--$(EXTVERSION).sql: $(sort $(wildcard sql/install/*.sql)) streambloom.control
$(DATA_built):
	{ printf '%s\n' '\echo Use "CREATE EXTENSION $(firstword $(subst --, ,$@))" to load this file. \quit'; cat $(filter %.sql,$^); } >$@

# The release for PGXN: all files of the last commit, in a zip file with the version in its name. In it they lie in one
# folder, which has this name, too.
DIST := streambloom-$(EXTVERSION)
dist:
	git archive --format=zip --prefix=$(DIST)/ -o $(DIST).zip HEAD
	@echo 'wrote $(DIST).zip'
.PHONY: dist

# PGXS knows no dependencies on headers.
BITCODE := $(OBJS:.o=.bc)
$(filter src/pg/%,$(OBJS) $(BITCODE)): $(wildcard src/pg/*/*.h src/core/*.h src/core/*/*.h)
$(filter src/core/%,$(OBJS) $(BITCODE)): $(wildcard src/core/*.h src/core/*/*.h src/core/*/*.hpp)
