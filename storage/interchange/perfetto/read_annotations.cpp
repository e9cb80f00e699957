#include "storage/interchange/perfetto/read_annotations.h"

#include "storage/interchange/event_text.h"
#include "storage/interchange/json_text.h"
#include "storage/interchange/perfetto/wire_fields.h"

#include <protozero/pbf_reader.hpp>

namespace shardscope::interchange {
namespace {

using protozero::pbf_reader;

// DebugAnnotation
constexpr std::uint32_t kBool = 2, kUint = 3, kInt = 4, kDouble = 5, kString = 6, kNested = 8,
                        kName = 10, kEntries = 11, kValues = 12;
constexpr std::uint32_t kNestedType = 1;
constexpr std::int32_t kNestedDictionary = 1;
constexpr int kDeepest = 64;

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
    while (depth < kDeepest && reader.next()) {
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

std::string annotationValue(std::string_view bytes) {
    std::string json;
    appendValue(json, bytes, 0);
    return json;
}

}  // namespace shardscope::interchange
