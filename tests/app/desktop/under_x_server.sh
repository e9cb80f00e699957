#!/bin/bash
# under_x_server.sh PROGRAM [ARGUMENT...]: runs PROGRAM with Qt's X11 plugin on a display of its own
# (Xvfb and a window manager), 1920x1080. Ends with 77 where one of the two is not installed.
set -u
manager=
for each in openbox xfwm4 metacity matchbox-window-manager twm; do
    command -v "$each" >/dev/null && manager=$each && break
done
if ! command -v Xvfb >/dev/null || [[ -z $manager ]]; then
    echo "SKIPPED: there is no Xvfb, or no window manager; apt-get install xvfb openbox"
    exit 77
fi
folder=$(mktemp -d) || exit 1
server= windows=
finish() {
    [[ -n $windows ]] && kill "$windows" 2>/dev/null
    [[ -n $server ]] && kill "$server" 2>/dev/null
    wait
    rm -rf "$folder"
}
trap finish EXIT

# The server picks a free display and writes its number when it is ready.
mkfifo "$folder/display"
Xvfb -displayfd 3 -screen 0 1920x1080x24 -nolisten tcp 3>"$folder/display" 2>"$folder/log" &
server=$!
if ! read -r -t 30 number <"$folder/display"; then
    echo "Xvfb did not start:" && cat "$folder/log"
    exit 1
fi
export DISPLAY=:$number QT_QPA_PLATFORM=xcb XDG_CONFIG_HOME="$folder/config"
unset WAYLAND_DISPLAY
"$manager" >"$folder/manager" 2>&1 &
windows=$!
"$@"
