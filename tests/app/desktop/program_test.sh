#!/bin/sh
# program_test.sh SHARDSCOPE_DESKTOP WRITE_SAMPLE: exit codes and screenshots of the program itself.
set -u
desktop=$1
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
export XDG_CONFIG_HOME="$folder/config" XDG_STATE_HOME="$folder/state" XDG_DATA_HOME="$folder/data"
unset DISPLAY WAYLAND_DISPLAY QT_QPA_PLATFORM
failures=0

expect() { # STATUS DESCRIPTION COMMAND...
    wanted=$1 what=$2
    shift 2
    "$@" >"$folder/out" 2>"$folder/err"
    got=$?
    if [ "$got" -ne "$wanted" ]; then
        echo "$what: exit status $got, expected $wanted"
        cat "$folder/err"
        failures=$((failures + 1))
    fi
}

"$2" "$folder/run.sscope" 6 || exit 1
for page in start newrun live overview timeline memory communication operators training compare problems dashboard; do
    expect 0 "page $page" "$desktop" "$folder/run.sscope" --page "$page" --screenshot "$folder/$page.png" --size 1024x640 --theme dark
    [ -s "$folder/$page.png" ] || { echo "page $page: no picture"; failures=$((failures + 1)); }
done
sizeOf() { # PICTURE: its pixels, from the header of a PNG
    od -An -t u1 -j 16 -N 8 "$1" | awk '{print $1*16777216+$2*65536+$3*256+$4 "x" $5*16777216+$6*65536+$7*256+$8}'
}
for scaled in 1:1024x640 1.5:1536x960 2:2048x1280; do
    for page in timeline memory; do
        expect 0 "page $page at ${scaled%:*}" env QT_SCALE_FACTOR="${scaled%:*}" "$desktop" "$folder/run.sscope" --page "$page" --screenshot "$folder/scaled.png" --force --size 1024x640
        [ "$(sizeOf "$folder/scaled.png")" = "${scaled#*:}" ] || { echo "page $page at ${scaled%:*}: $(sizeOf "$folder/scaled.png") pixels"; failures=$((failures + 1)); }
    done
done
for kind in png svg pdf; do
    expect 0 "dashboard as $kind" "$desktop" "$folder/run.sscope" --dashboard "$folder/sheet.$kind" --paper a3
    [ -s "$folder/sheet.$kind" ] || { echo "dashboard as $kind: no picture"; failures=$((failures + 1)); }
    [ -s "$folder/err" ] && { echo "dashboard as $kind: it spoke"; cat "$folder/err"; failures=$((failures + 1)); }
done
expect 2 "dashboard of no kind" "$desktop" "$folder/run.sscope" --dashboard "$folder/sheet.gif"
expect 2 "no such paper" "$desktop" "$folder/run.sscope" --dashboard "$folder/sheet.pdf" --paper b5
expect 2 "unwritable dashboard" "$desktop" "$folder/run.sscope" --dashboard "$folder/no/such/sheet.pdf"
expect 3 "dashboard of nothing" "$desktop" "$folder/missing.sscope" --dashboard "$folder/sheet.pdf"
# F11 of the faults review: what may be replaced, with --force and without.
kept() { # FILE DESCRIPTION: it still holds the text
    [ "$(cat "$1")" = precious ] || { echo "$2: it was changed"; failures=$((failures + 1)); }
}
dashboard() { # STATUS DESCRIPTION FILE [OPTION...]
    wanted=$1 what=$2 file=$3
    shift 3
    expect "$wanted" "$what" "$desktop" "$folder/run.sscope" --dashboard "$file" "$@"
}
for kind in png svg pdf; do
    dashboard 2 "a second dashboard as $kind" "$folder/sheet.$kind"
    dashboard 0 "a forced one as $kind" "$folder/sheet.$kind" --force
    echo precious >"$folder/notes.$kind"
    dashboard 2 "over a text, as $kind" "$folder/notes.$kind"
    dashboard 2 "over a text by force, as $kind" "$folder/notes.$kind" -f
    kept "$folder/notes.$kind" "notes.$kind"
done
echo precious >"$folder/victim.txt"
ln -s "$folder/victim.txt" "$folder/link.svg"
ln -s "$folder/victim.txt" "$folder/link.png"
ln -s "$folder/sheet.svg" "$folder/own.svg"
dashboard 2 "through a link" "$folder/link.svg" --force
expect 2 "a screenshot through a link" "$desktop" "$folder/run.sscope" --screenshot "$folder/link.png" --force
kept "$folder/victim.txt" "what a link leads to"
dashboard 2 "through a link to such a picture" "$folder/own.svg" --force
[ -L "$folder/own.svg" ] || { echo "the link was replaced"; failures=$((failures + 1)); }
mkfifo "$folder/fifo.svg" "$folder/fifo.png"
dashboard 2 "over a FIFO" "$folder/fifo.svg" --force
expect 2 "a screenshot over a FIFO" "$desktop" "$folder/run.sscope" --screenshot "$folder/fifo.png" --force
[ -p "$folder/fifo.svg" ] && [ -p "$folder/fifo.png" ] || { echo "a FIFO was replaced"; failures=$((failures + 1)); }
ln -s /dev/null "$folder/null.svg"
dashboard 2 "over a device" "$folder/null.svg" --force
cp "$folder/run.sscope" "$folder/recording.png"
expect 2 "over what it reads" "$desktop" "$folder/recording.png" --screenshot "$folder/recording.png" --force
cmp -s "$folder/run.sscope" "$folder/recording.png" || { echo "a recording was replaced"; failures=$((failures + 1)); }
expect 2 "a second screenshot" "$desktop" "$folder/run.sscope" --page memory --screenshot "$folder/memory.png"
"$2" "$folder/other.sscope" 8 || exit 1
expect 0 "comparison" "$desktop" "$folder/run.sscope" --compare "$folder/other.sscope" --screenshot "$folder/compared.png" --size 1024x640 --theme dark
cmp -s "$folder/compared.png" "$folder/compare.png" && { echo "comparison: not in the picture"; failures=$((failures + 1)); }
expect 2 "unknown page" "$desktop" --page nowhere --screenshot "$folder/x.png"
expect 2 "unknown option" "$desktop" --nothing
expect 3 "missing file" "$desktop" "$folder/missing.sscope" --screenshot "$folder/x.png"
echo "not a recording" >"$folder/text.sscope"
expect 3 "not a recording" "$desktop" "$folder/text.sscope" --page overview --screenshot "$folder/x.png"
[ -s "$folder/err" ] || { echo "not a recording: nothing said"; failures=$((failures + 1)); }
expect 2 "unwritable picture" "$desktop" "$folder/run.sscope" --screenshot "$folder/no/such/folder.png"
expect 0 "help" "$desktop" --help
exit "$failures"
