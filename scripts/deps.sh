#!/bin/sh
#
# deps.sh GROUP... - checks what a part of the project needs, and installs what is
# missing.
#
#   build     a compiler, pkg-config, hiredis, uthash
#   run       build, and redis-server
#   test      run, and cmocka, pytest, valgrind, patch, clang as the second compiler
#   browser   Chromium and its WebDriver, for the one end-to-end test
#   check     test, browser, fuzz and load
#   tidy      clang-tidy, clang-format
#   load      load tools: ab, wrk, httperf
#   compare   run and load, and tools to measure with
#   observe   run, and strace
#   fuzz      build, and clang with libFuzzer
#   grade     run, pytest and strace, for the labs
#   fleet     ssh, git, and what Ansible is installed into
#   fleet-test  what the hosts of make check-fleet run: sshd, Redis, the balancers
#   containers  what builds and runs containers without a daemon
#
# NO_INSTALL=1 installs nothing: it prints the one command to run and exits 1.
# When everything that is missing is optional, as each load tool is, the script says
# what will be left out and exits 0. It does the same when an optional package cannot
# be installed. STAMP=FILE is touched only when nothing is missing.
#
# A package counts as installed when it works (a command on PATH, a library known to
# pkg-config), wherever it came from; apt-get only adds what is missing. So on a
# system without apt-get the script still says what to install.
# shellcheck disable=SC2086  # $missing and $lock are lists of words on purpose
set -u

missing=''   # packages, each once
reasons=''   # a line for each of them
vital=''     # those that are not optional

# want PACKAGE WHY TEST...: PACKAGE is missing unless the command TEST succeeds.
want() {
    if miss "$@"; then vital="$vital $1"; fi
}

# may PACKAGE WHY TEST...: the same for an optional package.
may() {
    miss "$@" || true
}

miss() {
    package=$1 why=$2
    shift 2
    "$@" >/dev/null 2>&1 && return 1
    case " $missing " in *" $package "*) return 0 ;; esac
    missing="$missing $package"
    reasons="$reasons
  $(printf '%-22s' "$package") $why"
}

have() { command -v "$1"; }
header() { echo "#include <$1>" | ${CC:-gcc} -E - ; }
python_has() { /usr/bin/python3 -c "import $1"; }
library() { pkg-config --exists "$1"; }

# Debian has clang's runtime libraries in a package of their own, with the version in
# its name; older releases have both in libclang-common-N-dev.
clang_runtime_package() {
    n=$(apt-cache depends clang 2>/dev/null |
        sed -n 's/.*Depends: clang-\([0-9]*\)$/\1/p' | head -n 1)
    for package in "libclang-rt-$n-dev" "libclang-common-$n-dev"; do
        if [ -n "$(apt-cache show "$package" 2>/dev/null)" ]; then
            echo "$package"
            return
        fi
    done
    echo clang
}

clang_has_fuzzer() {
    ls "$(clang -print-resource-dir)"/lib/*/libclang_rt.fuzzer*
}

# Ubuntu ships Chromium as a snap, which these two packages install.
is_ubuntu() { grep -q '^ID=ubuntu' /etc/os-release 2>/dev/null; }
browser_package() {
    if is_ubuntu; then
        case $1 in
        chromium) echo chromium-browser ;;
        chromium-driver) echo chromium-chromedriver ;;
        esac
    else
        echo "$1"
    fi
}
any() { for c; do command -v "$c" && return; done; return 1; }

# load_tools want|may: `may` where an experiment without its tool can be left out.
load_tools() {
    $1 apache2-utils "ab, a load tool" have ab
    $1 wrk "a load tool" have wrk
    $1 httperf "a load tool with a fixed rate" have httperf
}

look_for() {
    case $1 in
    build)
        compiler=${CC:-gcc}
        case $compiler in
        *clang*) want clang "the compiler, $compiler" have "${compiler%% *}" ;;
        *) want gcc "the compiler, $compiler" have "${compiler%% *}" ;;
        esac
        want libc6-dev "headers of the C library" header stdio.h
        want binutils "ar, which makes the archive of common/, and nm" have ar
        want pkg-config "finds libraries for the compiler" have pkg-config
        want libhiredis-dev "Redis client library of the guestbook" library hiredis
        want uthash-dev "hash tables and lists in C headers" header uthash.h
        ;;
    run)
        look_for build
        want redis-server "keeps the guestbook" have redis-server
        want redis-tools "redis-cli, asks whether Redis is up" have redis-cli
        ;;
    test)
        look_for run
        want libcmocka-dev "unit tests in C" library cmocka
        want clang "the second compiler that must not warn" have clang
        want valgrind "counts instructions" have valgrind
        want patch "applies the patches of variants/" have patch
        want python3 "runs the black-box tests" have /usr/bin/python3
        want python3-pytest "runs the black-box tests" python_has pytest
        want python3-pytest-xdist "... on all cores" python_has xdist
        may python3-pytest-timeout "... and ends one that hangs" python_has pytest_timeout
        may python3-pytest-rerunfailures "a second attempt, for CI" \
            python_has pytest_rerunfailures
        want python3-h11 "the parser to compare ours with" python_has h11
        if [ -n "$(apt-cache show libhttp-parser-dev 2>/dev/null)" ]; then
            want libhttp-parser-dev "another one" header http_parser.h
        fi
        ;;
    browser)
        if is_ubuntu && ! have snap >/dev/null; then
            echo "Note: Ubuntu has Chromium only as a snap, and there is no snapd here;"
            echo "the one test that needs a browser will be skipped."
            return
        fi
        want "$(browser_package chromium)" "the browser that signs the guestbook" \
            any chromium chromium-browser
        want "$(browser_package chromium-driver)" "lets a program drive Chromium" \
            have chromedriver
        want python3-selenium "speaks to the driver" python_has selenium
        ;;
    check)
        look_for test
        look_for browser
        look_for fuzz
        look_for load # the tests of bench/ use them, and the docs name them
        look_for grade
        look_for fleet-test
        may python3-venv "a place for what draws, and for the book" \
            python_has ensurepip
        ;;
    tidy)
        want clang-tidy "reads the sources for mistakes" have clang-tidy
        want clang-format "lays the sources out" have clang-format
        ;;
    load) load_tools want ;;
    compare)
        look_for run
        want python3 "conducts the measurements" have /usr/bin/python3
        may python3-venv "a place for the drawing library" python_has ensurepip
        load_tools may
        may strace "counts system calls" have strace
        may valgrind "counts instructions" have valgrind
        ;;
    observe)
        look_for run
        want python3 "shows what servers wait for" have /usr/bin/python3
        may python3-venv "a place for the library that draws the live view" \
            python_has ensurepip
        may strace "traces the servers for a timeline" have strace
        ;;
    grade)
        look_for run
        want python3 "runs the grader" have /usr/bin/python3
        want python3-pytest "runs its tests" python_has pytest
        want strace "shows the system calls of a submission" have strace
        want patch "makes the mutants" have patch
        may liburing-dev "the library of lab 08" library liburing
        ;;
    fleet)
        want openssh-client "logs in to the hosts" have ssh
        want git "packs the sources" have git
        may python3-venv "a place for Ansible" python_has ensurepip
        ;;
    fleet-test)
        may openssh-client "logs in to the hosts" have ssh
        may openssh-server "each host of the test has an sshd" [ -x /usr/sbin/sshd ]
        may iproute2 "connects the hosts" have ip
        may haproxy "the balancer" [ -x /usr/sbin/haproxy ]
        may nginx "the other balancer" [ -x /usr/sbin/nginx ]
        may strace "counts system calls" have strace
        load_tools may
        ;;
    containers)
        want python3-pytest "runs the tests" python_has pytest
        want python3-yaml "reads compose.yaml" python_has yaml
        want python3-jinja2 "fills in the balancer's template" python_has jinja2
        # Optional: without these, the tests that need them are skipped.
        may buildah "builds images without a daemon" have buildah
        may debootstrap "makes the base image" test -x /usr/sbin/debootstrap
        may podman "runs containers without a daemon" have podman
        may crun "... which calls this to start them" have crun
        may netavark "... and this to connect them" test -x /usr/lib/podman/netavark
        may aardvark-dns "... by their names" test -x /usr/lib/podman/aardvark-dns
        may iptables "... and forwards ports" test -x /usr/sbin/iptables
        may python3-venv "a place for podman-compose" python_has ensurepip
        may docker-compose "checks compose.yaml" have docker-compose
        ;;
    fuzz)
        look_for build
        want clang "has libFuzzer" have clang
        want "$(clang_runtime_package)" "libFuzzer itself" clang_has_fuzzer
        ;;
    *)
        echo "deps.sh: no group '$1'; there are: build run test browser check tidy compare observe fuzz grade fleet fleet-test containers" >&2
        exit 2
        ;;
    esac
}

[ $# -gt 0 ] || { echo "usage: $0 GROUP...  (see the head of this file)" >&2; exit 2; }
look_for_all() {
    missing='' reasons='' vital=''
    for group; do look_for "$group"; done
}
# complete: exits; nothing is missing.
complete() {
    [ -z "${STAMP:-}" ] || touch "$STAMP"
    exit 0
}

# give_up: exits; with 1 if a package that is not optional is still missing.
give_up() {
    [ -n "$vital" ] && exit 1
    echo "Continuing without them; what needs them is left out."
    exit 0
}

look_for_all "$@"
[ -n "$missing" ] || complete

sudo=
[ "$(id -u)" -eq 0 ] || sudo='sudo '
echo "Missing for '$*':$reasons"
command="${sudo}apt-get install -y --no-install-recommends$missing"

if ! command -v apt-get >/dev/null; then
    echo "This system has no apt-get; please install these packages (Debian's names)."
    give_up
fi
if [ -n "${NO_INSTALL:-}" ]; then
    echo "NO_INSTALL is set, so please run:"
    echo "  ${sudo}apt-get update && $command"
    give_up
fi
if [ -n "$sudo" ] && ! command -v sudo >/dev/null; then
    echo "This needs root, and there is no sudo; please run as root:"
    echo "  apt-get update && ${command#sudo }"
    give_up
fi

echo "Running:  $command"
lock='-o DPkg::Lock::Timeout=600' # wait if another apt-get is running
apt_get() { ${sudo:+sudo} env DEBIAN_FRONTEND=noninteractive apt-get $lock "$@"; }
apt_get -qq update || echo "apt-get update failed; trying with the old package lists"
look_for_all "$@" # again: a package's name may be known only now
apt_get install -y --no-install-recommends $missing || {
    echo "The installation failed; the lines above say why. To try again by hand:"
    echo "  $command"
    look_for_all "$@" # some of them may be installed now
    give_up
}

# Debian starts a service when it is installed. The project does not need these: each
# test and measurement starts its own, and ends it.
switch_off() { # PACKAGE SERVICE
    case " $missing " in
    *" $1 "*)
        echo "Switching off the service that came with $1"
        ${sudo:+sudo} systemctl disable --now "$2"
        ;;
    esac
}
if [ -d /run/systemd/system ]; then
    switch_off redis-server redis-server
    switch_off openssh-server ssh
    switch_off haproxy haproxy
    switch_off nginx nginx
fi

# Check again: a package counts only when it works.
look_for_all "$@"
[ -n "$missing" ] || complete
echo "Installed, yet still not found:$reasons"
give_up
