import HearthJSONTree

/// Reads a file of cases.
struct RulesTestParser {
    private let file: [UInt8]
    private(set) var rules: String?
    private(set) var settings: String?
    private(set) var tests: [RulesTest] = []
    private var data = CanonicalJSON.null
    private var now: Int64 = 1_700_000_000_000
    private var users: [String: RuleAuth] = [:]

    init(_ file: [UInt8]) { self.file = file }

    /// The members of an object: the text of each value and where it stands.
    private typealias Members = [String: Range<Int>]

    mutating func parse() throws(Mistake) {
        let file = try members(of: 0..<file.count, ["rules", "settings", "data", "now", "users", "tests"])
        if let range = file["rules"] { rules = try string(range) }
        if let range = file["settings"] { settings = try string(range) }
        if let range = file["data"] { data = try value(range, at: .root) }
        if let range = file["now"] { now = try integer(range) }
        if let range = file["users"] {
            for (name, range) in try members(of: range, nil) { users[name] = try auth(range) }
        }
        guard let list = file["tests"] else { throw Mistake("'tests' is missing", at: 0) }
        for range in try elements(of: list) { tests.append(try test(range)) }
    }

    private func test(_ range: Range<Int>) throws(Mistake) -> RulesTest {
        let members = try members(
            of: range,
            ["name", "as", "now", "data", "read", "query", "find", "write", "value", "update", "values", "allowed"])
        let data = try members["data"].map { (range) throws(Mistake) in try value(range, at: .root) } ?? data
        let now = try members["now"].map(integer) ?? now
        let operations = try operations(members, data, now, range)
        guard let allowed = members["allowed"], let isAllowed = ["true": true, "false": false][text(allowed)] else {
            throw Mistake("a test needs 'allowed', true or false", at: range.lowerBound)
        }
        var name = try members["name"].map(string)
        if name == nil {
            let who = members["as"].map(text) ?? "null"
            let what = ["read", "write", "update"].compactMap { verb in
                members[verb].map { "\(verb) \(text($0))" }
            }
            name = "\(who): \(what.joined())"
        }
        return RulesTest(
            name: name ?? "", line: RulePosition(of: range.lowerBound, in: file).line,
            auth: try members["as"].flatMap(user), now: now, data: data, operations: operations, isAllowed: isAllowed)
    }

    // MARK: Who

    /// A name of `users`, or a user id without claims; null when signed out; or an object that is `auth` itself.
    private func user(_ range: Range<Int>) throws(Mistake) -> RuleAuth? {
        switch file[range.lowerBound] {
        case UInt8(ascii: "n"): return nil
        case UInt8(ascii: "{"): return try auth(range)
        default:
            let name = try string(range)
            if let auth = users[name] { return auth }
            return try? RuleAuth(uid: Array(name.utf8), provider: nil, claims: Array("{}".utf8))
        }
    }

    private func auth(_ range: Range<Int>) throws(Mistake) -> RuleAuth {
        do throws(JSONError) {
            return try RuleAuth(json: Array(file[range]))
        } catch {
            throw Mistake("who asks is a JSON object: \(error)", at: range.lowerBound + error.offset)
        }
    }

    // MARK: What

    /// What is to be allowed, or one of several that are enough.
    private func operations(
        _ members: Members, _ data: CanonicalJSON, _ now: Int64, _ range: Range<Int>
    ) throws(Mistake) -> [RuleOperation] {
        let verbs = ["read", "write", "update"].filter { members[$0] != nil }
        guard verbs.count == 1, let place = members[verbs[0]] else {
            throw Mistake("a test has one of 'read', 'write' and 'update'", at: range.lowerBound)
        }
        switch verbs[0] {
        case "read":
            let path = try path(place).path
            if let find = members["find"] {
                guard members["query"] == nil else {
                    throw Mistake("a read has 'query' or 'find'", at: range.lowerBound)
                }
                return RuleOperation.reads(of: path, try conditions(find))
            }
            return [.read(path, try members["query"].map(query))]
        case "write":
            guard let value = members["value"] else { throw Mistake("'value' is missing", at: range.lowerBound) }
            return [.write([try assignment(try path(place), value, data, now)])]
        default:
            guard let values = members["values"] else { throw Mistake("'values' is missing", at: range.lowerBound) }
            let base = try path(place).path
            var assignments: [Assignment] = []
            for (name, value) in try self.members(of: values, nil).sorted(by: {
                $0.value.lowerBound < $1.value.lowerBound
            }) {
                var target = try path(name, at: value.lowerBound)
                target.path = base.appending(target.path)
                assignments.append(try assignment(target, value, data, now))
            }
            return [.write(assignments)]
        }
    }

    /// Server values are resolved as the database does it.
    private func assignment(
        _ target: WriteTarget, _ range: Range<Int>, _ data: CanonicalJSON, _ now: Int64
    ) throws(Mistake) -> Assignment {
        let value = try value(range, at: target.path).resolved(timestamp: now) { relative in
            data.value(at: target.path.appending(relative))
        }
        return Assignment(target: target, value: value)
    }

    /// A query with several conditions (Protocol.md 18.3).
    private func conditions(_ range: Range<Int>) throws(Mistake) -> Query {
        do throws(QueryError) {
            return try ConditionParser.query(Array(file[range]))
        } catch {
            throw Mistake("\(error)", at: range.lowerBound)
        }
    }

    private func query(_ range: Range<Int>) throws(Mistake) -> RuleQuery {
        let members = try members(
            of: range,
            ["orderBy", "startAt", "startAfter", "endAt", "endBefore", "equalTo", "limitToFirst", "limitToLast"])
        var index = QueryIndex.key
        if let range = members["orderBy"] {
            let name = try string(range)
            guard let order = QueryIndex(description: name.replacing("$", with: ".")) else {
                throw Mistake("'orderBy' is '$key', '$value', '$priority' or the path of a child", at: range.lowerBound)
            }
            index = order
        }
        func bound(_ names: String...) throws(Mistake) -> QueryBound? {
            guard let range = (names + ["equalTo"]).lazy.compactMap({ members[$0] }).first else { return nil }
            return QueryBound(try value(range, at: .root))
        }
        var limit: QueryLimit?
        if let range = members["limitToFirst"] { limit = QueryLimit(.first, Int(clamping: try integer(range))) }
        if let range = members["limitToLast"] { limit = QueryLimit(.last, Int(clamping: try integer(range))) }
        return RuleQuery(
            index: index, start: try bound("startAt", "startAfter"), end: try bound("endAt", "endBefore"), limit: limit)
    }

    // MARK: JSON

    private func text(_ range: Range<Int>) -> String { String(decoding: file[range], as: UTF8.self) }

    private func read<Result>(
        _ range: Range<Int>, _ body: (inout JSONReader) throws(JSONError) -> Result
    ) throws(Mistake) -> Result {
        let start = range.lowerBound
        do throws(JSONError) {
            return try file.span.bytes.withUnsafeBytes { (bytes) throws(JSONError) in
                var reader = JSONReader(bytes.part(range))
                let result = try body(&reader)
                try reader.finish()
                return result
            }
        } catch {
            throw Mistake("\(error)", at: start + error.offset)
        }
    }

    /// `known`: the names that may occur; nil for any.
    private func members(of range: Range<Int>, _ known: [String]?) throws(Mistake) -> Members {
        var members: Members = [:]
        var unknown: (String, Int)?
        try read(range) { (reader) throws(JSONError) in
            try reader.forEachMember { (reader, key) throws(JSONError) in
                let name = String(decoding: JSONStringText(raw: key, hasEscapes: true).utf8, as: UTF8.self)
                _ = try reader.peek()
                let start = range.lowerBound + reader.offset
                _ = try reader.skipValue()
                if known?.contains(name) == false { unknown = (name, start) }
                members[name] = start..<range.lowerBound + reader.offset
            }
        }
        if let (name, offset) = unknown { throw Mistake("unknown member '\(name)'", at: offset) }
        return members
    }

    private func elements(of range: Range<Int>) throws(Mistake) -> [Range<Int>] {
        try read(range) { (reader) throws(JSONError) in
            var elements: [Range<Int>] = []
            try reader.expect(UInt8(ascii: "["))
            while try reader.peek() != UInt8(ascii: "]") {
                let start = range.lowerBound + reader.offset
                _ = try reader.skipValue()
                elements.append(start..<range.lowerBound + reader.offset)
                guard try reader.peek() == UInt8(ascii: ",") else { break }
                try reader.expect(UInt8(ascii: ","))
            }
            try reader.expect(UInt8(ascii: "]"))
            return elements
        }
    }

    private func string(_ range: Range<Int>) throws(Mistake) -> String {
        String(decoding: try read(range) { (reader) throws(JSONError) in try reader.string() }, as: UTF8.self)
    }

    private func integer(_ range: Range<Int>) throws(Mistake) -> Int64 {
        try read(range) { (reader) throws(JSONError) in try reader.integer() }
    }

    private func value(_ range: Range<Int>, at path: Path) throws(Mistake) -> CanonicalJSON {
        do throws(JSONError) {
            return try CanonicalJSON.parse(Array(file[range])).value
        } catch {
            throw Mistake("\(error)", at: range.lowerBound + error.offset)
        }
    }

    private func path(_ range: Range<Int>) throws(Mistake) -> WriteTarget {
        try path(try string(range), at: range.lowerBound)
    }

    private func path(_ text: String, at offset: Int) throws(Mistake) -> WriteTarget {
        do throws(PathError) {
            return try WriteTarget(parsing: text)
        } catch {
            throw Mistake("'\(text)' is no path: \(error)", at: offset)
        }
    }
}
