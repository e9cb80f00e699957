// Shorter names of kernels, operators and functions for where the whole one does not fit. Pure.
#pragma once

#include <QString>
#include <vector>

namespace shardscope::desktop {

/// "void at::native::reduce_kernel<512, 1>(...)" -> "reduce_kernel", "volta_sgemm_128x64_tn" as it
/// is, "aten::add" -> "add", "threading.py(1016): wait" -> "wait". Never empty where `name` is not.
[[nodiscard]] QString shortName(const QString& name);
/// The whole name and, where there is one, the shorter one.
[[nodiscard]] std::vector<QString> namesLongestFirst(const QString& name);

}  // namespace shardscope::desktop
