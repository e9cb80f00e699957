// Structs to JSON and back from one list of their fields, so that the two cannot drift apart.
// Internal to engine/run/protocol.
//
//   template <class F> void fields(F& f, LogLine& m) { f("level", m.level), f("text", m.text); }
#pragma once

#include "engine/run/config/run_config.h"
#include "storage/model/plain_text.h"
#include "storage/model/recording.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace shardscope::run {

/// Leaves a decode function with a sentence; never crosses it.
struct BadMessage {
    std::string text;
};

template <class T>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;
template <class T>
inline constexpr bool kIsVector = false;
template <class T>
inline constexpr bool kIsVector<std::vector<T>> = true;
/// Ids, times and sizes: structs around one whole number.
template <class T>
inline constexpr bool kWrapsNumber =
    std::is_same_v<T, Timestamp> || std::is_same_v<T, Duration> || std::is_same_v<T, Bytes>;
template <class Tag, class Rep>
inline constexpr bool kWrapsNumber<Id<Tag, Rep>> = true;
using TextMap = std::map<std::string, std::string>;

/// Rows of a recording have the names of their columns.
template <class F, TableRow Row>
void fields(F& f, Row& row) {
    forEachColumn<Row>([&](const auto& column) { f(column.name, column.of(row)); });
}

/// `Json` keeps the order of fields or not.
template <class Json>
class FieldWriter {
public:
    template <class T>
    void operator()(const char* name, T& value) {
        m_json[name] = toJsonValue(value);
    }
    Json take() { return std::move(m_json); }

private:
    template <class T>
    static Json toJsonValue(T& value) {
        if constexpr (std::is_same_v<T, RunConfig>) {
            return Json::parse(toJson(value));
        } else if constexpr (kWrapsNumber<T>) {
            return numberIn(value);
        } else if constexpr (std::is_enum_v<T>) {
            return static_cast<int>(value);
        } else if constexpr (kIsOptional<T>) {
            return value ? toJsonValue(*value) : Json();
        } else if constexpr (kIsVector<T>) {
            Json list = Json::array();
            for (auto& each : value) list.push_back(toJsonValue(each));
            return list;
        } else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string> ||
                             std::is_same_v<T, TextMap>) {
            return value;
        } else {
            FieldWriter nested;
            fields(nested, value);
            return nested.take();
        }
    }

    Json m_json = Json::object();
};

/// What stays as it is; anything else that is not as it should be is an error.
enum class Kept : std::uint8_t {
    kNothing,
    kMissing,
    kMalformed,  ///< and what is missing
};

/// What is left of texts that another process says: they come into recordings and onto terminals.
enum class Texts : std::uint8_t {
    kAsTheyAre,  ///< settings: a prompt may hold anything
    kLine,       ///< printableLine()
    kLines,      ///< printable()
};

template <class Json>
class FieldReader {
public:
    FieldReader(const Json& json, std::string where, Kept kept, Texts texts)
        : m_json(json), m_where(std::move(where)), m_kept(kept), m_texts(texts) {}

    template <class T>
    void operator()(const char* name, T& value) {
        const std::string field = m_where + "." + name;
        const auto found = m_json.find(name);
        if (found != m_json.end())
            take(*found, field, value);
        else if (m_kept == Kept::kNothing)
            throw BadMessage{field + " is missing"};
    }

private:
    /// All of a value or, where it may be malformed, nothing of it.
    template <class T>
    void take(const Json& json, const std::string& field, T& value) const {
        if (m_kept != Kept::kMalformed) return read(json, field, value);
        try {
            T whole = value;
            read(json, field, whole);
            value = std::move(whole);
        } catch (const BadMessage&) {
            return;  // it stays as it is
        }
    }

    template <class T>
    void read(const Json& json, const std::string& field, T& value) const {
        if constexpr (std::is_same_v<T, RunConfig>) {
            auto parsed = parseRunConfigJson(json.dump());
            if (!parsed) throw BadMessage{field + ": " + parsed.error().message};
            value = std::move(*parsed);
        } else if constexpr (kWrapsNumber<T>) {
            read(json, field, numberIn(value));
        } else if constexpr (std::is_enum_v<T>) {
            std::underlying_type_t<T> number{};
            read(json, field, number);
            value = static_cast<T>(number);
        } else if constexpr (kIsOptional<T>) {
            value.reset();
            if (!json.is_null()) read(json, field, value.emplace());
        } else if constexpr (kIsVector<T>) {
            if (!json.is_array()) throw BadMessage{field + " is not a list"};
            value.resize(json.size());
            for (std::size_t i = 0; i < json.size(); ++i) take(json[i], field, value[i]);
        } else if constexpr (std::is_same_v<T, bool>) {
            if (!json.is_boolean()) throw BadMessage{field + " is not true or false"};
            value = json.template get<bool>();
        } else if constexpr (std::is_integral_v<T>) {
            readInteger(json, field, value);
        } else if constexpr (std::is_floating_point_v<T>) {
            // JSON has no NaN; the writer turns any non-finite number into null.
            if (!json.is_null() && !json.is_number()) throw BadMessage{field + " is not a number"};
            value = json.is_null() ? std::numeric_limits<T>::quiet_NaN() : json.template get<T>();
        } else if constexpr (std::is_same_v<T, std::string>) {
            if (!json.is_string()) throw BadMessage{field + " is not text"};
            value = taken(json.template get<std::string>());
        } else if constexpr (std::is_same_v<T, TextMap>) {
            if (!json.is_object()) throw BadMessage{field + " is not an object"};
            value.clear();
            for (const auto& [key, text] : json.items())
                take(text, field + "." + key, value[taken(key)]);
        } else {
            if (!json.is_object()) throw BadMessage{field + " is not an object"};
            FieldReader nested(json, field, m_kept, m_texts);
            fields(nested, value);
        }
    }

    [[nodiscard]] std::string taken(std::string text) const {
        if (m_texts == Texts::kAsTheyAre) return text;
        return m_texts == Texts::kLine ? printableLine(std::move(text))
                                       : printable(std::move(text));
    }

    template <class T>
    static void readInteger(const Json& json, const std::string& field, T& value) {
        const bool fits =
            json.is_number_unsigned()  ? std::in_range<T>(json.template get<std::uint64_t>())
            : json.is_number_integer() ? std::in_range<T>(json.template get<std::int64_t>())
                                       : false;
        if (!fits) throw BadMessage{field + " is not a whole number of its size"};
        value = json.template get<T>();
    }

    const Json& m_json;
    std::string m_where;
    Kept m_kept;
    Texts m_texts;
};

}  // namespace shardscope::run
