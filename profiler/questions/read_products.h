// Reads matrix products with their shapes, and the kernels that they launched. Internal to
// profiler/questions.
#pragma once

#include "profiler/analysis/device/roofline.h"
#include "profiler/questions/question.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace shardscope::questions {

/// Of products that are alike.
struct ProductSum {
    std::int64_t count = 0;
    Duration host, device;
    std::int64_t kernels = 0;        ///< that they are known to have launched
    std::int64_t onTensorCores = 0;  ///< products with such a kernel
    std::int64_t linked = 0;         ///< products whose kernels are known
};
/// By operator and product.
using ProductSums = std::map<std::pair<std::string, analysis::Product>, ProductSum>;

/// On which ranks.
enum class Multiplied { kOnDevices, kOnHosts };

/// What was selected of it.
[[nodiscard]] Result<ProductSums> readProducts(const Asked& asked, Multiplied where);

}  // namespace shardscope::questions
