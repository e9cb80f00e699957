#include "engine/run/protocol/json_fields.h"

#include "storage/model/plain_text.h"

#include <nlohmann/json.hpp>

#include <limits>
#include <type_traits>
#include <utility>

namespace shardscope::run {
namespace {

using Json = nlohmann::ordered_json;
using Kind = Shape::Kind;

Json fieldsToJson(const Shape& shape, const void* value);

Json numberToJson(const Shape& shape, const void* at) {
    return withNumber(shape.kind, [&]<class T>(Of<T>) -> Json {
        if (shape.isEnum) return static_cast<int>(load<T>(at));
        return load<T>(at);
    });
}

Json toJson(const Shape& shape, const void* at) {
    // Shapes serve both directions; nothing is changed here.
    void* value = const_cast<void*>(at);
    if (shape.isNumber()) return numberToJson(shape, at);
    if (&shape == &kShape<RunConfig>)
        return Json::parse(run::toJson(*static_cast<const RunConfig*>(at)));
    if (&shape == &kShape<TextMap>) return *static_cast<const TextMap*>(at);
    if (shape.kind == Kind::kText) return *static_cast<const std::string*>(at);
    if (shape.kind == Kind::kOptional) {
        const void* present = shape.valueIn(value);
        return present != nullptr ? toJson(*shape.of, present) : Json();
    }
    if (shape.kind == Kind::kStruct) return fieldsToJson(shape, at);
    Json list = Json::array();
    const Shape::Items items = shape.items(value);
    for (std::size_t i = 0; i < items.count; ++i)
        list.push_back(toJson(*shape.of, items.first + i * shape.of->size));
    return list;
}

Json fieldsToJson(const Shape& shape, const void* value) {
    Json json = Json::object();
    for (const Field& field : shape.fields().list)
        json[field.name] = toJson(*field.shape, field.in(value));
    return json;
}

// Not a member: clang 16 does not instantiate those that a generic lambda calls.
template <class T>
bool isInteger(const Json& json) {
    if (json.is_number_unsigned()) return std::in_range<T>(json.get<std::uint64_t>());
    return json.is_number_integer() && std::in_range<T>(json.get<std::int64_t>());
}

class FieldReader {
public:
    FieldReader(Kept kept, Texts texts) : m_kept(kept), m_texts(texts) {}

    Result<void> readFields(const Json& json, const std::string& where, const Shape& shape,
                            void* value) const {
        for (const Field& each : shape.fields().list) {
            const std::string field = where + "." + each.name;
            const auto found = json.find(each.name);
            if (found != json.end()) {
                if (auto done = take(*found, field, *each.shape, each.in(value)); !done)
                    return done;
            } else if (m_kept == Kept::kNothing) {
                return bad(field, "is missing");
            }
        }
        return {};
    }

private:
    static tl::unexpected<Error> bad(const std::string& field, const char* how) {
        return failure(ErrorCode::kUnreadable, field + " " + how);
    }

    /// What is malformed stays as it is, where it may.
    Result<void> take(const Json& json, const std::string& field, const Shape& shape,
                      void* at) const {
        auto done = read(json, field, shape, at);
        if (m_kept == Kept::kMalformed) return {};
        return done;
    }

    /// Leaves what is at `at` alone where it is not of the shape.
    Result<void> read(const Json& json, const std::string& field, const Shape& shape,
                      void* at) const {
        if (shape.isNumber()) return readNumber(json, field, shape, at);
        if (&shape == &kShape<RunConfig>) return readConfig(json, field, at);
        if (&shape == &kShape<TextMap>) return readTexts(json, field, at);
        switch (shape.kind) {
            case Kind::kText:
                if (!json.is_string()) return bad(field, "is not text");
                *static_cast<std::string*>(at) = taken(json.get<std::string>());
                return {};
            case Kind::kOptional:
                return readOptional(json, field, shape, at);
            case Kind::kList:
                return readList(json, field, shape, at);
            default:
                if (!json.is_object()) return bad(field, "is not an object");
                return readFields(json, field, shape, at);
        }
    }

    static Result<void> readNumber(const Json& json, const std::string& field, const Shape& shape,
                                   void* at) {
        return withNumber(shape.kind, [&]<class T>(Of<T>) -> Result<void> {
            if constexpr (std::is_same_v<T, bool>) {
                if (!json.is_boolean()) return bad(field, "is not true or false");
                store(at, json.get<bool>());
            } else if constexpr (std::is_floating_point_v<T>) {
                // JSON has no NaN; the writer turns any non-finite number into null.
                if (!json.is_null() && !json.is_number()) return bad(field, "is not a number");
                store(at, json.is_null() ? std::numeric_limits<T>::quiet_NaN() : json.get<T>());
            } else {
                if (!isInteger<T>(json)) return bad(field, "is not a whole number of its size");
                store(at, json.get<T>());
            }
            return {};
        });
    }

    static Result<void> readConfig(const Json& json, const std::string& field, void* at) {
        auto parsed = parseRunConfigJson(json.dump());
        if (!parsed) return failure(ErrorCode::kUnreadable, field + ": " + parsed.error().message);
        *static_cast<RunConfig*>(at) = std::move(*parsed);
        return {};
    }

    Result<void> readTexts(const Json& json, const std::string& field, void* at) const {
        if (!json.is_object()) return bad(field, "is not an object");
        TextMap& texts = *static_cast<TextMap*>(at);
        texts.clear();
        for (const auto& [key, text] : json.items()) {
            auto done = take(text, field + "." + key, kShape<std::string>, &texts[taken(key)]);
            if (!done) return done;
        }
        return {};
    }

    Result<void> readOptional(const Json& json, const std::string& field, const Shape& shape,
                              void* at) const {
        shape.reset(at);
        if (json.is_null()) return {};
        auto done = read(json, field, *shape.of, shape.emplace(at));
        if (!done) shape.reset(at);
        return done;
    }

    Result<void> readList(const Json& json, const std::string& field, const Shape& shape,
                          void* at) const {
        if (!json.is_array()) return bad(field, "is not a list");
        shape.resize(at, json.size());
        std::byte* place = shape.items(at).first;
        for (const Json& each : json) {
            if (auto done = take(each, field, *shape.of, place); !done) return done;
            place += shape.of->size;
        }
        return {};
    }

    [[nodiscard]] std::string taken(std::string text) const {
        if (m_texts == Texts::kAsTheyAre) return text;
        return m_texts == Texts::kLine ? printableLine(std::move(text))
                                       : printable(std::move(text));
    }

    Kept m_kept;
    Texts m_texts;
};

}  // namespace

std::string encodeFields(const char* tag, const char* word, const Shape& shape, const void* value) {
    Json json{{tag, word}};
    json.update(fieldsToJson(shape, value));
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

struct TaggedFields::Parsed {
    Json json;
};

TaggedFields::TaggedFields(std::string_view text, const char* tag) {
    Json json = Json::parse(text, nullptr, false);
    if (!json.is_object() || !json.contains(tag) || !json[tag].is_string()) return;
    m_word = json[tag].get<std::string>();
    m_json = std::make_unique<Parsed>(Parsed{std::move(json)});
}

TaggedFields::~TaggedFields() = default;

Result<void> TaggedFields::read(const Shape& shape, void* value, Kept kept, Texts texts) const {
    return FieldReader(kept, texts).readFields(m_json->json, m_word, shape, value);
}

}  // namespace shardscope::run
