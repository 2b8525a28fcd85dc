# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh
#
# Gives an unpacked model to the connected user, and renames its folder to the model's path.
#
# Arguments: the model's folder; the unpack folder's content, which is it or above it; the model's path.
set -eu
refuse() { echo "Nothing was changed: $1" >&2; exit 1; }

# Who owns a folder above can have put a link or another folder in place of the unpack folder. The kernel knows where this process really is,
# and what is in there was made by the connected user alone.
made=${2%/*} # MODEL.unpacking
above=$(cd -P -- "${made%/*}/" && pwd -P)
cd -P -- "$1"
[ "$(pwd -P)" = "${above%/}/${made##*/}${1#"$made"}" ] || refuse "$1 is behind a link by now. Fix: find out who can write above it."

# A device can be the disk of the host, and whoever opens a pipe waits for ever.
odd=$(find . ! -type f ! -type d ! -type l | head -n 5)
[ -z "$odd" ] || refuse "$1 has devices, pipes or sockets, which no model needs: $odd. Fix: pack only files, and remove $made."

# An archive that root unpacks brings owners, files that everybody can write, and programs that run with the rights of their owner.
chown -R -h "$(id -u):$(id -g)" .
chmod -R u=rwX,go=rX,a-s .

# A rename within one file system, so that no incomplete model is visible. It fails if the folder exists and is not empty.
cd -P ..
exec mv -T -- "./${1##*/}" "$3"
