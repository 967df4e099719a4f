#!/bin/bash
#
# run.sh - feeds the fuzz targets made-up input, as many at a time as there are
# processors.
#
#   tests/fuzz/run.sh                 every target
#   TARGET=conn tests/fuzz/run.sh     this one (or several: TARGET='conn form')
#
#   TIME=30          seconds for each target
#   ENGINE=afl       AFL++ (Debian: afl++) instead of clang's libFuzzer
#   JOBS=1           targets at a time
#
# Every target starts from its seeds in tests/fuzz/seeds.toml, and from what
# earlier runs found worth keeping, build/fuzz/corpus/TARGET/. An input that
# makes one fail is kept in build/fuzz/findings/, and the line that repeats it is
# shown. Closes with `N passed, N failed`, a target each; exits 1 for a finding.
set -u
cd "$(dirname "$0")/../.." || exit 1

TIME=${TIME:-30}
ENGINE=${ENGINE:-libfuzzer}
JOBS=${JOBS:-$(nproc)}
sources=(tests/fuzz/fuzz_*.c)
all=$(basename -s .c "${sources[@]}" | sed 's/^fuzz_//')
targets=${TARGET:-$all}

case $ENGINE in libfuzzer) flavour=fuzz ;; afl) flavour=fuzz-afl ;; *)
    echo "run.sh: no engine '$ENGINE'; there are: libfuzzer afl" >&2
    exit 2 ;;
esac
for target in $targets; do
    [ -f "tests/fuzz/fuzz_$target.c" ] && continue
    echo "run.sh: no target '$target'; there are:" $all >&2
    exit 2
done

out=build/$flavour
mkdir -p "$out"/{corpus,findings,log,tmp}

# Coverage is counted in common/ alone. What a finding ends is left in tmp/.
ignore=$PWD/tests/fuzz/ignorelist
export TMPDIR=$PWD/$out/tmp AFL_LLVM_DENYLIST=$ignore AFL_QUIET=1
rm -rf "$TMPDIR"/* "$out/seeds"
python3 tests/fuzz/seeds.py "$out/seeds" || exit 1
build() {
    ${MAKE:-make} -s -j"$(nproc)" FLAVOUR=$flavour SANITIZE=address,undefined "$@" fuzzers
}
if [ "$ENGINE" = afl ]; then
    command -v afl-fuzz >/dev/null || { echo "run.sh: no afl-fuzz; install afl++" >&2; exit 1; }
    build CC=afl-clang-fast CFLAGS='-O2 -g'
else
    build CC=clang CFLAGS="-O2 -g -fsanitize=fuzzer-no-link -fsanitize-coverage-ignorelist=$ignore"
fi >"$out/log/build" 2>&1 || { cat "$out/log/build"; echo '0 passed, 1 failed'; exit 1; }

# Older sanitizers stumble over newer kernels' wide spread of addresses.
fixed=
setarch -R true 2>/dev/null && fixed='setarch -R'

dictionary() { # TARGET: its file of words, if there is one
    case $1 in parser | conn) echo tests/fuzz/http.dict ;; esac
}

# fuzz TARGET: runs it; what it has to say is in its log. In what libFuzzer
# keeps, an input longer than 2 KiB would crowd out many small ones.
fuzz() {
    local words; words=$(dictionary "$1")
    mkdir -p "$out/corpus/$1" "$out/findings"
    if [ "$ENGINE" = afl ]; then
        AFL_NO_UI=1 AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES=1 AFL_SKIP_CPUFREQ=1 \
        AFL_NO_AFFINITY=1 AFL_AUTORESUME=1 \
        ASAN_OPTIONS=abort_on_error=1:symbolize=0:detect_leaks=0 \
            $fixed afl-fuzz -V "$TIME" -m none -t 2000 ${words:+-x "$words"} \
            -i "$out/seeds/$1" -o "$out/corpus/$1" -- "$out/fuzz/$1" \
            >"$out/log/$1" 2>&1
    else
        $fixed "$out/fuzz/$1" -max_total_time="$TIME" -timeout=20 -max_len=2048 \
            ${words:+-dict="$words"} -print_final_stats=1 \
            -artifact_prefix="$out/findings/$1-" \
            "$out/corpus/$1" "$out/seeds/$1" >"$out/log/$1" 2>&1
    fi
    echo $? >"$out/log/$1.status"
}

# The figures of a finished target: executions, coverage, inputs kept.
executions() {
    if [ "$ENGINE" = afl ]; then
        sed -n 's/^execs_done *: //p' "$out/corpus/$1/default/fuzzer_stats"
    else
        sed -n 's/^stat::number_of_executed_units: //p' "$out/log/$1"
    fi 2>/dev/null | tail -n 1
}
coverage() {
    if [ "$ENGINE" = afl ]; then
        sed -n 's/^edges_found *: //p' "$out/corpus/$1/default/fuzzer_stats"
    else
        sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$out/log/$1"
    fi 2>/dev/null | tail -n 1
}
kept() {
    if [ "$ENGINE" = afl ]; then ls "$out/corpus/$1/default/queue"; else ls "$out/corpus/$1"; fi | wc -l
}
findings() {
    if [ "$ENGINE" = afl ]; then
        find "$out/corpus/$1/default" -path '*crashes/id*' -o -path '*hangs/id*'
    else
        find "$out/findings" -name "$1-*" -newer "$out/log/build"
    fi
}

number=$(wc -w <<<"$targets")
running=$((JOBS < number ? JOBS : number))
echo "Fuzzing with $ENGINE: $number targets, $TIME s each, $running at a time;" \
     "about $(((number + running - 1) / running * TIME)) s"
trap 'kill $(jobs -p) 2>/dev/null; wait; exit 130' INT TERM
for target in $targets; do
    while [ "$(jobs -rp | wc -l)" -ge "$JOBS" ]; do wait -n; done
    fuzz "$target" &
done
wait

passed=0 failed=0
printf '\n%-10s %12s %10s %10s %8s\n' target executions 'per second' coverage kept
for target in $targets; do
    n=$(executions "$target")
    printf '%-10s %12s %10s %10s %8s' "$target" "${n:-0}" "$((${n:-0} / TIME))" \
        "$(coverage "$target")" "$(kept "$target")"
    found=$(findings "$target")
    if [ "$(cat "$out/log/$target.status")" -eq 0 ] && [ -z "$found" ] && [ "${n:-0}" -gt 0 ]; then
        passed=$((passed + 1))
        echo
        continue
    fi
    failed=$((failed + 1))
    echo '   FAILED'
    grep -E -m 3 'ERROR|runtime error|Assertion|answer [0-9]|no such|cannot' "$out/log/$target" | sed 's/^/    /'
    for input in $found; do echo "    repeat it:  $fixed $out/fuzz/$target $input"; done
    [ -n "$found" ] || tail -n 5 "$out/log/$target" | sed 's/^/    /'
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
