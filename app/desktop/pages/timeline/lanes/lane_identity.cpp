#include "app/desktop/pages/timeline/lanes/lane_identity.h"

#include "app/desktop/models/format.h"
#include "storage/model/flow_words.h"
#include "storage/model/rank_facts.h"

#include <QRegularExpression>
#include <QStringList>
#include <algorithm>
#include <iterator>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

/// "GPU 0 stream 7, context 2: copies", "stream 19: NCCL"
bool isOfStream(const QString& name, LaneIdentity& found, QString& rest) {
    static const QRegularExpression pattern(
        u"^(?:GPU (\\d+) )?stream (\\d+)(, context \\d+)?(?::? +(.*))?$"_s);
    const auto match = pattern.match(name);
    if (!match.hasMatch()) return false;
    const QString device = match.captured(1);
    found.section = LaneSection::kStreams;
    found.groupName = u"stream "_s + match.captured(2) + match.captured(3);
    if (!device.isEmpty()) found.groupName = u"GPU %1 · "_s.arg(device) + found.groupName;
    found.group = found.groupName;
    rest = match.captured(4);
    return true;
}

/// "main thread 123", "thread 124 (backward)", "thread 125 (loader)"
QString threadName(const QString& number, QString name, const RankFacts& rank) {
    if (number.toLongLong() == rank.pid && rank.pid > 0) return u"main thread "_s + number;
    if (name.startsWith("pt_autograd"_L1)) name = u"backward"_s;
    if (name.startsWith("pt_main_thread"_L1)) return u"main thread "_s + number;
    return name.isEmpty() ? u"thread "_s + number : u"thread %1 (%2)"_s.arg(number, name);
}

/// "thread 291 (pt_main_thread): cpu_op (CPU)", "thread 111 (python3): NVTX, marks", and of several
/// processes "thread 4 (loader) (worker 700): cpu_op"
bool isOfThread(const QString& name, const RankFacts& rank, LaneIdentity& found, QString& rest) {
    static const QRegularExpression pattern(
        u"^thread (-?\\d+)(?: \\(([^)]*)\\))?(?: \\(([^)]*)\\))?(?:: (.*?))?(?: \\(([^()]*)\\))?$"_s);
    const auto match = pattern.match(name);
    if (!match.hasMatch()) return false;
    found.section = LaneSection::kThreads;
    found.groupName = threadName(match.captured(1), match.captured(2), rank);
    rest = match.captured(4);
    if (!match.captured(3).isEmpty()) found.groupName += u" · "_s + match.captured(3);
    const QString process = match.captured(5);
    if (!process.isEmpty() && process != "CPU"_L1 && !process.startsWith("python"_L1))
        found.groupName += u" · "_s + process;
    found.group = found.groupName;
    return true;
}

/// "CUDA calls (thread 4711)" of our own recordings.
bool isOfNamedThread(const QString& name, const RankFacts& rank, LaneIdentity& found,
                     QString& rest) {
    static const QRegularExpression pattern(u"^(.*) \\(thread (\\d+)\\)$"_s);
    const auto match = pattern.match(name);
    if (!match.hasMatch()) return false;
    found.section = LaneSection::kThreads;
    found.groupName = threadName(match.captured(2), {}, rank);
    found.group = found.groupName;
    rest = match.captured(1);
    return true;
}

struct Category {
    QLatin1StringView word;  ///< how the rest of a lane's name begins
    LaneContent content;
    QLatin1StringView name;
};
constexpr Category kCategories[] = {
    {"user_annotation"_L1, LaneContent::kAnnotations, "annotations"_L1},
    {"gpu_user_annotation"_L1, LaneContent::kAnnotations, "annotations"_L1},
    {"python_function"_L1, LaneContent::kPython, "Python"_L1},
    {"cpu_op"_L1, LaneContent::kOperators, "operators"_L1},
    {"cuda_runtime"_L1, LaneContent::kCalls, "CUDA runtime"_L1},
    {"cuda_driver"_L1, LaneContent::kCalls, "CUDA driver"_L1},
    {"cuda_sync"_L1, LaneContent::kWaits, "waits"_L1},
    {"gpu_memcpy"_L1, LaneContent::kCopies, "copies"_L1},
    {"gpu_memset"_L1, LaneContent::kCopies, "sets"_L1},
    {"collectives"_L1, LaneContent::kCollectiveKernels, "collectives"_L1},
    {"NCCL"_L1, LaneContent::kCollectiveKernels, "NCCL"_L1},
    {"kernel"_L1, LaneContent::kKernels, "kernels"_L1},
};

/// Of a thread or stream: what its lane holds.
void describe(const LaneFacts& lane, const QString& rest, LaneIdentity& found) {
    found.name = rest;
    for (const Category& category : kCategories) {
        if (rest != category.word) continue;
        found.content = category.content;
        found.name = category.name;
        return;
    }
    switch (lane.role) {
        case LaneRole::kCompute:
            found.content = LaneContent::kKernels;
            if (rest.isEmpty()) found.name = u"kernels"_s;
            break;
        case LaneRole::kCommunication:
            found.content = LaneContent::kCollectiveKernels;
            break;
        case LaneRole::kCopy:
            found.content = LaneContent::kCopies;
            break;
        case LaneRole::kRange:
            found.content = LaneContent::kAnnotations;
            break;
        case LaneRole::kRuntime:
            found.content = LaneContent::kCalls;
            break;
        case LaneRole::kSync:
            found.content = LaneContent::kWaits;
            break;
        default:
            if (rest == "operators"_L1) found.content = LaneContent::kOperators;
    }
    if (found.name.isEmpty()) found.name = u"events"_s;
}

/// An importer's thread with a name of its own: "loader: cpu_op", "pt_main_thread:
/// user_annotation". Of ranges only by categories that are known: the program names them as it
/// likes.
bool isOfCalledThread(const LaneFacts& lane, const QString& name, const RankFacts& rank,
                      LaneIdentity& found) {
    const qsizetype end = name.lastIndexOf(": "_L1);
    if (end < 0) return false;
    const QString rest = name.mid(end + 2);
    const bool isKnown = std::any_of(std::begin(kCategories), std::end(kCategories),
                                     [&](const Category& one) { return rest == one.word; });
    if (lane.role == LaneRole::kRange && !isKnown) return false;
    found.section = LaneSection::kThreads;
    found.groupName = name.left(end);
    if (found.groupName.startsWith("pt_main_thread"_L1) && rank.pid > 0)
        found.groupName = u"main thread %1"_s.arg(rank.pid);
    found.group = found.groupName;
    describe(lane, rest, found);
    return true;
}

/// Of an importer's lane that holds no span of the program.
bool saysNothing(const LaneIdentity& lane, const QString& rest) {
    return lane.section == LaneSection::kThreads &&
           (rest == "flow"_L1 || rest == QLatin1StringView(flow_words::kLaunch) ||
            rest == QLatin1StringView(flow_words::kForwardBackward) ||
            rest.startsWith("instant"_L1));
}

QString addedRun(QString list, std::uint32_t first, std::uint32_t last) {
    if (!list.isEmpty()) list += u", "_s;
    list += QString::number(first);
    if (last > first) list += (last == first + 1 ? u", "_s : u"–"_s) + QString::number(last);
    return list;
}

}  // namespace

bool isOfInventedThread(const QString& name) {
    return name.startsWith("thread : "_L1) || name == "thread "_L1 ||
           (name.startsWith("thread "_L1) && name.contains("PyTorch Profiler"_L1)) ||
           name.startsWith("thread Spans"_L1) || name.startsWith("thread Traces"_L1);
}

LaneIdentity identify(const LaneFacts& lane, const RankFacts& rank) {
    LaneIdentity found;
    const QString name = fromUtf8(lane.name);
    found.name = name;
    if (lane.role == LaneRole::kCounter) {
        found.section =
            lane.lane == kMemoryTotalLane ? LaneSection::kEngine : LaneSection::kCounters;
        if (lane.lane == kMemoryTotalLane) found.name = u"memory"_s;
        return found;
    }
    if (isOfInventedThread(name)) {
        found.section = LaneSection::kOther;
        return found;
    }
    QString rest;
    if (isOfStream(name, found, rest) || isOfThread(name, rank, found, rest) ||
        isOfNamedThread(name, rank, found, rest)) {
        describe(lane, rest, found);
        if (!saysNothing(found, rest)) return found;
        found = {LaneSection::kOther, LaneContent::kRest, {}, {}, name};
        return found;
    }
    const bool ofHost = lane.role == LaneRole::kHost || lane.role == LaneRole::kRuntime ||
                        lane.role == LaneRole::kSync;
    if (isStreamLane(lane.lane)) {
        found.section = LaneSection::kStreams;
        const qsizetype end = name.indexOf(": "_L1);
        found.group = found.groupName = name.left(end);
        describe(lane, end < 0 ? QString() : name.mid(end + 2), found);
        return found;
    }
    if ((ofHost || lane.role == LaneRole::kRange) && isOfCalledThread(lane, name, rank, found))
        return found;
    if (ofHost) {
        found.section = LaneSection::kThreads;
        found.groupName = u"main thread"_s;
        if (rank.pid > 0) found.groupName += u' ' + QString::number(rank.pid);
        found.group = found.groupName;
        describe(lane, name, found);
    }
    return found;
}

std::uint32_t communicationGroup(const LaneFacts& lane) {
    static constexpr std::string_view kBegin = "communication in group ";
    if (!lane.name.starts_with(kBegin)) return 0;
    return fromUtf8(std::string_view(lane.name).substr(kBegin.size())).toUInt();
}

QString rankList(const std::vector<RankId>& ranks) {
    QString list;
    for (std::size_t i = 0; i < ranks.size();) {
        std::size_t end = i + 1;
        while (end < ranks.size() && ranks[end].value == ranks[end - 1].value + 1) ++end;
        list = addedRun(list, ranks[i].value, ranks[end - 1].value);
        i = end;
    }
    return (ranks.size() == 1 ? u"rank "_s : u"ranks "_s) + list;
}

}  // namespace shardscope::desktop
