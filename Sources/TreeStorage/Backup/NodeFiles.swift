import Glibc
package import HearthStorageErrors

/// What a node of a cluster keeps in its folder that does not hold all databases.
extension DataFolder {
    // MARK: Removing databases

    /// Removes the files of a database, which are closed; its rules and settings stay. A removal that is interrupted is
    /// completed when the folder is opened again.
    package func remove(_ name: String) throws(StorageError) {
        precondition(Self.isFileName(name))
        let files = DatabaseFiles(name: name, folder: path)
        do throws(BackupError) { try Self.mark(files.removing) } catch { throw .inputOutput(error.message) }
        try remove(files)
    }

    /// Gives a removal up that has failed, so that a later start does not complete it. Before there are files again.
    package func endRemoval(_ name: String) throws(StorageError) {
        let marker = DatabaseFiles(name: name, folder: path).removing
        guard access(marker, F_OK) == 0 else { return }
        do throws(BackupError) {
            guard unlink(marker) == 0 else { throw BackupError("cannot remove \(marker)") }
            try PartialFile.sync(path)
        } catch {
            throw .inputOutput(error.message)
        }
    }

    private func remove(_ files: DatabaseFiles) throws(StorageError) {
        Backup.removeAll(files)
        unlink(files.visiting)
        unlink(files.store)
        do throws(BackupError) {
            try PartialFile.sync(path)
            guard unlink(files.removing) == 0 else { throw BackupError("cannot remove \(files.removing)") }
            try PartialFile.sync(path)
        } catch {
            throw .inputOutput(error.message)
        }
    }

    func finishRemoving() throws(StorageError) {
        for name in FolderContents(path).databases(withFileOf: ".removing") {
            try remove(DatabaseFiles(name: name, folder: path))
        }
    }

    // MARK: Databases on demand

    /// Whether the node has a database only because its clients use it.
    package func isVisited(_ name: String) -> Bool {
        access(DatabaseFiles(name: name, folder: path).visiting, F_OK) == 0
    }

    /// Notes that, before there are files.
    package func beginVisit(_ name: String) throws(StorageError) {
        do throws(BackupError) { try Self.mark(DatabaseFiles(name: name, folder: path).visiting) } catch {
            throw .inputOutput(error.message)
        }
    }

    /// The node holds the database from now on.
    package func endVisit(_ name: String) { unlink(DatabaseFiles(name: name, folder: path).visiting) }

    /// See ``FolderContents/listed``.
    package var listed: ListedDatabases { FolderContents(path).listed }

    // MARK: Etcd clusters

    /// The name of the etcd cluster that has the log of a database, as the node has noted it; nil for the first one,
    /// and if nothing was noted.
    package func keptStore(of name: String) -> String? {
        FolderContents.bytes(of: DatabaseFiles(name: name, folder: path).store)
            .flatMap { String(validating: $0, as: UTF8.self) }
    }

    /// Notes it, before there are files.
    package func keepStore(_ store: String, of name: String) throws(StorageError) {
        precondition(Self.isFileName(name))
        do throws(BackupError) {
            try Self.mark(DatabaseFiles(name: name, folder: path).store, Array(store.utf8))
        } catch {
            throw .inputOutput(error.message)
        }
    }

    // MARK: Members

    /// The members of the cluster, as the node last knew them; nil if it never knew any.
    package var keptMembers: [UInt8]? { FolderContents(path).keptMembers }

    package func keepMembers(_ bytes: [UInt8]) throws(StorageError) {
        do throws(BackupError) { try Self.mark("\(path)/\(FolderContents.membersFile)", bytes) } catch {
            throw .inputOutput(error.message)
        }
    }
}

extension FolderContents {
    static let membersFile = "cluster-members"
    /// What the cluster had of a document when the node last took it over, such as `service-accounts.cluster`.
    package static let baseSuffix = ".cluster"

    var keptMembers: [UInt8]? { Self.bytes(of: "\(path)/\(Self.membersFile)") }

    fileprivate static func bytes(of file: String) -> [UInt8]? {
        let descriptor = open(file, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = read(descriptor, &buffer, buffer.count)
            if count < 0 { return nil }
            if count == 0 { return bytes }
            bytes += buffer[..<count]
        }
    }

    /// The folder is not that of a node any more whose cluster has such members, and logs in such etcd clusters.
    package func forgetCluster() {
        unlink("\(path)/\(Self.membersFile)")
        for name in databases(withFileOf: ".etcd") { unlink(DatabaseFiles(name: name, folder: path).store) }
        for name in databases(withFileOf: Self.baseSuffix) { unlink("\(path)/\(name)\(Self.baseSuffix)") }
    }
}
