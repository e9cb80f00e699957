# shellcheck shell=bash
# Debians made from nothing, that take package sources, proxies and settings of apt and pip from this
# machine, and nothing else of it. Sourced, not run.

kept=/etc/bare-machine # in it: files that settings name, such as certificates

mirrors() { # suite -> lines for sources.list, from those of this machine's own suite
    local own uri release component
    own=$(. /etc/os-release && echo "$VERSION_CODENAME")
    apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' | sort -u |
        while read -r uri release component; do
            [[ $component == main && $release =~ ^$own(-updates|-security)?$ ]] || continue
            echo "deb $uri $1${release#"$own"} main"
        done
}

bring() { # Debian or nothing, value -> the value, for the Debian: a file comes along
    if [[ -n $1 && $2 == /* && -f $2 ]]; then
        install -D -m 644 "$2" "$1$kept/$(basename "$2")"
        echo "$kept/$(basename "$2")"
    else
        echo "$2"
    fi
}

aptSettings() { # Debian, or nothing for this machine
    local key value
    apt-config dump --format '%f %v%n' |
        grep -E '^Acquire::(https?|Retries|Check-Date|Check-Valid-Until|ForceIPv[46])\b' |
        while read -r key value; do
            if [[ -n $value ]]; then echo "$key \"$(bring "$1" "$value")\";"; fi
        done
}

pipSettings() { # Debian
    local key value
    python3 -m pip config list 2>/dev/null | while IFS='=' read -r key value; do
        value=${value#\'} value=${value%\'} key=${key##*.}
        # A folder of packages would be a cache.
        if [[ $key == find-links && $value != *://* ]]; then continue; fi
        echo "$key = $(bring "$1" "$value")"
    done | sort -u -t = -k 1,1
}

furnish() { # Debian
    local name
    aptSettings "$1" >"$1/etc/apt/apt.conf.d/99bare-machine"
    { echo "[global]"; pipSettings "$1"; } >"$1/etc/pip.conf"
    cp --dereference /etc/resolv.conf /etc/hosts "$1/etc/"
    for name in http_proxy https_proxy no_proxy; do
        if [[ -n ${!name:-} ]]; then echo "$name=${!name}"; fi
    done >>"$1/etc/environment"
}

# Runs as the first process of namespaces of its own; says how long and how it ended in a file.
enter() { # Debian, user, home, wheels or nothing, result file, command
    local null
    mount -t proc proc "$1/proc"
    mount -t sysfs -o ro sysfs "$1/sys"
    # As on a whole system; Slurm's daemons do not start without.
    if [[ -d /sys/fs/cgroup ]]; then mount --rbind /sys/fs/cgroup "$1/sys/fs/cgroup"; fi
    mount -t tmpfs -o mode=755 tmpfs "$1/dev"
    mkdir "$1/dev/pts" "$1/dev/shm"
    mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts "$1/dev/pts"
    mount -t tmpfs -o mode=1777 tmpfs "$1/dev/shm"
    ln -s pts/ptmx "$1/dev/ptmx"
    ln -s /proc/self/fd "$1/dev/fd"
    for null in "null 3" "zero 5" "full 7" "random 8" "urandom 9"; do
        # shellcheck disable=SC2086 # name and number
        mknod -m 666 "$1/dev/${null% *}" c 1 ${null#* }
    done
    mknod -m 666 "$1/dev/tty" c 5 0
    if [[ -n $4 ]]; then
        mount --bind "$4" "$1$3/.cache/shardscope/wheels"
        mount -o remount,bind,ro "$1$3/.cache/shardscope/wheels"
    fi
    local status=0 TIMEFORMAT='%0R %0U %0S'
    { time chroot "$1" su - "$2" -c "$6" 2>&1; } 2>"$5" || status=$?
    echo "$status" >>"$5"
}

runIn() { # Debian, user, home, wheels or nothing, result file, command: in the background, $inside
    unshare --mount --propagation private --pid --fork --kill-child --ipc --uts \
        bash -c "$(declare -f enter); set -e; enter \"\$@\"" enter "$@" </dev/null &
    inside=$!
}

makeDebian() { # suite, folder for its settings, archive to write
    local sources
    mapfile -t sources < <(mirrors "$1")
    ((${#sources[@]})) || fail "no source of apt's is a Debian archive"
    aptSettings "" >"$2/apt.conf"
    mmdebstrap --quiet --variant=minbase --include=sudo --aptopt="$2/apt.conf" \
        "$1" "$3" "${sources[@]}" </dev/null
}

needTools() { # programs
    local tool
    ((EUID == 0)) || fail "needs root, for chroot and mounts of its own"
    for tool in "$@"; do
        command -v "$tool" >/dev/null || fail "$tool is missing; apt-get install" \
            "$([[ $tool == unshare ]] && echo util-linux || echo "$tool")"
    done
}

# Mounts are made in a namespace of their own, which ends with its last process: nothing that is
# removed here is anything but a file of the folder made for it.
cleanUp() { # folder
    trap '' INT TERM HUP
    if [[ -n ${inside:-} ]]; then
        kill -KILL "$inside" 2>/dev/null || true
        wait "$inside" 2>/dev/null || true
    fi
    if grep -qF " $1/" /proc/self/mountinfo; then
        echo "$(basename "$0"): something is mounted in $1, which was left as it is" >&2
    else
        rm -rf --one-file-system "$1"
    fi
}
