#!/bin/sh
#
# deps.sh GROUP... - checks what a part of the project needs, and fetches what is missing;
# otherwise it says how to get it.
#
#   scripts/deps.sh build            what `make` needs; scripts/packages.txt has the groups
#   scripts/deps.sh --missing unit   prints `GROUP: PACKAGE (WHAT FOR)` for each that is
#                                    missing and not optional; fetches nothing
#
# On Debian and Ubuntu, it unpacks the packages below build/deps/, and the machine stays
# as it is (scripts/unpack.sh). Elsewhere it prints the packages by the distribution's
# own names, and exits 1. When all that is missing is optional, it says so and exits 0.
#
#   INSTALL=system   installs them with the package manager instead: as root, or with
#                    sudo. On a terminal, it asks before. No service is started.
#   NO_INSTALL=1     fetches nothing
#   STAMP=FILE       is touched when nothing is missing, so that make need not ask again
#   PYTHON, CC       the programs that make uses
#   OS_RELEASE=FILE  is read in place of /etc/os-release
# shellcheck disable=SC2086  # $missing and $lock are lists of words on purpose
set -u
here=$(cd "$(dirname "$0")" && pwd) || exit 1
PACKAGES=$here/packages.txt MINIMUM=$here/minimum.txt
unpacked=${here%/*}/build/deps
# What has been unpacked is found, too. The Makefile and tools/kit/unpacked.py do the same.
PATH=$PATH:$unpacked/bin:/usr/sbin:/sbin # sbin: a user's PATH does not lead there
export PKG_CONFIG_PATH="${PKG_CONFIG_PATH:+$PKG_CONFIG_PATH:}$unpacked/pkgconfig"
export C_INCLUDE_PATH="${C_INCLUDE_PATH:+$C_INCLUDE_PATH:}$unpacked/include"
export LIBRARY_PATH="${LIBRARY_PATH:+$LIBRARY_PATH:}$unpacked/lib"
PYTHON=${PYTHON:-/usr/bin/python3}
case ${INSTALL:-} in '' | system) ;; *)
    echo "deps.sh: INSTALL is '$INSTALL'; it can be empty or 'system'" >&2
    exit 2 ;;
esac

# ------------------------------------------------------------ the distribution

release() { # FIELD: what os-release says
    sed -n "s/^$1=//p" "${OS_RELEASE:-/etc/os-release}" 2>/dev/null | sed 's/"//g'
}

distribution='' ubuntu=''
for id in $(release ID) $(release ID_LIKE); do
    case $id in
    ubuntu) distribution=debian ubuntu=yes ;;
    debian | arch | alpine | fedora) distribution=$id ;;
    rhel | centos) distribution=fedora ;;
    *) continue ;;
    esac
    break
done

case $distribution in
fedora) install='dnf install' ;;
arch) install='pacman -S --needed' ;;
alpine) install='apk add' ;;
*) install='apt-get install -y --no-install-recommends' ;;
esac

# package_of DEBIAN FEDORA ARCH ALPINE: the one for this distribution.
package_of() {
    case $distribution in
    fedora) echo "$2" ;;
    arch) echo "$3" ;;
    alpine) echo "$4" ;;
    *)
        case $1 in
        */*) if [ -n "$ubuntu" ]; then echo "${1#*/}"; else echo "${1%/*}"; fi ;;
        *) echo "$1" ;;
        esac
        ;;
    esac
}

# ------------------------------------------------------------- minimum versions

least() { # WHAT: the version that scripts/minimum.txt names
    sed -n "s/^$1  *\([0-9.]*\) .*/\1/p" "$MINIMUM"
}

older() { # A B: is version A, as in 5.10, older than B?
    [ "${1%%.*}" -lt "${2%%.*}" ] ||
        { [ "${1%%.*}" -eq "${2%%.*}" ] && [ "${1#*.}" -lt "${2#*.}" ]; }
}

# too_old: prints a line for each part of the system that is older than it may be.
too_old() {
    kernel=$(uname -r | sed 's/^\([0-9]*\.[0-9]*\).*/\1/')
    older "$kernel" "$(least kernel)" &&
        echo "Linux $kernel is too old: $(least kernel) or newer is needed"
    glibc=$(getconf GNU_LIBC_VERSION 2>/dev/null | sed 's/[^0-9.]//g')
    if [ -z "$glibc" ]; then
        echo "the C library is not glibc: the servers call scandirat() and" \
            "pthread_attr_setsigmask_np(), which musl does not have"
    elif older "$glibc" "$(least glibc)"; then
        echo "glibc $glibc is too old: $(least glibc) or newer is needed"
    fi
}

# old_release: a hint, since an older release may have newer parts.
old_release() {
    version=$(release VERSION_ID)
    id=$(release ID)
    case $id in debian | ubuntu) ;; *) return ;; esac
    case $version in '' | *[!0-9.]*) return ;; esac
    older "$version" "$(least "$id")" &&
        echo "Note: this is $id $version; the oldest release that works is $(least "$id")."
}

# ------------------------------------------------------------- what is missing

have() { for program; do command -v "$program" && return; done; return 1; }
header() { echo "#include <$1>" | ${CC:-gcc} -E -; }
python_works() {
    $PYTHON -c "import sys; sys.exit(sys.version_info < tuple(map(int, '$(least python)'.split('.'))))"
}
# A Debian without python3-venv has no ensurepip; the package brings pip as a wheel.
venv_works() {
    $PYTHON -c "import ensurepip" || ls "$unpacked"/root/usr/share/python-wheels/pip-*.whl
}
certificates_work() {
    for file in /etc/ssl/certs/ca-certificates.crt \
        /etc/pki/tls/certs/ca-bundle.crt "$unpacked/certificates.crt"; do
        [ ! -s "$file" ] || return 0
    done
    return 1
}
libfuzzer_works() {
    set -- "$(clang -print-resource-dir)"/lib/*/libclang_rt.fuzzer*
    [ -e "$1" ]
}

works() { # FOUND-AS, as in packages.txt
    case $1 in
    # shellcheck disable=SC2046  # several names
    command:*) have $(echo "${1#*:}" | sed 's/,/ /g') ;;
    archive:*) [ -e "$(${CC:-gcc} -print-file-name="lib${1#*:}.a")" ] ;;
    library:*) pkg-config --exists "${1#*:}" ;;
    header:*) header "${1#*:}" ;;
    file:*) [ -e "${1#*:}" ] || [ -e "$unpacked/root${1#*:}" ] ;;
    venv) venv_works ;;
    certificates) certificates_work ;;
    environment) # make and check.py make it; --missing asks whether they could
        [ -z "$only_asked" ] || (cd "$here/.." &&
            cat tools/requirements.txt labs/requirements.txt tests/requirements.txt |
            cmp -s - build/venv/requirements.txt)
        ;;
    compiler) have "${CC%% *}" ;;
    python) python_works ;;
    libfuzzer) libfuzzer_works ;;
    actionlint) [ -x "$here/../build/tools/bin/actionlint" ] || have go ;;
    esac >/dev/null 2>&1
}

missing=''   # packages, each once
fixed=''     # those of them that cannot be unpacked
reasons=''   # a line for each of them
vital=''     # those that are not optional
known=' '    # `thing:yes` or `thing:no` for each that was tried

# look THING want|may: adds its package to $missing unless it works.
look() {
    thing=$1
    [ "$only_asked$2" = yesmay ] && return
    [ "$thing" = compiler ] && case $CC in *clang*) thing=clang-compiler ;; esac
    # shellcheck disable=SC2046  # a line of the table as words
    set -- "$2" $(sed -n "/^# The second part/q; s/^$thing  *//p" "$PACKAGES")
    [ $# -gt 6 ] || { echo "deps.sh: packages.txt has no '$thing'" >&2; exit 2; }
    case $known in
    *" $thing:yes "*) return ;;
    *" $thing:no "*) ;;
    *) if works "$2"; then known="$known$thing:yes "; return; fi
        known="$known$thing:no " ;;
    esac
    package=$(package_of "$3" "$4" "$5" "$6" | sed 's/+/ /g')
    optional=$1
    shift 6
    if [ "$package" = - ]; then
        package='' name="$thing (no package)"
    else
        name=$package
    fi
    # A thing that no package brings cannot be asked for, only mentioned.
    [ "$optional" = want ] && vital="$vital $thing"
    case $reasons in *"
  $name "*) return ;; esac
    reasons="$reasons
  $(printf '%-22s' "$name") $*"
    for one in $package; do
        case " $missing " in *" $one "*) continue ;; esac
        missing="$missing $one"
        ! stays "$thing" || fixed="$fixed $one"
    done
}

# stays THING: is it of use only where the package manager puts it? On Ubuntu,
# Chromium's package only tells snapd what to fetch.
system=" $(sed -n 's/^system  *= //p' "$PACKAGES") "
[ -z "$ubuntu" ] || system="$system chromium chromedriver "
stays() { case $system in *" $1 "*) return 0 ;; esac; return 1; }

# look_for GROUP want|may
look_for() {
    grep -q "^$1  *= " "$PACKAGES" || {
        echo "deps.sh: no group '$1'; there are:" \
            $(sed -n 's/^\([a-z0-9-]*\)  *= .*/\1/p' "$PACKAGES") >&2
        exit 2
    }
    for member in $(sed -n "s/^$1  *= //p" "$PACKAGES"); do
        case $member in
        '?@'*) look_for "${member#??}" may ;;
        '?'*) look "${member#?}" may ;;
        @*) look_for "${member#?}" "$2" ;;
        *) look "$member" "$2" ;;
        esac
    done
}

look_for_all() {
    # That of the system, unless there is none; an installation may have changed that.
    case $PYTHON in /usr/bin/python3 | "$unpacked"/*)
        PYTHON=/usr/bin/python3
        [ -x "$PYTHON" ] || PYTHON=$unpacked/root/usr/bin/python3 ;;
    esac
    missing='' fixed='' reasons='' vital='' known=' '
    for group; do look_for "$group" want; done
}

CC=${CC:-gcc}
only_asked=
if [ "${1:-}" = --missing ]; then
    only_asked=yes
    shift
    for group; do
        missing='' reasons='' vital=''
        look_for "$group" want
        echo "$reasons" | sed -n "s/^  \(.*[^ ]\)   *\(.*\)/$group: \1 (\2)/p"
    done
    exit 0
fi
[ $# -gt 0 ] || { echo "usage: $0 GROUP...  (see the head of this file)" >&2; exit 2; }

# ------------------------------------------------------------------ what to do

# complete: exits; nothing is missing.
complete() {
    [ -z "${STAMP:-}" ] || touch "$STAMP"
    exit 0
}

# ways_out: three ways to get what is missing.
ways_out() {
    echo "What you can do:"
    if [ -z "$missing" ]; then
        echo "  1. Use a newer release of this distribution, or another one."
    elif [ -z "$command" ]; then
        echo "  1. Look at the lines above: they say why the packages could not be unpacked."
        echo "     INSTALL=system has the package manager install them."
    elif [ "$(id -u)" -eq 0 ]; then
        echo "  1. Install the packages:"
        echo "       $command"
    elif command -v sudo >/dev/null; then
        echo "  1. Install the packages (if sudo refuses, ask your administrator):"
        echo "       $command"
    else
        echo "  1. Install the packages, as root (if you are not root, ask your administrator):"
        echo "       $command"
    fi
    [ -d "$here/../docs" ] || return # a handout for a class has no container
    echo "  2. Or use the container, which has them all: docs/howto/containers.md says how."
    echo "  3. Or open this folder in VS Code and choose 'Reopen in Container' (.devcontainer/)."
}

# give_up: exits; with 1 if something is missing that is not optional.
give_up() {
    if [ -n "$vital$old" ]; then
        ways_out
        exit 1
    fi
    echo "Continuing without them; what needs them is left out."
    [ -z "$command" ] || printf '%s\n  %s\n' 'To install them:' "$command"
    exit 0
}

may_unpack() {
    [ -z "${NO_INSTALL:-}${INSTALL:-}" ] && [ -z "$old" ] &&
        [ "$distribution" = debian ] && command -v apt-get >/dev/null
}
may_install() {
    [ -z "${NO_INSTALL:-}" ] && [ "${INSTALL:-}" = system ] && [ -z "$old" ] &&
        [ -n "$missing" ] && command -v apt-get >/dev/null &&
        { [ "$(id -u)" -eq 0 ] || [ -n "$sudo" ]; }
}

# say_what: prints what is missing, and sets $command, which installs what we cannot get.
say_what() {
    command="$missing"
    may_unpack && command=$fixed
    [ -z "$command" ] || command="$sudo$install$command"
    [ -z "$command" ] || [ "$distribution" != debian ] ||
        command="${sudo}apt-get update && $command"
    echo "$1:$reasons"
}

command=''
old_release
old=$(too_old)
[ -z "$old" ] || echo "$old"
look_for_all "$@"
[ -n "$reasons$old" ] || complete

sudo=''
if [ "$(id -u)" -ne 0 ] && command -v sudo >/dev/null; then sudo='sudo '; fi
if [ -n "$reasons" ]; then say_what "Missing for '$*'"; fi
[ -n "$distribution" ] || echo "(Debian's names: this distribution is none of Debian, Fedora, Arch, Alpine.)"

if may_unpack; then
    # What cannot be done without, and cannot be unpacked, is asked for first.
    for thing in $vital; do
        if stays "$thing"; then give_up; fi
    done
    loose=''
    for package in $missing; do
        case " $fixed " in *" $package "*) ;; *) loose="$loose $package" ;; esac
    done
    [ -n "$loose" ] || give_up
    "$here/unpack.sh" $loose
elif may_install; then
    "$here/install.sh" $missing
else
    give_up
fi

# A package counts only when it works.
look_for_all "$@"
[ -n "$reasons" ] || complete
say_what "Still not found"
give_up
