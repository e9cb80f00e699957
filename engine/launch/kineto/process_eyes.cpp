#include "engine/launch/kineto/process_eyes.h"

#include "storage/model/file_descriptor.h"
#include "storage/model/plain_text.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

namespace shardscope::launch::kineto {
namespace {

constexpr std::size_t kMostBytes = std::size_t{4} << 20;
constexpr std::size_t kMostCommandBytes = 300;
constexpr std::size_t kMostAncestors = 64;
/// The first that is there counts: launchers of PyTorch say RANK, in jobs of others too.
constexpr std::array kRankVariables = {"RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                                       "SLURM_PROCID"};

std::string procPath(pid_t pid, const char* file) {
    return "/proc/" + std::to_string(pid) + "/" + file;
}

std::string contentOf(const std::string& path, std::size_t most = kMostBytes) {
    const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    std::string text;
    std::array<char, 65'536> part{};
    while (text.size() < most) {
        const ssize_t got = ::read(file.get(), part.data(), part.size());
        if (got <= 0) break;
        text.append(part.data(), static_cast<std::size_t>(got));
    }
    return text;
}

/// Parent and start of a process; proc(5) has them as fields 4 and 22.
std::pair<pid_t, std::uint64_t> parentAndStart(pid_t pid) {
    const std::string text = contentOf(procPath(pid, "stat"), 4096);
    std::string_view rest = text;
    const std::size_t end = rest.rfind(')');
    if (end == std::string_view::npos || end + 2 > rest.size()) return {0, 0};
    rest.remove_prefix(end + 2);
    // A zombie has ended.
    if (rest.starts_with("Z") || rest.starts_with("X")) return {0, 0};
    std::array<std::uint64_t, 23> fields{};
    for (std::size_t field = 3; field < fields.size() && !rest.empty(); ++field) {
        const std::size_t blank = std::min(rest.find(' '), rest.size());
        std::from_chars(rest.data(), rest.data() + blank, fields[field]);
        rest.remove_prefix(std::min(blank + 1, rest.size()));
    }
    return {static_cast<pid_t>(fields[4]), fields[22]};
}

std::map<std::string_view, std::string_view> variablesIn(std::string_view text) {
    std::map<std::string_view, std::string_view> variables;
    while (!text.empty()) {
        const std::string_view each = text.substr(0, text.find('\0'));
        text.remove_prefix(std::min(each.size() + 1, text.size()));
        const std::size_t sign = each.find('=');
        if (sign != std::string_view::npos)
            variables.emplace(each.substr(0, sign), each.substr(sign + 1));
    }
    return variables;
}

class Variables {
public:
    explicit Variables(std::string_view text) : m_variables(variablesIn(text)) {}

    [[nodiscard]] bool has(const char* name) const { return m_variables.contains(name); }
    [[nodiscard]] std::string text(const char* name) const {
        const auto found = m_variables.find(name);
        return found == m_variables.end() ? std::string() : std::string(found->second);
    }
    /// -1: not there, or no sensible number of ranks.
    [[nodiscard]] std::int32_t number(const char* name) const {
        constexpr std::int32_t kMost = 100'000;
        const std::string value = text(name);
        std::int32_t number = -1;
        const auto read = std::from_chars(value.data(), value.data() + value.size(), number);
        const bool sound = !value.empty() && read.ec == std::errc{} &&
                           read.ptr == value.data() + value.size() && number < kMost;
        return sound ? std::max(number, -1) : -1;
    }

private:
    std::map<std::string_view, std::string_view> m_variables;
};

void readVariables(ProcessLook& look, const Variables& variables) {
    for (const char* name : kRankVariables) {
        const std::int32_t rank = variables.number(name);
        if (rank < 0 || look.rank) continue;
        look.rank = RankWord{name, rank};
    }
    look.localRank = variables.number("LOCAL_RANK");
    look.localRanks = std::max(variables.number("LOCAL_WORLD_SIZE"), 0);
    look.ranks = std::max(variables.number("WORLD_SIZE"), 0);
    look.wantsDaemon = variables.has("KINETO_USE_DAEMON");
    look.socketFolder = variables.text("KINETO_IPC_SOCKET_DIR");
    look.traceFolder = variables.text("KINETO_ONDEMAND_TRACE_DIR");
}

bool isClosed(int file, std::int64_t size) {
    std::array<char, 64> end{};
    const std::int64_t from = std::max<std::int64_t>(size - std::int64_t{64}, 0);
    const ssize_t got = ::pread(file, end.data(), end.size(), from);
    std::string_view text(end.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
    return text.ends_with('}');
}

/// The number behind a key that follows within the event at the front.
std::int64_t nsAfter(std::string_view text, std::string_view key) {
    const std::size_t at = text.find(key);
    if (at == std::string_view::npos) return 0;
    text.remove_prefix(at + key.size());
    text.remove_prefix(std::min(text.find_first_not_of(" \""), text.size()));
    double number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    constexpr double kMostUs = 9e15;
    return std::abs(number) < kMostUs ? static_cast<std::int64_t>(number * 1000) : 0;
}

constexpr std::string_view kStep = "\"Optimizer.step#";
constexpr std::array<std::string_view, 3> kWork = {"\"cpu_op\"", "\"kernel\"", "\"cuda_runtime\""};
/// An event's time stands so near behind its name.
constexpr std::size_t kEventBytes = 512;

/// Of all but the last kEventBytes; what is done.
std::size_t countIn(std::string_view window, TraceLook& look) {
    const std::size_t end = window.size() - std::min(window.size(), kEventBytes);
    for (const std::string_view word : kWork)
        look.hasWork = look.hasWork || window.find(word) != std::string_view::npos;
    for (std::size_t at = 0; (at = window.find(kStep, at)) < end; ++at) {
        const std::int64_t ns = nsAfter(window.substr(at, kEventBytes), "\"ts\":");
        // Events of one thread are sorted by nothing that is promised.
        look.firstStepNs = look.steps == 0 ? ns : std::min(look.firstStepNs, ns);
        look.lastStepNs = look.steps == 0 ? ns : std::max(look.lastStepNs, ns);
        ++look.steps;
    }
    return end;
}

/// Words that Kineto writes, wherever they stand.
void countWords(int file, TraceLook& look) {
    std::string window;
    std::vector<char> part(std::size_t{1} << 20);
    for (ssize_t got = 0; (got = ::read(file, part.data(), part.size())) > 0;) {
        window.append(part.data(), static_cast<std::size_t>(got));
        window.erase(0, countIn(window, look));
    }
    countIn(window.append(kEventBytes, ' '), look);
}

}  // namespace

ProcessLook ProcessEyes::look(pid_t pid) const {
    ProcessLook look;
    auto [parent, start] = parentAndStart(pid);
    look.startTicks = start;
    if (start == 0) return look;
    while (parent > 0 && look.ancestors.size() < kMostAncestors) {
        look.ancestors.push_back(parent);
        parent = parentAndStart(parent).first;
    }
    struct stat facts {};
    if (::stat(procPath(pid, "").c_str(), &facts) == 0) look.user = facts.st_uid;
    look.command = contentOf(procPath(pid, "cmdline"), kMostCommandBytes);
    look.command.resize(std::min(look.command.size(), kMostCommandBytes));
    std::replace(look.command.begin(), look.command.end(), '\0', ' ');
    while (look.command.ends_with(' ')) look.command.pop_back();
    look.command = printableLine(look.command);
    const std::string environment = contentOf(procPath(pid, "environ"));
    look.readable = !environment.empty();
    readVariables(look, Variables(environment));
    return look;
}

bool ProcessEyes::isAlive(pid_t pid, std::uint64_t startTicks) const {
    return startTicks != 0 && parentAndStart(pid).second == startTicks;
}

bool ProcessEyes::hasTorch(pid_t pid) const {
    return contentOf(procPath(pid, "maps"), std::size_t{16} << 20).find("/libtorch") !=
           std::string::npos;
}

std::vector<pid_t> ProcessEyes::descendants(pid_t root) const {
    std::multimap<pid_t, pid_t> children;
    std::error_code error;
    for (auto at = std::filesystem::directory_iterator("/proc", error);
         !error && at != std::filesystem::directory_iterator(); at.increment(error)) {
        const std::string name = at->path().filename().string();
        pid_t pid = 0;
        const auto read = std::from_chars(name.data(), name.data() + name.size(), pid);
        if (read.ec != std::errc{} || read.ptr != name.data() + name.size()) continue;
        children.emplace(parentAndStart(pid).first, pid);
    }
    std::vector<pid_t> found;
    std::set<pid_t> open{root};
    while (!open.empty()) {
        const pid_t parent = *open.begin();
        open.erase(open.begin());
        const auto [from, to] = children.equal_range(parent);
        for (auto at = from; at != to; ++at) {
            found.push_back(at->second);
            open.insert(at->second);
        }
        children.erase(from, to);
    }
    return found;
}

TraceLook ProcessEyes::trace(const std::string& path) const {
    TraceLook look;
    // Where others may write, a link or a pipe could wait under the name.
    const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    struct stat facts {};
    look.exists = file.valid() && ::fstat(file.get(), &facts) == 0 && S_ISREG(facts.st_mode) != 0;
    look.whole = look.exists && isClosed(file.get(), facts.st_size);
    if (look.whole) countWords(file.get(), look);
    return look;
}

std::string ProcessEyes::keep(const std::string& path) const {
    std::error_code error;
    const std::string kept = path + ".kept";
    std::filesystem::rename(path, kept, error);
    return error ? path : kept;
}

}  // namespace shardscope::launch::kineto
