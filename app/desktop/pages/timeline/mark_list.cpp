#include "app/desktop/pages/timeline/mark_list.h"

#include "app/desktop/models/format.h"
#include "app/desktop/pages/timeline/table_panel.h"
#include "app/desktop/widgets/data_table.h"

#include <QMenu>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

enum Column { kName, kTime, kSince, kNote };

std::vector<TableColumn> markColumns() {
    std::vector<TableColumn> columns{
        {QObject::tr("name"), QObject::tr("a double click or F2 changes it"), false, false, false,
         160},
        {QObject::tr("time"), QObject::tr("on the recording's clock"), true, false, false, 128},
        {QObject::tr("since the one before"), {}, true, false, false, 152},
        {QObject::tr("note"), QObject::tr("a double click or F2 changes it"), false, false, true,
         240}};
    columns[kName].editable = columns[kNote].editable = true;
    return columns;
}

TableRows markRows(const Marks& marks) {
    TableRows rows;
    for (std::size_t i = 0; i < marks.size(); ++i) {
        const Timestamp time = marks[i].time;
        rows.push_back(
            {TableCell::ofText(marks[i].name),
             {formatInstant(time, {1}), {}, static_cast<double>(time.ns), Meaning::kNone, time},
             i == 0 ? TableCell::unknown(u"it is the first"_s)
                    : TableCell::of(time - marks[i - 1].time),
             TableCell::ofText(marks[i].note)});
    }
    return rows;
}

}  // namespace

MarkList::MarkList(RecordingLoader& loader, TablePanel& panel, QObject* parent)
    : QObject(parent),
      m_panel(panel),
      m_loading(loader, Urgency::kTable),
      m_keeping(loader, Urgency::kSlice) {
    const auto listed = [this] { return m_panel.tab() == TableTab::kMarks; };
    connect(&panel, &TablePanel::tabChanged, this, [this, listed] {
        if (listed()) show();
    });
    connect(panel.table().table(), &TableModel::cellEdited, this, &MarkList::edit);
    connect(&panel.table(), &DataTable::rowPicked, this, [this, listed](int row) {
        if (listed() && row >= 0)
            Q_EMIT momentRequested(m_marks[static_cast<std::size_t>(row)].time);
    });
    connect(&panel.table(), &DataTable::menuOpens, this, [this, listed](QMenu* menu, int row) {
        if (listed()) menu->addAction(tr("Remove mark"), this, [this, row] { remove(row); });
    });
}

void MarkList::setRecording(const RecordingPtr& recording) {
    if (recording->summary.run.id == m_run && recording->path == m_path) {
        Q_EMIT changed(m_marks);
        return;
    }
    m_run = recording->summary.run.id;
    m_path = recording->path;
    set({});
    m_loading.ask(
        [path = m_path, run = m_run](auto&, const auto&, const auto&) -> Result<Marks> {
            return MarkFile(path, userMarkFolder()).load(QString::fromStdString(run));
        },
        [this](const Marks& kept) {
            // what was marked meanwhile stays
            Marks all = kept;
            for (const Mark& mark : m_marks) addMark(all, mark);
            set(std::move(all));
        });
}

void MarkList::set(Marks marks) {
    m_marks = std::move(marks);
    if (m_marks.empty())
        m_panel.dropTab(TableTab::kMarks);
    else
        m_panel.addTab(TableTab::kMarks);
    if (m_panel.tab() == TableTab::kMarks) show();
    Q_EMIT changed(m_marks);
}

/// The newest state only; what was asked before and not begun is left out.
void MarkList::keep() {
    m_keeping.ask(
        [path = m_path, run = m_run, marks = m_marks](auto&, const auto&,
                                                      const auto&) -> Result<bool> {
            auto kept = MarkFile(path, userMarkFolder()).save(QString::fromStdString(run), marks);
            if (!kept) return failure(kept);
            return true;
        },
        [](bool) {});
}

void MarkList::add(Timestamp at) {
    if (m_path.isEmpty()) return;
    Marks marks = m_marks;
    addMark(marks, {at, newMarkName(marks), {}});
    set(std::move(marks));
    keep();
}

void MarkList::remove(int place) {
    if (place < 0 || place >= static_cast<int>(m_marks.size())) return;
    Marks marks = m_marks;
    marks.erase(marks.begin() + place);
    set(std::move(marks));
    keep();
}

void MarkList::edit(int row, int column, const QString& text) {
    if (m_panel.tab() != TableTab::kMarks || row < 0) return;
    Marks marks = m_marks;
    Mark& mark = marks[static_cast<std::size_t>(row)];
    (column == kName ? mark.name : mark.note) = text.trimmed();
    if (marks == m_marks) return;
    // the editor is still open over the row
    QMetaObject::invokeMethod(
        this,
        [this, marks] {
            set(marks);
            keep();
        },
        Qt::QueuedConnection);
}

void MarkList::show() {
    m_panel.setCaption(m_marks.size() == 1
                           ? tr("1 mark, kept with the recording")
                           : tr("%1 marks, kept with the recording").arg(m_marks.size()));
    m_panel.table().setTable(markColumns(), markRows(m_marks));
}

}  // namespace shardscope::desktop
