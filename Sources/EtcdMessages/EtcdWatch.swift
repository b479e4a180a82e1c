/// Asks for all changes of keys from a revision on. The reply is a stream of messages, which ``EtcdWatchDecoder``
/// reads; it lasts until the connection is closed.
package struct EtcdWatch: Hashable, Sendable {
    package static let path: StaticString = "/etcdserverpb.Watch/Watch"

    package var keys: EtcdKeyRange
    /// The first revision whose changes are wanted.
    package var start: Int64

    /// - precondition: `start` is positive: 0 would mean "from now on", which could not be resumed.
    package init(_ keys: EtcdKeyRange, from start: Int64) {
        precondition(start > 0)
        self.keys = keys
        self.start = start
    }

    private enum Field: UInt32 { case creation = 1 }
    private enum CreationField: UInt32 { case key = 1, end, start, hasProgress, isInFragments = 8 }

    package var message: [UInt8] {
        var message = MessageWriter<Field>()
        message.message(.creation, CreationField.self) {
            $0.bytes(.key, keys.start)
            if let end = keys.end { $0.bytes(.end, end) }
            $0.integer(.start, start)
            // A sign of life while nothing changes.
            $0.flag(.hasProgress, true)
            // Otherwise all that has happened since would be one message.
            $0.flag(.isInFragments, true)
        }
        return message.bytes
    }
}

package enum EtcdChange: Hashable, Sendable {
    case put(EtcdKeyValue)
    case delete(key: [UInt8], revision: Int64)

    package var revision: Int64 {
        switch self {
        case .put(let value): value.modRevision
        case .delete(_, let revision): revision
        }
    }

    package var key: [UInt8] {
        switch self {
        case .put(let value): value.key
        case .delete(let key, _): key
        }
    }
}

package enum EtcdWatchEvent: Hashable, Sendable {
    /// The watch has begun.
    case opened
    /// Complete revisions: all their changes to the watched keys, in order. Never empty.
    case changes([EtcdChange])
    /// Nothing else has changed up to this revision.
    case progress(Int64)
}

/// Reads the messages of a watch.
///
/// A revision whose changes come in several fragments is passed on as a whole. Changes from before the first
/// revision that is still wanted are left out: etcd 3.4 sends some of them again after a member was restored from a
/// snapshot.
package struct EtcdWatchDecoder: Sendable {
    enum Field: UInt32 {
        case header = 1
        case watch, isCreated, isCancelled, compactRevision, cancelReason, isFragment
        case events = 11
    }
    enum EventField: UInt32 { case type = 1, value }

    /// Bytes of a message, or of those that are its fragments.
    private let bytesMax: Int
    private var fragments: [EtcdChange] = []
    private var fragmentBytes = 0
    /// The first revision whose changes have not been passed on.
    package private(set) var next: Int64

    package init(_ watch: EtcdWatch, bytesMax: Int = 256 << 20) {
        next = watch.start
        self.bytesMax = bytesMax
    }

    /// The event that a message completes, if it does. Throws when the watch has ended; nothing may be read after that.
    package mutating func read(_ message: [UInt8]) throws(EtcdError) -> EtcdWatchEvent? {
        guard message.count + fragmentBytes <= bytesMax else { throw .malformedReply("a message is too long") }
        let reply = try ReplyMessage<Field>(message[...])
        if try reply.flag(.isCancelled) { throw try Self.end(reply) }
        if try reply.flag(.isCreated) { return .opened }
        for event in try reply.messages(.events, EventField.self) {
            let change = try Self.change(event)
            if change.revision >= next { fragments.append(change) }
        }
        if try reply.flag(.isFragment) {
            fragmentBytes += message.count
            return nil
        }
        defer {
            fragments = []
            fragmentBytes = 0
        }
        guard let last = fragments.last else {
            // An answer to nothing that was asked (a watch of -1) must not be relied on.
            guard try reply.integer(.watch) >= 0, !reply.has(.events) else { return nil }
            return .progress(try reply.header().revision)
        }
        guard zip(fragments, fragments.dropFirst()).allSatisfy({ $0.revision <= $1.revision }) else {
            throw .malformedReply("changes are not in order")
        }
        next = last.revision + 1
        return .changes(fragments)
    }

    /// Why etcd has ended the watch. It leaves the stream open, so the caller has to close it.
    private static func end(_ reply: ReplyMessage<Field>) throws(EtcdError) -> EtcdError {
        let oldest = try reply.integer(.compactRevision)
        if oldest > 0 { return .compacted(oldest: oldest) }
        let reason = try reply.text(.cancelReason)
        return reason.contains("PermissionDenied") ? .denied(reason) : .unavailable("the watch was ended: \(reason)")
    }

    private static func change(_ event: ReplyMessage<EventField>) throws(EtcdError) -> EtcdChange {
        guard let message = try event.message(.value, EtcdKeyValue.Field.self) else {
            throw .malformedReply("a change without a key")
        }
        let value = try EtcdKeyValue(message)
        // There is a revision after it.
        guard value.modRevision > 0, value.modRevision < .max, !value.key.isEmpty else {
            throw .malformedReply("a change without a revision")
        }
        switch try event.unsigned(.type) {
        case 0: return .put(value)
        case 1: return .delete(key: value.key, revision: value.modRevision)
        case let type: throw .malformedReply("a change of type \(type)")
        }
    }
}
