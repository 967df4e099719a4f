#!/bin/sh
#
# install.sh PACKAGE... - installs packages with apt-get: what INSTALL=system asks for.
# It says what and how much, and asks first if there is a terminal. Debian starts a
# service when its package is installed, and at each start of the machine from then on.
# Of the packages that come here, no service is started and none is enabled: every test
# and measurement starts a private Redis, and ends it.
# shellcheck disable=SC2086  # $wanted is a list of words
set -u
policy=/usr/sbin/policy-rc.d mark='# made by scripts/install.sh of zerohttpd'

as_root() { if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi; }
apt_get() { # waits if another apt-get is running
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 "$@"
}

if [ "$(id -u)" -ne 0 ] && ! command -v sudo >/dev/null; then
    echo "Installing needs root, and there is no sudo here."
    exit 1
fi
if [ -t 0 ] && [ "$(id -u)" -ne 0 ]; then echo "This needs root: sudo may ask for your password."; fi
apt_get -qq update || echo "apt-get update failed; trying with the old package lists"

# apt-get installs nothing when it does not know one of the names.
wanted=
for package; do
    if [ -n "$(apt-cache show "$package" 2>/dev/null)" ]; then
        wanted="$wanted $package"
    else
        echo "This release has no package $package."
    fi
done
[ -n "$wanted" ] || exit 1

plan=$(LC_ALL=C apt-get -s install --no-install-recommends $wanted) || {
    echo "$plan"
    exit 1
}
new=$(echo "$plan" | sed -n 's/^Inst \([^ ]*\) (.*/\1/p')
size=$(LC_ALL=C apt-get --assume-no install --no-install-recommends $wanted 2>/dev/null |
    sed -n 's/^Need to get \(.*\) of archives.*/\1/p; s/^After this operation, \(.*\) of addi.*/\1 on the disk/p' |
    paste -s -d'|' - | sed 's/|/, /')
echo "Installing with apt-get ($size):" $new
# make -j gives the terminal to one of its jobs, and a pipe to the others.
if [ -p /dev/stdin ] && [ -t 1 ] && (: </dev/tty) 2>/dev/null; then exec </dev/tty; fi
if [ -t 0 ]; then
    printf 'Go on? [y/N] '
    read -r answer
    case $answer in [yY]*) ;; *)
        echo 'Nothing was installed.'
        exit 1 ;;
    esac
fi

# invoke-rc.d(8) asks policy-rc.d whether it may start a service; 101 means no. One that
# is there already is the administrator's, and stays.
quiet() { as_root sh -c "grep -qs '$mark' $policy && rm -f $policy"; }
trap 'quiet' EXIT
trap 'exit 130' INT TERM HUP
if [ ! -e "$policy" ] || grep -qs "$mark" "$policy"; then
    as_root sh -c "printf '#!/bin/sh\n%s\nexit 101\n' '$mark' >$policy && chmod 755 $policy"
fi

apt_get install -y --no-install-recommends $wanted
status=$?
[ "$status" -eq 0 ] || echo "The installation failed; the lines above say why."

# The scripts of a package enable its service. Only those that came now are switched off.
for package in $new; do
    for file in $(dpkg -L "$package" 2>/dev/null |
        grep -E '^(/usr)?/lib/systemd/system/[^/]*\.(service|socket|timer|path)$|^/etc/init\.d/.'); do
        name=${file##*/}
        case $file in
        /etc/init.d/*) as_root update-rc.d "$name" disable ;;
        *@.*) ;; # a template
        *) as_root deb-systemd-helper disable "$name" ;;
        esac >/dev/null 2>&1
    done
done
exit "$status"
