#include "app/desktop/widgets/reading_order.h"

#include <QGridLayout>
#include <QLayout>
#include <QScrollArea>
#include <QWidget>
#include <algorithm>
#include <iterator>
#include <utility>

namespace shardscope::desktop {
namespace {

class Collector {
public:
    explicit Collector(const QWidget& window) : m_window(window), m_focused(window.focusWidget()) {}

    std::vector<QWidget*> take() {
        collect(m_window);
        return std::move(m_stops);
    }

private:
    [[nodiscard]] bool isStop(const QWidget& widget) const {
        if (&widget == m_focused) return true;
        return widget.isEnabled() && widget.focusProxy() == nullptr &&
               (widget.focusPolicy() & Qt::TabFocus) != 0;
    }

    void visit(QWidget& widget) {
        if (widget.isWindow() || !widget.isVisibleTo(&m_window)) return;
        if (std::find(m_seen.begin(), m_seen.end(), &widget) != m_seen.end()) return;
        m_seen.push_back(&widget);
        if (isStop(widget)) m_stops.push_back(&widget);
        collect(widget);
    }

    void collect(const QWidget& parent) {
        if (const QLayout* layout = parent.layout()) collect(*layout);
        // what no layout places: content of scroll areas, buttons that lie on a picture
        auto children = parent.findChildren<QWidget*>(Qt::FindDirectChildrenOnly);
        std::stable_sort(children.begin(), children.end(), [](const QWidget* a, const QWidget* b) {
            return std::pair(a->y(), a->x()) < std::pair(b->y(), b->x());
        });
        for (QWidget* child : children) visit(*child);
    }

    void collect(const QLayout& layout) {
        std::vector<QLayoutItem*> items;
        for (int i = 0; i < layout.count(); ++i) items.push_back(layout.itemAt(i));
        if (const auto* grid = qobject_cast<const QGridLayout*>(&layout)) sortCells(*grid, items);
        for (QLayoutItem* item : items) {
            if (item->widget() != nullptr) visit(*item->widget());
            if (item->layout() != nullptr) collect(*item->layout());
        }
    }

    static void sortCells(const QGridLayout& grid, std::vector<QLayoutItem*>& items) {
        std::vector<std::pair<std::pair<int, int>, QLayoutItem*>> cells;
        for (int i = 0; i < grid.count(); ++i) {
            int row = 0, column = 0, rows = 0, columns = 0;
            grid.getItemPosition(i, &row, &column, &rows, &columns);
            cells.push_back({{row, column}, items[static_cast<std::size_t>(i)]});
        }
        std::stable_sort(cells.begin(), cells.end(),
                         [](const auto& a, const auto& b) { return a.first < b.first; });
        std::transform(cells.begin(), cells.end(), items.begin(),
                       [](const auto& cell) { return cell.second; });
    }

    const QWidget& m_window;
    const QWidget* m_focused;
    std::vector<QWidget*> m_seen, m_stops;
};

}  // namespace

std::vector<QWidget*> tabStops(const QWidget& window) {
    return Collector(window).take();
}

bool moveFocus(QWidget& window, bool next) {
    const std::vector<QWidget*> stops = tabStops(window);
    if (stops.empty()) return false;
    const auto now = std::find(stops.begin(), stops.end(), window.focusWidget());
    QWidget* to = next ? stops.front() : stops.back();
    if (now != stops.end()) {
        const auto count = std::ssize(stops);
        const auto place = now - stops.begin();
        to = stops[static_cast<std::size_t>((place + (next ? 1 : count - 1)) % count)];
        if (to == *now) return false;
    }
    to->setFocus(next ? Qt::TabFocusReason : Qt::BacktabFocusReason);
    for (QWidget* around = to->parentWidget(); around != nullptr; around = around->parentWidget())
        if (auto* area = qobject_cast<QScrollArea*>(around)) area->ensureWidgetVisible(to);
    return true;
}

}  // namespace shardscope::desktop
