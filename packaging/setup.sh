# shellcheck shell=bash
# Steps that packaging/quickstart and packaging/test share. Sourced, not run.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=packaging/dependencies.env
source "$root/packaging/dependencies.env"
started=$SECONDS

# A clone elsewhere finds what was compiled here.
export CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1

say() {
    local passed=$((SECONDS - started))
    printf '== [%02d:%02d] %s\n' $((passed / 60)) $((passed % 60)) "$*"
}
fail() { echo "$(basename "$0"): $*" >&2; exit 1; }

missingPackages() {
    local package
    for package in $DEBIAN_PACKAGES; do
        [[ $(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null) == installed ]] ||
            echo "$package"
    done
}

installPackages() {
    local missing log=$root/build/packages.log
    command -v dpkg-query >/dev/null || fail "this is no Debian; install what" \
        "packaging/dependencies.env names by hand and use --no-install"
    mapfile -t missing < <(missingPackages)
    if ((${#missing[@]} == 0)); then
        say "Debian packages: all there"
        return
    fi
    say "Debian packages: installing ${#missing[@]}: ${missing[*]}"
    local asRoot=()
    if ((EUID != 0)); then
        command -v sudo >/dev/null || fail "installing packages needs root or sudo; ask an administrator" \
            "to install: ${missing[*]}"
        asRoot=(sudo)
    fi
    mkdir -p "$root/build"
    {
        "${asRoot[@]}" apt-get update -q &&
            "${asRoot[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y \
                --no-install-recommends "${missing[@]}"
    } >"$log" 2>&1 </dev/null || {
        tail -n 20 "$log" >&2
        fail "the packages could not be installed; all of apt's output is in $log"
    }
}

# Compiling against LibTorch takes up to 1.5 GB a job.
buildJobs() {
    local cores memory
    cores=$(nproc)
    memory=$(awk '/^MemAvailable/ {print int($2 / 1500000)}' /proc/meminfo)
    ((memory < 1)) && memory=1
    echo $((cores < memory ? cores : memory))
}

# Runs a long command with its output in a log; without a terminal, one line of progress every
# 10 s; the end of the log when it fails.
withProgress() { # log command...
    local log=$1 last='' line pid
    shift
    mkdir -p "$(dirname "$log")"
    if [[ -t 1 ]]; then
        "$@" </dev/null 2>&1 | tee "$log"
        return "${PIPESTATUS[0]}"
    fi
    "$@" >"$log" 2>&1 </dev/null &
    pid=$!
    while kill -0 "$pid" 2>/dev/null; do
        for _ in 1 2 3 4 5 6 7 8 9 10; do
            kill -0 "$pid" 2>/dev/null && sleep 1
        done
        line=$(tail -n 1 "$log" | cut -c 1-100)
        if [[ -n $line && $line != "$last" ]]; then echo "   $line"; fi
        last=$line
    done
    wait "$pid"
}

# Both callers configure with the same flags, so that neither compiles again what the other has.
configureAndBuild() { # targets...
    say "configuring"
    (cd "$root" && cmake --preset release </dev/null) >"$root/build/configure.log" 2>&1 || {
        cat "$root/build/configure.log" >&2
        fail "configuring failed"
    }
    sed -n 's/^-- Shardscope/   /p' "$root/build/configure.log"
    build "$@"
}

build() { # targets...
    local count
    count=$(buildJobs)
    say "building with $count jobs"
    withProgress "$root/build/build.log" \
        cmake --build "$root/build/release" --parallel "$count" ${1:+--target "$@"} || {
        grep -nE -A 8 'FAILED|error:|Error ' "$root/build/build.log" | head -n 80 >&2 || true
        fail "building failed; all of its output is in $root/build/build.log"
    }
}
