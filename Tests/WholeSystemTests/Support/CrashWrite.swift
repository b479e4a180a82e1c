import HearthServerSupport
import HearthJSONTree
import HearthTestSupport
import HearthWireProtocol

/// A write of the crash test: edits of units, at once. A unit is a place that holds leaves and nothing else.
struct CrashWrite {
    enum Edit {
        /// Replaces the whole unit; no leaves remove it.
        case replace(String, [String: String])
        case put(String, child: String, String)
        case increment(String, child: String)
    }

    /// A counter in the middle of the tree, which all writers of a database share.
    static let total = "m/total"

    var edits: [Edit]
    /// Adds one to the shared counter too.
    var counts = false

    var request: ClientRequest {
        var assignments = edits.map(\.assignment)
        if counts { assignments.append(Edit.increment("m", child: "total").assignment) }
        return assignments.count == 1 ? .put(assignments[0], hash: nil) : .merge(.root, assignments)
    }
}

extension CrashWrite.Edit {
    fileprivate var assignment: WireAssignment {
        switch self {
        case .replace(let unit, let leaves):
            let members = leaves.sorted { $0.key < $1.key }.map { "\"\($0.key)\":\($0.value)" }
            let text = members.isEmpty ? "null" : "{\(members.joined(separator: ","))}"
            return WireAssignment(target: WriteTarget(path: Path(stringLiteral: unit)), value: CanonicalJSON(text))
        case .put(let unit, let child, let text):
            return WireAssignment(
                target: WriteTarget(path: Path(stringLiteral: "\(unit)/\(child)")), value: CanonicalJSON(text))
        case .increment(let unit, let child):
            return WireAssignment(
                target: WriteTarget(path: Path(stringLiteral: "\(unit)/\(child)")),
                value: #"{".sv":{"increment":1}}"#, hasServerValues: true)
        }
    }
}

// MARK: Random writes

extension CrashWrite {
    /// A write of one writer. Most that follow each other leave a trace in different places, so that a missing one
    /// shows. The values below `a` and below `z` have all other writers between them; most writes contain their
    /// `number`.
    static func random(writer: Int, number: Int, using random: inout SeededRandom) -> CrashWrite {
        let (left, right) = ("a/\(writer)", "z/\(writer)")
        let slot = String(Int.random(in: 0..<150, using: &random))
        let big = "big/\(Int.random(in: 0..<6, using: &random))"
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<35: return CrashWrite(edits: [.put("\(left)/slots", child: slot, "\(number)")])
        case 35..<50:
            let edits = [left, right].map { Edit.put("\($0)/pair", child: slot, "\(number)") }
            return CrashWrite(edits: edits)
        case 50..<70:
            let edits = [left, right].map { Edit.increment("\($0)/count", child: "n") }
            return CrashWrite(edits: edits, counts: true)
        case 70..<80: return CrashWrite(edits: [.increment("\(left)/count", child: "alone")])
        case 80..<88: return CrashWrite(edits: [.replace("\(left)/\(big)", leaves(number, using: &random))])
        case 88..<92:
            // Moves: here it goes, there it comes.
            return CrashWrite(edits: [
                .replace("\(left)/\(big)", [:]), .replace("\(right)/\(big)", leaves(number, using: &random)),
            ])
        case 92..<96: return CrashWrite(edits: [.put("\(left)/\(big)", child: "k5", "\(number)")])
        case 96..<98: return CrashWrite(edits: [.replace("\(right)/\(big)", [:])])
        default: return CrashWrite(edits: [.replace("\(left)/slots", ["last": "\(number)"])])
        }
    }

    /// Some are one row of the tree, some are many.
    private static func leaves(_ number: Int, using random: inout SeededRandom) -> [String: String] {
        var leaves: [String: String] = [:]
        for index in 0..<Int.random(in: 1...160, using: &random) {
            leaves["k\(index)"] = "\"\(number) of the leaves that make a large node\""
        }
        return leaves
    }
}

// MARK: Their outcome

/// The units of one writer and the text of their leaves.
struct CrashState: Equatable {
    private(set) var units: [String: [String: String]] = [:]

    mutating func apply(_ write: CrashWrite) {
        for edit in write.edits {
            switch edit {
            case .replace(let unit, let leaves): units[unit] = leaves.isEmpty ? nil : leaves
            case .put(let unit, let child, let text): units[unit, default: [:]][child] = text
            case .increment(let unit, let child):
                units[unit, default: [:]][child] = String(count(unit, child) + 1)
            }
        }
    }

    func count(_ unit: String, _ child: String) -> Int { units[unit]?[child].flatMap { Int($0) } ?? 0 }

    /// Adds what a database has at a place.
    mutating func add(_ value: CanonicalJSON, at place: String) {
        for child in value.children {
            let key = String(decoding: child.key.utf8, as: UTF8.self)
            let part = value.part(child.value)
            if part.isLeaf {
                units[place, default: [:]][key] = part.description
            } else {
                add(part, at: "\(place)/\(key)")
            }
        }
    }

    /// For people: the units that are not the same, and some leaves of theirs.
    func difference(from other: CrashState) -> String {
        Set(units.keys).union(other.units.keys).sorted().compactMap { unit in
            let (mine, others) = (units[unit] ?? [:], other.units[unit] ?? [:])
            if mine == others { return nil }
            let leaves = Set(mine.keys).union(others.keys).filter { mine[$0] != others[$0] }.sorted()
            let texts = leaves.prefix(3).map { "\($0): \(mine[$0] ?? "null") for \(others[$0] ?? "null")" }
            return "\(unit) has \(leaves.count) that differ (\(texts.joined(separator: ", ")))"
        }
        .joined(separator: "; ")
    }
}
