#include "profiler/analysis/device/roofline.h"
#include "profiler/questions/answer/cells.h"
#include "profiler/questions/read_products.h"
#include "profiler/questions/work_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace shardscope::questions {
namespace {

using analysis::Product;

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

Cell whyCell(const analysis::Eligibility& eligibility, const Product& product) {
    if (!eligibility.why.empty()) return eligibility.why;
    if (product.type == analysis::ProductType::kFloat) return "if tf32 is allowed";
    return {};
}

std::vector<Cell> rowOf(const std::string& name, const Product& product, const ProductSum& sum) {
    const auto eligibility = analysis::eligibilityOf(product);
    Cell eligible;
    if (eligibility.eligible) eligible = *eligibility.eligible ? "yes" : "no";
    return {name,
            analysis::shapeText(product),
            toWord(product.type),
            sum.count,
            sum.host.ns,
            sum.linked > 0 ? Cell(sum.device.ns) : Cell(),
            eligible,
            whyCell(eligibility, product),
            usedCell(sum)};
}

}  // namespace

Result<void> addProducts(const Asked& asked, Answer& answer) {
    // Tensor cores are a device's: what a CPU multiplies is not looked at.
    const auto sums = readProducts(asked, Multiplied::kOnDevices);
    if (!sums) return failure(sums);
    if (sums->empty()) {
        const bool imported = sourceOf(asked.summary.run) == RecordingSource::kImport;
        answer.unknown.push_back(
            fmt::format("which products could use tensor cores is unknown: no matrix products of a "
                        "device with their shapes are in the recording{}",
                        imported ? " (PyTorch's profiler: record_shapes=True)" : ""));
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
        answer.unknown.emplace_back(
            "whether all products could use tensor cores is unknown: the types of their inputs "
            "are not recorded");
    if (!linked)
        answer.unknown.emplace_back(
            "whether products used tensor cores is unknown: which operator launched which "
            "kernel is not recorded by thread");
    const std::size_t total = table.columnAt("total_ns");
    std::stable_sort(table.rows.begin(), table.rows.end(), [&](const auto& a, const auto& b) {
        return numberOf(a[total]) > numberOf(b[total]);
    });
    answer.tables.push_back(std::move(table));
    return {};
}

}  // namespace shardscope::questions
