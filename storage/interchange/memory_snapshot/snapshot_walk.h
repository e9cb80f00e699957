// What a memory snapshot says, in the order it happened: the walk of MemoryViz.js's
// process_alloc_data (trace_formats.md, section 5.2) without its drawing.
#pragma once

#include "storage/interchange/account.h"
#include "storage/interchange/memory_snapshot/pickle_reader.h"
#include "storage/model/events.h"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope::interchange {

/// A block was allocated or freed. Sizes are those asked for, as the viewer draws them.
struct SnapshotAllocation {
    std::int64_t timeUs = 0;
    std::uint64_t address = 0;
    std::int64_t size = 0;
    MemoryAction action = MemoryAction::kAllocate;
    PickleValue frames;  ///< a list of frames, innermost first
    /// The entry of the history that says so, and which one it is; a block that was alive before,
    /// or a free that the history has lost: none and -1. Of such a block the dict in its segment.
    PickleValue entry{};
    std::int64_t index = -1;
};

/// Anything else in the history: a segment came or went, a free was asked for, memory ran out, a
/// block was freed that is not known. Without an action: what is reserved when it begins.
struct SnapshotIncident {
    std::int64_t timeUs = 0;
    std::string_view action;
    std::uint64_t address = 0;
    std::int64_t size = 0;
    std::int64_t stream = 0;
    std::int64_t deviceFree = 0;  ///< of "oom"
    std::int64_t reserved = 0;    ///< bytes in segments from here on
    PickleValue entry{};
    std::int64_t index = -1;
};

struct SnapshotListener {
    std::function<void(const SnapshotAllocation&)> allocation;
    std::function<void(const SnapshotIncident&)> incident;
};

/// kUnreadable when the document is no memory snapshot.
Result<void> checkSnapshot(const PickleDocument& document);
/// Devices with a history, segments or annotations, ascending.
[[nodiscard]] std::vector<std::size_t> devicesOf(const PickleDocument& document);
/// Those of them that hold or held memory; a process notes annotations and its own marks
/// ("user_defined") on device 0 too, whichever it uses.
[[nodiscard]] std::vector<std::size_t> memoryDevicesOf(const PickleDocument& document);
/// Earliest time of any entry, microseconds of Unix time; 0 where none has a time.
[[nodiscard]] std::int64_t firstTimeUs(const PickleDocument& document);

/// What was allocated before the history comes first, at `startUs`. Entries without a time come a
/// microsecond after the one before.
void walkDevice(const PickleDocument& document, std::size_t device, std::int64_t startUs,
                const SnapshotListener& listener, ImportAccount& account);

// Which code asked for a block of a memory snapshot, by its stack.

/// The frame that names the code that asked: the innermost of Python code that is not PyTorch's;
/// else the innermost that not every allocation passes through; else the innermost; else none.
[[nodiscard]] PickleValue chosenFrame(const PickleDocument& document, PickleValue frames);

/// What our own export writes for a frame is read back: "activations: aten::mm" is a category, and
/// `owner` becomes the rest. Of other names kOther, and `owner` stays.
[[nodiscard]] MemoryCategory categoryOf(std::string_view name, std::string_view& owner);

}  // namespace shardscope::interchange
