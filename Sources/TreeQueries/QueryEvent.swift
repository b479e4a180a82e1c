package import HearthJSONTree

/// One change, as a listener of events is told of it (Protocol.md 18.1).
package enum QueryEvent: Hashable, Sendable {
    /// `key` is an encoded segment, as is `previous`; of a removed child the value is the one it had.
    case child(ChildEvent.Kind, key: [UInt8], value: CanonicalJSON, previous: [UInt8]?)
    case value(CanonicalJSON)
}
