import HearthJSONTree
import HearthSecurityRules
import HearthTreeText
@testable import HearthRealtimeDatabase
import HearthStorageErrors

/// A tree in rows, the store after it, and the same tree as one value. Steps go to both; ``failure`` tells the first
/// difference.
struct TreeRowsMachine {
    typealias Step = TreeStep

    private let packing: RowPacking
    private let residentBytesMax: Int
    private let store: MemoryRowStore
    private var rows: TreeRows
    private var model = CanonicalJSON.null
    private var frozen: [(generation: UInt64, changes: RowChanges, model: CanonicalJSON)] = []
    /// Ranges that were being cleared when memory started over: it does not know of them.
    private var mayStepOverDead = false
    /// Every other set of a small value copies its text.
    private var sets = 0
    private(set) var failure: String?
    /// Places whose values memory knew without the store.
    private(set) var knownCount = 0

    init(packing: RowPacking, residentBytesMax: Int = 0, deletedAtOnceMax: Int = 3) {
        self.packing = packing
        self.residentBytesMax = residentBytesMax
        store = MemoryRowStore(deletedAtOnceMax: deletedAtOnceMax)
        rows = TreeRows(store: store, residentBytesMax: residentBytesMax, packing: packing)
    }

    /// Runs steps, then looks at `paths` before and after everything has gone to the store.
    mutating func run(_ steps: [Step], checking paths: [Path]) {
        for step in steps where failure == nil { run(step) }
        rows.touch(paths.indices) { paths[$0].encoded.withUnsafeBytes { $0 } }
        for path in paths where failure == nil { run(.read(path)) }
        if failure == nil { run(.reopen) }
        for path in paths where failure == nil { run(.read(path)) }
    }

    mutating func run(_ step: Step) {
        do throws(StorageError) {
            switch step {
            case .set(let path, let value):
                sets += 1
                if sets.isMultiple(of: 2), !value.isNull, value.bytes.count <= packing.packedBytesMax {
                    try rows.set(text: value, at: path)
                } else {
                    try rows.set(value, at: path)
                }
                model = model.setting(value, at: path)
            case .attach(let path, let value):
                if rows.canAttach, !packing.fits(value) {
                    try freeze()
                    try rows.attach(PreparedRows(value, packing), at: path)
                } else {
                    try rows.set(value, at: path)
                }
                model = model.setting(value, at: path)
            case .attachChildren(let path, let text):
                let children = text.childAssignments(of: path)
                if rows.canAttach(childrenOf: path), !packing.fits(text), text.hasAnyChild {
                    try freeze()
                    try rows.attach(PreparedRows(childrenIn: text, packing), childrenOf: path)
                } else {
                    for child in children { try rows.set(child.value, at: child.target.path) }
                }
                for child in children { model = model.setting(child.value, at: child.target.path) }
            case .setPriority(let path, let priority): try setPriority(priority, at: path)
            case .read(let path): check(path)
            case .exists(let path):
                expect(try rows.exists(path), model.hasValue(at: path), "exists(\(path))")
            case .freeze: try freeze()
            case .apply: apply()
            case .clear:
                store.clearSome(rowsMax: 2)
                if store.clearing.isEmpty { mayStepOverDead = false }
            case .trim: rows.trim(looks: 64)
            case .reopen:
                try freeze()
                while !frozen.isEmpty { apply() }
                rows = TreeRows(store: store, residentBytesMax: residentBytesMax, packing: packing)
                mayStepOverDead = !store.clearing.isEmpty
            }
        } catch {
            failure = failure ?? "\(step) threw \(error)"
        }
        if let problem = rows.accountingProblem { failure = failure ?? "after \(step): \(problem)" }
        if mayStepOverDead { store.deadRowsSteppedOver = 0 }
        if store.deadRowsSteppedOver > 0 { failure = failure ?? "\(step) stepped over dead rows" }
    }

    private mutating func setPriority(_ priority: CanonicalJSON, at path: Path) throws(StorageError) {
        let changed = model.settingPriority(priority, at: path)
        expect(try rows.setPriority(priority, at: path), changed != nil, "setPriority(\(path))")
        model = changed ?? model
    }

    private mutating func freeze() throws(StorageError) {
        guard let (generation, changes) = rows.freeze() else { return }
        frozen.append((generation, changes, model))
    }

    private mutating func apply() {
        guard !frozen.isEmpty else { return }
        let next = frozen.removeFirst()
        store.apply(next.changes)
        rows.applied(next.generation)
        expect(Self.joined(store.all), next.model, "store after generation \(next.generation)")
        if let problem = StoredLayout(store.all, packing).problem { failure = failure ?? problem }
    }

    private mutating func check(_ path: Path) {
        let place = path.encoded.span.bytes
        // Memory alone may not know the value, but must not know another one.
        if let known = try? KnownRows(rows).value(at: place), let value = try? rows.value(at: place) {
            knownCount += 1
            expect(Self.words(known), Self.words(value), "known(\(path))")
        }
        do throws(TreeRows.ReadError) {
            expect(try rows.read(path), model.value(at: path), "read(\(path))")
        } catch {
            failure = failure ?? "read(\(path)) threw \(error)"
        }
    }

    private static func words(_ value: RuleTreeValue) -> String {
        switch value {
        case .nothing: "nothing"
        case .text(let json, let range): String(decoding: json.bytes[range], as: UTF8.self)
        case .spread(let priority): "spread, \(priority)"
        }
    }

    private mutating func expect<Value: Equatable>(_ value: Value, _ expected: Value, _ what: String) {
        if value != expected { failure = failure ?? "\(what) is \(value), should be \(expected)" }
    }

    private static func joined(_ rows: [Row]) -> CanonicalJSON {
        var joiner = RowJoiner(base: 0)
        for row in rows { joiner.append(key: row.key, value: row.value) }
        return joiner.finish()
    }
}

extension TreeRows {
    /// Copies the text, as a record's is.
    func set(text: CanonicalJSON, at path: Path) throws(StorageError) {
        try text.bytes.span.bytes.withUnsafeBytes { (text) throws(StorageError) in
            try path.encoded.span.bytes.withUnsafeBytes { (path) throws(StorageError) in
                try set(text: text, at: path)
            }
        }
    }

    /// Mistakes in the sums that the tree keeps, or in its links.
    var accountingProblem: String? {
        var resident = 0
        var changedNow = 0
        var problem: String?
        let listed = Set((changed + unapplied.flatMap(\.nodes) + settled.joined()).map(ObjectIdentifier.init))
        func visit(_ node: RowNode) {
            resident += node.footprint
            if node.changedIn == generation { changedNow += node.footprint }
            if let next = node.nextInRing {
                if next.previousInRing !== node { problem = "the ring is broken" }
            } else if node !== root, !listed.contains(ObjectIdentifier(node)) {
                problem = "a node can never leave memory"
            }
            if node.changedIn > appliedGeneration, !listed.contains(ObjectIdentifier(node)) {
                problem = "a change is forgotten"
            }
            if node.state != .spread, !node.children.isEmpty { problem = "a node with children is not spread" }
            node.children.forEach { child in
                if child.parent !== node { problem = "a node does not know its parent" }
                visit(child)
            }
        }
        visit(root)
        if let problem { return problem }
        func visitCutOff(_ node: RowNode) {
            if holds(node) { problem = "a node that was cut off is in the tree" }
            node.children.forEach { child in
                resident += child.footprint
                if child.changedIn == generation { changedNow += child.footprint }
                visitCutOff(child)
            }
        }
        cutOff.forEach(visitCutOff)
        if resident != residentBytes { problem = "residentBytes is \(residentBytes), should be \(resident)" }
        if changedNow != changedBytes { problem = "changedBytes is \(changedBytes), should be \(changedNow)" }
        return problem
    }
}
