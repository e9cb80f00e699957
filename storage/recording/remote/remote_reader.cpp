#include "storage/recording/remote/remote_reader.h"

#include "storage/columns/arguments.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace shardscope::storage::remote {
namespace {

/// Asked for at once: one way there and back costs more than they do.
constexpr std::uint32_t kBlock = 256;

/// Nothing is recorded outside of it.
TimeRange withinReason(TimeRange range) {
    constexpr std::int64_t kLimit = std::int64_t{1} << 61;
    return {{std::clamp(range.begin.ns, -kLimit, kLimit)},
            {std::clamp(range.end.ns, -kLimit, kLimit)}};
}

std::size_t sizeOf(const std::vector<std::string>& texts) {
    std::size_t size = texts.size() * sizeof(std::string);
    for (const std::string& text : texts) size += text.size();
    return size;
}

/// As it is asked there.
template <class Asked>
Asked sensible(Asked asked) {
    if constexpr (requires { asked.range; }) asked.range = withinReason(asked.range);
    if constexpr (requires { asked.view; }) asked.view.range = withinReason(asked.view.range);
    if constexpr (requires { asked.time; })
        asked.time = withinReason({asked.time, asked.time}).begin;
    return asked;
}

template <class Asked>
Generation generationOf(const Asked& asked) {
    if constexpr (requires { asked.view; })
        return asked.view.generation;
    else if constexpr (requires { asked.generation; })
        return asked.generation;
    else
        return {};
}

}  // namespace

Result<std::unique_ptr<RemoteReader>> RemoteReader::open(std::shared_ptr<RemoteSession> session,
                                                         const std::string& path) {
    session->forgetNames();
    session->forgetArguments();
    const auto opened = session->ask(Open{path});
    if (!opened) return failure(opened);
    return std::unique_ptr<RemoteReader>(new RemoteReader(std::move(session), *opened != 0));
}

std::vector<std::string> RemoteReader::textsFrom(RankId rank, StringId first, std::uint32_t count) {
    // An unreadable string is an unknown one; the call that needs the connection says why.
    auto texts = m_session->ask(Texts{rank, first, count});
    if (!texts || texts->size() > count) return {};
    return std::move(*texts);
}

std::string_view RemoteReader::text(RankId rank, StringId id) {
    if (id == kEmptyString) return {};
    return columns::isArguments(id) ? arguments(rank, id) : name(rank, id);
}

std::string_view RemoteReader::name(RankId rank, StringId id) {
    if (const std::string* came = m_session->names().find(rank, id)) return *came;
    if (const std::string* known = m_names.find(rank, id)) return *known;
    if (m_unknown.contains({rank, id})) return {};
    auto texts = textsFrom(rank, id, kBlock);
    for (std::uint32_t i = 0; i < texts.size(); ++i)
        if (!texts[i].empty()) m_names.add(rank, {id.value + i}, std::move(texts[i]));
    if (const std::string* known = m_names.find(rank, id)) return *known;
    m_unknown.insert({rank, id});
    return {};
}

std::string_view RemoteReader::arguments(RankId rank, StringId id) {
    if (const std::string* inView = m_session->arguments().find(rank, id)) return *inView;
    const StringId first{id.value - id.value % kBlock};
    const std::uint32_t place = id.value - first.value;
    const auto key = static_cast<std::int64_t>((std::uint64_t{rank.value} << 32) | first.value);
    const auto* block = m_arguments.find(key);
    if (block == nullptr) {
        auto texts = textsFrom(rank, first, kBlock);
        if (place < texts.size()) {
            const std::size_t size = sizeOf(texts);
            block = &m_arguments.put(key, std::move(texts), size);
        }
    }
    if (block != nullptr && place < block->size()) return m_last = (*block)[place];
    // Long ones, of which fewer come at once.
    auto alone = textsFrom(rank, id, 1);
    m_last = alone.empty() ? std::string() : std::move(alone.front());
    return m_last;
}

Result<void> RemoteReader::answer(const AnyRequest& request) {
    if (std::holds_alternative<Request<Summary>>(request)) m_unknown.clear();
    if (std::holds_alternative<Request<SpansInView>>(request)) m_session->forgetArguments();
    return std::visit(
        [&](const auto& each) -> Result<void> {
            auto came = m_session->ask(sensible(each.asked), generationOf(each.asked));
            if (!came) return failure(came);
            if constexpr (requires { each.asked.lanes; })
                if (came->size() != each.asked.lanes.size())
                    return failure(ErrorCode::kUnreadable,
                                   "the other side answers of other lanes than it was asked for");
            each.answer = std::move(*came);
            return {};
        },
        request);
}

}  // namespace shardscope::storage::remote
