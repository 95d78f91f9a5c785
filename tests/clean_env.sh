# shellcheck shell=bash
# Sourced by what runs tests: a developer's shell may configure a stack of his
# own (SBX_CACHE_ROOT, SBX_REDIS_URL, ...), which is none of theirs. What is for
# tests (SBX_TEST_*) and what these scripts tell each other stays.
for name in "${!SBX_@}"; do
	case $name in
	SBX_TEST_* | SBX_BENCH_ROWS | SBX_ENGINE_CONFIG) ;;
	*) unset "$name" ;;
	esac
done
unset name
