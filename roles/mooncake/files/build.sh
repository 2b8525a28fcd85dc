# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
#
# Compiles and installs Mooncake. Root runs nothing of the sources: a user without privileges compiles a copy of them and installs into a
# folder of its own, and root takes files from there that are no surprise.
#
# Variables: CHECKOUT, the sources; BUILD_USER, empty: the connected user; PREFIX; PYTHON; READ, commands that read CANN's files; COMPILE,
# commands that compile and install, run where the sources are.
set -eo pipefail
umask 022
PATH=$PATH:/usr/sbin:/sbin
exec 9>>"$CHECKOUT.lock" # one build at a time
flock --timeout 3600 9 || { echo "another process builds in $CHECKOUT" >&2; exit 1; }
set_up="$READ
set -eo pipefail" # not before: a line in CANN's files may fail, such as grep without a match
if [ "$(id -u)" != 0 ] || [ -z "$BUILD_USER" ]; then
    cd "$CHECKOUT"
    exec bash -c "$set_up
$COMPILE"
fi

refuse() { echo "Nothing was installed: $1" >&2; exit 1; }

command -v setpriv >/dev/null || refuse "setpriv is missing, which starts builds without privileges. Fix: install util-linux."
id "$BUILD_USER" >/dev/null 2>&1 || useradd --system --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin "$BUILD_USER"
uid=$(id -u "$BUILD_USER") gid=$(id -g "$BUILD_USER")
[ "$uid" != 0 ] || refuse "$BUILD_USER is root, and a build may run any code. Fix: name a user without privileges in mooncake_build_user."

work=$(mktemp -d "$(dirname "$CHECKOUT")/.build-XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir "$work/own" "$work/taken"
chmod 0755 "$work"
chown "$uid:$gid" "$work/own"
as_user() {
    setpriv --reuid "$uid" --regid "$gid" --clear-groups --no-new-privs -- env HOME="$work/own" TMPDIR="$work/own" \
        XDG_CACHE_HOME="$work/own/cache" USER="$BUILD_USER" LOGNAME="$BUILD_USER" DESTDIR="$work/own/stage" "$@" 9>&-
}
mkdir "$work/own/stage"
chown "$uid:$gid" "$work/own/stage"
as_user cp -R --preserve=mode,timestamps,links "$CHECKOUT" "$work/own/source"
(cd "$work/own/source" && as_user bash -c "$set_up
$COMPILE") || refuse "the build by $BUILD_USER failed, see above. If it could not read a file of CANN, let all users read it."

# A stream, so that processes that the build left behind cannot change what root looks at.
as_user tar -C "$work/own/stage" -cf - . | tar -C "$work/taken" --no-same-owner --no-same-permissions -xf -
found=$(find "$work/taken" ! -type f ! -type d ! -type l -printf '%P ' -o -type l '(' -lname '/*' -o -lname '*..*' ')' -printf '%P ')
[ -z "$found" ] || refuse "the build made devices, or links that leave their folder: $found"
chmod -R u-s,g-s,o-t,go-w "$work/taken"

"$PYTHON" -c 'pass' 2>/dev/null || PYTHON=python3
mapfile -t places < <(bash -c "$set_up
\"\$0\" -c 'import sys; print(\"\\n\".join(path + \"/mooncake\" for path in sys.path if path.startswith(\"/\")))'" "$PYTHON")
inside() { # whether the file is in one of Python's packages of Mooncake
    for place in "${places[@]}"; do
        case $1 in "$place"/*) return 0 ;; esac
    done
    return 1
}
libraries=$(ldconfig -p | awk -v prefix="$PREFIX/" '$NF ~ /^\// && index($NF, prefix) != 1 { print $1 }')
surprises=()
while IFS= read -r -d '' file; do
    path=/$file name=${file##*/}
    case $path in
    "$PREFIX"/bin/* | "$PREFIX"/sbin/*)
        for folder in /usr/bin /usr/sbin /bin /sbin; do
            [ ! -e "$folder/$name" ] || { surprises+=("$path"); break; } # once: /bin may be a link to /usr/bin
        done
        ;;
    # Only libraries: systemd, Python and others read files below /usr/local/lib and /usr/local/share.
    "$PREFIX"/lib*/*.so | "$PREFIX"/lib*/*.so.* | "$PREFIX"/lib*/*.a | "$PREFIX"/lib*/*.cmake | "$PREFIX"/lib*/*.pc)
        case $path in */python*) inside "$path" || surprises+=("$path") ;; esac
        ! grep -qxF -- "$name" <<<"$libraries" || surprises+=("$path")
        ;;
    "$PREFIX"/include/*) ;;
    *) inside "$path" || surprises+=("$path") ;;
    esac
done < <(find "$work/taken" ! -type d -printf '%P\0')
[ "${#surprises[@]}" = 0 ] || refuse "the build wants to install other files than programs, libraries and headers below $PREFIX and Python's \
folders mooncake, or files in place of the distribution's programs and libraries: $(printf '%q ' "${surprises[@]:0:5}")"
# Without folders: those that exist keep their modes, and may be links, as CANN's ascend-toolkit/latest is.
(cd "$work/taken" && find . ! -type d -print0 | tar --null --files-from - -cf -) | tar -C / --no-same-owner --no-same-permissions -xf -
for place in "${places[@]}"; do # builds by root left it writable by all
    [ ! -d "$place" ] || chmod -R go-w "$place"
done
