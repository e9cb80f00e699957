// Below the hosts of a run: a menu of those that the user's ssh configuration names, "Test
// connection", and what was found of each host. GUI thread.
#pragma once

#include "app/desktop/pages/newrun/hosts_check.h"

#include <QWidget>
#include <functional>

class QLabel;
class QMenu;
class QPushButton;
class QVBoxLayout;

namespace shardscope::desktop {

class BoundField;

class HostsPanel : public QWidget {
    Q_OBJECT

public:
    /// The fields of hosts and of the ssh command outlive it.
    HostsPanel(BoundField* hosts, BoundField* ssh, QWidget* parent);

    /// Of the list as it stands; without hosts nothing happens.
    void test(const QString& acceptKey = {});
    /// Replaces what is shown.
    void show(const std::vector<HostCheck>& hosts);
    [[nodiscard]] QMenu* menu() const { return m_menu; }
    [[nodiscard]] QPushButton* testButton() const { return m_test; }

private:
    void fillMenu();
    void toggle(const QStringList& names, bool wanted);
    void addRow(const HostCheck& host);
    void clear();
    void showState();
    [[nodiscard]] QString textOf(const BoundField* field) const;

    BoundField* m_hosts;
    BoundField* m_ssh;
    HostsCheck m_check;
    QMenu* m_menu = nullptr;
    QPushButton* m_test = nullptr;
    QLabel* m_status = nullptr;
    QVBoxLayout* m_rows = nullptr;
};

/// The list with these names, or without them; what is said of the other hosts stays.
[[nodiscard]] QString withHosts(const QString& list, const QStringList& names, bool wanted);
/// Names in a list as it stands, without slots and words.
[[nodiscard]] QStringList namesIn(const QString& list);
/// "64 cores · 2 x NVIDIA H100 · LibTorch 2.11.0 · ..."
[[nodiscard]] QString summaryOf(const HostCheck& host);

}  // namespace shardscope::desktop
