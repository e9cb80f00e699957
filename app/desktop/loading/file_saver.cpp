#include "app/desktop/loading/file_saver.h"

#include "app/desktop/models/format.h"
#include "storage/interchange/formats.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"
#include "storage/model/step_time.h"
#include "storage/recording/read/cancellable_reader.h"
#include "storage/recording/read/recording_reader.h"
#include "storage/recording/remote/remote_address.h"
#include "storage/recording/remote/remote_reader.h"

#include <QDir>
#include <QFileInfo>
#include <QObject>
#include <exception>
#include <memory>
#include <string>
#include <utility>

namespace shardscope::desktop {
namespace {

Result<interchange::ExportAccount> guarded(const SaveJob& job, const SaveProgress& progress) {
    if (progress.wanted.superseded()) return failure(ErrorCode::kCancelled, "");
    try {
        return job(progress);
    } catch (const std::exception& error) {
        return failure(ErrorCode::kFailure, std::string("saving the file: ") + error.what());
    }
}

QStringList endText(const Result<interchange::ExportAccount>& account) {
    if (account) return savedText(*account);
    if (account.error().code == ErrorCode::kCancelled)
        return {FileSaver::tr("Cancelled; nothing was written")};
    return {fromUtf8(account.error().message)};
}

using namespace Qt::StringLiterals;
using interchange::ExportAccount;
using interchange::ExportOptions;
using interchange::Format;
using interchange::FormatView;

constexpr qsizetype kMostNamedRanks = 4;

struct Wanted {
    std::string path;  ///< or address
    storage::remote::ChildOptions access;
    const Format* format = nullptr;
    std::optional<StepSpan> steps;
    ExportOptions options;
};

Result<std::unique_ptr<storage::RecordingReader>> openAnew(const Wanted& wanted,
                                                           const storage::Generation& generation) {
    if (!storage::remote::isRemote(wanted.path)) return storage::openRecording(wanted.path);
    const auto address = storage::remote::parseAddress(wanted.path);
    if (!address) return failure(address);
    auto session = storage::remote::startServing(wanted.access, address->target, generation);
    if (!session) return failure(session);
    return storage::remote::RemoteReader::open(std::move(*session), address->path);
}

Result<ExportAccount> write(const Wanted& wanted, const SaveProgress& progress) {
    const auto opened = openAnew(wanted, progress.wanted);
    if (!opened) return failure(opened);
    storage::CancellableReader reader(**opened, progress.wanted);
    ExportOptions options = wanted.options;
    options.progress = progress.tell;
    if (wanted.steps) {
        const auto summary = reader.summary();
        if (!summary) return failure(summary);
        options.steps.emplace(wanted.steps->first, wanted.steps->last);
        options.range =
            timeOfSteps(summary->steps, wanted.steps->first, wanted.steps->last, options.ranks);
        if (!options.range)
            return failure(ErrorCode::kUsage, "the recording has no steps " +
                                                  std::to_string(wanted.steps->first.value) +
                                                  " to " +
                                                  std::to_string(wanted.steps->last.value) +
                                                  " of the ranks that are selected: select others");
    }
    return interchange::writeAs(*wanted.format, reader, options);
}

/// "a Perfetto trace" -> "Perfetto trace"
QString titleOf(const Format& format) {
    QString title = QString::fromLatin1(format.file);
    for (const QLatin1StringView article : {"a "_L1, "an "_L1})
        if (title.startsWith(article)) title.remove(0, article.size());
    title[0] = title[0].toUpper();
    return title;
}

QString wordsOf(const FormatView& view) {
    return QString::fromLatin1(view.name).replace(u'_', u' ');
}

QString titleOf(const FormatView& view) {
    QString title = wordsOf(view);
    title[0] = title[0].toUpper();
    return QObject::tr("%1 (CSV)").arg(title);
}

/// "steps-3-5-ranks-0-2"; empty: all of it.
QString partName(const Selection& selection) {
    QStringList parts;
    if (const auto& steps = selection.steps)
        parts << (steps->first == steps->last
                      ? u"step-%1"_s.arg(steps->first.value)
                      : u"steps-%1-%2"_s.arg(steps->first.value).arg(steps->last.value));
    if (selection.range) parts << u"part"_s;
    QStringList ranks;
    for (const RankId rank : selection.ranks) ranks << QString::number(rank.value);
    if (ranks.size() > kMostNamedRanks) ranks = {QString::number(ranks.size())};
    if (!ranks.isEmpty())
        parts << (selection.ranks.size() == 1 ? u"rank-"_s : u"ranks-"_s) + ranks.join(u'-');
    return parts.join(u'-');
}

QString refusalOf(const RecordingPtr& recording) {
    if (!recording) return QObject::tr("no recording is open");
    if (recording->isImporting())
        return QObject::tr(
            "the trace is still being imported; save it when the import is complete");
    return {};
}

/// Why there is nothing of `what` to be saved.
QString absence(const QString& what) {
    return QObject::tr("the recording has no %1").arg(what);
}

class Offers {
public:
    Offers(const RecordingPtr& recording, Selection selection,
           const storage::remote::ChildOptions& access)
        : m_recording(recording),
          m_selection(std::move(selection)),
          m_access(access),
          m_refusal(refusalOf(recording)) {
        QStringList stem{savedName(recording)};
        if (const QString part = partName(m_selection); !part.isEmpty()) stem << part;
        m_stem = stem.join(u'-');
    }

    [[nodiscard]] SaveOffer of(const Format& format) const {
        SaveOffer offer = begun(format, m_stem);
        offer.name = titleOf(format);
        offer.what = QString::fromLatin1(format.writes);
        // beside the recording that it is of
        if (m_stem == savedName(m_recording) && offer.ending == u"sscope"_s)
            offer.stem += u"-copy"_s;
        if (isFolder(format)) {
            offer.stem += u'-' + QString::fromLatin1(format.name);
            offer.ending.clear();
        }
        if (lacks(format.isIn)) offer.refusal = absence(QObject::tr("memory events"));
        offer.job = jobOf(format, {});
        return offer;
    }
    [[nodiscard]] SaveOffer of(const Format& format, const FormatView& view) const {
        SaveOffer offer = begun(format, m_stem + u'-' + wordsOf(view).replace(u' ', u'-'));
        offer.name = titleOf(view);
        offer.what = QString::fromLatin1(view.rows);
        if (lacks(view.isIn)) offer.refusal = absence(wordsOf(view));
        offer.job = jobOf(format, view.name);
        return offer;
    }

private:
    [[nodiscard]] SaveOffer begun(const Format& format, const QString& stem) const {
        return {{}, {}, stem, QString::fromLatin1(format.ending).mid(1), m_refusal};
    }
    /// What there is to write, if it can be written at all.
    [[nodiscard]] bool lacks(bool (*isIn)(const RecordingSummary&)) const {
        return m_refusal.isEmpty() && isIn != nullptr && !isIn(m_recording->summary);
    }
    [[nodiscard]] bool isFolder(const Format& format) const {
        return m_recording &&
               interchange::writesFolder(format, m_recording->summary, m_selection.ranks);
    }
    [[nodiscard]] std::function<SaveJob(const QString&)> jobOf(const Format& format,
                                                               const std::string& view) const {
        if (!m_recording) return {};
        Wanted wanted{m_recording->path.toStdString(), m_access, &format, m_selection.steps, {}};
        wanted.options.overwrite = true;  // who chose the name was asked
        wanted.options.range = m_selection.range;
        wanted.options.ranks = m_selection.ranks;
        wanted.options.view = view;
        for (const QString& file : (m_recording->path + u'\n' + m_recording->source).split(u'\n'))
            wanted.options.inputs.push_back(file.toStdString());
        return [wanted](const QString& path) -> SaveJob {
            Wanted named = wanted;
            named.options.output = path.toStdString();
            return [named](const SaveProgress& progress) { return write(named, progress); };
        };
    }

    RecordingPtr m_recording;
    Selection m_selection;
    storage::remote::ChildOptions m_access;
    QString m_refusal, m_stem;
};

}  // namespace

QStringList savedText(const interchange::ExportAccount& account) {
    QString written;
    if (account.files.size() == 1) {
        written = FileSaver::tr("Wrote %1").arg(fromUtf8(account.files.front()));
    } else {
        const QString first = fromUtf8(account.files.empty() ? "" : account.files.front());
        written = FileSaver::tr("Wrote %1 files into %2")
                      .arg(account.files.size())
                      .arg(QFileInfo(first).path());
    }
    if (account.events > 0)
        written += FileSaver::tr(": %1 events")
                       .arg(formatCount(static_cast<std::int64_t>(account.events)));
    QStringList lines{written};
    for (const std::string& note : account.notes) lines << fromUtf8(note);
    return lines;
}

FileSaver::FileSaver(QObject* parent) : QObject(parent), m_wanted(m_cancels.next()) {}

FileSaver::~FileSaver() {
    m_cancels.supersede();
}

void FileSaver::save(SaveJob job) {
    if (m_open++ == 0) Q_EMIT progressed(0);
    m_thread.submit(m_submitted++,
                    [this, job = std::move(job), generation = m_wanted] { run(job, generation); });
}

void FileSaver::cancel() {
    m_wanted = m_cancels.next();
}

/// On the saver's thread, which ends before this does.
void FileSaver::run(const SaveJob& job, const storage::Generation& generation) {
    const auto later = [this](auto what) {
        QMetaObject::invokeMethod(this, std::move(what), Qt::QueuedConnection);
    };
    SaveProgress progress{{}, generation};
    progress.tell = [&, last = -1](double share) mutable {
        // a hundred words are enough
        if (const int percent = static_cast<int>(share * 100);
            std::exchange(last, percent) != percent)
            later([this, share] { Q_EMIT progressed(share); });
        return !generation.superseded();
    };
    later([this, lines = endText(guarded(job, progress))] {
        --m_open;
        Q_EMIT ended(lines);
    });
}

std::vector<SaveOffer> recordingOffers(const RecordingPtr& recording, const Selection& selection,
                                       const storage::remote::ChildOptions& access) {
    const Offers offers(recording, selection, access);
    std::vector<SaveOffer> found;
    for (const Format& format : interchange::formats()) {
        if (format.write == nullptr) continue;
        if (format.views.empty()) found.push_back(offers.of(format));
        for (const FormatView& view : format.views) found.push_back(offers.of(format, view));
    }
    return found;
}

QString savedName(const RecordingPtr& recording) {
    if (!recording) return u"shardscope"_s;
    const QString first = recording->address().section(u'\n', 0, 0);
    QString name = first.section(u'/', -1, -1, QString::SectionSkipEmpty);
    qsizetype longest = 0;
    for (const Format& format : interchange::formats())
        for (const char* ending : format.endings)
            if (const QLatin1StringView known(ending); name.endsWith(known))
                longest = std::max(longest, known.size());
    name.chop(longest);
    return name;
}

QString savedFolder(const RecordingPtr& recording) {
    if (!recording || storage::remote::isRemote(recording->path.toStdString()))
        return QDir::homePath();
    return QFileInfo(recording->address().section(u'\n', 0, 0)).absolutePath();
}

}  // namespace shardscope::desktop
