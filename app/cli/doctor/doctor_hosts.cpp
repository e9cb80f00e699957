#include "app/cli/answers/answer_text.h"
#include "app/cli/console.h"
#include "app/cli/doctor/doctor_checks.h"
#include "app/cli/hosts/run_hosts.h"
#include "app/cli/hosts/ssh_hosts.h"
#include "app/cli/record/run_requests.h"
#include "engine/run/config/host_list.h"
#include "storage/model/plain_text.h"
#include "storage/model/quantity_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <csignal>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace shardscope::cli {
namespace {

using Json = nlohmann::ordered_json;
using launch::HostLook;

std::string gigabytes(const std::optional<Bytes>& bytes) {
    return bytes ? sizeText(*bytes) : "?";
}

/// "2 x NVIDIA H100 80GB HBM3, driver 550.54.15"
std::string gpuText(const HostLook& look) {
    const std::vector<std::string>& names = look.gpus;
    std::vector<std::string> parts;
    for (std::size_t i = 0; i < names.size();) {
        std::size_t end = i;
        while (end < names.size() && names[end] == names[i]) ++end;
        parts.push_back(end - i == 1 ? names[i] : fmt::format("{} x {}", end - i, names[i]));
        i = end;
    }
    if (parts.empty()) return "none";
    if (!look.driver.empty()) parts.push_back("driver " + look.driver);
    return fmt::format("{}", fmt::join(parts, ", "));
}

std::string torchText(const LookedAt& each) {
    const HostLook& look = each.look;
    if (!look.libTorch.empty())
        return std::string(launch::libTorchVersion()) + (look.torchCuda ? ", CUDA" : "");
    if (each.fetchesTorch) return "none yet";
    return look.otherTorch.empty() ? "none" : fmt::format("none (torch {})", look.otherTorch);
}

double seconds(std::int64_t ns) {
    return static_cast<double>(ns) * 1e-9;
}

/// Of its wall clock; a run compares clocks for itself, and far better.
std::string clockText(const HostLook& look) {
    if (!look.clockNs) return "?";
    return fmt::format("{:+.2f} s ± {:.2f}", seconds(look.clockAhead), seconds(look.clockError));
}

std::vector<questions::Cell> rowOf(const LookedAt& each) {
    const HostLook& look = each.look;
    if (look.system.empty()) return {each.name, "not reached", "", "", "", "", "", "", "", ""};
    return {each.name,
            each.failure ? "lacks something" : "ok",
            look.system,
            fmt::format("{}.{}", look.glibc.major, look.glibc.minor),
            look.cores > 0 ? std::to_string(look.cores) : "?",
            gigabytes(look.freeMemory),
            gigabytes(look.freeDisk),
            torchText(each),
            gpuText(look),
            clockText(look)};
}

/// What a row has no room for, a line each.
std::string remarksOf(const LookedAt& each) {
    std::string text;
    if (each.look.programDamaged)
        text += asLine(fmt::format(
            "{}: this program in {} is damaged or incomplete; the next run sends it again",
            each.name, each.look.folder));
    else if (!each.look.folder.empty())
        text += asLine(fmt::format("{}: {} in {}", each.name,
                                   each.look.programThere ? "this program is" : "it would be put",
                                   each.look.folder));
    if (each.look.noisy)
        text += asLine(each.name + ": its login shell prints to standard output; that is ignored");
    if (each.failure) text += quotedLines(each.failure->message) + '\n';
    return text;
}

std::string textOf(const std::vector<LookedAt>& hosts) {
    std::string remarks;
    questions::Table table{"hosts",
                           "Hosts",
                           {{"host", "host"},
                            {"state", "state"},
                            {"system", "system"},
                            {"glibc", "glibc"},
                            {"cores", "cores"},
                            {"free_memory", "free memory"},
                            {"free_disk", "free disk"},
                            {"libtorch", "LibTorch"},
                            {"gpus", "GPUs"},
                            {"clock", "clock ahead"}},
                           {}};
    for (const LookedAt& each : hosts) {
        table.rows.push_back(rowOf(each));
        remarks += remarksOf(each);
    }
    return tableText(table) + remarks;
}

template <class T>
Json orNull(const T& value, bool known) {
    return known ? Json(value) : Json();
}

Json jsonOf(const LookedAt& each) {
    const HostLook& look = each.look;
    const auto count = [](const std::optional<Bytes>& bytes) {
        return bytes ? Json(bytes->count) : Json();
    };
    return {{"host", each.name},
            {"ok", !each.failure},
            {"reached", !look.system.empty()},
            {"system", look.system},
            {"glibc", orNull(fmt::format("{}.{}", look.glibc.major, look.glibc.minor),
                             look.glibc.major > 0)},
            {"cores", orNull(look.cores, look.cores > 0)},
            {"free_memory_bytes", count(look.freeMemory)},
            {"free_disk_bytes", count(look.freeDisk)},
            {"folder", look.folder},
            {"program", look.programThere},
            {"program_damaged", look.programDamaged},
            {"libtorch", look.libTorch.empty() ? Json() : Json(launch::libTorchVersion())},
            {"libtorch_cuda", look.torchCuda},
            {"libtorch_fetched_by_a_run", each.fetchesTorch},
            {"gpus", look.gpus},
            {"driver", look.driver.empty() ? Json() : Json(look.driver)},
            {"address", look.reachedAt},
            {"clock_ahead_s", orNull(seconds(look.clockAhead), look.clockNs.has_value())},
            {"clock_error_s", orNull(seconds(look.clockError), look.clockNs.has_value())},
            {"unknown_key", each.unknownKey.empty() ? Json() : Json(each.unknownKey)},
            {"noisy_shell", look.noisy},
            {"problem", each.failure ? Json(each.failure->message) : Json()}};
}

std::string documentOf(const std::vector<LookedAt>& hosts) {
    Json list = Json::array();
    for (const LookedAt& each : hosts) list.push_back(jsonOf(each));
    const Json document = {{"schema", "shardscope.doctor-hosts/1"}, {"hosts", list}};
    return document.dump(1, ' ', false, Json::error_handler_t::replace) + '\n';
}

Result<std::vector<LookedAt>> look(const DoctorHosts& options) {
    auto text = hostText(options.hosts);
    if (!text) return failure(text);
    const auto hosts = run::parseHosts(*text);
    if (!hosts) return failure(hosts, "--hosts");
    auto signals = SignalRequests::open();
    if (!signals) return failure(signals);
    return lookAtAll(*hosts, options.sshCommand, options.acceptKey, *signals);
}

}  // namespace

int diagnoseHosts(const DoctorHosts& options) {
    std::signal(SIGPIPE, SIG_IGN);
    const auto hosts = look(options);
    if (!hosts) {
        tellError(hosts.error().message);
        return exitStatus(hosts.error());
    }
    bool all = true;
    for (const LookedAt& each : *hosts) all = all && !each.failure;
    return printLast(options.json ? documentOf(*hosts) : textOf(*hosts),
                     all ? 0 : static_cast<int>(ErrorCode::kLaunch));
}

}  // namespace shardscope::cli
