#include "profiler/questions/read_products.h"

#include "profiler/questions/device_work.h"
#include "profiler/questions/flops/operator_inputs.h"
#include "storage/model/events.h"
#include "storage/model/rank_facts.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace shardscope::questions {
namespace {

using analysis::Product;

std::optional<Product> productIn(std::string_view name, std::string_view arguments) {
    const analysis::OperatorInputs inputs = operatorInputs(arguments);
    return analysis::productOf(name, inputs.shapes, inputs.types);
}

struct Kernel {
    StringId name;
    Duration duration;
};

/// What of a rank is needed to find the kernels of an operator.
class Kernels {
public:
    static Result<Kernels> of(const Asked& asked, RankId rank) {
        Kernels kernels(asked, rank);
        for (const LaneFacts& lane : asked.summary.lanes) {
            const bool runs = isStreamLane(lane.lane) && lane.role == LaneRole::kCompute;
            if (lane.rank != rank || (!runs && lane.role != LaneRole::kRuntime)) continue;
            const TimeRange whole{asked.summary.bounds.begin, {asked.summary.bounds.end.ns + 1}};
            auto spans = asked.reader.spans(rank, lane.lane, whole);
            if (!spans) return failure(spans);
            if (runs)
                for (const SpanEvent& span : *spans)
                    kernels.m_kernels.emplace(span.correlation, Kernel{span.name, span.duration});
            else
                kernels.addCalls(std::string(withoutUse(lane.name)), *spans);
        }
        for (auto& [thread, calls] : kernels.m_calls) std::sort(calls.begin(), calls.end());
        return kernels;
    }
    /// Notes those that a thread launched within a product.
    void note(std::string_view thread, TimeRange product, ProductSum& sum) {
        const auto calls = m_calls.find(thread);
        if (calls == m_calls.end()) return;
        bool tensorCores = false;
        const std::int64_t before = sum.kernels;
        for (auto call = std::lower_bound(calls->second.begin(), calls->second.end(),
                                          std::pair{product.begin, std::uint64_t{0}});
             call != calls->second.end() && call->first < product.end; ++call) {
            const auto range = m_kernels.equal_range(call->second);
            for (auto kernel = range.first; kernel != range.second; ++kernel) {
                ++sum.kernels;
                sum.device += kernel->second.duration;
                tensorCores = tensorCores || onTensorCores(kernel->second.name);
            }
        }
        sum.linked += sum.kernels > before;
        sum.onTensorCores += tensorCores;
    }

private:
    Kernels(const Asked& asked, RankId rank) : m_asked(&asked), m_rank(rank) {}

    void addCalls(const std::string& thread, const std::vector<SpanEvent>& spans) {
        auto& calls = m_calls[thread];
        for (const SpanEvent& span : spans)
            if (span.correlation != 0) calls.emplace_back(span.start, span.correlation);
    }
    bool onTensorCores(StringId name) {
        const auto [known, fresh] = m_named.try_emplace(name.value);
        if (fresh) known->second = analysis::usesTensorCores(m_asked->reader.text(m_rank, name));
        return known->second;
    }

    const Asked* m_asked;
    RankId m_rank;
    std::unordered_multimap<std::uint64_t, Kernel> m_kernels;  ///< by correlation
    std::map<std::string, std::vector<std::pair<Timestamp, std::uint64_t>>, std::less<>> m_calls;
    std::unordered_map<std::uint32_t, bool> m_named;
};

Result<void> addLane(const Asked& asked, const LaneFacts& lane, Kernels& kernels,
                     ProductSums& sums) {
    const TimeRange time = asked.selection.timeOf(asked.summary, lane.rank);
    const auto spans = asked.reader.spans(lane.rank, lane.lane, time);
    if (!spans) return failure(spans);
    std::unordered_map<std::uint32_t, std::string> names;  // empty: no product
    for (const SpanEvent& span : *spans) {
        const auto [name, fresh] = names.try_emplace(span.name.value);
        if (fresh) {
            const std::string_view text = asked.reader.text(lane.rank, span.name);
            if (analysis::isProduct(text)) name->second = text;
        }
        if (name->second.empty() || isApart(span)) continue;
        if (span.step != kNoStep && !asked.selection.takesStep(span.step)) continue;
        const auto product = productIn(name->second, asked.reader.text(lane.rank, span.arguments));
        if (!product) continue;
        ProductSum& sum = sums[{name->second, *product}];
        ++sum.count;
        sum.host += span.duration;
        kernels.note(withoutUse(lane.name), span.range(), sum);
    }
    return {};
}

}  // namespace

Result<ProductSums> readProducts(const Asked& asked, Multiplied where) {
    ProductSums sums;
    for (const RankFacts& rank : asked.summary.ranks) {
        const auto isOfDevice = [&](const LaneFacts& lane) {
            return lane.rank == rank.rank && isStreamLane(lane.lane);
        };
        const bool hasDevice =
            std::any_of(asked.summary.lanes.begin(), asked.summary.lanes.end(), isOfDevice);
        if (hasDevice != (where == Multiplied::kOnDevices)) continue;
        auto kernels = Kernels::of(asked, rank.rank);
        if (!kernels) return failure(kernels);
        for (const LaneFacts& lane : asked.summary.lanes) {
            if (lane.rank != rank.rank || lane.role != LaneRole::kHost) continue;
            if (auto done = addLane(asked, lane, *kernels, sums); !done) return failure(done);
        }
    }
    return sums;
}

}  // namespace shardscope::questions
