// What a type holds, as data. What binds, sends, checks or writes structs is one function over
// shapes, compiled once, and not a template that is compiled for every struct.
//
//   kShape<StepFacts>      a struct: its fields are the columns of its table (recording_tables.h)
//   kShape<LogLine>        a struct whose fields are named where they are used:
//                              FieldsOf<LogLine> fieldsOf(Of<LogLine>) {
//                                  using L = LogLine;
//                                  return {{"level", &L::level}, {"text", &L::text}};
//                              }
//   kShape<SpanEvent>      any other aggregate: all of its members, in order, without names
//
// All of it is constant; read it from any thread.
#pragma once

#include "storage/model/ids.h"
#include "storage/model/members.h"
#include "storage/model/units.h"
#include "storage/model/words.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace shardscope {

template <class T>
using Of = std::type_identity<T>;

struct Fields;
template <class T>
class SharedRows;

struct Shape {
    enum class Kind : std::uint8_t {
        kBool,
        kInt8,
        kInt16,
        kInt32,
        kInt64,
        kUInt8,
        kUInt16,
        kUInt32,
        kUInt64,
        kFloat,
        kDouble,
        kText,
        kOptional,
        kList,   ///< std::vector, SharedRows
        kArray,  ///< std::array
        kStruct,
        kOther,  ///< who walks over it has to know the type: `&shape == &kShape<RunConfig>`
    };
    struct Items {
        std::byte* first = nullptr;
        std::size_t count = 0;
    };

    Kind kind = Kind::kOther;
    std::size_t size = 0;  ///< bytes of a value in memory

    // Of an enumeration, whose kind is that of its numbers.
    bool isEnum = false;
    std::span<const std::int64_t> values{};   ///< in the order of its words; none without words
    bool (*isValue)(std::int64_t) = nullptr;  ///< whether one of them; null without words

    const Shape* of = nullptr;            ///< of what is in an optional, list or array
    std::size_t places = 0;               ///< of an array
    const Fields& (*fields)() = nullptr;  ///< of a struct

    // Of an optional: its value, or null; a new one in it; none in it.
    void* (*valueIn)(void* optional) = nullptr;
    void* (*emplace)(void* optional) = nullptr;
    void (*reset)(void* optional) = nullptr;
    // Of a list.
    Items (*items)(void* list) = nullptr;
    void (*resize)(void* list, std::size_t count) = nullptr;

    [[nodiscard]] constexpr bool isNumber() const { return kind <= Kind::kDouble; }
    [[nodiscard]] constexpr bool isReal() const {
        return kind == Kind::kFloat || kind == Kind::kDouble;
    }
};

struct Field {
    const char* name = "";
    std::size_t offset = 0;  ///< bytes from the beginning of the struct
    const Shape* shape = nullptr;
    bool later = false;  ///< of a table: files of earlier formats lack it

    [[nodiscard]] void* in(void* whole) const { return static_cast<std::byte*>(whole) + offset; }
    [[nodiscard]] const void* in(const void* whole) const {
        return static_cast<const std::byte*>(whole) + offset;
    }
};

struct Fields {
    std::vector<Field> list;
    // Of what travels between machines (storage/columns/wire.h), of `count` values that
    // lie `stride` bytes apart; null where there is nothing to do.
    using Each = void (*)(std::byte* first, std::size_t stride, std::size_t count);
    Each takeApart = nullptr;  ///< makes members that take fewer bytes
    Each putTogether = nullptr;
    /// What an honest side sends.
    bool (*areSound)(const std::byte* first, std::size_t stride, std::size_t count) = nullptr;
};

namespace shapes {

/// Ids, times and sizes: structs around one whole number.
template <class T>
inline constexpr bool kWrapsNumber =
    std::is_same_v<T, Timestamp> || std::is_same_v<T, Duration> || std::is_same_v<T, Bytes>;
template <class Tag, class Rep>
inline constexpr bool kWrapsNumber<Id<Tag, Rep>> = true;
template <class T>
constexpr auto& numberIn(T& value) {
    if constexpr (requires { value.value; })
        return value.value;
    else if constexpr (requires { value.ns; })
        return value.ns;
    else
        return value.count;
}
template <class T>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;
template <class T>
inline constexpr bool kIsList = false;
template <class T>
inline constexpr bool kIsList<std::vector<T>> = true;
template <class T>
inline constexpr bool kIsList<SharedRows<T>> = true;
template <class T>
inline constexpr bool kIsArray = false;
template <class T, std::size_t N>
inline constexpr bool kIsArray<std::array<T, N>> = true;

template <class T>
constexpr Shape::Kind numberKind() {
    using Kind = Shape::Kind;
    if constexpr (std::is_same_v<T, bool>) return Kind::kBool;
    if constexpr (std::is_floating_point_v<T>) return sizeof(T) == 4 ? Kind::kFloat : Kind::kDouble;
    const int log = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
    return static_cast<Kind>(static_cast<int>(std::is_signed_v<T> ? Kind::kInt8 : Kind::kUInt8) +
                             log);
}

template <class Enum>
inline constexpr auto kNumbers = [] {
    std::array<std::int64_t, kAll<Enum>.size()> numbers{};
    for (std::size_t i = 0; i < numbers.size(); ++i)
        numbers[i] = static_cast<std::int64_t>(kAll<Enum>[i]);
    return numbers;
}();

/// Whose members' places are looked at.
template <class Struct>
const Struct& sampleOf() {
    static const Struct sample{};
    return sample;
}
template <class Struct, class Member>
std::size_t offsetIn(const Struct& whole, const Member& member) {
    return static_cast<std::size_t>(reinterpret_cast<const std::byte*>(std::addressof(member)) -
                                    reinterpret_cast<const std::byte*>(std::addressof(whole)));
}

template <class Struct>
const Fields& fieldsIn();
template <class T>
constexpr Shape make();

}  // namespace shapes

template <class T>
inline constexpr Shape kShape = shapes::make<T>();

/// A field of `Struct`, which may be a member of a member.
template <class Struct>
struct FieldIn : Field {
    template <class Member>
    FieldIn(const char* called, Member Struct::*member)
        : Field{called,
                shapes::offsetIn(shapes::sampleOf<Struct>(), shapes::sampleOf<Struct>().*member),
                &kShape<Member>} {}
    template <class Outer, class Member>
    FieldIn(const char* called, Outer Struct::*outer, Member Outer::*member)
        : Field{called,
                shapes::offsetIn(shapes::sampleOf<Struct>(),
                                 shapes::sampleOf<Struct>().*outer.*member),
                &kShape<Member>} {}
};

template <class Struct>
struct FieldsOf : Fields {
    FieldsOf() = default;
    FieldsOf(std::initializer_list<FieldIn<Struct>> fields) {
        for (const Field& field : fields) list.push_back(field);
    }
};

namespace shapes {

template <class Struct>
Fields membersOf() {
    Fields fields;
    const Struct& sample = sampleOf<Struct>();
    forEachMember(sample, [&](const auto& member) {
        fields.list.push_back(
            {"", offsetIn(sample, member), &kShape<std::remove_cvref_t<decltype(member)>>});
    });
    if constexpr (requires(Struct & whole) { takeApart(whole); }) {
        static_assert(std::is_trivially_copyable_v<Struct>);
        fields.takeApart = [](std::byte* first, std::size_t stride, std::size_t count) {
            for (std::size_t i = 0; i < count; ++i)
                takeApart(*reinterpret_cast<Struct*>(first + i * stride));
        };
        fields.putTogether = [](std::byte* first, std::size_t stride, std::size_t count) {
            for (std::size_t i = 0; i < count; ++i)
                putTogether(*reinterpret_cast<Struct*>(first + i * stride));
        };
    }
    if constexpr (requires(const Struct& whole) { isSound(whole); })
        fields.areSound = [](const std::byte* first, std::size_t stride, std::size_t count) {
            bool all = true;
            for (std::size_t i = 0; i < count; ++i)
                all = all && isSound(*reinterpret_cast<const Struct*>(first + i * stride));
            return all;
        };
    return fields;
}

template <class Struct>
const Fields& fieldsIn() {
    if constexpr (requires { fieldsOf(Of<Struct>{}); }) {
        static const Fields fields = fieldsOf(Of<Struct>{});
        return fields;
    } else if constexpr (requires { tableOf(Of<Struct>{}); }) {
        return tableOf(Of<Struct>{}).columns;
    } else {
        static const Fields fields = membersOf<Struct>();
        return fields;
    }
}

template <class T>
constexpr void makeOptional(Shape& shape) {
    shape.kind = Shape::Kind::kOptional;
    shape.of = &kShape<typename T::value_type>;
    shape.valueIn = [](void* at) -> void* {
        T& optional = *static_cast<T*>(at);
        return optional ? std::addressof(*optional) : nullptr;
    };
    shape.emplace = [](void* at) -> void* {
        return std::addressof(static_cast<T*>(at)->emplace());
    };
    shape.reset = [](void* at) { static_cast<T*>(at)->reset(); };
}

template <class T>
constexpr void makeList(Shape& shape) {
    shape.kind = Shape::Kind::kList;
    shape.of = &kShape<typename T::value_type>;
    shape.items = [](void* at) -> Shape::Items {
        T& list = *static_cast<T*>(at);
        return {reinterpret_cast<std::byte*>(list.data()), list.size()};
    };
    shape.resize = [](void* at, std::size_t count) { static_cast<T*>(at)->resize(count); };
}

template <class T>
constexpr void makeEnum(Shape& shape) {
    shape.kind = numberKind<std::underlying_type_t<T>>();
    shape.isEnum = true;
    if constexpr (Worded<T>) {
        shape.values = kNumbers<T>;
        shape.isValue = [](std::int64_t number) { return isValue<T>(number); };
    }
}

template <class T>
constexpr Shape make() {
    Shape shape;
    shape.size = sizeof(T);
    if constexpr (kWrapsNumber<T>) {
        static_assert(sizeof(T) == sizeof(decltype(numberIn(std::declval<T&>()))));
        shape.kind = numberKind<std::remove_cvref_t<decltype(numberIn(std::declval<T&>()))>>();
    } else if constexpr (std::is_enum_v<T>) {
        makeEnum<T>(shape);
    } else if constexpr (std::is_arithmetic_v<T>) {
        shape.kind = numberKind<T>();
    } else if constexpr (std::is_same_v<T, std::string>) {
        shape.kind = Shape::Kind::kText;
    } else if constexpr (kIsOptional<T>) {
        makeOptional<T>(shape);
    } else if constexpr (kIsList<T>) {
        makeList<T>(shape);
    } else if constexpr (kIsArray<T>) {
        shape.kind = Shape::Kind::kArray;
        shape.of = &kShape<typename T::value_type>;
        shape.places = std::tuple_size_v<T>;
    } else if constexpr ((std::is_aggregate_v<T> || (kStatedMembers<T> > 0)) && !kIsOpaque<T>) {
        shape.kind = Shape::Kind::kStruct;
        shape.fields = fieldsIn<T>;
    } else {
        static_assert(kIsOpaque<T>,
                      "not an aggregate: specialise kStatedMembers (members.h) or kIsOpaque");
    }
    return shape;
}

}  // namespace shapes

/// Calls `use` with an Of<> of the type that numbers of a kind have in memory.
template <class Use>
auto withNumber(Shape::Kind kind, Use use) {
    switch (kind) {
        case Shape::Kind::kBool:
            return use(Of<bool>{});
        case Shape::Kind::kInt8:
            return use(Of<std::int8_t>{});
        case Shape::Kind::kInt16:
            return use(Of<std::int16_t>{});
        case Shape::Kind::kInt32:
            return use(Of<std::int32_t>{});
        case Shape::Kind::kUInt8:
            return use(Of<std::uint8_t>{});
        case Shape::Kind::kUInt16:
            return use(Of<std::uint16_t>{});
        case Shape::Kind::kUInt32:
            return use(Of<std::uint32_t>{});
        case Shape::Kind::kUInt64:
            return use(Of<std::uint64_t>{});
        case Shape::Kind::kFloat:
            return use(Of<float>{});
        case Shape::Kind::kDouble:
            return use(Of<double>{});
        default:
            return use(Of<std::int64_t>{});
    }
}

/// Through bytes: an enumerator is not an object of its numbers' type.
template <class T>
[[nodiscard]] T load(const void* at) {
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
}
template <class T>
void store(void* at, T value) {
    std::memcpy(at, &value, sizeof value);
}

/// A whole number, cut to 64 bits with a sign.
[[nodiscard]] inline std::int64_t integerAt(const Shape& shape, const void* at) {
    return withNumber(shape.kind,
                      [&]<class T>(Of<T>) { return static_cast<std::int64_t>(load<T>(at)); });
}
/// Cut to the size of what is there.
inline void setInteger(const Shape& shape, void* at, std::int64_t number) {
    withNumber(shape.kind, [&]<class T>(Of<T>) { store(at, static_cast<T>(number)); });
}
[[nodiscard]] inline double realAt(const Shape& shape, const void* at) {
    return shape.kind == Shape::Kind::kFloat ? double{load<float>(at)} : load<double>(at);
}
inline void setReal(const Shape& shape, void* at, double number) {
    if (shape.kind == Shape::Kind::kFloat)
        store(at, static_cast<float>(number));
    else
        store(at, number);
}

}  // namespace shardscope
