import HearthJSONTree
import HearthRealtimeDatabase
import HearthSecurityRules

/// Reads a file of cases.
struct RulesTestParser {
    let text: TestText
    private(set) var rules: String?
    private(set) var settings: String?
    private(set) var tests: [RulesTest] = []
    private var data = CanonicalJSON.null
    private var now: Int64 = 1_700_000_000_000
    private var users: [String: Principal] = [:]
    /// Numbers of the addresses that the file names.
    private var addresses: [String: UInt64] = [:]

    /// Times that JavaScript can tell.
    private static let times: ClosedRange<Int64> = 0...QueueDefinition.never

    private static let fileMembers = ["rules", "settings", "data", "now", "users", "tests"]
    private static let caseMembers = ["name", "now", "data", "steps"]
    private static let commonMembers = [
        "as", "administrator", "address", "now", "after", "allowed", "why", "retry", "fires", "then",
    ]
    /// The fields of each operation.
    private static let verbs = [
        ("read", ["query", "find", "at", "returns"]), ("write", ["value"]), ("update", ["values"]),
        ("listen", ["query", "find"]), ("claim", ["count", "lease", "worker", "jobs"]),
        ("extend", ["key", "lease", "worker"]), ("done", ["key", "worker", "values"]),
        ("fail", ["key", "worker", "error", "delay", "dead"]), ("release", ["key", "worker"]), ("restore", ["at"]),
        ("diff", ["at", "to", "returns"]),
    ]
    private static let stepMembers =
        commonMembers + verbs.map(\.0) + Set(verbs.flatMap(\.1)).subtracting(verbs.map(\.0)).sorted()

    init(_ file: [UInt8]) { text = TestText(bytes: file) }

    mutating func parse() throws(Mistake) {
        let file = try text.members(of: 0..<text.bytes.count, Self.fileMembers)
        if let range = file["rules"] { rules = try text.string(range) }
        if let range = file["settings"] { settings = try text.string(range) }
        if let range = file["data"] { data = try text.value(range) }
        if let range = file["now"] { now = try time("now", range) }
        if let range = file["users"] {
            for (name, range) in try text.members(of: range) { users[name] = try principal(range) }
        }
        guard let list = file["tests"] else { throw Mistake("'tests' is missing", at: 0) }
        let ranges = try text.elements(of: list)
        if ranges.isEmpty { throw Mistake("'tests' is empty", at: list.lowerBound) }
        for range in ranges { tests.append(try test(range)) }
    }

    private func line(of range: Range<Int>) -> Int { RulePosition(of: range.lowerBound, in: text.bytes).line }

    func time(_ name: String, _ range: Range<Int>) throws(Mistake) -> Int64 {
        try text.integer(name, range, in: Self.times)
    }

    // MARK: Cases and steps

    private mutating func test(_ range: Range<Int>) throws(Mistake) -> RulesTest {
        let known = Self.caseMembers + Self.stepMembers.filter { !Self.caseMembers.contains($0) }
        var members = try text.members(of: range, known)
        let data = try members["data"].map(text.value) ?? data
        let start = try members["now"].map { (range) throws(Mistake) in try time("now", range) } ?? now
        let name = try members["name"].map(text.string)
        for name in Self.caseMembers where name != "steps" { members[name] = nil }
        var steps: [RulesTest.Step] = []
        var summary: String
        if let list = members.removeValue(forKey: "steps") {
            if let (other, range) = members.min(by: { $0.value.lowerBound < $1.value.lowerBound }) {
                throw Mistake("'\(other)' belongs in one of the steps", at: range.lowerBound)
            }
            let ranges = try text.elements(of: list)
            if ranges.isEmpty { throw Mistake("'steps' is empty", at: list.lowerBound) }
            for (index, range) in ranges.enumerated() {
                do throws(Mistake) {
                    steps.append(try step(try text.members(of: range, Self.stepMembers), range, "step"))
                } catch {
                    throw Mistake("step \(index + 1): \(error.message)", at: error.offset)
                }
            }
            summary = "\(steps.count) steps"
        } else {
            let verbs = Self.verbs.map(\.0).filter { members[$0] != nil }
            if verbs.isEmpty {
                throw Mistake("a test has one of \(Self.list(Self.verbs.map(\.0))), or 'steps'", at: range.lowerBound)
            }
            summary = "\(members["as"].map(text.text) ?? "null"): "
            for verb in verbs { summary += "\(verb) \(members[verb].map(text.text) ?? "")" }
            steps = [try step(members, range, "test")]
        }
        return RulesTest(
            name: name ?? summary, line: line(of: range), data: data, start: start, steps: steps)
    }

    /// - parameter noun: the name of the step in messages.
    private mutating func step(
        _ members: TestText.Members, _ range: Range<Int>, _ noun: String
    ) throws(Mistake) -> RulesTest.Step {
        let verbs = Self.verbs.filter { members[$0.0] != nil }
        guard verbs.count <= 1 else {
            throw Mistake("a \(noun) has one of \(Self.list(Self.verbs.map(\.0)))", at: range.lowerBound)
        }
        let own = verbs.first?.1 ?? []
        let foreign = members.filter {
            $0.key != verbs.first?.0 && !own.contains($0.key) && !Self.commonMembers.contains($0.key)
        }
        if let (name, range) = foreign.min(by: { $0.value.lowerBound < $1.value.lowerBound }) {
            throw Mistake(
                "'\(name)' does not belong to \(verbs.first.map { "'\($0.0)'" } ?? "a step without an operation")",
                at: range.lowerBound)
        }
        let principal = try principal(of: members)
        var action: RulesTest.Action?
        if let verb = verbs.first?.0, let place = members[verb] {
            action = try self.action(verb, place, members, range, by: principal)
        }
        return RulesTest.Step(
            line: line(of: range), time: try time(of: members), principal: principal,
            client: try members["address"].map { (range) throws(Mistake) in try client(range) } ?? 0, action: action,
            expected: try expectation(members, range, noun, hasAction: action != nil))
    }

    private func time(of members: TestText.Members) throws(Mistake) -> RulesTest.Time {
        guard let range = members["now"] else {
            return .after(try members["after"].map { (range) throws(Mistake) in try time("after", range) } ?? 0)
        }
        if let range = members["after"] { throw Mistake("a step has 'now' or 'after'", at: range.lowerBound) }
        return .at(try time("now", range))
    }

    static func list(_ names: [String]) -> String {
        names.dropLast().map { "'\($0)'" }.joined(separator: ", ") + " and '\(names.last ?? "")'"
    }

    // MARK: Who

    private func principal(of members: TestText.Members) throws(Mistake) -> Principal {
        guard let range = members["administrator"] else {
            return try members["as"].map(user) ?? .nobody
        }
        guard text.bool(range) == true else { throw Mistake("'administrator' is true", at: range.lowerBound) }
        if let range = members["as"] { throw Mistake("an administrator has no 'as'", at: range.lowerBound) }
        return .administrator
    }

    /// A name of `users`, or a user id without claims; null when signed out; or an object that is `auth` itself.
    private func user(_ range: Range<Int>) throws(Mistake) -> Principal {
        switch text.bytes[range.lowerBound] {
        case UInt8(ascii: "n"): return .nobody
        case UInt8(ascii: "{"): return try principal(range)
        default:
            let name = try text.string(range)
            if let principal = users[name] { return principal }
            let auth = RuleAuth.json(uid: Array(name.utf8), provider: nil, claims: Array("{}".utf8))
            return try principal(auth, at: range.lowerBound)
        }
    }

    private func principal(_ range: Range<Int>) throws(Mistake) -> Principal {
        try principal(Array(text.bytes[range]), at: range.lowerBound)
    }

    private func principal(_ auth: [UInt8], at offset: Int) throws(Mistake) -> Principal {
        do throws(JSONError) {
            return try Principal(auth: auth)
        } catch {
            throw Mistake("who asks is a JSON object: \(error)", at: offset + error.offset)
        }
    }

    /// The number of an address.
    private mutating func client(_ range: Range<Int>) throws(Mistake) -> UInt64 {
        let name = try text.string(range)
        let number = addresses[name] ?? UInt64(addresses.count + 1)
        addresses[name] = number
        return number
    }
}
