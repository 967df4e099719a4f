#!/bin/sh
#
# deps.sh GROUP... - checks what a part of the project needs, and installs what is
# missing where that needs no password; otherwise it says how to get it.
#
#   scripts/deps.sh build            what `make` needs; scripts/packages.txt has the groups
#   scripts/deps.sh --missing unit   prints `GROUP: PACKAGE (WHAT FOR)` for each that is
#                                    missing and not optional; installs nothing
#
# It installs only on Debian and Ubuntu, as root or with a sudo that asks for no
# password. Elsewhere it prints the packages by the distribution's own names, and
# exits 1. When all that is missing is optional, it says so and exits 0.
#
#   NO_INSTALL=1     installs nothing
#   STAMP=FILE       is touched when nothing is missing, so that make need not ask again
#   PYTHON, CC       the programs that make uses
#   OS_RELEASE=FILE  is read in place of /etc/os-release
# shellcheck disable=SC2086  # $missing and $lock are lists of words on purpose
set -u
here=$(cd "$(dirname "$0")" && pwd) || exit 1
PACKAGES=$here/packages.txt MINIMUM=$here/minimum.txt
PYTHON=${PYTHON:-/usr/bin/python3}
PATH=$PATH:/usr/sbin:/sbin # where a user's PATH does not lead

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
    file:*) [ -e "${1#*:}" ] ;;
    python:*) $PYTHON -c "import ${1#*:}" ;;
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
reasons=''   # a line for each of them
vital=''     # those that are not optional
known=' '    # `thing:yes` or `thing:no` for each that was tried

# look THING want|may: adds its package to $missing unless it works.
look() {
    thing=$1
    [ "$only_asked$2" = yesmay ] && return
    [ "$thing" = compiler ] && case $CC in *clang*) thing=clang ;; esac
    # shellcheck disable=SC2046  # a line of the table as words
    set -- "$2" $(sed -n "s/^$thing  *//p" "$PACKAGES")
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
        case " $missing " in *" $one "*) ;; *) missing="$missing $one" ;; esac
    done
}

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
    missing='' reasons='' vital='' known=' '
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
    echo "Continuing without them; what needs them is left out. To install them:"
    echo "  $command"
    exit 0
}

old_release
old=$(too_old)
[ -z "$old" ] || echo "$old"
look_for_all "$@"
[ -n "$reasons$old" ] || complete

sudo=
if [ "$(id -u)" -ne 0 ] && command -v sudo >/dev/null; then sudo='sudo '; fi
command="$sudo$install$missing"
[ "$distribution" = debian ] && command="${sudo}apt-get update && $command"
[ -z "$reasons" ] || echo "Missing for '$*':$reasons"
[ -n "$distribution" ] || echo "(Debian's names: this distribution is none of Debian, Fedora, Arch, Alpine.)"

may_install() {
    [ -z "${NO_INSTALL:-}" ] && [ -z "$old" ] && [ -n "$missing" ] &&
        command -v apt-get >/dev/null &&
        { [ "$(id -u)" -eq 0 ] || { [ -n "$sudo" ] && sudo -n true 2>/dev/null; }; }
}
may_install || give_up

echo "Running:  $sudo$install$missing"
lock='-o DPkg::Lock::Timeout=600' # wait if another apt-get is running
apt_get() { ${sudo:+sudo} env DEBIAN_FRONTEND=noninteractive apt-get $lock "$@"; }
apt_get -qq update || echo "apt-get update failed; trying with the old package lists"
look_for_all "$@" # again: a package's name may be known only now

# apt-get installs nothing when it does not know one of the names.
for package in $missing; do
    [ -n "$(apt-cache show "$package" 2>/dev/null)" ] && continue
    echo "This release has no package $package."
    missing=$(echo " $missing " | sed "s/ $package / /")
done
apt_get install -y --no-install-recommends $missing || {
    echo "The installation failed; the lines above say why."
    look_for_all "$@" # some of them may be installed now
    give_up
}

# Debian starts a service when it is installed. The project does not need this one:
# every test and measurement starts a private Redis and ends it.
case " $missing " in
*" redis-server "*)
    if [ -d /run/systemd/system ]; then
        echo "Switching off the Redis service that came with the package"
        ${sudo:+sudo} systemctl disable --now redis-server
    fi
    ;;
esac

# Check again: a package counts only when it works.
look_for_all "$@"
[ -n "$reasons" ] || complete
echo "Installed, yet still not found:$reasons"
give_up
