#include "storage/interchange/perfetto/annotations.h"

#include "storage/interchange/event_text.h"
#include "storage/interchange/json_text.h"

#include <nlohmann/json.hpp>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

#include <algorithm>

namespace shardscope::interchange {
namespace {

using Json = nlohmann::ordered_json;
using protozero::pbf_writer;

// DebugAnnotation
constexpr std::uint32_t kNameId = 1, kBool = 2, kUint = 3, kInt = 4, kDouble = 5, kString = 6,
                        kNested = 8, kName = 10, kEntries = 11, kValues = 12, kStringId = 17;
// DebugAnnotation.NestedValue, the older way to nest: it can say that a list is empty.
constexpr std::uint32_t kNestedType = 1;
constexpr std::int32_t kNestedDictionary = 1, kNestedArray = 2;
constexpr int kDeepest = 32;

/// How deep brackets nest; strings are not looked into, so it is an upper bound.
int depthOf(std::string_view json) {
    int depth = 0, deepest = 0;
    for (const char c : json) {
        if (c == '{' || c == '[') deepest = std::max(deepest, ++depth);
        if (c == '}' || c == ']') --depth;
    }
    return deepest;
}

void appendValue(std::string& bytes, const Json& value);

void appendEmpty(std::string& bytes, bool object) {
    std::string nested;
    pbf_writer(nested).add_enum(kNestedType, object ? kNestedDictionary : kNestedArray);
    pbf_writer(bytes).add_message(kNested, nested);
}

void appendMembers(std::string& bytes, const Json& object) {
    for (const auto& [name, value] : object.items()) {
        std::string entry;
        pbf_writer(entry).add_string(kName, name);
        appendValue(entry, value);
        pbf_writer(bytes).add_message(kEntries, entry);
    }
}

void appendElements(std::string& bytes, const Json& array) {
    for (const Json& value : array) {
        std::string element;
        appendValue(element, value);
        pbf_writer(bytes).add_message(kValues, element);
    }
}

void appendValue(std::string& bytes, const Json& value) {
    if (value.is_structured() && value.empty()) return appendEmpty(bytes, value.is_object());
    switch (value.type()) {
        case Json::value_t::boolean:
            return pbf_writer(bytes).add_bool(kBool, value.get<bool>());
        case Json::value_t::number_unsigned:
            return pbf_writer(bytes).add_uint64(kUint, value.get<std::uint64_t>());
        case Json::value_t::number_integer:
            return pbf_writer(bytes).add_int64(kInt, value.get<std::int64_t>());
        case Json::value_t::number_float:
            return pbf_writer(bytes).add_double(kDouble, value.get<double>());
        case Json::value_t::string:
            return pbf_writer(bytes).add_string(kString, value.get_ref<const std::string&>());
        case Json::value_t::object:
            return appendMembers(bytes, value);
        case Json::value_t::array:
            return appendElements(bytes, value);
        default:
            return;  // null is an annotation without a value
    }
}

constexpr std::string_view kOwn[] = {"step", "layer", "phase", "correlation", "arguments", "scope"};
constexpr std::string_view kEscape = "args.";

using protozero::pbf_reader;

constexpr int kDeepestRead = 64;

std::string_view viewOf(const protozero::data_view& view) {
    return {view.data(), view.size()};
}

void appendValue(std::string& json, std::string_view bytes, int depth);

/// 2.0 stays a real number.
void appendReal(std::string& json, double value) {
    const std::size_t from = json.size();
    appendNumber(json, value);
    if (json.find_first_of(".e", from) == std::string::npos) json += ".0";
}

std::string nameIn(std::string_view bytes) {
    pbf_reader reader(bytes.data(), bytes.size());
    while (reader.next())
        if (reader.tag_and_type() == bytesField(kName))
            return std::string(viewOf(reader.get_view()));
        else
            reader.skip();
    return {};
}

/// Elements of a list or a dictionary, of which this is the first.
void appendElements(std::string& json, pbf_reader& reader, std::uint32_t tag, int depth) {
    const bool dictionary = tag == kEntries;
    json += dictionary ? '{' : '[';
    bool first = true;
    do {
        if (reader.tag_and_type() != bytesField(tag)) {
            reader.skip();
            continue;
        }
        const std::string_view element = viewOf(reader.get_view());
        if (!first) json += ',';
        first = false;
        if (dictionary) {
            appendString(json, nameIn(element));
            json += ':';
        }
        appendValue(json, element, depth + 1);
    } while (reader.next());
    json += dictionary ? '}' : ']';
}

const char* emptyOf(std::string_view nested) {
    pbf_reader reader(nested.data(), nested.size());
    while (reader.next())
        if (reader.tag_and_type() == varintField(kNestedType))
            return reader.get_enum() == kNestedDictionary ? "{}" : "[]";
        else
            reader.skip();
    return "[]";
}

void appendValue(std::string& json, std::string_view bytes, int depth) {
    pbf_reader reader(bytes.data(), bytes.size());
    while (depth < kDeepestRead && reader.next()) {
        switch (reader.tag_and_type()) {
            case varintField(kBool):
                json += reader.get_bool() ? "true" : "false";
                return;
            case varintField(kUint):
                return appendInteger(json, std::uint64_t{reader.get_uint64()});
            case varintField(kInt):
                return appendInteger(json, std::int64_t{reader.get_int64()});
            case fixed64Field(kDouble):
                return appendReal(json, reader.get_double());
            case bytesField(kString):
                return appendString(json, viewOf(reader.get_view()));
            case bytesField(kNested):
                json += emptyOf(viewOf(reader.get_view()));
                return;
            case bytesField(kEntries):
            case bytesField(kValues):
                return appendElements(json, reader, reader.tag(), depth);
            default:
                reader.skip();
        }
    }
    json += "null";
}

}  // namespace

std::string argumentKey(std::string_view name) {
    const bool taken = name.starts_with(kEscape) ||
                       std::find(std::begin(kOwn), std::end(kOwn), name) != std::end(kOwn);
    return std::string(taken ? kEscape : "").append(name);
}

std::string_view argumentName(std::string_view key) {
    return key.starts_with(kEscape) ? key.substr(kEscape.size()) : key;
}

void appendAnnotation(std::string& bytes, std::uint32_t field, std::uint64_t nameId,
                      std::string_view value) {
    std::string annotation;
    pbf_writer writer(annotation);
    writer.add_uint64(kNameId, nameId);
    writer.add_string(kString, value.data(), value.size());
    pbf_writer(bytes).add_message(field, annotation);
}

void appendAnnotation(std::string& bytes, std::uint32_t field, std::uint64_t nameId,
                      std::int64_t value) {
    std::string annotation;
    pbf_writer writer(annotation);
    writer.add_uint64(kNameId, nameId);
    writer.add_int64(kInt, value);
    pbf_writer(bytes).add_message(field, annotation);
}

void appendJsonAnnotations(std::string& bytes, std::uint32_t field, std::string_view json,
                           bool arguments, const AnnotationIds& ids) {
    Json parsed;
    if (depthOf(json) <= kDeepest) parsed = Json::parse(json, nullptr, false);
    if (!parsed.is_object()) return appendAnnotation(bytes, field, ids.name("arguments"), json);
    for (const auto& [name, value] : parsed.items()) {
        std::string annotation;
        pbf_writer writer(annotation);
        writer.add_uint64(kNameId, ids.name(arguments ? argumentKey(name) : name));
        const std::string* const text = value.get_ptr<const std::string*>();
        const bool isLong = text != nullptr && text->size() >= kLongText;
        if (const std::uint64_t id = isLong ? ids.text(*text) : 0)
            writer.add_uint64(kStringId, id);
        else
            appendValue(annotation, value);
        pbf_writer(bytes).add_message(field, annotation);
    }
}

std::string annotationValue(std::string_view bytes,
                            const std::function<std::string_view(std::uint64_t)>& text) {
    std::string json;
    pbf_reader reader(bytes.data(), bytes.size());
    while (reader.next()) {
        if (reader.tag_and_type() == varintField(kStringId)) {
            appendString(json, text(reader.get_uint64()));
            return json;
        }
        reader.skip();
    }
    appendValue(json, bytes, 0);
    return json;
}

}  // namespace shardscope::interchange
