import HearthRealtimeDatabase

/// The databases whose files are being opened, and the requests that wait for each of them.
struct OpeningDatabases {
    struct Entry {
        /// In the order in which they came.
        var requests: [Request] = []
        /// Called after these, whether or not the database could be opened.
        var then: [() -> Void] = []
        /// Uses that have ended: nothing is done about them before the requests that came first.
        var endedUses = 0
        /// It has no files yet.
        let isNew: Bool
        /// The log has something to lose.
        let mustPrune: Bool
    }

    private var entries: [UInt32: Entry] = [:]

    var isEmpty: Bool { entries.isEmpty }

    /// Databases that get their first files.
    var newCount: Int { entries.values.count { $0.isNew } }

    func has(_ index: UInt32) -> Bool { entries[index] != nil }

    mutating func begin(_ index: UInt32, _ requests: [Request], isNew: Bool, mustPrune: Bool) {
        entries[index] = Entry(requests: requests, isNew: isNew, mustPrune: mustPrune)
    }

    /// The files are open, or cannot be opened. Returns the waiting requests.
    mutating func end(_ index: UInt32) -> Entry? { entries.removeValue(forKey: index) }

    /// False if the database is not being opened.
    mutating func hold(_ requests: [Request], of index: UInt32) -> Bool {
        if entries[index] == nil { return false }
        entries[index]?.requests.append(contentsOf: requests)
        return true
    }

    /// The same for a function that is called once the database is open, or cannot be opened.
    mutating func whenOpened(_ index: UInt32, _ function: @escaping () -> Void) -> Bool {
        if entries[index] == nil { return false }
        entries[index]?.then.append(function)
        return true
    }

    /// The same for the end of a use.
    mutating func holdEndOfUse(of index: UInt32) -> Bool {
        if entries[index] == nil { return false }
        entries[index]?.endedUses += 1
        return true
    }
}
