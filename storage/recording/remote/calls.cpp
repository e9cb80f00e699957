#include "storage/recording/remote/calls.h"

#include <array>
#include <utility>

namespace shardscope::storage::remote {
namespace {

constexpr std::size_t kCalls = std::variant_size_v<Call>;

struct CallType {
    const Shape* asked;
    const Shape* answer;
    void* (*emplace)(Call&);
};

template <class Any>
struct Types;
template <class... Asked>
struct Types<std::variant<Asked...>> {
    static constexpr std::array<CallType, kCalls> kAll{
        CallType{&kShape<Asked>, &kShape<typename Asked::Answer>,
                 [](Call& call) -> void* { return &call.emplace<Asked>(); }}...};
};
constexpr const auto& kTypes = Types<Call>::kAll;

}  // namespace

const Shape& shapeOfAnswer(std::size_t number) {
    return *kTypes[number].answer;
}

std::vector<std::byte> encodeCall(const Call& call) {
    wire::Writer out;
    out.putOne(*kTypes[call.index()].asked,
               std::visit([](const auto& asked) -> const void* { return &asked; }, call));
    std::vector<std::byte> bytes = out.take();
    bytes.insert(bytes.begin(), static_cast<std::byte>(call.index()));
    return bytes;
}

std::optional<Call> decodeCall(std::span<const std::byte> bytes, std::size_t budget) {
    const std::size_t number = bytes.empty() ? kCalls : std::to_integer<std::size_t>(bytes[0]);
    if (number >= kCalls) return std::nullopt;
    Call call;
    wire::Reader in(bytes.subspan(1), budget);
    in.getOne(*kTypes[number].asked, kTypes[number].emplace(call));
    return in.isWhole() ? std::optional(std::move(call)) : std::nullopt;
}

}  // namespace shardscope::storage::remote
