import HearthBytes
import HearthJSONTree
import HearthTreeText

/// Runs compiled expressions at a place of the tree. Its buffers are kept, so a common rule runs without allocating.
final class Evaluator {
    /// Of a string that an expression makes: that of the longest string in the tree.
    static let maximumTextByteCount = 10 << 20
    /// The limit of one decision, in steps of patterns and bytes of strings: so many, and more for each byte of a
    /// write. They take about a tenth of a second.
    private static let steps = 8_000_000
    private static let stepsPerByte = 16

    let code: Code
    private var auth: RuleAuth?
    private var now: Double = 0
    var query: RuleQuery?
    /// Before the operation.
    private var before: (any RuleTree)?
    private(set) var stepsLeft = 0
    let after = WrittenTree()

    /// The encoded path of the operation, or of a place below it. Changes between rules only.
    private(set) var place: [UInt8] = []
    /// Where each segment of `place` ends.
    private(set) var ends: [Int] = []
    /// Levels of `place` that lead to the rule's own location.
    private var depth = 0
    /// Encoded paths that a rule makes. Only ever appended to while a rule runs.
    private var scratch: [UInt8] = []
    private var matcher = PatternMatcher()
    /// Why the tree could not be read.
    private(set) var treeError: RuleTreeError?

    /// Notes the results of sub-expressions, when somebody wants to know.
    var recorder: Recorder?
    /// Gathers the places looked at before the operation, when somebody wants to know.
    var lookedAt: Set<Path>?

    init(_ code: Code) { self.code = code }

    // MARK: The place

    /// Moves to another place. Answers how many levels it shares with the last one.
    func move(to path: Path) -> Int {
        var common = 0
        while common < place.count, common < path.encoded.count, place[common] == path.encoded[common] { common += 1 }
        // No segment is a prefix of another, so levels are shared if their bytes are.
        let shared = ends.prefix { $0 <= common }.count
        truncate(to: shared)
        place.append(contentsOf: path.encoded[place.count...])
        while (ends.last ?? 0) < place.count { ends.append(path.segmentEnd(from: ends.last ?? 0)) }
        return shared
    }

    /// Begins with an operation.
    ///
    /// - parameter stepsMax: a lower limit of its cost than the usual one.
    func begin(_ context: RuleContext, in tree: any RuleTree, writing byteCount: Int, stepsMax: Int = .max) {
        auth = context.auth
        now = Double(context.now)
        before = tree
        stepsLeft = min(Self.steps + byteCount * Self.stepsPerByte, stepsMax)
    }

    /// Lets go of the operation.
    func forget() {
        truncate(to: 0)
        after.forget()
        (auth, query, before, treeError) = (nil, nil, nil, nil)
    }

    /// Moves to a child.
    func append(_ child: CanonicalJSON.Child) {
        child.appendSegment(to: &place)
        ends.append(place.count)
    }

    func truncate(to levels: Int) {
        guard levels < ends.count else { return }
        place.removeSubrange((levels == 0 ? 0 : ends[levels - 1])...)
        ends.removeSubrange(levels...)
    }

    func end(of depth: Int) -> Int { depth == 0 ? 0 : ends[depth - 1] }

    // MARK: Running

    /// Runs a rule whose location is the first `depth` levels of the place.
    func run(_ instruction: Int, depth: Int) throws(Fault) -> Bool {
        self.depth = depth
        scratch.removeAll(keepingCapacity: true)
        return try condition(instruction)
    }

    /// Whether anything is at the first `depth` levels of the place after the write.
    func existsAfter(depth: Int) throws(Fault) -> Bool {
        try look(Snapshot(isNew: true, isPlace: true, start: 0, end: end(of: depth))).exists
    }

    func condition(_ index: Int) throws(Fault) -> Bool {
        guard let recorder else { return try runCondition(index) }
        do throws(Fault) {
            let result = try runCondition(index)
            recorder.note(index, .bool(result))
            return result
        } catch {
            recorder.note(index, error)
            throw error
        }
    }

    func value(_ index: Int) throws(Fault) -> RuleValue {
        guard let recorder else { return try runValue(index) }
        do throws(Fault) {
            let result = try runValue(index)
            recorder.note(index, result)
            return result
        } catch {
            recorder.note(index, error)
            throw error
        }
    }

    /// Instructions whose value is a boolean.
    private func runCondition(_ index: Int) throws(Fault) -> Bool {
        switch code.instructions[index] {
        case .bool(let value): return value
        case .logical(let logical, let first, let count):
            for operand in first..<first + count where try condition(code.operands[operand]) == (logical == .or) {
                return logical == .or
            }
            return logical == .and
        case .not(let operand): return try !condition(operand)
        case .equal(let a, let b, let isNegated):
            let left = try value(a)
            let right = try value(b)
            try chargeComparison(left, right)
            return left.equals(right) != isNegated
        case .order(let order, let a, let b):
            let left = try value(a)
            let right = try value(b)
            try chargeComparison(left, right)
            return try Self.compare(order, left, right)
        case .test(let test, let target): return try run(test, try snapshot(target))
        case .hasChildren(let target, let first, let count):
            let parent = try snapshot(target)
            var areThere = true
            // One that is not a string is an error, also after one that is missing.
            for operand in first..<first + count {
                let child = try child(of: parent, try text(code.operands[operand]))
                if areThere { areThere = try look(child).exists }
            }
            return areThere
        case .textTest(let test, let target, let argument):
            let text = try text(target)
            let found = text.test(test, try self.text(argument), left: &stepsLeft)
            try charge(0)
            return found
        case .matches(let target, let pattern):
            let text = try text(target)
            let found = text.withBytes { matcher.finds(code.patterns[pattern], in: $0, left: &stepsLeft) }
            try charge(0)
            guard let found else { throw .tooCostly }
            return found
        case .choice(let test, let first, let second):
            return try condition(try condition(test) ? first : second)
        default:
            // The checker lets nothing here that is not a boolean.
            guard case .bool(let value) = try runValue(index) else { return false }
            return value
        }
    }

    private func runValue(_ index: Int) throws(Fault) -> RuleValue {
        switch code.instructions[index] {
        case .null: return .null
        case .number(let value): return .number(value)
        case .text(let string): return .text(RuleText(code.strings[string]))
        case .now: return .number(now)
        case .wildcard(let level): return .text(key(at: level))
        case .auth: return auth.map { .object($0.object) } ?? .null
        case .query(let property): return query?.property(property) ?? RuleQuery.plain(property)
        case .firstCount: return query?.firstCount ?? .null
        case .condition(let bound, let path): return query?.value(of: bound, at: code.paths[path] ?? []) ?? .null
        case .snapshot, .literalChild, .child, .parent: return .snapshot(try snapshot(index))
        case .value(let target):
            let found = try look(try snapshot(target))
            try chargePriority(of: found)
            let value = RuleValue(found, left: &stepsLeft)
            try charge(0)
            return value
        case .priority(let target):
            guard let (json, range) = try look(try snapshot(target)).priority else { return .null }
            let priority = RuleValue(leaf: json, range, left: &stepsLeft)
            try charge(0)
            return priority
        case .member(let target, let name): return try member(of: target, name)
        case .index(let target, let place): return try element(of: target, place)
        case .length(let target):
            let text = try text(target)
            try charge(text.byteCount)
            return .number(Double(text.utf16Count))
        case .replace(let target, let old, let new):
            let text = try text(target)
            let replaced = text.replacing(
                try self.text(old), with: try self.text(new), maximum: Self.maximumTextByteCount, left: &stepsLeft)
            try charge(0)
            guard let replaced else { throw .tooLong }
            return .text(replaced)
        case .lowercased(let target): return try mapCase(of: target, isUpper: false)
        case .uppercased(let target): return try mapCase(of: target, isUpper: true)
        case .negated(let operand): return .number(-(try number(operand)))
        case .add(let a, let b):
            let left = try value(a)
            let sum = try Self.sum(left, try value(b))
            if case .text(let text) = sum { try charge(text.byteCount >> 4) }
            return sum
        case .arithmetic(let arithmetic, let a, let b):
            let left = try number(a)
            return .number(Self.calculate(arithmetic, left, try number(b)))
        case .choice(let test, let first, let second): return try value(try condition(test) ? first : second)
        case .thing: return .thing
        case .bool, .test, .hasChildren, .textTest, .matches, .not, .logical, .equal, .order:
            return .bool(try runCondition(index))
        }
    }

    // MARK: Steps

    /// Takes steps off those that are left for the decision.
    private func charge(_ steps: Int) throws(Fault) {
        stepsLeft -= steps
        if stepsLeft < 0 { throw .exhausted }
    }

    /// Strings are compared, and copied, sixteen bytes at a time.
    private func chargeComparison(_ a: RuleValue, _ b: RuleValue) throws(Fault) {
        guard case .text(let a) = a, case .text(let b) = b else { return }
        try charge(min(a.byteCount, b.byteCount) >> 4)
    }

    /// Ordinary paths cost little. What is longer than a key can be is probably an attack, and costs much.
    private func chargePath(_ count: Int) throws(Fault) {
        try charge(max(count >> 2, 4 * (count - Self.ordinaryPathByteCount)))
    }

    private static let ordinaryPathByteCount = 768

    private func mapCase(of target: Int, isUpper: Bool) throws(Fault) -> RuleValue {
        let text = try text(target)
        try charge(text.byteCount)
        return .text(text.mappingCase(isUpper: isUpper))
    }

    // MARK: Operands

    func text(_ index: Int) throws(Fault) -> RuleText {
        guard case .text(let text) = try value(index) else { throw .notText }
        return text
    }

    private func number(_ index: Int) throws(Fault) -> Double {
        guard case .number(let number) = try value(index) else { throw .notNumbers }
        return number
    }

    /// The key at a level of the place, counted from 1.
    private func key(at level: Int) -> RuleText {
        let segment = end(of: level - 1)..<end(of: level)
        return place.withUnsafeBytes { bytes in
            if let key = Path.plainKey(ofSegment: bytes.part(segment)) {
                return RuleText(place, segment.lowerBound + key.lowerBound..<segment.lowerBound + key.upperBound)
            }
            var utf8: [UInt8] = []
            Path.appendKey(ofSegment: bytes.part(segment), to: &utf8)
            return RuleText(utf8)
        }
    }

    /// A member of `auth`. A property of a value without properties is null (docs/rules.md 3.4).
    private func member(of target: Int, _ name: Int) throws(Fault) -> RuleValue {
        switch try value(target) {
        case .object(let object): code.strings[name].withUnsafeBytes { object.member($0) }
        case .text(let text) where code.strings[name].elementsEqual("length".utf8): .number(Double(text.utf16Count))
        case .list(let list) where code.strings[name].elementsEqual("length".utf8): .number(Double(list.elements.count))
        default: .null
        }
    }

    private func element(of target: Int, _ index: Int) throws(Fault) -> RuleValue {
        let owner = try value(target)
        switch (owner, try value(index)) {
        case (.object(let object), .text(let name)): return name.withBytes { object.member($0) }
        case (.object(let object), .number(let number)):
            return RuleText(number: number).withBytes { object.member($0) }
        case (.list(let list), .number(let number)):
            guard number >= 0, number < Double(list.elements.count), number == Double(Int(number)) else { return .null }
            return list.elements[Int(number)]
        default: return .null
        }
    }

    // MARK: Snapshots

    private func snapshot(_ index: Int) throws(Fault) -> Snapshot {
        switch code.instructions[index] {
        case .snapshot(.root): return Snapshot(isNew: false, isPlace: true, start: 0, end: 0)
        case .snapshot(.data): return Snapshot(isNew: false, isPlace: true, start: 0, end: end(of: depth))
        case .snapshot(.newData): return Snapshot(isNew: true, isPlace: true, start: 0, end: end(of: depth))
        case .literalChild(let target, let path):
            var snapshot = try snapshot(target)
            guard let segments = code.paths[path], !snapshot.isNowhere else {
                snapshot.isNowhere = true
                return snapshot
            }
            try open(&snapshot)
            scratch.append(contentsOf: segments)
            snapshot.end = scratch.count
            return snapshot
        case .child(let target, let path):
            let parent = try snapshot(target)
            return try child(of: parent, try text(path))
        case .parent(let target): return try parent(of: try snapshot(target))
        case .choice(let test, let first, let second): return try snapshot(try condition(test) ? first : second)
        default:
            // The checker lets nothing here that is no snapshot.
            return Snapshot(isNew: false, isPlace: true, start: 0, end: 0, isNowhere: true)
        }
    }

    private func child(of parent: Snapshot, _ path: RuleText) throws(Fault) -> Snapshot {
        var snapshot = parent
        if snapshot.isNowhere { return snapshot }
        try chargePath(path.byteCount)
        try open(&snapshot)
        if !path.withBytes({ ChildPath.append($0, to: &scratch) }) { snapshot.isNowhere = true }
        snapshot.end = scratch.count
        return snapshot
    }

    /// Makes the snapshot's path the last bytes of the scratch.
    private func open(_ snapshot: inout Snapshot) throws(Fault) {
        if !snapshot.isPlace, snapshot.end == scratch.count { return }
        let start = scratch.count
        // Only appended to, so a range of the scratch can be copied within it.
        if snapshot.isPlace {
            scratch.append(contentsOf: place[snapshot.start..<snapshot.end])
        } else {
            // It may be the path that a stored string names.
            try chargePath(snapshot.end - snapshot.start)
            for index in snapshot.start..<snapshot.end { scratch.append(scratch[index]) }
        }
        (snapshot.isPlace, snapshot.start) = (false, start)
    }

    private func parent(of snapshot: Snapshot) throws(Fault) -> Snapshot {
        guard !snapshot.isNowhere, snapshot.end > snapshot.start else { throw .noParent }
        var parent = snapshot
        parent.end = (snapshot.isPlace ? place : scratch).withUnsafeBytes { bytes in
            let path = bytes.part(snapshot.start..<snapshot.end)
            var (last, offset) = (0, 0)
            while offset < path.count {
                last = offset
                offset = Path.segmentEnd(in: path, from: offset)
            }
            return snapshot.start + last
        }
        return parent
    }

    /// To find the value after a priority, the priority is read.
    private func chargePriority(of value: RuleTreeValue) throws(Fault) {
        try charge(value.priority?.1.count ?? 0)
    }

    private func run(_ test: SnapshotTest, _ snapshot: Snapshot) throws(Fault) -> Bool {
        let value = try look(snapshot)
        switch test {
        case .exists: return value.exists
        case .hasChildren:
            try chargePriority(of: value)
            return value.hasChildren
        case .isString, .isNumber, .isBoolean:
            try chargePriority(of: value)
            guard let start = value.leafStart else { return false }
            return switch test {
            case .isNumber: start == UInt8(ascii: "-") || start.isDigit
            case .isBoolean: start == UInt8(ascii: "t") || start == UInt8(ascii: "f")
            case .isString, .exists, .hasChildren: start == UInt8(ascii: "\"")
            }
        }
    }

    private func look(_ snapshot: Snapshot) throws(Fault) -> RuleTreeValue {
        if snapshot.isNowhere { return .nothing }
        let bytes = snapshot.isPlace ? place : scratch
        let range = snapshot.start..<snapshot.end
        if lookedAt != nil, !snapshot.isNew { lookedAt?.insert(Path(encoded: Array(bytes[range]))) }
        let tree: (any RuleTree)? = snapshot.isNew ? after : before
        do throws(RuleTreeError) {
            return try tree?.value(at: bytes.span.bytes.extracting(range)) ?? .nothing
        } catch {
            treeError = error
            throw .treeFailed
        }
    }
}
