import HearthJSONTree
import HearthTestSupport
import Testing
import HearthWireProtocol
import HearthServerProtocol

extension String {
    /// Calls `body` with the UTF-8 bytes.
    func withBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try Array(utf8).withBytes(body)
    }
}

extension [UInt8] {
    func withBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try span.bytes.withUnsafeBytes { (bytes) throws(Failure) in try body(bytes) }
    }
}

func path(_ text: String) throws -> Path { try Path(parsing: text) }

func json(_ text: String) throws -> CanonicalJSON { try CanonicalJSON.parse(Array(text.utf8)).value }

func queryObject(_ text: String) throws -> QueryObject { try QueryObject(parsing: Array(text.utf8)) }

func assignment(_ place: String, _ value: String) throws -> WireAssignment {
    let (value, hasServerValues) = try CanonicalJSON.parse(Array(value.utf8))
    return WireAssignment(target: try WriteTarget(parsing: place), value: value, hasServerValues: hasServerValues)
}

extension RandomTrees {
    mutating func path(maximumDepth: Int = 6) -> Path {
        let keys = (0..<Int.random(in: 0...maximumDepth, using: &random)).map { _ in key() }
        return Path(keys.compactMap { try? Key(validating: String(decoding: $0, as: UTF16.self)) })
    }

    mutating func value() -> CanonicalJSON {
        let tree = chance(1, in: 10) ? TreeModel.null : tree(depth: 3)
        return CanonicalJSON(trusted: Array(tree.canonicalText.utf8))
    }

    mutating func assignment() -> WireAssignment {
        if chance(1, in: 5) {
            let priority = chance(1, in: 4) ? "null" : TreeModel.text(of: priority())
            return WireAssignment(
                target: WriteTarget(path: path(), isPriority: true), value: CanonicalJSON(trusted: Array(priority.utf8))
            )
        }
        return WireAssignment(target: WriteTarget(path: path()), value: value())
    }

    /// Assignments below a base, none inside another.
    mutating func merge() -> (Path, [WireAssignment]) {
        let base = path(maximumDepth: 3)
        var assignments: [WireAssignment] = []
        for _ in 0..<Int.random(in: 0...5, using: &random) {
            var assignment = assignment()
            assignment.target.path = base.appending(assignment.target.path)
            if assignment.target.path == base, !assignment.target.isPriority { continue }
            let overlaps = assignments.contains { other in
                other.target.path.contains(assignment.target.path) || assignment.target.path.contains(other.target.path)
            }
            if !overlaps { assignments.append(assignment) }
        }
        return (base, assignments)
    }

    mutating func bytes() -> [UInt8] { Array(pick(["", "a", "é\"\\\n", "😀/=+", "Zk3tQ81yX"]).utf8) }
}
