#include "app/desktop/loading/import_cache.h"

#include "app/desktop/models/format.h"
#include "storage/interchange/formats.h"

#include <QCryptographicHash>
#include <QDateTime>
#include <QDir>
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QSaveFile>
#include <algorithm>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;
using interchange::ImportAccount;

constexpr qint64 kBlock = 1 << 20;
/// Reading a trace to know it again is this share of the work.
constexpr double kHashShare = 0.2;
/// Another way to import makes another recording of the same trace.
constexpr const char* kImporter = "shardscope import 1";

QStringList filesOf(const QStringList& inputs) {
    QStringList files;
    for (const QString& input : inputs) {
        if (!QFileInfo(input).isDir()) {
            files << input;
            continue;
        }
        for (const QString& name : QDir(input).entryList(QDir::Files, QDir::Name))
            files << QDir(input).filePath(name);
    }
    return files;
}

std::vector<std::string> pathsOf(const QStringList& inputs) {
    std::vector<std::string> paths;
    for (const QString& input : inputs) paths.push_back(input.toStdString());
    return paths;
}

ImportFacts factsOf(const ImportAccount& account) {
    const auto count = [](std::uint64_t value) {
        return formatCount(static_cast<std::int64_t>(value));
    };
    ImportFacts facts{{u"events read"_s, count(account.read)},
                      {u"kept"_s, count(account.kept)},
                      {u"repaired"_s, count(account.repaired)},
                      {u"rejected"_s, count(account.rejected())}};
    for (const auto& [reason, times] : account.repairs)
        facts.emplace_back(u"repaired"_s, u"%1 × %2"_s.arg(count(times), fromUtf8(reason)));
    for (const auto& [reason, times] : account.rejections)
        facts.emplace_back(u"rejected"_s, u"%1 × %2"_s.arg(count(times), fromUtf8(reason)));
    for (const std::string& note : account.sentences())
        facts.emplace_back(u"note"_s, fromUtf8(note));
    return facts;
}

/// The same trace may lie elsewhere the next time.
ImportFacts named(const QStringList& inputs, ImportFacts facts) {
    facts.insert(facts.begin(), {u"trace"_s, inputs.join(u", "_s)});
    return facts;
}

void writeFacts(const QString& path, const ImportFacts& facts) {
    QJsonArray rows;
    for (const auto& [name, value] : facts) rows.append(QJsonArray{name, value});
    QSaveFile file(path);
    if (!file.open(QIODevice::WriteOnly)) return;
    file.write(QJsonDocument(rows).toJson());
    file.commit();
}

ImportFacts readFacts(const QString& path) {
    ImportFacts facts;
    QFile file(path);
    if (!file.open(QIODevice::ReadOnly)) return facts;
    const QJsonArray rows = QJsonDocument::fromJson(file.readAll()).array();
    for (const auto& row : rows)
        facts.emplace_back(row.toArray().at(0).toString(), row.toArray().at(1).toString());
    return facts;
}

Error cancelled() {
    return {ErrorCode::kCancelled, "the import was cancelled; nothing was kept"};
}

}  // namespace

Result<bool> isRecording(const QString& path) {
    const QFileInfo info(path);
    if (info.isDir()) return false;
    // Whatever is not a file is refused as recordings are; what begins as SQLite may be a damaged
    // one.
    if (!info.isFile() || info.size() == 0) return true;
    QFile file(path);
    const bool database =
        file.open(QIODevice::ReadOnly) && file.read(16).startsWith("SQLite format 3");
    const auto format = interchange::recogniseTrace(path.toStdString());
    if (!format && database) return true;
    if (!format) return failure(format);
    return (*format)->read == nullptr;
}

QString openableEndings() {
    QStringList endings;
    for (const interchange::Format& format : interchange::formats())
        for (const char* ending : format.endings) endings << u"*"_s + QLatin1String(ending);
    endings.removeDuplicates();
    return endings.join(u' ');
}

ImportCache::ImportCache(QString folder, Bytes limit, Importer importer)
    : m_folder(std::move(folder)),
      m_limit(limit),
      m_importer(importer ? std::move(importer) : Importer(interchange::importTraces)) {}

Result<QString> ImportCache::keyOf(const QStringList& inputs, const Progress& progress) const {
    const QStringList files = filesOf(inputs);
    qint64 whole = 0, done = 0;
    for (const QString& file : files) {
        // a pipe would be waited for without an end
        if (!QFileInfo(file).isFile())
            return failure(
                ErrorCode::kUnreadable,
                file.toStdString() +
                    " is not a file: import it with `shardscope import`, which reads pipes");
        whole += QFileInfo(file).size();
    }
    QCryptographicHash hash(QCryptographicHash::Blake2b_256);
    hash.addData(QByteArray(kImporter));
    for (const QString& path : files) {
        QFile file(path);
        if (!file.open(QIODevice::ReadOnly))
            return failure(ErrorCode::kUnreadable, path.toStdString() + " cannot be read: " +
                                                       file.errorString().toStdString());
        // the name distinguishes ranks, and the title is made of it
        hash.addData(QFileInfo(path).fileName().toUtf8());
        hash.addData(QByteArray::number(file.size()));
        QByteArray block(kBlock, Qt::Uninitialized);
        for (qint64 got = 0; (got = file.read(block.data(), kBlock)) > 0; done += got) {
            hash.addData(QByteArray::fromRawData(block.constData(), static_cast<int>(got)));
            const double share =
                static_cast<double>(done) / static_cast<double>(std::max<qint64>(1, whole));
            if (!progress(kHashShare * share)) return tl::unexpected(cancelled());
        }
    }
    return QString::fromLatin1(hash.result().toHex());
}

Result<ImportedTrace> ImportCache::imported(const QStringList& inputs,
                                            const Listener& listener) const {
    const auto key = keyOf(inputs, listener.progress);
    if (!key) return failure(key);
    const QDir folder(m_folder);
    if (!folder.mkpath(u"."_s))
        return failure(ErrorCode::kFailure,
                       "cannot create a folder for imported traces at " + m_folder.toStdString());
    const QString recording = folder.filePath(*key + u".sscope"_s);
    const QString facts = folder.filePath(*key + u".json"_s);
    if (QFile known(recording); known.open(QIODevice::ReadOnly)) {
        known.setFileTime(QDateTime::currentDateTime(), QFileDevice::FileModificationTime);
        return ImportedTrace{recording, named(inputs, readFacts(facts))};
    }
    interchange::ImportOptions options;
    options.output = recording.toStdString();
    options.overwrite = true;
    options.progress = [&](double share) {
        return listener.progress(kHashShare + (1 - kHashShare) * share);
    };
    if (listener.readable)
        options.readable = [&](const std::string& part) {
            listener.readable(fromUtf8(part), recording);
        };
    options.readAgain = listener.readAgain;
    const auto account = m_importer(pathsOf(inputs), options);
    if (!account && account.error().code == ErrorCode::kCancelled)
        return tl::unexpected(cancelled());
    if (!account) return failure(account);
    const ImportFacts written = factsOf(*account);
    writeFacts(facts, written);
    makeRoom(recording);
    return ImportedTrace{recording, named(inputs, written)};
}

/// The file that is to be opened stays whatever it takes.
void ImportCache::makeRoom(const QString& keep) const {
    QFileInfoList files = QDir(m_folder).entryInfoList({u"*.sscope"_s}, QDir::Files, QDir::Time);
    std::int64_t sum = 0;
    for (const QFileInfo& file : files) {
        sum += file.size();
        if (sum <= m_limit.count || file.absoluteFilePath() == QFileInfo(keep).absoluteFilePath())
            continue;
        QFile::remove(file.filePath());
        QFile::remove(file.path() + u'/' + file.completeBaseName() + u".json"_s);
    }
}

TraceImport::TraceImport(QObject* parent) : QObject(parent) {}

TraceImport::~TraceImport() {
    m_generations.supersede();
}

void TraceImport::start(const QStringList& paths) {
    m_address = paths.join(u'\n');
    m_progress = {};
    m_later = Duration{};
    m_isGoing = true;
    const storage::Generation generation = m_generations.next();
    m_thread.submit(0, [this, paths, generation] { run(paths, generation); });
}

void TraceImport::cancel() {
    m_generations.supersede();
    m_isGoing = false;
}

/// On the importer's thread.
void TraceImport::run(const QStringList& paths, const storage::Generation& generation) {
    const auto tell = [this, generation](auto what) {
        QMetaObject::invokeMethod(
            this,
            [generation, what = std::move(what)] {
                if (!generation.superseded()) what();
            },
            Qt::QueuedConnection);
    };
    ImportCache::Listener listener;
    listener.progress = [&, last = -1](double share) mutable {
        // a hundred words are enough
        if (const int percent = static_cast<int>(share * 100);
            std::exchange(last, percent) != percent)
            tell([this, share] { Q_EMIT progressed(m_progress.share = share); });
        return !generation.superseded();
    };
    listener.readable = [&](const QString& part, const QString& recording) {
        tell([this, part, recording] { Q_EMIT readable(part, recording); });
    };
    listener.readAgain = [&](std::optional<Duration> later) {
        tell([this, later] {
            m_progress.again = true;
            if (m_later && later)
                *m_later += *later;
            else
                m_later.reset();
            Q_EMIT begunAgain();
        });
    };
    Result<ImportedTrace> made = failure(ErrorCode::kFailure, "");
    try {
        made = ImportCache(m_folder, kImportCacheLimit, m_importer).imported(paths, listener);
    } catch (const std::exception& error) {
        made = failure(ErrorCode::kFailure, std::string("importing the trace: ") + error.what());
    }
    tell([this, made = std::move(made)] { finish(made); });
}

void TraceImport::finish(const Result<ImportedTrace>& made) {
    m_isGoing = false;
    if (made)
        Q_EMIT done(*made, m_later);
    else
        Q_EMIT failed(QString::fromStdString(made.error().message));
}

}  // namespace shardscope::desktop
