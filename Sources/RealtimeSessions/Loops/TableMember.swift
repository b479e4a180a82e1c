package import HearthRealtimeDatabase

/// A connection of a ``ConnectionTable``.
package protocol TableMember: AnyObject {
    var id: ConnectionID { get }
    /// The groups that it is a member of; almost always few. Only its table changes them.
    var groups: Set<UInt64> { get set }
}
