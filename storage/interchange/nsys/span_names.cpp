#include "storage/interchange/nsys/span_names.h"

#include "storage/interchange/collective_kernels.h"

namespace shardscope::interchange::nsys {
namespace {

/// "cudaLaunchKernel_v7000" is cudaLaunchKernel as of CUDA 7.0; "_v2" is part of a name.
struct CallName {
    std::string_view name;
    std::string_view version;
};
CallName splitVersion(std::string_view name) {
    const std::size_t at = name.rfind("_v");
    constexpr std::size_t kFewestDigits = 4, kMostDigits = 9;
    if (at == std::string_view::npos || at == 0) return {name, {}};
    const std::string_view digits = name.substr(at + 2);
    const bool version =
        digits.size() >= kFewestDigits && digits.size() <= kMostDigits && digits[0] != '0' &&
        std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
    return version ? CallName{name.substr(0, at), digits} : CallName{name, {}};
}

std::string copyName(const Word* kind) {
    return kind == nullptr || kind->id == 0 ? "copy" : "copy " + std::string(kind->word);
}
std::string waitName(const Word* type) {
    if (type == nullptr || type->id == 0) return "wait";
    constexpr std::int64_t kStreamWait = 2;
    return type->id == kStreamWait ? std::string(type->word)
                                   : "wait for " + std::string(type->word);
}

}  // namespace

Result<SpanName> SpanNames::of(QueryRow& row, int column, int firstField, RankId rank) {
    if (m_spec.nameColumn.empty())
        return SpanName{m_state.builder().intern(rank, byKind(row, firstField)), false, {}};
    const auto id = row.integer(column);
    if (!id) return SpanName{m_state.builder().intern(rank, "(unnamed)"), false, {}};
    auto& known = m_known[rank];
    if (const auto at = known.find(*id); at != known.end()) return at->second.name();
    return byText(*id, rank);
}

Result<SpanName> SpanNames::byText(std::int64_t id, RankId rank) {
    auto text = m_state.texts.find(id);
    if (!text) return failure(text);
    if (*text == nullptr) {
        m_state.account.repair("a name that is not in StringIds");
        return SpanName{m_state.builder().intern(rank, "text " + std::to_string(id)), false, {}};
    }
    const std::string_view plain = (*text)->plain;
    const CallName call =
        m_spec.activity == Activity::kRuntime ? splitVersion(plain) : CallName{plain, {}};
    Known fresh{m_state.builder().intern(rank, call.name),
                m_spec.activity == Activity::kKernel && isCollectiveKernel(plain),
                std::string(call.version)};
    if (++m_count > kMostKnown) {
        m_known.clear();
        m_count = 1;
    }
    return m_known[rank].emplace(id, std::move(fresh)).first->second.name();
}

std::string SpanNames::byKind(QueryRow& row, int firstField) const {
    switch (m_spec.activity) {
        case Activity::kMemcpy:
            return copyName(word(row, firstField, "copyKind"));
        case Activity::kMemset:
            return "set memory";
        case Activity::kGraphTrace:
            return "CUDA graph";
        case Activity::kSynchronization:
            return waitName(word(row, firstField, "syncType"));
        default:
            return "event recorded";
    }
}

const Word* SpanNames::word(QueryRow& row, int firstField, std::string_view columnName) const {
    int column = firstField;
    for (const Field& field : m_spec.fields) {
        if (field.column == columnName) {
            const auto id = row.integer(column);
            return id ? wordOf(field.words, *id) : nullptr;
        }
        column += field.form == Form::kTriple ? 3 : 1;
    }
    return nullptr;
}

}  // namespace shardscope::interchange::nsys
