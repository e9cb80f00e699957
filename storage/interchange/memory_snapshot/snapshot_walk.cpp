#include "storage/interchange/memory_snapshot/snapshot_walk.h"

#include "storage/model/allocator_lanes.h"
#include "storage/model/words.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>

namespace shardscope::interchange {
namespace {

constexpr std::int64_t kMostBytes = std::int64_t{1} << 50;
constexpr std::int64_t kMostDevices = 256;
constexpr std::int64_t kLatestUs = std::int64_t{1} << 51;  ///< year 2041; ns fit below 2^61

bool closes(std::string_view action) {
    return action == "free_completed" || action == "free";
}

class DeviceWalk {
public:
    DeviceWalk(const PickleDocument& document, std::size_t device, std::int64_t startUs,
               const SnapshotListener& listener, ImportAccount& account)
        : m_document(document),
          m_device(device),
          m_timeUs(startUs),
          m_listener(listener),
          m_account(account) {
        const auto& traces = document.items(document.member(document.root, "device_traces"));
        if (device < traces.size()) m_history = traces[device];
    }

    void run() {
        initial();
        for (const PickleValue entry : m_document.items(m_history)) {
            ++m_index;
            ++m_account.read;
            if (const char* wrong = fault(entry)) {
                m_account.reject(wrong);
                continue;
            }
            ++m_account.kept;
            take(entry);
        }
    }

private:
    [[nodiscard]] std::string_view actionOf(PickleValue entry) const {
        return m_document.text(entry, "action");
    }
    [[nodiscard]] std::int64_t sizeOf(PickleValue entry) const {
        return m_document.integer(entry, "size").value_or(0);
    }
    [[nodiscard]] std::uint64_t addressOf(PickleValue entry, std::string_view key = "addr") const {
        return static_cast<std::uint64_t>(m_document.integer(entry, key).value_or(0));
    }

    [[nodiscard]] const char* fault(PickleValue entry) const {
        if (entry.kind != PickleKind::kDict) return "an entry that is no dict";
        if (actionOf(entry).empty()) return "an entry without an action";
        const std::int64_t size = sizeOf(entry);
        if (size < 0 || size > kMostBytes) return "a size out of range";
        const std::int64_t time = m_document.integer(entry, "time_us").value_or(0);
        if (time < 0 || time > kLatestUs) return "a time out of range";
        return nullptr;
    }

    /// Frees without allocation and blocks alive without one were there before; so were segments.
    void initial() {
        std::unordered_set<std::uint64_t> open;
        std::int64_t grown = 0;
        for (const PickleValue entry : m_document.items(m_history)) {
            if (fault(entry) != nullptr) continue;
            grown += growth(actionOf(entry), sizeOf(entry));
            if (actionOf(entry) == "alloc") open.insert(addressOf(entry));
            if (closes(actionOf(entry)) && open.erase(addressOf(entry)) == 0)
                allocateBefore(addressOf(entry), sizeOf(entry), {});
        }
        for (const PickleValue segment :
             m_document.items(m_document.member(m_document.root, "segments"))) {
            if (m_document.integer(segment, "device").value_or(0) !=
                static_cast<std::int64_t>(m_device))
                continue;
            m_reserved += std::clamp<std::int64_t>(
                m_document.integer(segment, "total_size").value_or(0), 0, kMostBytes);
            alive(segment, open);
        }
        m_reserved = std::max<std::int64_t>(0, m_reserved - grown);
        m_listener.incident({m_timeUs, "", 0, 0, 0, 0, m_reserved, {}, -1});
    }
    void alive(PickleValue segment, const std::unordered_set<std::uint64_t>& open) {
        std::uint64_t address = addressOf(segment, "address");
        const PickleValue blocks = m_document.member(segment, "blocks");
        // A list that is referred to again and again would make much out of little.
        if (blocks.kind == PickleKind::kList && !m_seen.insert(blocks.index).second) return;
        for (const PickleValue block : m_document.items(blocks)) {
            const auto size = sizeOf(block);
            const std::uint64_t at =
                m_document.has(block, "address") ? addressOf(block, "address") : address;
            address = at + static_cast<std::uint64_t>(size);
            if (m_document.text(block, "state") != "active_allocated" || open.contains(at))
                continue;
            ++m_account.read;
            const std::int64_t asked = m_document.integer(block, "requested_size").value_or(size);
            if (asked < 0 || asked > kMostBytes) {
                m_account.reject("a size out of range");
                continue;
            }
            ++m_account.kept;
            allocateBefore(at, asked, m_document.member(block, "frames"));
        }
    }
    void allocateBefore(std::uint64_t address, std::int64_t size, PickleValue frames) {
        allocate({m_timeUs, address, size, MemoryAction::kAllocate, frames, {}, -1});
    }

    static std::int64_t growth(std::string_view action, std::int64_t size) {
        const auto known = fromWord<SegmentAction>(action);
        if (!known) return 0;
        return reserves(*known) ? size : -size;
    }

    void take(PickleValue entry) {
        const auto time = m_document.integer(entry, "time_us");
        m_timeUs = time ? *time : m_timeUs + 1;
        const std::string_view action = actionOf(entry);
        if (action == "alloc")
            return allocate({m_timeUs, addressOf(entry), sizeOf(entry), MemoryAction::kAllocate,
                             m_document.member(entry, "frames"), entry, m_index});
        if (closes(action) && m_open.contains(addressOf(entry)))
            return free(addressOf(entry), entry, m_index);
        m_reserved = std::max<std::int64_t>(0, m_reserved + growth(action, sizeOf(entry)));
        m_listener.incident({m_timeUs, action, addressOf(entry), sizeOf(entry),
                             m_document.integer(entry, "stream").value_or(0),
                             m_document.integer(entry, "device_free").value_or(0), m_reserved,
                             entry, m_index});
    }
    void allocate(const SnapshotAllocation& block) {
        // The ring of entries can have lost a free: the address says that it happened.
        if (m_open.contains(block.address)) free(block.address, {}, -1);
        m_open[block.address] = block;
        m_listener.allocation(block);
    }
    void free(std::uint64_t address, PickleValue entry, std::int64_t index) {
        const auto at = m_open.find(address);
        if (at == m_open.end()) return;
        SnapshotAllocation block = at->second;
        m_open.erase(at);
        block.timeUs = m_timeUs;
        block.action = MemoryAction::kFree;
        block.entry = entry;
        block.index = index;
        m_listener.allocation(block);
    }

    const PickleDocument& m_document;
    std::size_t m_device;
    std::int64_t m_timeUs;
    const SnapshotListener& m_listener;
    ImportAccount& m_account;
    PickleValue m_history;
    std::int64_t m_index = -1;  ///< of the entry at hand
    std::int64_t m_reserved = 0;
    std::unordered_map<std::uint64_t, SnapshotAllocation> m_open;
    std::unordered_set<std::uint32_t> m_seen;  ///< lists of blocks
};

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

}  // namespace

Result<void> checkSnapshot(const PickleDocument& document) {
    const auto isList = [&](std::string_view key) {
        return document.member(document.root, key).kind == PickleKind::kList;
    };
    if (document.root.kind != PickleKind::kDict || !isList("segments") || !isList("device_traces"))
        return failure(ErrorCode::kUnreadable,
                       "this pickle is no memory snapshot: it has no segments and device_traces; "
                       "torch.cuda.memory._dump_snapshot writes both");
    std::set<std::uint32_t> histories;
    const auto& traces = document.items(document.member(document.root, "device_traces"));
    for (const PickleValue history : traces)
        if (!document.items(history).empty() && !histories.insert(history.index).second)
            return failure(ErrorCode::kUnreadable, "two devices of the snapshot share one history");
    if (std::ssize(traces) > kMostDevices)
        return failure(ErrorCode::kUnreadable,
                       "the snapshot claims to have " + std::to_string(traces.size()) + " devices");
    return {};
}

std::vector<std::size_t> devicesOf(const PickleDocument& document) {
    std::set<std::size_t> devices;
    const auto& traces = document.items(document.member(document.root, "device_traces"));
    for (std::size_t i = 0; i < traces.size(); ++i)
        if (!document.items(traces[i]).empty()) devices.insert(i);
    for (const PickleValue segment : document.items(document.member(document.root, "segments"))) {
        const std::int64_t device = document.integer(segment, "device").value_or(0);
        if (device >= 0 && device < kMostDevices) devices.insert(static_cast<std::size_t>(device));
    }
    for (const PickleValue entry :
         document.items(document.member(document.root, "external_annotations"))) {
        const std::int64_t device = document.integer(entry, "device").value_or(0);
        if (device >= 0 && device < kMostDevices) devices.insert(static_cast<std::size_t>(device));
    }
    return {devices.begin(), devices.end()};
}

std::vector<std::size_t> memoryDevicesOf(const PickleDocument& document) {
    std::set<std::size_t> devices;
    for (const PickleValue segment : document.items(document.member(document.root, "segments"))) {
        const std::int64_t device = document.integer(segment, "device").value_or(0);
        if (device >= 0 && device < kMostDevices) devices.insert(static_cast<std::size_t>(device));
    }
    const auto& traces = document.items(document.member(document.root, "device_traces"));
    for (std::size_t i = 0; i < traces.size(); ++i) {
        const auto& entries = document.items(traces[i]);
        if (std::any_of(entries.begin(), entries.end(), [&](PickleValue entry) {
                return document.text(entry, "action") != "user_defined";
            }))
            devices.insert(i);
    }
    return {devices.begin(), devices.end()};
}

std::int64_t firstTimeUs(const PickleDocument& document) {
    std::int64_t first = 0;
    for (const PickleValue history :
         document.items(document.member(document.root, "device_traces")))
        for (const PickleValue entry : document.items(history)) {
            const std::int64_t time = document.integer(entry, "time_us").value_or(0);
            if (time > 0 && time <= kLatestUs && (first == 0 || time < first)) first = time;
        }
    return first;
}

void walkDevice(const PickleDocument& document, std::size_t device, std::int64_t startUs,
                const SnapshotListener& listener, ImportAccount& account) {
    DeviceWalk(document, device, startUs, listener, account).run();
}

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

}  // namespace shardscope::interchange
