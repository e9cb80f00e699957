#include "profiler/analysis/tensor_cores.h"
#include "profiler/questions/cells.h"
#include "profiler/questions/device_work.h"
#include "profiler/questions/work_tables.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace shardscope::questions {
namespace {

using analysis::Product;
using analysis::Shape;
using Json = nlohmann::json;

/// Of products that are alike.
struct ProductSum {
    std::int64_t count = 0;
    Duration host, device;
    std::int64_t kernels = 0;        ///< that they are known to have launched
    std::int64_t onTensorCores = 0;  ///< products with such a kernel
    std::int64_t linked = 0;         ///< products whose kernels are known
};
using ProductSums = std::map<std::pair<std::string, Product>, ProductSum>;

Shape shapeOf(const Json& value) {
    Shape shape;
    for (const Json& size : value) {
        if (!size.is_number_integer()) return {};
        shape.push_back(size.get<std::int64_t>());
    }
    return shape;
}

/// Kineto's "Input Dims" and "Input type", or the "shapes" of recordings of our own.
std::optional<Product> productIn(std::string_view name, std::string_view arguments) {
    const Json json = Json::parse(arguments, nullptr, false);
    if (!json.is_object()) return std::nullopt;
    const auto list = [&](const char* key) {
        const auto at = json.find(key);
        return at != json.end() && at->is_array() ? *at : Json::array();
    };
    const Json dims = json.contains("Input Dims") ? list("Input Dims") : list("shapes");
    std::vector<Shape> shapes;
    for (const Json& each : dims) shapes.push_back(each.is_array() ? shapeOf(each) : Shape{});
    std::vector<std::string> types;
    for (const Json& each : list("Input type"))
        types.push_back(each.is_string() ? each.get<std::string>() : std::string());
    return analysis::productOf(name, shapes, types);
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
        if (name->second.empty()) continue;
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

Result<ProductSums> readProducts(const Asked& asked) {
    ProductSums sums;
    for (const RankFacts& rank : asked.summary.ranks) {
        const auto isOfDevice = [&](const LaneFacts& lane) {
            return lane.rank == rank.rank && isStreamLane(lane.lane);
        };
        // Tensor cores are a device's: what a CPU multiplies is not looked at.
        if (std::none_of(asked.summary.lanes.begin(), asked.summary.lanes.end(), isOfDevice))
            continue;
        auto kernels = Kernels::of(asked, rank.rank);
        if (!kernels) return failure(kernels);
        for (const LaneFacts& lane : asked.summary.lanes) {
            if (lane.rank != rank.rank || lane.role != LaneRole::kHost) continue;
            if (auto done = addLane(asked, lane, *kernels, sums); !done) return failure(done);
        }
    }
    return sums;
}

Table emptyTable() {
    return {"products",
            "Matrix products and tensor cores",
            {{"operator", "operator"},
             {"shape", "shape", Unit::kNone, "Batch x (M x K)(K x N), or channels in -> out."},
             {"type", "type", Unit::kNone, "Of the inputs."},
             {"count", "count", Unit::kCount},
             {"total_ns", "host", Unit::kNanoseconds, "Of the operators on the host."},
             {"device_ns", "device", Unit::kNanoseconds, "Of the kernels that they launched."},
             {"eligible", "eligible", Unit::kNone,
              "Type and sizes are those of tensor cores: multiples of 8 in fp16 and bf16, 4 in "
              "fp32 (as tf32), 2 in fp64, 16 in int8 and fp8."},
             {"why_not", "why not"},
             {"used", "used", Unit::kNone,
              "Whether a kernel of it is named after tensor cores' instructions."}},
            {}};
}

Cell usedCell(const ProductSum& sum) {
    if (sum.linked == 0) return {};
    if (sum.onTensorCores == 0) return "no";
    return sum.onTensorCores == sum.linked ? "yes" : "some";
}

Cell whyCell(const analysis::Eligibility& told, const Product& product) {
    if (!told.why.empty()) return told.why;
    if (product.type == analysis::ProductType::kFloat) return "if tf32 is allowed";
    return {};
}

std::vector<Cell> rowOf(const std::string& name, const Product& product, const ProductSum& sum) {
    const auto told = analysis::eligibilityOf(product);
    Cell eligible;
    if (told.eligible) eligible = *told.eligible ? "yes" : "no";
    return {name,
            analysis::shapeText(product),
            toWord(product.type),
            sum.count,
            sum.host.ns,
            sum.linked > 0 ? Cell(sum.device.ns) : Cell(),
            eligible,
            whyCell(told, product),
            usedCell(sum)};
}

}  // namespace

Result<void> addProducts(const Asked& asked, Answer& answer) {
    const auto sums = readProducts(asked);
    if (!sums) return failure(sums);
    if (sums->empty()) {
        answer.untold.emplace_back(
            "could not tell which products could use tensor cores: no matrix products of a device "
            "with their shapes are in the recording (PyTorch's profiler: record_shapes=True)");
        return {};
    }
    Table table = emptyTable();
    bool linked = false;
    bool typed = true;
    for (const auto& [key, sum] : *sums) {
        table.rows.push_back(rowOf(key.first, key.second, sum));
        linked = linked || sum.linked > 0;
        typed = typed && key.second.type != analysis::ProductType::kUnknown;
    }
    if (!typed)
        answer.untold.emplace_back(
            "could not tell whether all products could use tensor cores: the types of their inputs "
            "are not recorded");
    if (!linked)
        answer.untold.emplace_back(
            "could not tell whether products used tensor cores: which operator launched which "
            "kernel is not recorded by thread");
    const std::size_t total = table.columnAt("total_ns");
    std::stable_sort(table.rows.begin(), table.rows.end(), [&](const auto& a, const auto& b) {
        return numberOf(a[total]) > numberOf(b[total]);
    });
    answer.tables.push_back(std::move(table));
    return {};
}

}  // namespace shardscope::questions
