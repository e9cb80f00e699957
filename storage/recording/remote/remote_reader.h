// RecordingReader of a recording on another machine, through a session (remote_session.h). Answers
// what the reader there answers. One thread.
#pragma once

#include "storage/recording/read/blob_loader.h"
#include "storage/recording/read/recording_reader.h"
#include "storage/recording/remote/remote_session.h"

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shardscope::storage::remote {

class RemoteReader final : public RecordingReader {
public:
    /// `path` is absolute or "~/...". One open recording of a session at a time: a reader opened
    /// before answers of this one.
    static Result<std::unique_ptr<RemoteReader>> open(std::shared_ptr<RemoteSession> session,
                                                      const std::string& path);

    /// Some process there was writing the recording when it was opened.
    [[nodiscard]] bool wasBeingWritten() const { return m_beingWritten; }

    std::string_view text(RankId rank, StringId id) override;
    Result<void> answer(const AnyRequest& request) override;

private:
    RemoteReader(std::shared_ptr<RemoteSession> session, bool beingWritten)
        : m_session(std::move(session)),
          m_beingWritten(beingWritten),
          m_arguments(kArgumentBytes) {}

    /// Texts from `first` on, as many as there are of them up to `count`.
    std::vector<std::string> textsFrom(RankId rank, StringId first, std::uint32_t count);
    std::string_view name(RankId rank, StringId id);
    std::string_view arguments(RankId rank, StringId id);

    static constexpr std::size_t kArgumentBytes = std::size_t{16} << 20;

    std::shared_ptr<RemoteSession> m_session;
    bool m_beingWritten;
    KnownTexts m_names;  ///< those that were asked for
    /// Not there when last asked for; a recording that grows may have them later.
    std::set<std::pair<RankId, StringId>> m_unknown;
    /// Blocks of arguments by rank and first id.
    BoundedCache<std::vector<std::string>> m_arguments;
    std::string m_last;  ///< the arguments that text() gave last
};

}  // namespace shardscope::storage::remote
