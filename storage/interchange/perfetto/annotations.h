// Perfetto's DebugAnnotation: typed arguments of a slice, nested as in JSON.
#pragma once

#include <protozero/types.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace shardscope::interchange {

/// Appends field `field` of a message to `bytes`: one annotation with an interned name.
void appendAnnotation(std::string& bytes, std::uint32_t field, std::uint64_t nameId,
                      std::string_view value);
void appendAnnotation(std::string& bytes, std::uint32_t field, std::uint64_t nameId,
                      std::int64_t value);

/// Names of annotations that are a slice's own ("step", "layer", "phase", "correlation") are not
/// those of its arguments: an argument of that name is called "args.step", and back.
[[nodiscard]] std::string argumentKey(std::string_view name);
[[nodiscard]] std::string_view argumentName(std::string_view key);

/// Ids of interned names, and of texts that are so long that each is written once; 0: as it stands.
struct AnnotationIds {
    std::function<std::uint64_t(std::string_view)> name;
    std::function<std::uint64_t(std::string_view)> text;
};
/// Shorter texts are not worth an entry of their own.
inline constexpr std::size_t kLongText = 96;

/// An annotation for each member of a JSON object. Text that is none, or is nested deeper than
/// 32 levels, becomes one annotation "arguments". null is an annotation without a value.
/// `arguments`: names that are a slice's own are escaped.
void appendJsonAnnotations(std::string& bytes, std::uint32_t field, std::string_view json,
                           bool arguments, const AnnotationIds& ids);

// Perfetto's DebugAnnotation back into JSON.

/// The value of one annotation, without its name; `text` finds an interned one. Nothing deeper than
/// 64 levels is read: it is null. Throws protozero::exception on bytes that are no message.
[[nodiscard]] std::string annotationValue(
    std::string_view bytes, const std::function<std::string_view(std::uint64_t)>& text);

// Fields of a message by number and wire type: damaged bytes may have one under another type, which
// protozero takes for a programming error.

[[nodiscard]] constexpr std::uint32_t varintField(std::uint32_t number) {
    return protozero::tag_and_type(number, protozero::pbf_wire_type::varint);
}
[[nodiscard]] constexpr std::uint32_t bytesField(std::uint32_t number) {
    return protozero::tag_and_type(number, protozero::pbf_wire_type::length_delimited);
}
[[nodiscard]] constexpr std::uint32_t fixed64Field(std::uint32_t number) {
    return protozero::tag_and_type(number, protozero::pbf_wire_type::fixed64);
}

}  // namespace shardscope::interchange
