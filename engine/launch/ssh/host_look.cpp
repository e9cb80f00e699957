#include "engine/launch/ssh/host_look.h"

#include "engine/launch/ssh/payload.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <map>
#include <sstream>
#include <string_view>

namespace shardscope::launch {
namespace {

// No line breaks: the shells that it passes through do not agree on them. Whatever is missing on
// the host leaves its value empty.
constexpr const char* kSystem =
    "say clock \"$(date +%s%N)\"; "
    "say system \"$(uname -sm)\"; "
    "say glibc \"$({ getconf GNU_LIBC_VERSION || ldd --version; } 2>&1 | head -n 1)\"; "
    "say cores \"$(nproc 2>/dev/null || getconf _NPROCESSORS_ONLN 2>/dev/null)\"; "
    "say memory_kb \"$(sed -n 's/^MemAvailable: *\\([0-9]*\\) kB$/\\1/p' /proc/meminfo)\"; "
    "say ssh \"$SSH_CONNECTION\"; ";
constexpr const char* kFolder =
    "say folder \"$b\"; d=$b/shardscope; while [ ! -d \"$d\" ]; do "
    "if [ -e \"$d\" ] || [ -h \"$d\" ]; then say in_the_way \"$d\"; fi; "
    "d=$(dirname \"$d\"); done; "
    "say disk \"$(df -Pk \"$d\" 2>/dev/null | tail -n 1)\"; "
    // Tried: root may write anywhere by its rights, and not into /proc.
    "t=$(mktemp -d \"$d/.shardscope-XXXXXX\" 2>/dev/null) && rmdir \"$t\" && say writable yes; "
    "if [ -e \"$b/shardscope/$h\" ] || [ -h \"$b/shardscope/$h\" ]; then "
    "if ( whole \"$b/shardscope/$h\" ); then say program yes; else say program damaged; fi; fi; "
    "if [ -n \"$q\" ] && [ -e \"$b/shardscope/$q/.used\" ]; then "
    "( while sleep 5 >/dev/null 2>&1; do say busy yes; done ) & a=$!; "
    "if ( same \"$b/shardscope/$q\" ); then say data yes; else say data changed; fi; "
    "kill $a 2>/dev/null; fi; ";
constexpr const char* kGpus =
    "if command -v nvidia-smi >/dev/null 2>&1; then "
    "timeout 10 nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null "
    "</dev/null "
    "| sed 's/^/gpu=/'; fi; ";
// A folder of fetch-libtorch, or else what python3 finds without importing it.
constexpr const char* kLibTorch =
    "y=$(command -v python3); say python \"$y\"; l=$b/shardscope/libtorch-$v; "
    "[ -e \"$l-cuda/torch/lib/libtorch_cpu.so\" ] && l=$l-cuda; "
    "o=$(if [ -e \"$l/torch/lib/libtorch_cpu.so\" ]; then "
    "for d in \"$l\"/torch/lib \"$l\"/nvidia/*/lib \"$l\"/onednn*/data/lib; do "
    "[ -d \"$d\" ] && say torch_lib \"$d\"; done; "
    "[ -e \"$l/torch/lib/libtorch_cuda.so\" ] && say torch_cuda yes; "
    "elif [ -n \"$y\" ]; then \"$y\" -c \"$p\" 2>/dev/null </dev/null; fi); printf '%s\\n' "
    "\"$o\"; ";
// What fetch-libtorch needs, where there is something left to fetch.
constexpr const char* kFetchLacks =
    "lacks() { for d in bash unzip; do command -v $d >/dev/null 2>&1 || say fetch_lacks $d; done; "
    "[ -n \"$y\" ] && \"$y\" -c \"$w\" >/dev/null 2>&1 </dev/null || "
    "say fetch_lacks \"pip for python3\"; }; "
    "case $o in *torch_cuda=*) ;; "
    "*torch_lib=*) command -v nvidia-smi >/dev/null 2>&1 && lacks;; *) lacks;; esac; ";
// Without starting pip, which takes long.
constexpr const char* kHasPip = "import importlib.util as u,sys;sys.exit(not u.find_spec('pip'))";
constexpr const char* kPython =
    "import glob,importlib.util as u,importlib.metadata as m,os,sys;"
    "v=m.version('torch');"
    "d=os.path.dirname(u.find_spec('torch').origin);"
    "ours=v.split('+')[0]=='{}';"
    "print('other_torch='+v) if not ours else "
    "[print('torch_lib='+x) for x in "
    "[d+'/lib']+sorted(glob.glob(os.path.dirname(d)+'/nvidia/*/lib'))];"
    "ours and os.path.exists(d+'/lib/libtorch_cuda.so') and print('torch_cuda=yes')";

std::int64_t number(std::string_view text) {
    std::int64_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

std::optional<Bytes> kilobytes(const std::string& text) {
    if (text.empty()) return std::nullopt;
    return Bytes{number(text) * 1024};
}

/// The column before "NN%" of df's line; names before and after it may hold blanks.
std::optional<Bytes> freeOf(const std::string& line) {
    std::istringstream words(line);
    std::string before;
    for (std::string word; words >> word; before = word)
        if (word.ends_with('%')) return kilobytes(before);
    return std::nullopt;
}

/// The third word of SSH_CONNECTION: client, its port, server, its port.
std::string serverAddress(const std::string& connection) {
    std::istringstream words(connection);
    std::string word;
    for (int i = 0; i < 3; ++i) words >> word;
    return words ? word : std::string();
}

using Values = std::map<std::string, std::vector<std::string>>;

Values valuesOf(const std::string& answer) {
    Values values;
    std::istringstream lines(answer);
    for (std::string line; std::getline(lines, line);) {
        const auto equals = line.find('=');
        if (equals != std::string::npos && equals + 1 < line.size())
            values[line.substr(0, equals)].push_back(line.substr(equals + 1));
    }
    return values;
}

std::string one(const Values& values, const std::string& key) {
    const auto found = values.find(key);
    return found == values.end() ? std::string() : found->second.front();
}

std::string joined(const Values& values, const std::string& key) {
    const auto found = values.find(key);
    std::string text;
    if (found == values.end()) return text;
    for (const std::string& each : found->second) text += (text.empty() ? "" : ":") + each;
    return text;
}

/// Of lines "NVIDIA H100, 550.54.15".
void setGpus(const std::vector<std::string>& lines, HostLook& look) {
    for (const std::string& line : lines) {
        const auto comma = line.rfind(", ");
        look.gpus.push_back(line.substr(0, comma));
        if (comma != std::string::npos) look.driver = line.substr(comma + 2);
    }
}

}  // namespace

const char* libTorchVersion() {
    return SHARDSCOPE_LIBTORCH_VERSION;
}

std::string folderWords(const SshHost& host) {
    if (host.folder.empty()) return "b=${XDG_CACHE_HOME:-$HOME/.cache}; ";
    if (host.folder.front() == '/') return fmt::format("b={}; ", shellWord(host.folder));
    const bool tilde = host.folder == "~" || host.folder.starts_with("~/");
    const std::string below =
        tilde ? host.folder.substr(std::min<std::size_t>(2, host.folder.size())) : host.folder;
    return fmt::format("b=$HOME/{}; ", shellWord(below));
}

/// Python keeps what it has compiled beside its modules.
constexpr const char* kNotPythons = " ! -path '*/__pycache__/*'";

std::string sameContents() {
    // The sums are those of the name; no file more and none less; and each as it was, which is seen
    // by the time when it was last changed (not by the one that users can set), or summed up.
    return fmt::format(
        "same() {{ cd \"$1\" && case \"$1\" in *\"$(sha256sum <{0} | cut -c 1-16)\") ;; "
        "*) exit 1;; esac && [ $(find ./*/ -type f{1} | wc -l) -eq $(wc -l <{0}) ] && "
        "if [ -n \"$(find . -type f ! -name '.used*' -cnewer .used 2>&1 | head -n 1)\" ]; then "
        "{{ : >.used-$$; }} 2>/dev/null; sha256sum -c {0} >/dev/null 2>&1; r=$?; "
        "[ $r -eq 0 ] && mv -f .used-$$ .used; rm -f .used-$$; exit $r; fi; }} 2>/dev/null; ",
        kSumsFile, kNotPythons);
}

std::string wholePackage() {
    // Hidden names beside the package's are marks of ours, or another process's copy on its way.
    return fmt::format(
        "whole() {{ cd \"$1\" && [ \"$(sha256sum <{0} | cut -c 1-16)\" = \"${{1##*/}}\" ] && "
        "[ -z \"$(find ./* ! -type d ! -type f; find ./bin -type f ! -perm -100{1})\" ] && "
        "[ $(find ./* -type f{1} | wc -l) -eq $(($(wc -l <{0}) + 1)) ] && "
        "sha256sum -c {0} >/dev/null; }} 2>/dev/null; ",
        kSumsFile, kNotPythons);
}

std::string lookLine(const SshHost& host, const Token& token, const std::string& program,
                     const std::string& data) {
    return fmt::format(
        "( LC_ALL=C; export LC_ALL; say() {{ printf '%s=%s\\n' \"$1\" \"$2\"; }}; {}{}{}{}; h={}; "
        "q={}; v={}; "
        "p={}; w={}; {}{}{}{}{}say end yes ); IFS= read -r n || exit 0; eval \"$n\"",
        sameContents(), wholePackage(), folderWords(host), token.printing(), shellWord(program),
        shellWord(data), libTorchVersion(), shellWord(fmt::format(kPython, libTorchVersion())),
        shellWord(kHasPip), kSystem, kFolder, kLibTorch, kFetchLacks, kGpus);
}

HostLook parseLook(const std::string& answer) {
    const Values values = valuesOf(answer);
    HostLook look;
    look.whole = one(values, "end") == "yes";
    if (const std::string clock = one(values, "clock");
        clock.size() > 15 && clock.find_first_not_of("0123456789") == std::string::npos)
        look.clockNs = number(clock);
    look.system = one(values, "system");
    look.glibc = parseGlibc(one(values, "glibc"));
    look.cores = static_cast<int>(number(one(values, "cores")));
    look.freeMemory = kilobytes(one(values, "memory_kb"));
    look.freeDisk = freeOf(one(values, "disk"));
    look.folder = one(values, "folder");
    look.writable = one(values, "writable") == "yes";
    look.inTheWay = one(values, "in_the_way");
    look.programThere = one(values, "program") == "yes";
    look.programDamaged = one(values, "program") == "damaged";
    look.dataThere = one(values, "data") == "yes";
    look.dataChanged = one(values, "data") == "changed";
    look.libTorch = joined(values, "torch_lib");
    look.otherTorch = one(values, "other_torch");
    look.python = one(values, "python");
    look.torchCuda = one(values, "torch_cuda") == "yes";
    if (const auto lacks = values.find("fetch_lacks"); lacks != values.end())
        look.fetchLacks = lacks->second;
    if (const auto gpus = values.find("gpu"); gpus != values.end()) setGpus(gpus->second, look);
    look.reachedAt = serverAddress(one(values, "ssh"));
    return look;
}

}  // namespace shardscope::launch
