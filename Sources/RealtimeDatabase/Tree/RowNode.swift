import HearthJSONTree

/// One node of the part of the tree that is in memory. See ``TreeRows`` for what its states mean.
final class RowNode: SegmentKeyed {
    enum State: UInt8 {
        /// Nothing is known, the store must be asked. Only the root of a database just opened is in this state.
        case unknown
        /// `value` is the whole subtree; null when nothing is there.
        case packed
        /// The children have rows of their own; those in `children` are known, `value` is the node's priority.
        case spread
    }

    let segment: [UInt8]
    /// The parent owns this node through its table, so it outlives it; nil once cut off (and at the root). `Unmanaged`,
    /// as walks up must not count references.
    private(set) var above: Unmanaged<RowNode>?
    var parent: RowNode? {
        get { above?.takeUnretainedValue() }
        set { above = newValue.map(Unmanaged.passUnretained) }
    }
    var value: CanonicalJSON
    /// The generation of the last change, 0 for a node that is as the store has it.
    var changedIn: UInt64 = 0
    var state: State
    /// The node was used since it was last looked at for whether it can leave memory.
    var isRecent = false
    /// Spread only: every child that exists is in `children`.
    var isComplete = false
    /// The node lost something below it since the last freeze.
    var isShrunk = false
    var children = SegmentTable<RowNode>()
    /// The generation in which the store's rows at and below this place became obsolete; 0 if they did not. Until the
    /// store has no such rows any more, it cannot be asked about places below.
    var clearedIn: UInt64 = 0
    /// Links of ``NodeRing``, nil outside it. Safe because a node leaves the ring before it leaves its parent's table.
    unowned(unsafe) var nextInRing: RowNode?
    unowned(unsafe) var previousInRing: RowNode?

    init(segment: [UInt8], parent: RowNode?, state: State, value: CanonicalJSON) {
        self.segment = segment
        above = parent.map(Unmanaged.passUnretained)
        self.state = state
        self.value = value
    }

    /// The encoded path of the node. O(depth).
    var key: [UInt8] {
        var count = segment.count
        var ancestor = above
        while let node = ancestor {
            (count, ancestor) = node._withUnsafeGuaranteedRef { (count + $0.segment.count, $0.above) }
        }
        return [UInt8](unsafeUninitializedCapacity: count) { bytes, initializedCount in
            // Filled from the end; the counts above add up to exactly the capacity.
            var end = count
            var place: Unmanaged<RowNode>? = .passUnretained(self)
            while let node = place {
                place = node._withUnsafeGuaranteedRef { node in
                    end -= node.segment.count
                    _ = UnsafeMutableBufferPointer(rebasing: bytes[end...]).initialize(fromContentsOf: node.segment)
                    return node.above
                }
            }
            initializedCount = count
        }
    }

    /// About what the node costs in memory besides its children, in bytes.
    var footprint: Int { 192 + segment.count + value.bytes.count }
}
