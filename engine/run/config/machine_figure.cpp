#include "engine/run/config/machine_figure.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <vector>

namespace shardscope::run {
namespace {

constexpr std::string_view kPrefix = "measured/";

std::vector<std::string_view> partsOf(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    for (std::size_t end = text.find(separator); end != std::string_view::npos;
         end = text.find(separator)) {
        parts.push_back(text.substr(0, end));
        text.remove_prefix(end + 1);
    }
    parts.push_back(text);
    return parts;
}

template <class T>
bool read(std::string_view text, T& number) {
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc{} && rest == text.data() + text.size() && number >= 0;
}

bool readShape(std::string_view text, FigureShape shape, MeasuredFigure& figure) {
    const auto sides = partsOf(text, 'x');
    const bool product = shape == FigureShape::kProduct;
    return sides.size() == (product ? 3U : 2U) && read(sides.front(), figure.rows) &&
           (!product || read(sides[1], figure.inner)) && read(sides.back(), figure.columns);
}

std::string shapeText(const MeasuredFigure& figure) {
    switch (entryOf(figure.figure)->shape) {
        case FigureShape::kNone:
            return {};
        case FigureShape::kProduct:
            return fmt::format("/{}/{}x{}x{}", toWord(figure.precision), figure.rows, figure.inner,
                               figure.columns);
        case FigureShape::kTensor:
            return fmt::format("/{}/{}x{}", toWord(figure.precision), figure.rows, figure.columns);
    }
    return {};
}

}  // namespace

std::string metricName(const MeasuredFigure& figure) {
    return fmt::format("{}{}/{}{}/{}", kPrefix, figure.host, toWord(figure.figure),
                       shapeText(figure), figure.threads);
}

std::optional<MeasuredFigure> figureOfMetric(std::string_view name) {
    if (!name.starts_with(kPrefix)) return std::nullopt;
    const auto parts = partsOf(name.substr(kPrefix.size()), '/');
    const bool shaped = parts.size() == 5;
    if (!shaped && parts.size() != 3) return std::nullopt;
    MeasuredFigure figure;
    const auto word = fromWord<MachineFigure>(parts[1]);
    if (!word) return std::nullopt;
    const FigureShape shape = entryOf(*word)->shape;
    if ((shape != FigureShape::kNone) != shaped) return std::nullopt;
    figure.figure = *word;
    if (!read(parts[0], figure.host) || !read(parts.back(), figure.threads)) return std::nullopt;
    if (!shaped) return figure;
    const auto precision = fromWord<Precision>(parts[2]);
    if (!precision || !readShape(parts[3], shape, figure)) return std::nullopt;
    figure.precision = *precision;
    return figure;
}

std::string heldInstructions() {
    std::string held;
    for (const char* name : {"ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA", "MKL_ENABLE_INSTRUCTIONS",
                             "ATEN_CPU_CAPABILITY"}) {
        const char* value = std::getenv(name);
        if (value == nullptr || *value == '\0') continue;
        if (!held.empty()) held += ", ";
        held += name;
        held += '=';
        held += value;
    }
    return held;
}

}  // namespace shardscope::run
