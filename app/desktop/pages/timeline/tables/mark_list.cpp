#include "app/desktop/pages/timeline/tables/mark_list.h"

#include "app/desktop/models/format.h"
#include "app/desktop/pages/timeline/tables/table_panel.h"
#include "app/desktop/widgets/data_table.h"
#include "storage/recording/remote/remote_address.h"

#include <QCryptographicHash>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QMenu>
#include <QSaveFile>
#include <QStandardPaths>
#include <algorithm>
#include <optional>

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

constexpr int kVersion = 1;
/// What is longer was not written here.
constexpr qint64 kMostBytes = 16 << 20;

/// A link or a file of another user is not ours.
bool isOurs(const QString& path) {
    const QFileInfo file(path);
    return file.isFile() && !file.isSymLink() &&
           file.ownerId() == QFileInfo(u"/proc/self"_s).ownerId();
}

std::optional<QByteArray> read(const QString& path) {
    if (path.isEmpty() || !isOurs(path)) return std::nullopt;
    QFile file(path);
    if (file.size() > kMostBytes || !file.open(QIODevice::ReadOnly)) return std::nullopt;
    return file.readAll();
}

bool write(const QString& path, const QByteArray& json) {
    const QFileInfo target(path);
    if ((target.exists() || target.isSymLink()) && !isOurs(path)) return false;
    QSaveFile file(path);
    return file.open(QIODevice::WriteOnly) && file.write(json) == json.size() && file.commit();
}

Landmark landmarkOf(const OpenRecording& recording, const analysis::SlowStepFound& slow) {
    const TimeRange time = recording.timeOf({{}, StepSpan{slow.step, slow.step}, {}});
    return {time.begin + Duration{time.duration().ns / 2},
            u"step %1. %2"_s.arg(slow.step.value).arg(fromUtf8(slow.why))};
}

}  // namespace

std::vector<Landmark> landmarks(const OpenRecording& recording, const Marks& marks) {
    std::vector<Landmark> places;
    for (const Mark& mark : marks) places.push_back({mark.time, mark.name});
    for (const Diagnostic& each : recording.summary.diagnostics)
        if (each.severity != Severity::kNote && each.time.ns > 0)
            places.push_back({each.time, fromUtf8(each.message)});
    for (const analysis::SlowStepFound& slow : recording.report.slowSteps)
        places.push_back(landmarkOf(recording, slow));
    for (const analysis::RunFinding& finding : recording.report.findings)
        if (finding.code == "slow-stretch" && finding.range)
            places.push_back({finding.range->begin,
                              QObject::tr("From here on: %1. %2")
                                  .arg(fromUtf8(finding.title), fromUtf8(finding.detail))});
    std::sort(places.begin(), places.end(),
              [](const Landmark& a, const Landmark& b) { return a.time < b.time; });
    return places;
}

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

std::size_t addMark(Marks& marks, const Mark& mark) {
    const auto at =
        std::lower_bound(marks.begin(), marks.end(), mark.time,
                         [](const Mark& other, Timestamp time) { return other.time < time; });
    const auto place = static_cast<std::size_t>(at - marks.begin());
    if (at == marks.end() || at->time != mark.time) marks.insert(at, mark);
    return place;
}

QString newMarkName(const Marks& marks) {
    for (int number = 1;; ++number) {
        const QString name = u"mark %1"_s.arg(number);
        const bool taken = std::any_of(marks.begin(), marks.end(),
                                       [&](const Mark& mark) { return mark.name == name; });
        if (!taken) return name;
    }
}

QByteArray marksToJson(const QString& run, const Marks& marks) {
    QJsonArray list;
    for (const Mark& mark : marks) {
        QJsonObject object{{u"time_ns"_s, static_cast<qint64>(mark.time.ns)},
                           {u"name"_s, mark.name}};
        if (!mark.note.isEmpty()) object.insert(u"note"_s, mark.note);
        list.append(object);
    }
    return QJsonDocument(QJsonObject{{u"version"_s, kVersion}, {u"run"_s, run}, {u"marks"_s, list}})
        .toJson();
}

Marks marksFromJson(const QByteArray& json, const QString& run) {
    const QJsonObject all = QJsonDocument::fromJson(json).object();
    if (all["version"_L1].toInt() != kVersion || all["run"_L1].toString() != run) return {};
    Marks marks;
    const QJsonArray list = all["marks"_L1].toArray();
    for (const auto& each : list) {
        const QJsonObject object = each.toObject();
        if (!object["time_ns"_L1].isDouble()) continue;
        addMark(marks, {{object["time_ns"_L1].toInteger()},
                        object["name"_L1].toString(),
                        object["note"_L1].toString()});
    }
    return marks;
}

MarkFile::MarkFile(const QString& recording, const QString& userFolder) {
    const bool remote = storage::remote::isRemote(recording.toStdString());
    const QString path = remote ? recording : QFileInfo(recording).absoluteFilePath();
    if (!remote) m_beside = path + u".marks"_s;
    const QByteArray hash =
        QCryptographicHash::hash(path.toUtf8(), QCryptographicHash::Sha256).toHex();
    m_inUserFolder = userFolder + u"/%1.json"_s.arg(QString::fromLatin1(hash.left(32)));
}

Marks MarkFile::load(const QString& run) const {
    for (const QString& path : {m_beside, m_inUserFolder})
        if (const auto json = read(path))
            if (Marks marks = marksFromJson(*json, run); !marks.empty()) return marks;
    return {};
}

Result<void> MarkFile::save(const QString& run, const Marks& marks) const {
    if (marks.empty()) {
        for (const QString& path : {m_beside, m_inUserFolder})
            if (!path.isEmpty() && isOurs(path)) QFile::remove(path);
        return {};
    }
    const QByteArray json = marksToJson(run, marks);
    if (!m_beside.isEmpty() && write(m_beside, json)) {
        if (isOurs(m_inUserFolder)) QFile::remove(m_inUserFolder);
        return {};
    }
    QDir().mkpath(QFileInfo(m_inUserFolder).path());
    if (write(m_inUserFolder, json)) return {};
    return failure(ErrorCode::kFailure,
                   "marks cannot be kept: " + m_inUserFolder.toStdString() + " is not writable");
}

QString userMarkFolder() {
    return QStandardPaths::writableLocation(QStandardPaths::GenericDataLocation) +
           u"/shardscope/marks"_s;
}

}  // namespace shardscope::desktop
