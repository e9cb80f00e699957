// Fields of a message by number and wire type: damaged bytes may have one under another type, which
// protozero takes for a programming error.
#pragma once

#include <protozero/types.hpp>

#include <cstdint>

namespace shardscope::interchange {

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
