#!/usr/bin/env bash
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# SIMULATED CANN package: it installs small text files instead of libraries. packages.py replaces the
# names between @ signs and appends a tar archive.
#
# ASCEND_SIMULATOR_CANN_FAIL makes it fail, as MODE or KIND:MODE:
#   nothing  exit 0, nothing installed        half      files but no install.info, exit 1
#   quietly  half, but exit 0                 hollow    install.info but no libraries, exit 0
# ASCEND_SIMULATOR_CANN_MIB is the required free space (default 1), ASCEND_SIMULATOR_ROOT is a prefix of /etc and /var.

KIND=@KIND@ VERSION=@VERSION@ ARCH=@ARCH@ NAME=@NAME@ LABEL=@LABEL@ LAYOUT=@LAYOUT@ ARCHIVE_LINE=@LINE@ SUM=@SUM@
ROOT=${ASCEND_SIMULATOR_ROOT:-}
LOG_NAME=${LABEL%%_*}

say() { echo "[$LOG_NAME] [$(date +%Y%m%d-%H:%M:%S)] [$1] $2"; [ -n "$LOG" ] && echo "[$1] $2" >>"$LOG" 2>/dev/null; }
fail() { say ERROR "$1"; exit "${2:-1}"; }
payload() { tail -n +"$ARCHIVE_LINE" "$0"; }

verify() {
    printf 'Verifying archive integrity...  '
    if [ "$(payload | sha256sum | cut -d' ' -f1)" = "$SUM" ]; then
        echo '100%   SHA256 checksums are OK. All good.'
    else
        echo; echo 'Error in SHA256 checksums: the archive is damaged.' >&2; exit 1
    fi
}

usage() {
    echo "Usage: $(basename "$0") [options]"
    echo "  --install | --upgrade | --uninstall | --check | --version | --info | --list | --noexec --extract=<path>"
    echo "  --install-path=<path>  --install-for-all  --quiet (only with --install, --upgrade)"
    [ "$KIND" = toolkit ] && echo "  --full | --run | --devel   install all, the run-time part, the development part"
}

ACTION='' FOR_ALL=no QUIET=no WHERE='' EXTRACT=''
for option in "$@"; do
    case $option in
        --install|--upgrade|--uninstall|--check|--version|--info|--list|--full|--devel|--run) ACTION=${ACTION:-${option#--}} ;;
        --install-path=*) WHERE=${option#*=} ;;
        --install-for-all) FOR_ALL=yes ;;
        --quiet) QUIET=yes ;;
        --extract=*) EXTRACT=${option#*=} ;;
        --noexec|--nox11|--whitelist=*|--force) ;; # accepted, without effect here
        -h|--help) usage; exit 0 ;;
        *) echo "Unrecognized input options : $option"; usage; exit 1 ;;
    esac
done

if [ -n "$EXTRACT" ]; then
    mkdir -p "$EXTRACT" && payload | tar -xzf - -C "$EXTRACT"
    exit $?
fi
case $ACTION in
    check) verify; exit 0 ;;
    version) echo "Version: $VERSION"; exit 0 ;;
    info) echo "Identification: SIMULATED $NAME $VERSION"; exit 0 ;;
    list) payload | tar -tzf -; exit 0 ;;
    full|devel|run) [ "$KIND" = toolkit ] || { usage; exit 0; } ;; # exit 0 with nothing installed, as the real one
    '') usage; exit 1 ;;
esac
if [ "$QUIET" = yes ] && [ "$ACTION" = uninstall ]; then
    echo 'ERROR: --quiet only goes with --install or --upgrade'; exit 1
fi

if [ "$(id -u)" = 0 ]; then
    WHERE=${WHERE:-/usr/local/Ascend} REGISTRY=$ROOT/etc/Ascend LOGS=$ROOT/var/log/ascend_seclog
else
    WHERE=${WHERE:-$HOME/Ascend} REGISTRY=$HOME/Ascend LOGS=$HOME/var/log/ascend_seclog
    [ "$FOR_ALL" = yes ] && { echo 'ERROR: --install-for-all needs root'; exit 1; }
fi
case $WHERE in /*) ;; *) echo "ERROR: the path $WHERE is not absolute"; exit 1 ;; esac
if [ "$LAYOUT" = new ]; then
    HOME_DIR=$WHERE/cann-$VERSION SET_ENV=$WHERE/cann-$VERSION/set_env.sh
else
    HOME_DIR=$WHERE/ascend-toolkit/$VERSION SET_ENV=$WHERE/ascend-toolkit/set_env.sh
fi
ATB=$WHERE/nnal/atb
INFO=$HOME_DIR/$ARCH-linux

if [ "$ACTION" = uninstall ]; then
    if [ "$KIND" = nnal ]; then rm -rf "${ATB:?}/$VERSION"; rm -f "$ATB/latest" "$ATB/set_env.sh"
    elif [ "$KIND" = toolkit ]; then rm -rf "$HOME_DIR"; find "$WHERE" -maxdepth 2 -xtype l -delete
    else rm -rf "$INFO/ascend_ops_install.info" "$HOME_DIR/opp_kernel"; fi
    echo "$NAME uninstall success"; exit 0
fi

verify
echo "Uncompressing ASCEND_RUN_PACKAGE  100%  "
[ "$ARCH" = "$(uname -m)" ] || { echo "[$LOG_NAME] [INFO] The current OS is $(uname -m)"; echo "[$LOG_NAME] [ERROR] No packages to install !"; exit 1; }
mkdir -p "$LOGS" "$REGISTRY" && touch "$REGISTRY/ascend_cann_install.info" # touched even when it fails later on
LOG=$LOGS/ascend_$(echo "$LOG_NAME" | tr '[:upper:]' '[:lower:]')_install.log
say INFO "LogFile:$LOG"
command -v python3 >/dev/null || fail 'There is no python3.7,python3.8,python3.9,python3.10,python3.11 in the current environment !'

if [ "$QUIET" = no ]; then
    printf 'Do you accept the End User License Agreement (EULA)? [Y/N]: '
    read -r answer || { echo; fail 'The EULA was not accepted.'; }
    case $answer in [Yy]*) ;; *) fail 'The EULA was not accepted.' ;; esac
fi

mkdir -p "$WHERE" || fail "cannot make $WHERE"
free=$(df -Pk "$WHERE" | awk 'NR==2 {print int($4/1024)}')
wanted=${ASCEND_SIMULATOR_CANN_MIB:-1}
[ "$free" -ge "$wanted" ] || fail "The disk space of $WHERE is not enough: $wanted MB are needed, $free MB are free."
if [ "$KIND" = nnal ] && [ -z "$ASCEND_HOME_PATH$ASCEND_TOOLKIT_HOME" ]; then
    fail 'The environment of the CANN toolkit is not set: source its set_env.sh first.'
fi
if [ "$KIND" = kernels ] && [ ! -f "$INFO/ascend_toolkit_install.info" ]; then
    fail "The toolkit $VERSION is not installed in $WHERE."
fi
if [ "$ACTION" = upgrade ] && [ ! -d "$WHERE/ascend-toolkit" ]; then
    fail "There is nothing to upgrade in $WHERE."
fi

SPOIL=${ASCEND_SIMULATOR_CANN_FAIL:-}
case $SPOIL in *:*) [ "${SPOIL%%:*}" = "$KIND" ] && SPOIL=${SPOIL#*:} || SPOIL='' ;; esac
[ "$SPOIL" = nothing ] && { usage; exit 0; }

umask 022
TARGET=$HOME_DIR
[ "$KIND" = nnal ] && TARGET=$ATB/$VERSION
mkdir -p "$TARGET"
say INFO "install package $NAME start"
if [ "$SPOIL" = hollow ]; then
    payload | tar -xzf - -C "$TARGET" --exclude='*.so'
else
    payload | tar -xzf - -C "$TARGET"
fi || fail "install package $NAME failed"
case $SPOIL in
    half) fail "install package $NAME failed, return code is 255" ;;
    quietly) exit 0 ;;
esac

case $KIND in
    toolkit)
        mkdir -p "$WHERE/ascend-toolkit"
        if [ "$LAYOUT" = new ]; then
            ln -sfn "cann-$VERSION" "$WHERE/cann"
            ln -sfn "../cann-$VERSION" "$WHERE/ascend-toolkit/latest"
            sed "s|@HOME@|$WHERE/cann|g" "$TARGET/set_env.in" >"$TARGET/set_env.sh"
        else
            ln -sfn "$VERSION" "$WHERE/ascend-toolkit/latest"
        fi
        sed "s|@HOME@|$WHERE/ascend-toolkit/latest|g" "$TARGET/set_env.in" >"$WHERE/ascend-toolkit/set_env.sh"
        printf 'Install_Path=%s\nToolkit_InstallPath=%s\n' "$WHERE" "${SET_ENV%/set_env.sh}" >"$REGISTRY/ascend_cann_install.info"
        say INFO "Write Toolkit_InstallPath to $REGISTRY/ascend_cann_install.info."
        write=ascend_toolkit_install.info ;;
    kernels) write=ascend_ops_install.info ;;
    nnal)
        ln -sfn "$VERSION" "$ATB/latest"
        sed "s|@ATB@|$ATB|g" "$TARGET/set_env.in" >"$ATB/set_env.sh"
        printf 'Ascend-cann-atb : %s\nAscend-cann-atb Version : %s.B001\nPlatform : %s\n' "$VERSION" "$VERSION" "$ARCH" >"$TARGET/version.info"
        write='' ;;
esac
if [ "$KIND" = kernels ] && [ "$LAYOUT" = old ]; then
    mkdir -p "$TARGET/opp_kernel"
    printf 'Version=%s.0.1\nversion_dir=%s\n' "$VERSION" "$VERSION" >"$TARGET/opp_kernel/version.info"
elif [ -n "$write" ]; then
    mkdir -p "$INFO" # the installers write this file last: it is what proves an installation
    printf 'package_name=%s\nversion=%s\ninnerversion=V100R001SIMULATED\ncompatible_version=[V100R001C15]\narch=%s\nos=linux\npath=%s\nuser=%s\n' \
        "${NAME%%_*}" "$VERSION" "$ARCH" "$INFO" "$(id -un)" >"$INFO/$write"
fi
if [ "$FOR_ALL" = yes ]; then chmod -R a+rX "$TARGET"; else chmod -R o-rwx "$TARGET"; fi

say INFO "$NAME.run --$ACTION install success"
driver="Not installed."
[ -f "$ROOT/usr/local/Ascend/driver/version.info" ] && driver="Installed in /usr/local/Ascend/driver."
if [ "$KIND" = nnal ]; then
    echo "Ascend-cann-atb_${VERSION}_linux-$ARCH.run install success"
    echo "$NAME.run install success"
    exit 0
fi
printf '\n===========\n= Summary =\n===========\n\nDriver:   %s\n%s:  %s install success, installed in %s.\n\n' "$driver" "$LABEL" "$NAME" "$WHERE"
printf 'Please make sure that the environment variables have been configured.\n'
printf -- '-  To take effect for current user, you can exec command below: source %s\n' "$SET_ENV"
exit 0
