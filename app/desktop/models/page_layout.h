// Where the pages of a window are, as a value: kept under a name in the settings file. Where `file`
// is empty nothing is kept and nothing found. GUI thread.
#pragma once

#include <QByteArray>
#include <QMap>
#include <QString>
#include <QStringList>
#include <optional>
#include <vector>

namespace shardscope::desktop {

/// Where a page is. The middle shows one page at a time.
enum class PagePlace { kMiddle, kRight, kBelow, kWindow };

struct PageLayout {
    QString middle;                      ///< page that is seen in the middle; empty: as it is
    QStringList apart;                   ///< pages that are elsewhere
    QByteArray docks;                    ///< where those are: QMainWindow::saveState()
    QMap<QString, QByteArray> dividers;  ///< by name: QSplitter::saveState()
    friend bool operator==(const PageLayout&, const PageLayout&) = default;
};

/// Layouts that come with the program.
struct LayoutPreset {
    struct Beside {
        QString page;
        PagePlace place;
        double share;  ///< of the room, in (0, 1)
    };
    QString id;  ///< of `--layout` and of its command
    const char* word;
    const char* line;
    QString key;
    QString middle;
    std::vector<Beside> beside;

    [[nodiscard]] QString name() const;
    /// What it shows, in a line.
    [[nodiscard]] QString what() const;
};
[[nodiscard]] const std::vector<LayoutPreset>& layoutPresets();
[[nodiscard]] QStringList layoutPresetIds();
/// Null: there is none.
[[nodiscard]] const LayoutPreset* layoutPreset(const QString& id);

/// Of the user; sorted.
[[nodiscard]] QStringList keptLayoutNames(const QString& file);
[[nodiscard]] std::optional<PageLayout> keptLayout(const QString& file, const QString& name);
/// False: `file` cannot be written, or is empty.
bool keepLayout(const QString& file, const QString& name, const PageLayout& layout);
void forgetLayout(const QString& file, const QString& name);
/// As the window was when it was closed.
[[nodiscard]] std::optional<PageLayout> lastLayout(const QString& file);
void keepLastLayout(const QString& file, const PageLayout& layout);

}  // namespace shardscope::desktop
