#include "storage/interchange/memory_snapshot/snapshot_json.h"

#include "storage/interchange/json_text.h"

#include <nlohmann/json.hpp>

namespace shardscope::interchange {
namespace {

constexpr int kMostDepth = 32;

class JsonWriter {
public:
    JsonWriter(const PickleDocument& document, std::size_t most)
        : m_document(document), m_most(most) {}

    bool write(PickleValue value, int depth) {
        if (depth == kMostDepth || m_text.size() > m_most) return false;
        switch (value.kind) {
            case PickleKind::kBoolean:
                m_text += value.integer != 0 ? "true" : "false";
                return true;
            case PickleKind::kInteger:
                m_text += std::to_string(value.integer);
                return true;
            case PickleKind::kReal:
                m_text += nlohmann::json(value.real).dump();
                return true;
            case PickleKind::kText:
                m_text += jsonString(m_document.text(value));
                return true;
            case PickleKind::kList:
                return list(value, depth);
            case PickleKind::kDict:
                return dict(value, depth);
            default:
                m_text += "null";
                return true;
        }
    }
    [[nodiscard]] std::string take() { return std::move(m_text); }

private:
    bool list(PickleValue value, int depth) {
        m_text += '[';
        bool first = true;
        for (const PickleValue item : m_document.items(value)) {
            if (!std::exchange(first, false)) m_text += ',';
            if (!write(item, depth + 1)) return false;
        }
        m_text += ']';
        return true;
    }
    bool dict(PickleValue value, int depth) {
        m_text += '{';
        const auto& members = m_document.members(value);
        for (std::size_t i = 0; i + 1 < members.size(); i += 2) {
            if (i > 0) m_text += ',';
            const PickleValue key = members[i];
            m_text += key.kind == PickleKind::kInteger ? '"' + std::to_string(key.integer) + '"'
                                                       : jsonString(m_document.text(key));
            m_text += ':';
            if (!write(members[i + 1], depth + 1)) return false;
        }
        m_text += '}';
        return true;
    }

    const PickleDocument& m_document;
    std::size_t m_most;
    std::string m_text;
};

bool isTuple(std::string_view key) {
    return key == "segment_pool_id" || key == "pool_id";
}

}  // namespace

std::optional<std::string> jsonOf(const PickleDocument& document, PickleValue value,
                                  std::size_t most) {
    JsonWriter writer(document, most);
    if (!writer.write(value, 0)) return std::nullopt;
    return writer.take();
}

void writeJson(PickleWriter& pickle, const nlohmann::json& value, std::string_view key) {
    if (value.is_object()) {
        pickle.beginDict();
        for (const auto& [name, member] : value.items()) {
            pickle.text(name);
            writeJson(pickle, member, name);
        }
        return pickle.endDict();
    }
    if (value.is_array()) {
        const bool tuple = isTuple(key);
        tuple ? pickle.beginTuple() : pickle.beginList();
        for (const auto& item : value) writeJson(pickle, item);
        return tuple ? pickle.endTuple() : pickle.endList();
    }
    if (value.is_string()) return pickle.text(value.get_ref<const std::string&>());
    if (value.is_boolean()) return pickle.boolean(value.get<bool>());
    if (value.is_number_integer()) return pickle.integer(value.get<std::int64_t>());
    if (value.is_number()) return pickle.real(value.get<double>());
    pickle.none();
}

}  // namespace shardscope::interchange
