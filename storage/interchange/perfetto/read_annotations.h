// Perfetto's DebugAnnotation back into JSON.
#pragma once

#include <string>
#include <string_view>

namespace shardscope::interchange {

/// The value of one annotation, without its name. Nothing deeper than 64 levels is read: it is
/// null. Throws protozero::exception on bytes that are no message.
[[nodiscard]] std::string annotationValue(std::string_view bytes);

}  // namespace shardscope::interchange
