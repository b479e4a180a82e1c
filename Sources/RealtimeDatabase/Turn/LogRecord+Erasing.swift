package import HearthJSONTree
package import HearthStorageErrors

extension LogRecord {
    /// The record without the changes at a place and below; nil if it has none. The operations keep their numbers.
    /// Readers still learn that the place has changed, which listeners that resume must know, but not the written
    /// value, the exact place, or the user.
    package func erasing(_ path: Path) throws(StorageError) -> LogRecord? {
        var record = LogRecord(firstSequence: firstSequence, time: time)
        var isChanged = false
        for operation in try operations() {
            switch operation.content {
            case .change(let change):
                if let erased = change.erasing(path) {
                    isChanged = true
                    record.append(erased, uid: erased.isOnly(at: path) ? [] : operation.uid)
                } else {
                    record.append(change, uid: operation.uid)
                }
            case .owe(let assignments, let connection, let principal):
                let kept = assignments.compactMap { $0.erasing(path) }
                isChanged = isChanged || kept != assignments
                // The claims of a user whose writes are all erased go with them.
                record.append(owed: kept, of: connection, by: kept.isEmpty ? .nobody : principal)
            case .cancelOwed(let cancelled, let connection):
                let isInside = path.contains(cancelled) && cancelled != path
                isChanged = isChanged || isInside
                record.append(cancelled: isInside ? path : cancelled, of: connection)
            case .outbox(let change):
                var kept = change
                kept.added = []
                for row in change.added where try !row.concerns(path) { kept.added.append(row) }
                isChanged = isChanged || kept != change
                record.append(kept)
            }
        }
        return isChanged ? record : nil
    }
}

extension Assignment {
    /// Nil if it is at or below a place.
    fileprivate func erasing(_ path: Path) -> Assignment? {
        if path.contains(target.path) { return nil }
        guard !target.isPriority, let suffix = path.suffix(after: target.path), value.hasValue(at: suffix) else {
            return self
        }
        return Assignment(target: target, value: value.setting(.null, at: suffix))
    }
}

extension Change {
    /// Nil if nothing is to be erased.
    fileprivate func erasing(_ path: Path) -> Change? {
        let assignments = assignments
        var kept = assignments.compactMap { $0.erasing(path) }
        let removal = Assignment(target: WriteTarget(path: path), value: .null)
        if kept.count < assignments.count { kept.append(removal) }
        if kept == assignments { return nil }
        if kept == [removal] { return .set(removal) }
        return .merge(base: base, kept)
    }

    /// Whether it says nothing but that a place has changed.
    fileprivate func isOnly(at path: Path) -> Bool {
        self == .set(Assignment(target: WriteTarget(path: path), value: .null))
    }
}
