// The pages as icons with names at the left edge. Shows only pages that exist. GUI thread.
#pragma once

#include <QButtonGroup>
#include <QWidget>
#include <vector>

class QAbstractButton;
class QVBoxLayout;

namespace shardscope::desktop {

class Rail : public QWidget {
    Q_OBJECT

public:
    explicit Rail(QWidget* parent = nullptr);
    /// `icon` names a file of resources/icons; `key` is shown on hover.
    void addPage(const QString& id, const QString& icon, const QString& name, const QString& key);
    void setCurrent(const QString& id);
    [[nodiscard]] int pageCount() const;
    /// Whether there is room for the names of pages.
    [[nodiscard]] bool hasNames() const;
    /// Pages that are elsewhere than in the middle.
    void setApart(const QStringList& ids);

Q_SIGNALS:
    void pageChosen(const QString& id);
    /// The user asks where the page may go; `at` on the screen.
    void placesRequested(const QString& id, QPoint at);

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    QVBoxLayout* m_layout;
    QButtonGroup m_group;
};

}  // namespace shardscope::desktop
