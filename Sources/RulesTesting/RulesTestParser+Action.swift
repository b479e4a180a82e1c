import HearthJSONTree
import HearthRealtimeDatabase
import HearthSecurityRules
import HearthWireProtocol
import HearthTreeQueries

/// The action of a step.
extension RulesTestParser {
    /// - parameter place: the position of the path in the text.
    /// - parameter range: that of the step.
    func action(
        _ verb: String, _ place: Range<Int>, _ members: TestText.Members, _ range: Range<Int>, by principal: Principal
    ) throws(Mistake) -> RulesTest.Action {
        switch verb {
        case "read":
            let path = try text.path(place)
            let query = try query(members)
            guard let range = members["at"] else { return .ask(.get(path, query: query)) }
            if query != nil { throw Mistake("the past is read without a query", at: range.lowerBound) }
            return .readPast(path, .value(at: try time("at", range)))
        case "restore", "diff":
            let path = try text.path(place)
            guard let at = members["at"] else { throw Mistake("'at' is missing", at: range.lowerBound) }
            let time = try time("at", at)
            if verb == "restore" { return .restore(path, at: time) }
            let end = try members["to"].map { (range) throws(Mistake) in try self.time("to", range) }
            return .readPast(path, .differences(from: time, to: end))
        case "listen":
            let path = try text.path(place)
            guard let query = try query(members) else { return .ask(.listen(path, known: nil)) }
            return .ask(.listenQuery(path, query, .tagged(1)))
        case "write":
            guard let value = members["value"] else { throw Mistake("'value' is missing", at: range.lowerBound) }
            let target = try text.target(place)
            let written = try wire(value) { (bytes) throws(RequestError) in
                try WireAssignment.parse(bytes, for: target)
            }
            return .ask(.set(target, IncomingValue(written)))
        case "update":
            guard let values = members["values"] else { throw Mistake("'values' is missing", at: range.lowerBound) }
            let base = try text.path(place)
            return .ask(.update(base: base, try entries(values, base: base)))
        default: return .work(try text.path(place), try work(verb, members, range, by: principal))
        }
    }

    private func work(
        _ verb: String, _ members: TestText.Members, _ range: Range<Int>, by principal: Principal
    ) throws(Mistake) -> RulesTest.Work {
        func key() throws(Mistake) -> Key {
            guard let range = members["key"] else { throw Mistake("'key' is missing", at: range.lowerBound) }
            let utf8 = try text.utf8(range)
            do throws(KeyError) { return try Key(validating: utf8) } catch {
                throw Mistake("\(error)", at: range.lowerBound)
            }
        }
        func number(_ name: String, in allowed: ClosedRange<Int64>) throws(Mistake) -> Int64? {
            try members[name].map { (range) throws(Mistake) in try text.integer(name, range, in: allowed) }
        }
        let kind: RulesTest.Work.Kind
        switch verb {
        case "claim": kind = .claim(count: Int(try number("count", in: 1...Int64(JobOperation.countMax)) ?? 1))
        case "extend": kind = .extend(try key())
        case "release": kind = .giveBack(try key())
        case "done":
            kind = .done(
                try key(),
                try members["values"].map { (range) throws(Mistake) in
                    try entries(range, base: .root)
                } ?? [])
        default:
            let delay = try number("delay", in: 0...QueueDefinition.never)
            let isDead = try members["dead"].map { (range) throws(Mistake) in
                guard let isDead = text.bool(range) else {
                    throw Mistake("'dead' is true or false", at: range.lowerBound)
                }
                return isDead
            }
            if isDead == true, let range = members["delay"] {
                throw Mistake("what is dead has no 'delay'", at: range.lowerBound)
            }
            let retry: JobOperation.Retry = isDead == true ? .never : delay.map { .after($0) } ?? .later
            kind = .fail(try key(), error: try members["error"].map(text.utf8) ?? [], retry)
        }
        return RulesTest.Work(
            kind: kind, lease: try number("lease", in: 0...QueueDefinition.never),
            worker: try members["worker"].map(text.utf8) ?? principal.uid)
    }

    // MARK: Writes

    private func entries(
        _ range: Range<Int>, base: Path
    ) throws(Mistake) -> [(target: WriteTarget, value: IncomingValue)] {
        let written = try wire(range) { (bytes) throws(RequestError) in try WireAssignment.parse(bytes, base: base) }
        return written.map { ($0.target, IncomingValue($0)) }
    }

    private func wire<Value>(
        _ range: Range<Int>, _ parse: (UnsafeRawBufferPointer) throws(RequestError) -> Value
    ) throws(Mistake) -> Value {
        do throws(RequestError) {
            return try text.withBytes(of: range, parse)
        } catch {
            switch error {
            case .value(let error): throw Mistake("\(error)", at: range.lowerBound + error.offset)
            case .key(let error, let offset): throw Mistake("invalid path: \(error)", at: range.lowerBound + offset)
            case .missing, .path, .overlappingPaths, .query: throw Mistake(error.message, at: range.lowerBound)
            }
        }
    }

    // MARK: Requests

    private func query(_ members: TestText.Members) throws(Mistake) -> Query? {
        guard let find = members["find"] else {
            return try members["query"].map { (range) throws(Mistake) in try query(range) }
        }
        if let range = members["query"] { throw Mistake("a read has 'query' or 'find'", at: range.lowerBound) }
        do throws(QueryError) {
            return try ConditionParser.query(Array(text.bytes[find]))
        } catch {
            throw Mistake("\(error)", at: find.lowerBound)
        }
    }

    private static let contradictions: KeyValuePairs = [
        "limitToFirst": ["limitToLast"], "equalTo": ["startAt", "startAfter", "endAt", "endBefore"],
        "startAt": ["startAfter"], "endAt": ["endBefore"],
    ]

    private func query(_ range: Range<Int>) throws(Mistake) -> Query {
        let members = try text.members(
            of: range,
            ["orderBy", "startAt", "startAfter", "endAt", "endBefore", "equalTo", "limitToFirst", "limitToLast"])
        for (name, others) in Self.contradictions {
            guard members[name] != nil else { continue }
            for other in others {
                guard let range = members[other] else { continue }
                throw Mistake("a query has '\(name)' or '\(other)', not both", at: range.lowerBound)
            }
        }
        // As for the SDKs' queries.
        var index = QueryIndex.priority
        if let range = members["orderBy"] {
            let name = try text.string(range)
            guard let order = QueryIndex(description: name.replacing("$", with: ".")) else {
                throw Mistake("'orderBy' is '$key', '$value', '$priority' or the path of a child", at: range.lowerBound)
            }
            index = order
        }
        func bound(_ name: String) throws(Mistake) -> QueryBound? {
            try members[name].map { (range) throws(Mistake) in QueryBound(try text.value(range)) }
        }
        // A bound without a key that leaves out its place leaves out all children of its value.
        let after = try bound("startAfter")?.exclusive(missingKey: .highest)
        let before = try bound("endBefore")?.exclusive(missingKey: .lowest)
        let (equal, first, last) = (try bound("equalTo"), try bound("startAt"), try bound("endAt"))
        let (start, end) = (equal ?? first ?? after, equal ?? last ?? before)
        var limit: QueryLimit?
        if let range = members["limitToFirst"] { limit = QueryLimit(.first, Int(clamping: try text.integer(range))) }
        if let range = members["limitToLast"] { limit = QueryLimit(.last, Int(clamping: try text.integer(range))) }
        do throws(QueryError) {
            return try Query(index: index, start: start, end: end, limit: limit)
        } catch {
            throw Mistake("\(error)", at: range.lowerBound)
        }
    }
}

extension IncomingValue {
    fileprivate init(_ entry: WireAssignment) {
        self.init(json: entry.value, hasServerValues: entry.hasServerValues)
    }
}
