import HearthJSONTree

/// The known part of a value: the whole value, or some of its children, each of them whole.
struct KnownNode: Equatable {
    enum Extent: Equatable {
        /// The whole value.
        case all
        /// All children that a query selects, and perhaps others.
        case selection
        /// Some children.
        case children
    }

    var node: Node
    var extent: Extent

    static let nothing = KnownNode(node: .null, extent: .children)

    /// Whether enough is known to tell an observer the value.
    var isComplete: Bool { extent != .children }

    /// Replaces the value at a relative path. A change inside an unknown child does not make that child known.
    mutating func set(_ value: Node, at path: Path) {
        guard let key = path.firstKey else {
            self = KnownNode(node: value, extent: .all)
            return
        }
        let isInside = Path.root.appending(key) != path
        if extent != .all, isInside, node.child(key).isNull { return }
        node = node.setting(value, at: path)
    }

    mutating func setPriority(_ priority: Leaf?, at path: Path) {
        if extent != .all, path.isRoot { return }
        node = node.settingPriority(priority, at: path) ?? node
    }

    /// Applies an assignment at any place; `path` is the place of this node.
    mutating func apply(_ assignment: NodeAssignment, at path: Path) {
        let target = assignment.target
        if let relative = target.path.suffix(after: path) {
            if target.isPriority {
                setPriority(assignment.value.leaf, at: relative)
            } else {
                set(assignment.value, at: relative)
            }
        } else if !target.isPriority, let relative = path.suffix(after: target.path) {
            self = KnownNode(node: assignment.value.value(at: relative), extent: .all)
        }
    }
}

/// A place and its new value; of a priority, the leaf it becomes or nothing.
struct NodeAssignment: Equatable {
    var target: WriteTarget
    var value: Node
}
