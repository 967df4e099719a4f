#!/bin/sh
#
# unpack.sh PACKAGE... - downloads packages of Debian or Ubuntu, with whatever they need
# that this machine lacks, and unpacks them below build/deps/. This needs no root, and
# the system's package database never hears of it. `make clean-all` removes them.
#
#   build/deps/bin/          their programs. make, scripts/ and tools/ look there last,
#                            so a program that is installed later is used instead
#   build/deps/include, lib, pkgconfig/    for the compiler, the linker and pkg-config
#   build/deps/root/         the files of the packages
#   build/deps/apt/          apt-get's lists; `unpacked` says which packages these are
#
# scripts/deps.sh calls it. A program of these packages finds its libraries by a path
# in the program itself (patchelf), not by LD_LIBRARY_PATH, which the servers that it
# starts would inherit. No maintainer script runs, so nothing is set up or started.
set -u
cd "$(dirname "$0")/.." || exit 1
deps=$PWD/build/deps
root=$deps/root apt=$deps/apt
ARCHIVES='hiredis uring http_parser' # libraries that we link

# Of two that unpack, the second waits and then finds most of it there.
mkdir -p "$root" "$deps/bin" "$deps/pkgconfig" "$apt/lists/partial" "$apt/archives/partial"
exec 9>"$apt/lock" && flock 9 || exit 1

# apt [-get|-cache] WORD...: with a state of its own. What we have unpacked counts as
# installed. Root's apt-get would become _apt, which may not write here.
apt() {
    program=apt$1
    shift
    LC_ALL=C "$program" -o Dir::State="$apt" -o Dir::State::status="$apt/status" \
        -o Dir::Cache="$apt" -o Debug::NoLocking=1 -o APT::Sandbox::User=root \
        -o Acquire::Languages=none -o APT::Get::List-Cleanup=0 "$@"
}

touch "$apt/unpacked"
cat /var/lib/dpkg/status "$apt/unpacked" >"$apt/status" || exit 1
apt -get -qq update 9>&- || echo "apt-get update failed for some of the sources; trying without them"

wanted='' names=$*
command -v patchelf >/dev/null || names="$names patchelf"
for package in $names; do
    if [ -n "$(apt -cache show "$package" 2>/dev/null)" ]; then
        wanted="$wanted $package"
    else
        echo "This release has no package $package."
    fi
done

# shellcheck disable=SC2086  # $wanted is a list of words
fetch() { apt -get install -y --no-install-recommends "$@" $wanted 9>&-; }
files=$(fetch -qq --print-uris) || {
    echo "apt-get finds no way to combine$wanted with what is installed."
    exit 1
}
number=$(echo "$files" | grep -c "^'")
megabytes=$(echo "$files" | awk '{ sum += $3 } END { printf "%.0f", sum / 1e6 + 0.5 }')
if [ "$number" -gt 0 ]; then
    echo "Unpacking below build/deps/, for this folder alone: $number packages, $megabytes MB to download ..."
fi
fetch -qq --download-only || {
    echo "The download failed; the lines above say why."
    exit 1
}

# ----------------------------------------------------------------- unpacking

for deb in "$apt"/archives/*.deb; do
    [ -e "$deb" ] || continue
    dpkg-deb -x "$deb" "$root" || exit 1 # a full disk, for instance
    { dpkg-deb -f "$deb" && printf 'Status: install ok installed\n\n'; } >>"$apt/unpacked"
    rm "$deb"
done
rm -rf "$root"/usr/share/doc "$root"/usr/share/man "$root"/usr/share/locale
# Nobody but the package manager should make programs that run as root.
find "$root" -type f -perm /6000 -exec chmod ug-s {} +

# A link to /etc/alternatives/... or /usr/lib/... means the one below root/.
find "$root" -type l -lname '/*' | while read -r link; do
    target=$(readlink "$link")
    case $target in "$root"/*) continue ;; esac
    [ ! -e "$root$target" ] || ln -sfn "$root$target" "$link"
done

triplet=$(gcc -dumpmachine 2>/dev/null || dpkg-architecture -qDEB_HOST_MULTIARCH 2>/dev/null)
[ -n "$triplet" ] || triplet=$(uname -m)-linux-gnu
lib=$root/usr/lib/$triplet
ln -sfn "root/usr/lib/$triplet" "$deps/lib"
ln -sfn root/usr/include "$deps/include"

# What we link takes the static library, so a server that `make install` has copied
# outlives these packages. A shared one without an archive is found by a path in the
# executable (-rpath). The paths in the files of pkg-config are those of the system.
for name in $ARCHIVES; do
    [ ! -e "$lib/lib$name.a" ] || rm -f "$lib/lib$name.so"
done
for file in "$lib"/pkgconfig/*.pc "$root"/usr/share/pkgconfig/*.pc; do
    [ -e "$file" ] || continue
    name=${file##*/}
    rpath="-Wl,-rpath,$lib"
    case " $ARCHIVES " in *" $(echo "${name%.pc}" | sed 's/^lib//') "*) rpath='' ;; esac
    sed -e "s|\([=LI]\)/usr|\1$root/usr|g" -e "s|^Libs:|Libs: -L$lib $rpath|" \
        -e "s|^Cflags:|Cflags: -I$root/usr/include|" "$file" >"$deps/pkgconfig/$name"
done

# ------------------------------------------------- what programs look for where

# paths_in FILE: the folders of libraries, as seen from that file below root/.
paths_in() {
    up=$(realpath --relative-to="$(dirname "$1")" "$root")
    echo "\$ORIGIN/$up/usr/lib/$triplet:\$ORIGIN/$up/lib/$triplet"
}

# A program that the system's libraries are enough for is left alone. Not so a library: a
# program of the system may load it, and a path that it has hides that of its program.
PATH=$PATH:$root/usr/bin
touch "$apt/now"
[ -e "$apt/done" ] || touch -d @0 "$apt/done"
find "$root" -type f -cnewer "$apt/done" \( -perm /111 -o -name '*.so*' \) |
    while read -r file; do
        [ "$(head -c 4 "$file" | tail -c 3)" = ELF ] || continue
        ldd "$file" 2>/dev/null | grep -q 'not found' || continue
        path=$(paths_in "$file")
        case $file in *.so*) # a plug-in of Python, for instance
            its=$(patchelf --print-rpath "$file" | sed "s,\(^\|:\)/,\1$root/,g")
            path=${its:+$its:}$path ;;
        esac
        patchelf --force-rpath --set-rpath "$path" "$file" || echo "patchelf failed on $file"
    done
mv "$apt/now" "$apt/done"

# Only now can the programs be found: all before may have been interrupted.
for folder in "$root"/usr/lib/postgresql/*/bin "$root"/usr/lib/jvm/*/bin \
    "$root"/usr/bin "$root"/usr/sbin "$root"/bin "$root"/sbin; do
    for program in "$folder"/*; do
        [ ! -x "$program" ] || [ -d "$program" ] ||
            ln -sfn "../root/${folder#"$root"/}/${program##*/}" "$deps/bin/${program##*/}"
    done
done

# wrapper NAME FILE SETTING...: a program that looks for its parts where the system
# would have them.
wrapper() {
    name=$1 file=$root/$2
    shift 2
    [ -x "$file" ] || return
    rm -f "$deps/bin/$name"
    printf '#!/bin/sh\nexec env %s "%s" "$@"\n' "$*" "$file" >"$deps/bin/$name"
    chmod +x "$deps/bin/$name"
}
wrapper valgrind usr/bin/valgrind.bin "VALGRIND_LIB='$root/usr/libexec/valgrind'"
wrapper chromium usr/lib/chromium/chromium "FONTCONFIG_FILE='$deps/fonts.conf'"
cat >"$deps/fonts.conf" <<END
<?xml version="1.0"?>
<fontconfig>
  <dir>$root/usr/share/fonts</dir>
  <include ignore_missing="yes">$root/etc/fonts/conf.d</include>
</fontconfig>
END

# What pip trusts: the package would put it together when it is installed.
if [ -d "$root/usr/share/ca-certificates" ]; then
    find "$root/usr/share/ca-certificates" -name '*.crt' -exec cat {} + >"$deps/certificates.crt"
fi
