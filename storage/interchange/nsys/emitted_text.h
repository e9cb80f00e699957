// Names that PyTorch's emit_nvtx gives its ranges: "aten::view, op_id = 17, sizes = [[2, 3]]"
// (getNvtxStr in torch/csrc/profiler/util.cpp). Every one differs, though operators repeat: apart
// they can be counted by operator, and stored as columns. Pure.
#pragma once

#include "storage/interchange/json_text.h"
#include "storage/interchange/nsys/arguments.h"

#include <span>
#include <string>
#include <string_view>

namespace shardscope::interchange::nsys {

/// The operator's name; what follows it goes to `arguments`. A text that would not come back
/// letter by letter stays whole, and gives no arguments.
[[nodiscard]] std::string_view splitEmitted(std::string_view text, ArgumentWriter& arguments);

/// The text again, from the name and a span's arguments.
[[nodiscard]] std::string joinEmitted(std::string_view name, std::span<const Member> arguments);

}  // namespace shardscope::interchange::nsys
