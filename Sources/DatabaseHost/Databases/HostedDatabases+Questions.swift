import HearthClusterNode
package import HearthJSONTree
package import HearthRealtimeDatabase
package import HearthSecurityRules
import HearthStorageErrors
import HearthTreeStorage

/// Questions about databases that are not requests to them. They wait for the files as requests do.
extension HostedDatabases {
    package enum TriggerPlace {
        case open
        /// The database has no files, and so no events. These triggers wait for its first write.
        case unwritten([TriggerDefinition])
        case unavailable
    }

    /// Gets the events of a database ready for questions about them. A closed database is opened.
    package func beginTriggers(of index: UInt32, then: @escaping (TriggerPlace) -> Void) {
        guard open[index] != nil || finished == nil && copied[index] == nil && !placed.isRemoving(index) else {
            return then(.unavailable)
        }
        if !hasFiles(index) {
            // Another node may have its events.
            if host.cluster != nil { return then(.unavailable) }
            return then(.unwritten(host.rules.program(for: directory.name(of: index))?.settings.triggers ?? []))
        }
        whenOpened(index) { [unowned self] in
            guard let database = open[index] else { return then(.unavailable) }
            database.noteUse()
            database.beginTriggers()
            then(.open)
        }
    }

    /// Finds out whether somebody may read the history of a place. A closed database is opened.
    package func admitToHistory(
        of path: Path, by principal: Principal, from client: UInt64, in index: UInt32,
        then: @escaping (Failure?) -> Void
    ) {
        if let error = unavailability(of: index) { return then(.unavailable(error)) }
        if host.cluster?.isPlaced == true {
            if let error = beginVisit(index) { return then(.unavailable(error)) }
        } else if !hasFiles(index) {
            return then(.denied(""))
        }
        whenOpened(index) { [unowned self] in
            guard let database = open[index] else { return then(.unavailable(failures[index] ?? .stopping)) }
            if let error = unavailability(of: index) { return then(.unavailable(error)) }
            database.noteUse()
            do throws(Failure) {
                try database.admitToHistory(of: path, by: principal, from: client)
                then(nil)
            } catch {
                then(error)
            }
        }
    }

    /// Why nothing can be found out about a database, or it cannot be opened.
    private func unavailability(of index: UInt32) -> StorageError? {
        if copied[index] != nil || placed.isArriving(index) { return Self.isCopied }
        if placed.isRemoving(index) { return Self.isRemoved }
        return finished != nil && open[index] == nil ? .stopping : nil
    }

    private func hasFiles(_ index: UInt32) -> Bool {
        open[index] != nil || closed.has(index) || opening.has(index) || folder.hasDatabase(directory.name(of: index))
    }

    /// Calls a function once a database is open, or cannot be opened. One with files is opened.
    private func whenOpened(_ index: UInt32, _ function: @escaping () -> Void) {
        if opening.whenOpened(index, function) { return }
        if open[index] != nil || finished != nil { return function() }
        if closed.whenClosed(index, { [unowned self] in whenOpened(index, function) }) { return }
        open(index)
        if !opening.whenOpened(index, function) { function() }
    }

    /// Counts bytes of the past that somebody is told. Throws if they are too many now.
    package func countBytesRead(
        _ bytes: Int, at path: Path, by principal: Principal, from client: UInt64, in index: UInt32
    ) throws(Failure) {
        try open[index]?.countBytesRead(bytes, at: path, by: principal, from: client)
    }

    /// The listens of a connection.
    package func listens(of connection: ConnectionID, in index: UInt32) -> [Database.Listen] {
        open[index]?.listens(of: connection) ?? unwritten[index]?.database.listens(of: connection) ?? []
    }

    /// The last operation of a database that is durable at this node; nil if it is not open.
    package func durableSequence(of index: UInt32) -> UInt64? { open[index]?.figures.durableSequence }

    /// Of each database that is open.
    package var figures: [DatabaseFigures] { openInOrder.map(\.figures) }

    package var detailedFigures: [DatabaseFigures] { openInOrder.map(\.detailedFigures) }
}
