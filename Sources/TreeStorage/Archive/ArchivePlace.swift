import HearthServerFiles

/// The folder of an archive as it was at the start. Without its disk, the name may mean no folder, or the empty one in
/// which the disk was mounted: a new archive there would only seem to be one.
package struct ArchivePlace: Sendable {
    private let path: String
    private let identity: FileIdentity

    /// Nil without the folder.
    package init?(_ path: String) {
        guard let identity = FileIdentity(path) else { return nil }
        (self.path, self.identity) = (path, identity)
    }

    package func verify() throws(BackupError) {
        guard let present = FileIdentity(path) else { throw BackupError(message: "the archive \(path) is gone") }
        guard present == identity else {
            throw BackupError(
                message: "\(path) is not the folder that it was when the server started: if it is right, start again")
        }
    }
}
