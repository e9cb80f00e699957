// What people reckon with instead of a formula, to be shown beside the exact figure with its error.
#pragma once

#include <array>

namespace shardscope::planning {

/// Bytes a parameter that training keeps, over all ranks.
struct RuleOfThumb {
    double bytesPerParameter = 0;
    const char* what = "";
    const char* source = "";
};
inline constexpr std::array kRulesOfThumb{
    RuleOfThumb{16, "2 + 2 + 12: narrow parameters and gradients, Adam with an fp32 master",
                "ZeRO, Rajbhandari et al., arXiv 1910.02054, section 3.1"},
    RuleOfThumb{18, "6 + 4 + 8: fp32 and narrow parameters, fp32 gradients, Adam",
                "Hugging Face Transformers, Model training anatomy"},
};

}  // namespace shardscope::planning
