// A PyTorch CUDA memory snapshot into a recording: memory events, bytes reserved, what ran out.
#include "storage/interchange/import.h"
#include "storage/interchange/memory_snapshot/snapshot_walk.h"

#include <algorithm>

namespace shardscope::interchange {
namespace {

/// What every allocation passes through: the unwinder, the allocator, tensors being made, and the
/// dispatcher. Fronts of qualified names.
constexpr std::string_view kEverybodys[] = {"torch::unwind::",
                                            "torch::CapturedTraceback",
                                            "torch::cuda::::gather",
                                            "c10::cuda::",
                                            "c10::impl::",
                                            "c10::StorageImpl",
                                            "c10::Allocator",
                                            "c10::Dispatcher",
                                            "c10::KernelFunction",
                                            "at::detail::",
                                            "at::_ops::",
                                            "at::redispatch::",
                                            "at::::",
                                            "at::meta::",
                                            "at::TensorIteratorBase::",
                                            "at::empty",
                                            "at::native::empty",
                                            "at::native::resize",
                                            "at::native::::create_out"};

/// "at::TensorBase at::detail::_empty<long>(c10::IntArrayRef)" is at::detail::_empty; anonymous
/// namespaces have no name.
std::string qualifiedName(std::string_view name) {
    constexpr std::string_view kAnonymous = "(anonymous namespace)";
    std::string text(name);
    for (std::size_t at = 0; (at = text.find(kAnonymous, at)) != std::string::npos;)
        text.erase(at, kAnonymous.size());
    text.resize(std::min(text.size(), text.find_first_of("<(")));
    return text.substr(text.rfind(' ') + 1);
}

bool isEverybodys(std::string_view name) {
    const std::string qualified = qualifiedName(name);
    return std::any_of(std::begin(kEverybodys), std::end(kEverybodys),
                       [&](std::string_view front) { return qualified.starts_with(front); });
}

/// Names the code that asked: the innermost frame of Python code that is not PyTorch's; else the
/// innermost that not every allocation passes through; else the innermost.
PickleValue chosenFrame(const PickleDocument& document, PickleValue frames) {
    const auto& all = document.items(frames);
    for (const PickleValue frame : all) {
        const std::string_view file = document.text(frame, "filename");
        if (file.ends_with(".py") && file.find("/torch/") == std::string_view::npos) return frame;
    }
    for (const PickleValue frame : all)
        if (!isEverybodys(document.text(frame, "name"))) return frame;
    return all.empty() ? PickleValue{} : all.front();
}

/// What our own export writes for a frame is read back: "activations: aten::mm".
MemoryCategory categoryOf(std::string_view name, std::string_view& owner) {
    for (int i = 0; i < kMemoryCategoryCount; ++i) {
        const auto category = static_cast<MemoryCategory>(i);
        const std::string_view word = toWord(category);
        if (name == word) {
            owner = {};
            return category;
        }
        if (!name.starts_with(word) || name.substr(word.size(), 2) != ": ") continue;
        owner = name.substr(word.size() + 2);
        return category;
    }
    return MemoryCategory::kOther;
}

class SnapshotImport {
public:
    SnapshotImport(const ReaderRequest& request, const PickleDocument& document)
        : m_request(request), m_document(document), m_builder(*request.builder) {}

    Result<ReaderResult> run() {
        const std::vector<std::size_t> devices = devicesOf(m_document);
        if (devices.empty())
            return failure(ErrorCode::kUnreadable,
                           "the memory snapshot is empty: it was taken before anything was "
                           "allocated on a GPU, or without _record_memory_history");
        const std::int64_t firstUs = firstTimeUs(m_document);
        m_result.rank = m_request.rank;
        m_result.zeroNs = m_request.zeroNs.value_or(firstUs * 1000);
        m_result.baseUnixNs = firstUs == 0 ? 0 : m_result.zeroNs;
        m_result.run.startedUnixNs = m_result.baseUnixNs;
        m_result.run.configJson = "{}";
        m_result.run.worldSize = 1;
        for (const std::size_t device : devices) {
            // A process that used several devices: each is drawn as a rank of its own.
            const auto index = devices.size() == 1 ? 0u : static_cast<std::uint32_t>(device);
            this->device(device, {m_request.rank.value + index}, firstUs);
            m_result.run.worldSize =
                std::max(m_result.run.worldSize, static_cast<std::int32_t>(index) + 1);
            if (m_request.progress && !m_request.progress(1.0))
                return failure(ErrorCode::kCancelled, "the import was cancelled");
            if (auto fine = m_builder.state(); !fine) return failure(fine);
        }
        if (devices.size() > 1)
            m_result.account.notes.emplace_back("the snapshot has " +
                                                std::to_string(devices.size()) +
                                                " devices: each became a rank of its own");
        return m_result;
    }

private:
    [[nodiscard]] Timestamp timeOf(std::int64_t us) {
        const Timestamp time{us * 1000 - m_result.zeroNs};
        m_result.ended = std::max(m_result.ended, time + Duration{1});
        return time;
    }

    void device(std::size_t device, RankId rank, std::int64_t startUs) {
        RankFacts facts;
        facts.rank = rank;
        facts.device = "CUDA device " + std::to_string(device);
        facts.peakSource = "a memory snapshot does not say it";
        m_builder.putRank(facts);
        const std::string process = "GPU " + std::to_string(device);
        const LaneId reserved = m_builder.lane(rank, {process, "reserved"}, LaneRole::kCounter,
                                               "reserved by the allocator", "bytes");
        const LaneId incidents =
            m_builder.lane(rank, {process, "allocator"}, LaneRole::kRuntime, "allocator");
        SnapshotListener listener;
        listener.allocation = [&](const SnapshotAllocation& a) { allocation(rank, a); };
        listener.incident = [&](const SnapshotIncident& incident) {
            const Timestamp time = timeOf(incident.timeUs);
            if (m_reserved != incident.reserved || incident.action.empty())
                m_builder.add(rank,
                              CounterEvent{time, reserved, static_cast<double>(incident.reserved)});
            m_reserved = incident.reserved;
            if (!incident.action.empty()) this->incident(rank, incidents, time, incident);
        };
        walkDevice(m_document, device, startUs, listener, m_result.account);
        annotations(device, rank, process);
    }

    void allocation(RankId rank, const SnapshotAllocation& block) {
        MemoryEvent event;
        event.time = timeOf(block.timeUs);
        event.address = block.address;
        event.size = {block.size};
        event.action = block.action;
        const PickleValue frame = chosenFrame(m_document, block.frames);
        std::string_view name = m_document.text(frame, "name");
        const std::string_view file = m_document.text(frame, "filename");
        std::string_view owner = name;
        event.category = categoryOf(name, owner);
        if (event.category == MemoryCategory::kOther && owner == name && !file.empty() &&
            file != "??") {
            const std::string place = std::string(name) + " " +
                                      std::string(file.substr(file.rfind('/') + 1)) + ":" +
                                      std::to_string(m_document.integer(frame, "line").value_or(0));
            event.owner = m_builder.intern(rank, place);
        } else {
            event.owner = m_builder.intern(rank, owner);
        }
        m_builder.add(rank, event);
    }

    void incident(RankId rank, LaneId lane, Timestamp time, const SnapshotIncident& incident) {
        SpanEvent span;
        span.start = time;
        span.lane = lane;
        span.name = m_builder.intern(rank, incident.action);
        m_builder.add(rank, span,
                      "{\"address\":" + std::to_string(incident.address) +
                          ",\"bytes\":" + std::to_string(incident.size) +
                          ",\"stream\":" + std::to_string(incident.stream) + "}");
        if (incident.action != "oom") return;
        m_builder.addDiagnostic(
            {Severity::kProblem, "out-of-memory",
             "rank " + std::to_string(rank.value) + " ran out of device memory: " +
                 std::to_string(incident.size) + " bytes were asked for, " +
                 std::to_string(incident.deviceFree) + " bytes of the device were free and " +
                 std::to_string(incident.reserved) + " bytes were held by PyTorch's allocator",
             "See what is alive at that time on the memory page.", rank, time, 1});
    }

    /// torch.profiler.record_function ranges in newer snapshots.
    void annotations(std::size_t device, RankId rank, const std::string& process) {
        std::vector<std::pair<std::string_view, std::int64_t>> open;
        for (const PickleValue entry :
             m_document.items(m_document.member(m_document.root, "external_annotations"))) {
            if (m_document.integer(entry, "device").value_or(0) !=
                static_cast<std::int64_t>(device))
                continue;
            const std::string_view name = m_document.text(entry, "name");
            const std::int64_t time = m_document.integer(entry, "time_us").value_or(-1);
            ++m_result.account.read;
            if (time < 0 || time > std::int64_t{1} << 51) {
                m_result.account.reject("a time out of range");
                continue;
            }
            if (m_document.text(entry, "stage") == "START") {
                ++m_result.account.kept;
                open.emplace_back(name, time);
                continue;
            }
            const auto at = std::find_if(open.rbegin(), open.rend(),
                                         [&](const auto& o) { return o.first == name; });
            if (at == open.rend()) {
                m_result.account.reject("an annotation that ends without a beginning");
                continue;
            }
            ++m_result.account.kept;
            SpanEvent span;
            span.lane =
                m_builder.lane(rank, {process, "annotations"}, LaneRole::kRange, "annotations");
            span.start = timeOf(at->second);
            span.duration = {std::max<std::int64_t>(0, time - at->second) * 1000};
            m_result.ended = std::max(m_result.ended, span.end());
            span.name = m_builder.intern(rank, name);
            m_builder.add(rank, span);
            open.erase(std::next(at).base());
        }
    }

    const ReaderRequest& m_request;
    const PickleDocument& m_document;
    TraceBuilder& m_builder;
    ReaderResult m_result;
    std::int64_t m_reserved = -1;
};

}  // namespace

Result<ReaderResult> readMemorySnapshot(const ReaderRequest& request) {
    auto source = openBytes(request.path, request.title);
    if (!source) return failure(source);
    auto document = readPickle(**source);
    if (!document) return failure(document, request.title);
    if (auto fine = checkSnapshot(*document); !fine) return failure(fine, request.title);
    auto result = SnapshotImport(request, *document).run();
    if (!result) return failure(result, request.title);
    return result;
}

}  // namespace shardscope::interchange
