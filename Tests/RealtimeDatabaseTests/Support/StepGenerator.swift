import HearthJSONTree
import HearthSecurityRules
import HearthTestSupport
import HearthTreeText
import HearthRealtimeDatabase

/// What is done with a tree in rows.
enum TreeStep {
    case set(Path, CanonicalJSON)
    /// The same, as text in front of the store if it can be; what changed before is frozen.
    case attach(Path, CanonicalJSON)
    /// Sets children of a place in the same way; nulls go.
    case attachChildren(Path, CanonicalJSON)
    case setPriority(Path, CanonicalJSON)
    case read(Path)
    case exists(Path)
    /// Ends a generation.
    case freeze
    /// The store takes the oldest frozen changes.
    case apply
    /// The store removes some dead rows.
    case clear
    case trim
    /// Everything goes to the store, and memory starts over.
    case reopen
}

/// Random steps on a tree: some keys are used again and again, values are small or large against the limits of packing.
struct StepGenerator {
    private var trees: RandomTrees
    private let keys: [[Key]]
    private let isSmall: Bool

    init(seed: UInt64) {
        var trees = RandomTrees(seed: seed)
        isSmall = trees.chance(1, in: 2)
        // Fewer names at deeper levels, so that steps meet.
        var keys: [[Key]] = []
        for depth in 0..<4 {
            let count = trees.pick([2, 3, depth == 1 ? 40 : 5])
            keys.append((0..<count).map { _ in Self.key(&trees) })
        }
        self.keys = keys
        trees.keyPool = keys.joined().map { Array($0.description.utf16) }
        self.trees = trees
    }

    /// Goes on with other choices among the same keys.
    mutating func reseed(_ seed: UInt64) { trees.random = SeededRandom(seed: seed) }

    private static func key(_ trees: inout RandomTrees) -> Key {
        while true {
            let key = try? Key(validating: String(decoding: trees.key(), as: UTF16.self))
            if let key { return key }
        }
    }

    mutating func packing() -> RowPacking {
        isSmall
            ? .init(packedBytesMax: 40, repackBytesMax: trees.pick([10, 40]))
            : .init(packedBytesMax: 300, repackBytesMax: 80)
    }

    mutating func residentBytesMax() -> Int { trees.pick([0, 2000, 1 << 20]) }

    mutating func path() -> Path {
        let depth = trees.pick([0, 1, 1, 2, 2, 2, 3, 3, 4])
        return Path(keys[..<depth].map { trees.pick($0) })
    }

    mutating func value() -> CanonicalJSON {
        switch Int.random(in: 0..<10, using: &trees.random) {
        case 0...2: .null
        case 3...5: CanonicalJSON(TreeModel(leaf: trees.leaf()).canonicalText)
        case 6: CanonicalJSON(string: Array(repeating: UInt8(ascii: "x"), count: trees.pick([20, 60, 400])))
        default: CanonicalJSON(trees.tree(depth: trees.pick([1, 2, 3, 4])).canonicalText)
        }
    }

    /// Something a client may ask, given what it knows at each path, if it can be sure, and what it has there.
    mutating func operation(knowing value: (Path) -> CanonicalJSON?, having: (Path) -> CanonicalJSON) -> Operation {
        switch Int.random(in: 0..<26, using: &trees.random) {
        case 22...23:
            let (target, value) = assignment(below: .root).incoming
            return .onDisconnect([(target, value)])
        case 24:
            guard case .merge(_, let assignments) = merge() else { return .onDisconnect([]) }
            // Clients cannot register a value and a priority of one place in the same request.
            var paths: Set<Path> = []
            return .onDisconnect(assignments.filter { paths.insert($0.target.path).inserted }.map(\.incoming))
        case 25: return .cancelOnDisconnect(path())
        case 16:
            let path = queriedPath()
            return .get(path, query: query(at: path))
        case 17...20:
            let tag = Int64.random(in: 1...3, using: &trees.random)
            let form: ListenerForm = trees.chance(1, in: 2) ? .tagged(tag) : .events(tag: tag, .child)
            let path = queriedPath()
            return .listenQuery(path, query(at: path), form)
        case 21:
            let tag = Int64.random(in: 1...3, using: &trees.random)
            return .unlistenQuery(trees.chance(1, in: 2) ? .tagged(tag) : .events(tag: tag))
        case 0...4:
            let (target, value) = assignment(below: .root).incoming
            return .set(target, value, echoes: trees.chance(1, in: 3))
        case 5:
            let target = WriteTarget(path: path())
            let known = trees.chance(1, in: 4) ? Array("wrong".utf8) : NodeHash.hash(value(target.path) ?? .null)
            return .set(target, IncomingValue(json: self.value()), expecting: known, echoes: trees.chance(1, in: 2))
        case 6:
            let step: CanonicalJSON = #"{".sv":{"increment":3}}"#
            let json = trees.pick([step, #"{".priority":{".sv":"timestamp"},".value":{".sv":{"increment":0.5}}}"#])
            if trees.chance(1, in: 2) { return updateWithServerValues(json) }
            let place = trees.chance(1, in: 2) ? path() : counters.appending(trees.pick(keys[1]))
            return .set(WriteTarget(path: place), IncomingValue(json: json, hasServerValues: true), echoes: true)
        case 7...8:
            if trees.chance(1, in: 2) {
                let (base, children) = children()
                return .setChildren(base, IncomingValue(json: children))
            }
            guard case .merge(let base, let assignments) = merge() else { return .update(base: .root, []) }
            return .update(base: base, assignments.map(\.incoming))
        case 9: return .get(path())
        case 10...12:
            let path = path()
            return .listen(path, known: trees.chance(1, in: 2) ? nil : KnownData(hash: NodeHash.hash(having(path))))
        case 13...14: return .unlisten(path())
        default: return .relay(.failed(.refused(status: StaticText("invalid_argument"), "no")))
        }
    }

    /// A client ends a listener and begins it again, saying what it had before, while the data changes.
    mutating func listeningAgain(to path: Path, having value: CanonicalJSON) -> [Operation] {
        let changes = (0..<2).map { _ in
            Operation.set(WriteTarget(path: path), IncomingValue(json: trees.chance(1, in: 2) ? value : self.value()))
        }
        let again = Operation.listen(path, known: KnownData(hash: NodeHash.hash(value)))
        return [changes[0], .unlisten(path), changes[1], again]
    }

    /// Some indexes for which there are queries.
    mutating func indexes() -> [IndexDefinition] {
        var definitions: [IndexDefinition] = []
        for (depth, text) in ["", "$", "$/$"].enumerated() where trees.chance(1, in: 2) {
            guard let pattern = IndexPattern(text: text) else { continue }
            let child: QueryIndex = .child(Path([trees.pick(keys[depth + 1])]))
            definitions += [.init(pattern: pattern, index: .value), .init(pattern: pattern, index: child)]
        }
        return definitions
    }

    /// A place that often has several children.
    private mutating func queriedPath() -> Path {
        trees.chance(1, in: 5) ? path() : Path(keys[..<trees.pick([0, 1, 1, 2])].map { trees.pick($0) })
    }

    /// A query of the children at a path, whose names are those of the next level, most often by what they have.
    private mutating func query(at path: Path) -> Query {
        let child = Path([trees.pick(keys[min(path.depth + 1, keys.count - 1)])])
        let index = trees.pick([QueryIndex.key, .value, .priority, .child(child), .child(child), .child(self.path())])
        if case .child(.root) = index { return .everything }
        var limit: QueryLimit?
        if trees.chance(3, in: 4) {
            limit = QueryLimit(trees.chance(1, in: 2) ? .first : .last, Int.random(in: 1...4, using: &trees.random))
        }
        let start = trees.chance(1, in: 4) ? bound(index, at: path) : nil
        let end = trees.chance(1, in: 4) ? bound(index, at: path) : nil
        return (try? Query(index: index, start: start, end: end, limit: limit)) ?? .everything
    }

    private mutating func bound(_ index: QueryIndex, at path: Path) -> QueryBound {
        let value =
            index == .key
            ? CanonicalJSON(string: trees.pick(keys[min(path.depth, keys.count - 1)]).utf8)
            : CanonicalJSON(TreeModel(leaf: trees.leaf()).canonicalText)
        return QueryBound(value, isInclusive: trees.chance(1, in: 2))
    }

    /// A set, a merge of targets none of which is inside another, or children of one place.
    mutating func change() -> Change {
        if trees.chance(1, in: 3) {
            let (base, children) = children()
            if children.hasAnyChild { return .setChildren(of: base, children) }
        }
        return trees.chance(1, in: 2) ? .set(assignment(below: .root)) : merge()
    }

    private mutating func merge() -> Change {
        let base = path()
        var assignments: [Assignment] = []
        for _ in 0..<trees.pick([1, 2, 3, 6]) {
            let next = assignment(below: base)
            let overlaps = assignments.contains { other in
                let (a, b) = (other.target, next.target)
                return a.path == b.path
                    ? a.isPriority == b.isPriority : a.path.contains(b.path) || b.path.contains(a.path)
            }
            if !overlaps { assignments.append(next) }
        }
        return .merge(base: base, assignments)
    }

    /// Children of a place, in one text.
    private mutating func children() -> (base: Path, CanonicalJSON) {
        let base = trees.chance(1, in: 2) ? path() : queriedPath()
        var children: [Path: CanonicalJSON] = [:]
        for _ in 0..<trees.pick([1, 2, 4, 8]) {
            children[base.appending(trees.pick(keys[min(base.depth, keys.count - 1)]))] = value()
        }
        let list = children.map { Assignment(target: WriteTarget(path: $0.key), value: $0.value) }
        return (base, CanonicalJSON(children: list, of: base))
    }

    /// A place below which there are often numbers.
    private var counters: Path { Path([keys[0][0]]) }

    /// A write that may be large, with server values in it: of one place, of children of it, or of places below it.
    private mutating func updateWithServerValues(_ json: CanonicalJSON) -> Operation {
        let base = trees.chance(1, in: 2) ? path() : counters
        let names = base == counters ? Array(keys[1].prefix(2)) : keys[min(base.depth, keys.count - 1)]
        let text = CanonicalJSON(string: Array(repeating: UInt8(ascii: "x"), count: trees.pick([20, 200])))
        var entries: [Path: IncomingValue] = [:]
        for _ in 0..<trees.pick([1, 2, 4]) {
            entries[base.appending(trees.pick(names))] = IncomingValue(json: json, hasServerValues: true)
        }
        entries[base.appending(trees.pick(names))] = IncomingValue(json: text)
        let sorted = entries.sorted { $0.key < $1.key }
        let list = sorted.map { (target: WriteTarget(path: $0.key), value: $0.value) }
        switch Int.random(in: 0..<3, using: &trees.random) {
        case 0: return .update(base: base, list)
        case 1:
            let children = sorted.map { Assignment(target: WriteTarget(path: $0.key), value: $0.value.json) }
            let value = CanonicalJSON(children: children, of: base)
            return .setChildren(base, IncomingValue(json: value, hasServerValues: true))
        default:
            var value = CanonicalJSON.null
            for (path, part) in sorted {
                value = value.setting(part.json, at: path.dropFirst(bytes: base.encoded.count))
            }
            return .set(WriteTarget(path: base), IncomingValue(json: value, hasServerValues: true), echoes: true)
        }
    }

    private mutating func attachChildren() -> TreeStep {
        let (base, children) = children()
        return .attachChildren(base, children)
    }

    private mutating func assignment(below base: Path) -> Assignment {
        let path = trees.chance(1, in: 4) ? base : base.appending(self.path())
        guard trees.chance(1, in: 5) else { return Assignment(target: WriteTarget(path: path), value: value()) }
        return Assignment(target: WriteTarget(path: path, isPriority: true), value: priority())
    }

    mutating func priority() -> CanonicalJSON {
        trees.chance(1, in: 3) ? .null : CanonicalJSON(TreeModel.text(of: trees.priority()))
    }

    mutating func step() -> TreeStep {
        switch Int.random(in: 0..<20, using: &trees.random) {
        case 0...6: .set(path(), value())
        case 7: .attach(path(), value())
        case 8: attachChildren()
        case 9...10:
            .setPriority(path(), priority())
        case 11...12: .read(path())
        case 13: .exists(path())
        case 14...15: .freeze
        case 16...17: .apply
        case 18: trees.chance(1, in: 2) ? .clear : .trim
        default: trees.chance(1, in: 3) ? .reopen : .trim
        }
    }
}

extension Assignment {
    /// As a client sends it.
    var incoming: (target: WriteTarget, value: IncomingValue) { (target, IncomingValue(json: value)) }
}
