extension Node {
    /// The children of a node in key order, each once: a persistent B-tree.
    ///
    /// A change copies the pages on the way to one child and shares all others with the value before it, so both can be
    /// kept. Finding, setting and removing cost O(log n), a step of an iterator O(1), a subscript O(log n).
    package struct Children: Sendable {
        /// Items of a page.
        fileprivate static let itemsMax = 64
        /// A page with fewer is joined with a neighbour, if both fit in one.
        fileprivate static let itemsMin = 16

        /// Invariants: all leaves are at the same depth, and no page is empty but a leaf at the root.
        fileprivate enum Page: Sendable {
            case leaf([Child])
            case inner([Branch])
        }

        /// A page below an inner one.
        fileprivate struct Branch: Sendable {
            let page: Page
            let first: Key
            let count: Int

            init(_ page: Page) {
                self.page = page
                first = page.first
                count = page.count
            }
        }

        private var root: Page
        package private(set) var count: Int

        package init() {
            root = .leaf([])
            count = 0
        }

        /// `children` are in key order, each key once.
        package init(sorted children: [Child]) {
            // Room in every page, so that the first insertions split nothing.
            var pages = Self.parts(children).map { Page.leaf(Array($0)) }
            while pages.count > 1 { pages = Self.parts(pages.map(Branch.init)).map { .inner(Array($0)) } }
            root = pages.first ?? .leaf([])
            count = children.count
        }

        private static func parts<Item>(_ items: [Item]) -> [ArraySlice<Item>] {
            stride(from: 0, to: items.count, by: itemsMax / 2).map {
                items[$0..<Swift.min($0 + itemsMax / 2, items.count)]
            }
        }

        /// The child with a key, or nil.
        package func child(_ key: Key) -> Node? {
            var page = root
            while true {
                switch page {
                case .leaf(let children):
                    let (index, isFound) = children.place(of: key)
                    return isFound ? children[index].node : nil
                case .inner(let branches): page = branches[branches.place(of: key)].page
                }
            }
        }

        /// Puts a child in the place of the one with its key, if there is one.
        package mutating func set(_ child: Child) {
            let (pages, isNew) = root.setting(child)
            root = pages.count == 1 ? pages[0] : .inner(pages.map(Branch.init))
            if isNew { count += 1 }
        }

        /// Removes the child with a key; false if the key is missing.
        @discardableResult
        package mutating func remove(_ key: Key) -> Bool {
            guard let page = root.removing(key) else { return false }
            root = page
            while case .inner(let branches) = root, branches.count < 2 { root = branches.first?.page ?? .leaf([]) }
            count -= 1
            return true
        }
    }
}

extension Node.Children.Page {
    fileprivate var first: Key {
        switch self {
        case .leaf(let children): children[0].key
        case .inner(let branches): branches[0].first
        }
    }

    fileprivate var count: Int {
        switch self {
        case .leaf(let children): children.count
        case .inner(let branches): branches.reduce(0) { $0 + $1.count }
        }
    }

    fileprivate var itemCount: Int {
        switch self {
        case .leaf(let children): children.count
        case .inner(let branches): branches.count
        }
    }

    /// This page with a child, as one page or two.
    fileprivate func setting(_ child: Node.Child) -> (pages: [Self], isNew: Bool) {
        switch self {
        case .leaf(var children):
            let (index, isFound) = children.place(of: child.key)
            if isFound {
                children[index] = child
                return ([.leaf(children)], false)
            }
            children.insert(child, at: index)
            return (Self.halves(children).map { .leaf($0) }, true)
        case .inner(var branches):
            let index = branches.place(of: child.key)
            let (pages, isNew) = branches[index].page.setting(child)
            branches.replaceSubrange(index...index, with: pages.map(Node.Children.Branch.init))
            return (Self.halves(branches).map { .inner($0) }, isNew)
        }
    }

    private static func halves<Item>(_ items: [Item]) -> [[Item]] {
        if items.count <= Node.Children.itemsMax { return [items] }
        let middle = items.count / 2
        return [Array(items[..<middle]), Array(items[middle...])]
    }

    /// This page without a child, perhaps empty; nil if the child is not there.
    fileprivate func removing(_ key: Key) -> Self? {
        switch self {
        case .leaf(var children):
            let (index, isFound) = children.place(of: key)
            guard isFound else { return nil }
            children.remove(at: index)
            return .leaf(children)
        case .inner(var branches):
            let index = branches.place(of: key)
            guard let page = branches[index].page.removing(key) else { return nil }
            if page.itemCount == 0 {
                branches.remove(at: index)
            } else {
                branches[index] = Node.Children.Branch(page)
                Self.join(&branches, around: index)
            }
            return .inner(branches)
        }
    }

    /// Joins a small page with a neighbour.
    private static func join(_ branches: inout [Node.Children.Branch], around index: Int) {
        guard branches[index].page.itemCount < Node.Children.itemsMin, branches.count > 1 else { return }
        let left = index > 0 ? index - 1 : 0
        let joined: Self
        switch (branches[left].page, branches[left + 1].page) {
        case (.leaf(let a), .leaf(let b)): joined = .leaf(a + b)
        case (.inner(let a), .inner(let b)): joined = .inner(a + b)
        case (.leaf, .inner), (.inner, .leaf): preconditionFailure("leaves are at the same depth")
        }
        if joined.itemCount <= Node.Children.itemsMax {
            branches.replaceSubrange(left...left + 1, with: [Node.Children.Branch(joined)])
        }
    }
}

extension [Node.Child] {
    /// Where a key is, or where it would be inserted.
    fileprivate func place(of key: Key) -> (index: Int, isFound: Bool) {
        let index = partitioningIndex { !($0.key < key) }
        return (index, index < count && self[index].key == key)
    }
}

extension [Node.Children.Branch] {
    /// The branch at or below which a key belongs.
    fileprivate func place(of key: Key) -> Int { Swift.max(0, partitioningIndex { key < $0.first } - 1) }
}

extension Node.Children: RandomAccessCollection {
    package var startIndex: Int { 0 }
    package var endIndex: Int { count }

    package subscript(position: Int) -> Node.Child {
        var (page, offset) = (root, position)
        while true {
            switch page {
            case .leaf(let children): return children[offset]
            case .inner(let branches):
                var index = 0
                while offset >= branches[index].count {
                    offset -= branches[index].count
                    index += 1
                }
                page = branches[index].page
            }
        }
    }

    package func makeIterator() -> Iterator { Iterator(leaves: Leaves(root)) }

    package struct Iterator: IteratorProtocol {
        fileprivate var leaves: Leaves
        private var leaf: [Node.Child] = []
        private var offset = 0

        fileprivate init(leaves: Leaves) { self.leaves = leaves }

        package mutating func next() -> Node.Child? {
            while offset == leaf.count {
                guard let next = leaves.next() else { return nil }
                (leaf, offset) = (next, 0)
            }
            offset += 1
            return leaf[offset - 1]
        }
    }

    /// The leaves, from the first one on.
    fileprivate struct Leaves: IteratorProtocol {
        private var rest: [Page]

        init(_ root: Page) { rest = [root] }

        mutating func next() -> [Node.Child]? {
            while let page = rest.popLast() {
                switch page {
                case .leaf(let children): return children
                case .inner(let branches): rest.append(contentsOf: branches.reversed().lazy.map(\.page))
                }
            }
            return nil
        }
    }
}

extension Node.Children: Hashable {
    /// Pages that both share are not looked into.
    package static func == (left: Node.Children, right: Node.Children) -> Bool {
        guard left.count == right.count else { return false }
        var (leftLeaves, rightLeaves) = (Leaves(left.root), Leaves(right.root))
        var (a, b): (ArraySlice<Node.Child>, ArraySlice<Node.Child>) = ([], [])
        while true {
            if a.isEmpty { a = leftLeaves.next().map { $0[...] } ?? [] }
            if b.isEmpty { b = rightLeaves.next().map { $0[...] } ?? [] }
            let count = Swift.min(a.count, b.count)
            // Both have the same number of children, so they end together.
            if count == 0 { return true }
            // Equal slices of one array are found equal at once.
            guard a.prefix(count) == b.prefix(count) else { return false }
            a = a.dropFirst(count)
            b = b.dropFirst(count)
        }
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(count)
        for child in self { hasher.combine(child) }
    }
}
