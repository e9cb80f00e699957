// What a thread of the loader reads the open recording with. Part of the loader.
#pragma once

#include "app/desktop/loading/recording_loader.h"
#include "app/desktop/loading/remote_hosts.h"
#include "storage/recording/file/writer_lock.h"
#include "storage/recording/remote/remote_address.h"
#include "storage/recording/remote/remote_reader.h"

#include <unistd.h>

#include <memory>
#include <string>
#include <utility>

namespace shardscope::desktop {

/// Touched by jobs of its thread only.
struct RecordingLoader::Reading {
    using KnownChunks = std::shared_ptr<const storage::KnownChunks>;
    /// Of a file; goes after the reader.
    std::shared_ptr<storage::WriterWatch> watch;
    /// Of the open recording, where it is on another host.
    std::shared_ptr<storage::remote::RemoteSession> session;
    std::unique_ptr<storage::RecordingReader> reader;
    RecordingPtr recording;
    std::string at;                ///< the file that is read
    bool wasBeingWritten = false;  ///< on another host, when it was opened

    ~Reading() { close(); }
    void close() {
        recording.reset();
        reader.reset();
        session.reset();
        watch.reset();
    }
    [[nodiscard]] bool isLost() const { return session && session->isLost(); }
    [[nodiscard]] bool isBeingWritten() const {
        return watch ? watch->isBeingWritten() : wasBeingWritten;
    }

    Result<void> openFile(const std::string& path, const KnownChunks& known = nullptr) {
        auto opened = std::make_shared<storage::WriterWatch>(path);
        auto file = storage::openRecording(path, 0, known);
        if (!file) return failure(file);
        close();
        watch = std::move(opened);
        reader = std::move(*file);
        at = path;
        return {};
    }
    /// What is imported has its name by now, or is no more; who asks hears of that.
    [[nodiscard]] static bool isGone(const OpenRecording& imported) {
        return imported.isImporting() && ::access(imported.part.toStdString().c_str(), F_OK) != 0;
    }
    [[nodiscard]] bool isMoved() const {
        return recording && isGone(*recording) && at == recording->part.toStdString();
    }
    /// Reads on in the finished file, until the recording is said to be finished. False: it is not
    /// there.
    bool goOver() {
        if (!isMoved()) return false;
        const RecordingPtr same = recording;
        if (!openFile(same->path.toStdString())) return false;
        recording = same;
        return true;
    }
    Result<void> openRemote(RemoteHosts& hosts, const std::string& path,
                            const storage::remote::ChildOptions& access,
                            const storage::Generation& generation,
                            const RemoteHosts::Notice& notice) {
        const auto address = storage::remote::parseAddress(path);
        if (!address) return failure(address);
        auto connected = hosts.session(access, address->target, generation, notice);
        if (!connected) return failure(connected);
        auto opened = storage::remote::RemoteReader::open(*connected, address->path);
        if (!opened) return failure(opened);
        close();
        wasBeingWritten = (*opened)->wasBeingWritten();
        session = *connected;
        reader = std::move(*opened);
        return {};
    }
};

}  // namespace shardscope::desktop
