// Which code asked for a block of a memory snapshot, by its stack.
#pragma once

#include "storage/interchange/memory_snapshot/pickle_reader.h"
#include "storage/model/events.h"

#include <string_view>

namespace shardscope::interchange {

/// The frame that names the code that asked: the innermost of Python code that is not PyTorch's;
/// else the innermost that not every allocation passes through; else the innermost; else none.
[[nodiscard]] PickleValue chosenFrame(const PickleDocument& document, PickleValue frames);

/// What our own export writes for a frame is read back: "activations: aten::mm" is a category, and
/// `owner` becomes the rest. Of other names kOther, and `owner` stays.
[[nodiscard]] MemoryCategory categoryOf(std::string_view name, std::string_view& owner);

}  // namespace shardscope::interchange
