// What the paths of a run lead to: data, tokenizer, checkpoints, weights, folders to write to.
//
// Files are opened on a separate thread, never by the GUI thread: a tokenizer of 10 MB takes
// half a second. GUI thread otherwise.
#pragma once

#include "engine/run/config/run_config.h"

#include <QObject>
#include <QString>
#include <QThreadPool>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace shardscope::desktop {

struct SourceFacts {
    std::map<std::string, QString> notes;     ///< by key of the field: what is there
    std::map<std::string, QString> problems;  ///< by key: why the run cannot start, what to do
    /// What a run that resumes the checkpoint starts from.
    std::optional<run::RunConfig> resumed;
};

/// Looks at the files; any thread. Sentences as `shardscope record` says them where it does.
[[nodiscard]] SourceFacts lookAtSources(const run::RunConfig& config);

class RunSources : public QObject {
    Q_OBJECT

public:
    explicit RunSources(QObject* parent = nullptr);
    ~RunSources() override;
    /// What is known of the paths of `config`; null: not yet, and changed() follows.
    [[nodiscard]] const SourceFacts* of(const run::RunConfig& config);
    /// Files may have changed: look again when asked next.
    void forget();

Q_SIGNALS:
    void changed();

private:
    void look(const run::RunConfig& config);

    QThreadPool m_pool;      ///< of one thread
    run::RunConfig m_asked;  ///< what is looked at or known, paths and what they depend on
    std::optional<SourceFacts> m_known;
    bool m_looking = false;
    bool m_stale = true;
};

}  // namespace shardscope::desktop
