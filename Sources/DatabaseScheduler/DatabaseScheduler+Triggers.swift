import HearthRealtimeDatabase

/// Outcomes of events of triggers.
extension DatabaseScheduler {
    /// So many make an operation at once, without a tick.
    static var sentMax: Int { 256 }

    /// Writes down the outcomes of events. Where another node takes the writes, it has to find them out for itself.
    mutating func noteSent() {
        if sent.isEmpty { return }
        guard ownership == .alone || ownership == .owner else {
            sent = OutboxReport()
            return
        }
        guard !recovery.isUnderWay, !database.isTelling, database.refusal == nil, database.heldWrites == .none,
            life != .leaving, database.unwrittenBytes < limits.unwrittenBytesMax
        else { return }
        guard let record = database.note(sent, now: now) else { return }
        sent = OutboxReport()
        append(record)
    }
}
