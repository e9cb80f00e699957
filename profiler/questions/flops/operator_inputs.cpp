#include "profiler/questions/flops/operator_inputs.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <optional>
#include <string>
#include <vector>

namespace shardscope::questions {
namespace {

using analysis::Shape;
using Json = nlohmann::json;

Json listIn(const Json& json, const char* key) {
    const auto at = json.find(key);
    return at != json.end() && at->is_array() ? *at : Json::array();
}

/// Whole numbers and flags; anything else makes it none.
std::optional<Shape> numbersIn(const Json& value) {
    Shape numbers;
    for (const Json& each : value) {
        if (each.is_boolean())
            numbers.push_back(each.get<bool>() ? 1 : 0);
        else if (each.is_number_integer())
            numbers.push_back(each.get<std::int64_t>());
        else
            return std::nullopt;
    }
    return numbers;
}

std::vector<Shape> shapesIn(const Json& list) {
    std::vector<Shape> shapes;
    for (const Json& each : list)
        shapes.push_back(each.is_array() ? numbersIn(each).value_or(Shape{}) : Shape{});
    return shapes;
}

/// "[1, 1]", "True", "2"; an empty text is that of a tensor, or of nothing.
std::optional<Shape> concrete(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
    Json value = Json::parse(text, nullptr, false);
    if (value.is_number_integer() || value.is_boolean()) value = Json::array({value});
    return value.is_array() ? numbersIn(value) : std::nullopt;
}

std::vector<Shape> concreteIn(const Json& list) {
    std::vector<Shape> lists;
    for (const Json& each : list) {
        if (!each.is_string()) continue;
        if (auto numbers = concrete(each.get<std::string>())) lists.push_back(std::move(*numbers));
    }
    return lists;
}

std::vector<std::string> textsIn(const Json& list) {
    std::vector<std::string> texts;
    for (const Json& each : list)
        texts.push_back(each.is_string() ? each.get<std::string>() : std::string());
    return texts;
}

}  // namespace

analysis::OperatorInputs operatorInputs(std::string_view arguments) {
    const Json json = Json::parse(arguments, nullptr, false);
    if (!json.is_object()) return {};
    if (json.contains("Input Dims"))
        return {shapesIn(listIn(json, "Input Dims")), textsIn(listIn(json, "Input type")),
                concreteIn(listIn(json, "Concrete Inputs"))};
    return {shapesIn(listIn(json, "shapes")), textsIn(listIn(json, "dtypes")),
            shapesIn(listIn(json, "lists"))};
}

}  // namespace shardscope::questions
