/// A database that was given up, with the files to close.
struct AbandonedDatabase: Sendable {
    let index: UInt32
    let name: String
    let files: FilesToClose
    /// Ends its commits. Waits for etcd, for some seconds at most.
    let endCommits: @Sendable () -> Void
}
